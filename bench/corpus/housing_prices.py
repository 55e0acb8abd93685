"""Prices of made-up houses: skew, logarithms, a line, its residuals."""

# %%
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

np.random.seed(404)

# %%
n = 4000
area = np.random.lognormal(4.6, 0.35, n)
rooms = np.maximum(1, (area / 28 + np.random.normal(0, 0.8, n)).round())
distance = np.random.gamma(2, 4, n)
price = 3000 * area * np.exp(-0.04 * distance + np.random.normal(0, 0.2, n))
houses = pd.DataFrame({"area": area, "rooms": rooms.astype(int), "distance": distance, "price": price.round(-2)})

# %%
houses["price"].skew(), np.log(houses["price"]).skew()

# %%
features = houses[["area", "rooms", "distance"]].assign(area=np.log(houses["area"]))
target = np.log(houses["price"])
train_x, test_x, train_y, test_y = train_test_split(features, target, random_state=0)
model = LinearRegression().fit(train_x, train_y)
model.score(test_x, test_y)

# %%
residuals = test_y - model.predict(test_x)
worst = residuals.abs().nlargest(5).index
houses.loc[worst]

# %%
dict(zip(features.columns, model.coef_.round(3), strict=True))
