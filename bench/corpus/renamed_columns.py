"""Cleaning that goes wrong half way: a cell raises after it changed the table, and is run again."""

# order: 1 2 3 4 3 5

# %%
import pandas as pd

frame = pd.DataFrame(
    {" Name": ["x", "y", "z"], "Value ": ["1", "2", "n/a"], "When": ["2024-01-05", "2024-02-30", None]}
)

# %%
frame.columns = [name.strip().lower() for name in frame.columns]
frame

# %% raises ValueError
frame["name"] = frame["name"].str.upper()
frame["runs"] = frame.get("runs", 0) + 1
frame["value"] = frame["value"].astype(float)

# %%
frame["value"] = frame["value"].replace("n/a", "nan")
frame["when"] = pd.to_datetime(frame["when"], errors="coerce")

# %%
frame["runs"].tolist(), frame["value"].sum()
