"""A messy export of customer records becomes a table that can be trusted."""

# %%
import csv
import io
import random
import re
from collections import Counter

import numpy as np
import pandas as pd

random.seed(5)

# %%
first_names = "Ada Alan Barbara Dennis Donald Edsger Frances Grace John Ken Linus Margaret Niklaus Radia Tim".split()
last_names = "Allen Berners Dijkstra Hamilton Hopper Kernighan Knuth Liskov Lovelace Perlman Ritchie Turing".split()
cities = {"Zürich": "8001", "Bern": "3011", "Basel": "4051", "Genève": "1201", "Lugano": "6900"}


def messy(text):
    """Somebody typed it in a hurry."""
    chance = random.random()
    if chance < 0.1:
        return f"  {text} "
    if chance < 0.2:
        return text.upper()
    if chance < 0.25:
        return ""
    return text


# %%
buffer = io.StringIO()
writer = csv.writer(buffer)
writer.writerow(["id", "name", "e-mail", "phone", "city", "zip", "born", "spent"])
for number in range(250_000):
    first, last = random.choice(first_names), random.choice(last_names)
    city = random.choice(list(cities))
    born = f"{random.randint(1, 28):02}.{random.randint(1, 12):02}.{random.randint(1940, 2005)}"
    if random.random() < 0.3:
        born = "-".join(reversed(born.split(".")))
    phone = f"+41 {random.randint(21, 91)} {random.randint(100, 999)} {random.randint(10, 99)} {random.randint(10, 99)}"
    if random.random() < 0.5:
        phone = phone.replace(" ", random.choice(["", "-", "/"]))
    spent = f"{random.expovariate(1 / 300):.2f}"
    if random.random() < 0.2:
        spent = "CHF " + spent.replace(".", ",")
    row = [number // 2 if random.random() < 0.02 else number, messy(f"{first} {last}")]
    row += [messy(f"{first}.{last}@example.org".lower()), phone, messy(city), cities[city], born, spent]
    writer.writerow(row)
text = buffer.getvalue()
len(text)

# %%
raw = pd.read_csv(io.StringIO(text), dtype=str)
raw.head()

# %%
raw.isna().mean().round(3)

# %%
clean = raw.rename(columns={"e-mail": "email"}).copy()
for column in ["name", "email", "city"]:
    clean[column] = clean[column].str.strip()
clean["name"] = clean["name"].str.title()
clean["email"] = clean["email"].str.lower()
clean["city"] = clean["city"].str.title()
clean["city"].value_counts(dropna=False)

# %%
zip_to_city = {code: city for city, code in cities.items()}
clean["city"] = clean["city"].fillna(clean["zip"].map(zip_to_city))
clean["city"].isna().sum()

# %%
address = re.compile(r"^[\w.]+@[\w.]+\.\w+$")
bad = clean["email"].dropna().map(lambda value: address.match(value) is None)
int(bad.sum())

# %%
guessed = clean["name"].str.replace(" ", ".").str.lower() + "@example.org"
clean["email"] = clean["email"].fillna(guessed)
clean["email"].isna().sum()


# %%
def parse_date(value):
    """Both notations."""
    if "." in value:
        day, month, year = value.split(".")
    else:
        year, month, day = value.split("-")
    return pd.Timestamp(int(year), int(month), int(day))


clean["born"] = clean["born"].map(parse_date)
clean["born"].min(), clean["born"].max()

# %%
clean["spent"] = clean["spent"].str.replace("CHF ", "").str.replace(",", ".").astype(float)
clean["spent"].describe()

# %%
digits = clean["phone"].str.replace(r"\D", "", regex=True)
clean["phone"] = "+" + digits
clean["phone"].str.len().value_counts()

# %%
duplicated = clean["id"].duplicated(keep=False)
Counter(duplicated)

# %%
clean = clean.sort_values("spent").drop_duplicates("id", keep="last").sort_index()
clean = clean.dropna(subset=["name"]).reset_index(drop=True)
len(clean)

# %%
clean["age"] = ((pd.Timestamp("2025-01-01") - clean["born"]).dt.days / 365.25).astype(int)
clean["group"] = pd.cut(clean["age"], [0, 30, 45, 60, 120], labels=["young", "middle", "older", "old"])
clean.groupby(["group", "city"], observed=True)["spent"].agg(["mean", "count"]).unstack()

# %%
low, high = clean["spent"].quantile([0.001, 0.999])
outliers = clean[(clean["spent"] < low) | (clean["spent"] > high)]
clean["spent_clipped"] = clean["spent"].clip(low, high)
len(outliers), np.log1p(clean["spent_clipped"]).skew()

# %%
output = clean.to_csv(index=False)
again = pd.read_csv(io.StringIO(output), parse_dates=["born"], dtype={"phone": str, "zip": str})
bool((again["spent"] - clean["spent"]).abs().max() < 1e-9), len(output)
