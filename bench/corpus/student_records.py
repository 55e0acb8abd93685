"""Records that are joined, reshaped and corrected: multi-level columns, merges, strings as values."""

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(1291)
students = pd.DataFrame(
    {"id": range(120), "name": [f"student {n}" for n in range(120)], "year": rng.integers(1, 4, 120)}
)
exams = pd.DataFrame({"id": rng.integers(0, 130, 600), "subject": rng.choice(["maths", "physics", "music"], 600)})
exams["points"] = rng.integers(20, 101, 600)

# %%
joined = students.merge(exams, on="id", how="outer", indicator=True)
joined["_merge"].value_counts()

# %%
unknown = joined[joined["_merge"] == "right_only"]["id"].unique()
joined = joined[joined["_merge"] == "both"].drop(columns="_merge")
len(unknown)

# %%
wide = joined.pivot_table("points", ["year", "name"], "subject", aggfunc=["mean", "count"])
wide.columns

# %%
best = wide["mean"].stack().groupby("subject").idxmax()
ranks = wide["mean"].rank(ascending=False)
best.to_dict()["music"]

# %%
students.attrs["source"] = "office"
students["name"] = students["name"].str.title().astype("string")
students.set_index("id", inplace=True)
students.loc[5, "year"] = 9
students["year"].max()
