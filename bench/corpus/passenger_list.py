"""A ship's passengers, made up: names as text, groups, odds of a seat in a boat."""

# %%
import random

import pandas as pd

random.seed(1912)

# %%
first = "Anna Bert Clara David Emma Frank Greta Hugo Ida Jakob".split()
last = "Abel Berg Cohn Dahl Egli Frei Graf Hess Imhof Jost Kern Lang".split()
rows = []
for number in range(900):
    cabin = random.choices([1, 2, 3], [2, 2, 5])[0]
    age = max(0.5, random.gauss(30 + 4 * (3 - cabin), 13))
    woman = random.random() < 0.37
    title = "Mrs" if woman and age > 25 else "Miss" if woman else "Mr" if age > 14 else "Master"
    odds = 0.2 + 0.45 * woman + 0.1 * (3 - cabin) - 0.002 * age
    rows.append((f"{random.choice(last)}, {title}. {random.choice(first)}", age, cabin, random.random() < odds))
people = pd.DataFrame(rows, columns=["name", "age", "cabin", "rescued"])
people.head()

# %%
people["title"] = people["name"].str.extract(r", (\w+)\.")
people["family"] = people["name"].str.split(",").str[0]
people["title"].value_counts()

# %%
pd.crosstab(people["title"], people["rescued"], normalize="index").round(2)

# %%
people["decade"] = pd.cut(people["age"], range(0, 101, 10), right=False)
rates = people.pivot_table("rescued", "decade", "cabin", observed=True)
rates.round(2)

# %%
families = people.groupby("family").agg(size=("name", "count"), rescued=("rescued", "sum"))
largest = families.nlargest(3, "size")
largest
