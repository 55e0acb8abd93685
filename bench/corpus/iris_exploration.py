"""Iris once more: the bundled table, pairs of features, a rule by eye."""

# %%
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_iris

# %%
iris = load_iris(as_frame=True)
data = iris.frame
data["kind"] = pd.Categorical.from_codes(iris.target, iris.target_names)
data.sample(5, random_state=1)

# %%
data.groupby("kind", observed=True).mean(numeric_only=True).T

# %%
fig, axes = plt.subplots(1, 2, figsize=(8, 3))
for name, group in data.groupby("kind", observed=True):
    axes[0].scatter(group["petal length (cm)"], group["petal width (cm)"], s=8, label=name)
    axes[1].hist(group["sepal length (cm)"], alpha=0.5, bins=12)
axes[0].legend()


# %%
def by_eye(row):
    if row["petal length (cm)"] < 2.5:
        return "setosa"
    return "versicolor" if row["petal width (cm)"] < 1.7 else "virginica"


guess = data.apply(by_eye, axis=1)
(guess == data["kind"]).mean()

# %%
wrong = data[guess != data["kind"]].assign(guess=guess)
wrong[["kind", "guess"]].value_counts()
