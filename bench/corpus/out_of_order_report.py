"""A report whose cells were run as it came: the end before the middle, the setting twice."""

# order: 1 2 5 3 4 5 2 6 4 7

# %%
import pandas as pd

threshold = 50

# %%
threshold += 10
sales = pd.DataFrame({"shop": list("aabbccdd"), "amount": [40, 75, 62, 58, 90, 12, 66, 71]})

# %%
large = sales[sales["amount"] > threshold]
sales.loc[0, "amount"] = 99

# %%
totals = large.groupby("shop")["amount"].sum()
totals

# %% raises NameError KeyError
print(totals["a"])

# %%
sales["tax"] = sales["amount"] * 0.081
sales["tax"].sum()

# %%
summary = {"threshold": threshold, "rows": len(sales), "large": large, "totals": totals}
summary["rows"]
