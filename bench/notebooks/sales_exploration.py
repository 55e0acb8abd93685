"""Two years of a shop chain's sales: where the money comes from."""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(11)
rows = 1_200_000

# %%
stores = pd.DataFrame(
    {
        "store": [f"S{number:03}" for number in range(80)],
        "region": rng.choice(["north", "south", "east", "west"], 80),
        "square_metres": rng.integers(200, 3000, 80),
    }
)
stores.head()

# %%
products = pd.DataFrame(
    {
        "product": [f"P{number:04}" for number in range(500)],
        "category": rng.choice(["food", "drinks", "household", "garden", "toys"], 500),
        "price": np.round(rng.gamma(2.0, 8.0, 500) + 0.5, 2),
    }
)
products.describe()

# %%
days = pd.date_range("2023-01-01", "2024-12-31")
season = 1 + 0.3 * np.sin(2 * np.pi * np.arange(len(days)) / 365)
sales = pd.DataFrame(
    {
        "day": rng.choice(days, rows, p=season / season.sum()),
        "store": rng.choice(stores["store"].to_numpy(), rows),
        "product": rng.choice(products["product"].to_numpy(), rows),
        "quantity": rng.poisson(2.2, rows) + 1,
        "discount": rng.choice([0, 0, 0, 0.05, 0.1, 0.2], rows),
    }
)
sales.shape

# %%
sales.head(10)

# %%
sales.isna().sum(), sales.dtypes

# %%
full = sales.merge(products, on="product").merge(stores, on="store")
full["revenue"] = full["quantity"] * full["price"] * (1 - full["discount"])
full["revenue"].describe()

# %%
by_category = full.groupby("category")["revenue"].agg(["sum", "mean", "count"]).sort_values("sum", ascending=False)
by_category

# %%
monthly = full.groupby([full["day"].dt.to_period("M"), "region"])["revenue"].sum().unstack()
monthly.index = monthly.index.to_timestamp()
monthly.plot(figsize=(9, 4), title="revenue by region")
plt.ylabel("revenue")

# %%
pivot = full.pivot_table(index="region", columns="category", values="revenue", aggfunc="sum")
share = pivot.div(pivot.sum(axis=1), axis=0)
share.round(3)

# %%
figure, axes = plt.subplots(figsize=(6, 4))
image = axes.imshow(share.to_numpy())
axes.set_xticks(range(len(share.columns)), share.columns, rotation=45)
axes.set_yticks(range(len(share.index)), share.index)
figure.colorbar(image)

# %%
density = full.groupby("store")["revenue"].sum().to_frame().join(stores.set_index("store"))
density["per_metre"] = density["revenue"] / density["square_metres"]
density.sort_values("per_metre").tail(5)

# %%
weekday = full.groupby(full["day"].dt.day_name())["revenue"].mean()
weekday.sort_values()

# %%
top = full.groupby("product")["revenue"].sum().nlargest(100)
cumulative = full.groupby("product")["revenue"].sum().sort_values(ascending=False).cumsum()
int((cumulative / cumulative.iloc[-1] < 0.8).sum())

# %%
with_discount = full[full["discount"] > 0].groupby(["category", "discount"])["quantity"].mean().unstack()
without = full[full["discount"] == 0].groupby("category")["quantity"].mean()
with_discount.sub(without, axis=0)

# %%
baskets = full.groupby(["store", "day"])["product"].agg(lambda items: tuple(sorted(set(items))[:3]))
baskets.value_counts().head()

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 4))
axes[0].hist(np.log1p(full["revenue"]), bins=80)
axes[1].scatter(density["square_metres"], density["revenue"], s=8)
axes[1].set_xlabel("square metres")

# %%
boot = np.array([density["per_metre"].sample(frac=1, replace=True, random_state=seed).mean() for seed in range(2000)])
np.percentile(boot, [2.5, 97.5])
