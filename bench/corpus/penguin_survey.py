"""A survey of birds: first looks at a table, groups, missing measurements."""

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(7)

# %%
species = rng.choice(["adelie", "chinstrap", "gentoo"], 344, p=[0.44, 0.2, 0.36])
centre = pd.DataFrame({"adelie": [38.8, 190, 3700], "chinstrap": [48.8, 196, 3730], "gentoo": [47.5, 217, 5080]})
means = centre[species].to_numpy().T
birds = pd.DataFrame(means + rng.normal(0, [2.7, 6.5, 400], (344, 3)), columns=["bill", "flipper", "mass"])
birds.insert(0, "species", species)
birds.head()

# %%
birds.loc[rng.choice(344, 11, replace=False), "mass"] = np.nan
birds["sex"] = rng.choice(["f", "m", None], 344, p=[0.48, 0.49, 0.03])
birds.isna().sum()

# %%
birds.groupby("species")[["bill", "flipper", "mass"]].agg(["mean", "std"]).round(1)

# %%
birds["mass"] = birds.groupby("species")["mass"].transform(lambda mass: mass.fillna(mass.median()))
birds["species"] = birds["species"].astype("category")
birds.dtypes

# %%
heavy = birds[birds["mass"] > birds["mass"].quantile(0.9)]
share = heavy["species"].value_counts(normalize=True)
share

# %%
correlation = birds[["bill", "flipper", "mass"]].corr()
correlation.round(2)
