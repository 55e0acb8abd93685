"""A table, columns taken from it, a mask, a group object; what belongs together and what was copied."""

# %%
import numpy as np
import pandas as pd

stock = pd.DataFrame(
    {"item": ["nut", "bolt", "screw", "nail"], "count": [40, 12, 70, 9], "price": [0.1, 0.3, 0.05, 0.02]}
)
same = stock
counts = stock["count"]

# %%
same.loc[1, "count"] = 13
stock["value"] = stock["count"] * stock["price"]
counts.tolist(), same is stock

# %%
low = stock["count"] < 20
to_order = stock[low]
to_order = to_order.assign(order=50 - to_order["count"])
to_order

# %%
prices = stock["price"].to_numpy()
values = np.asarray(stock["value"])
prices.flags.writeable, values.sum()

# %%
groups = stock.groupby(low)
sums = groups["value"].sum()
tables = {"all": stock, "low": to_order, "again": [stock, stock]}
tables["again"][0] is same

# %%
stock.sort_values("value", inplace=True)
stock.reset_index(drop=True, inplace=True)
tables["all"]["item"].tolist()
