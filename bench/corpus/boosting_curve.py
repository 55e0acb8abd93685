"""Gradient boosting, fitted in steps that go on where the last one ended."""

# %%
import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import mean_squared_error

rng = np.random.default_rng(12)
x = rng.uniform(-3, 3, (800, 4))
y = np.sin(x[:, 0]) * x[:, 1] + 0.5 * x[:, 2] ** 2 + rng.normal(0, 0.2, 800)
new_x, new_y = x[600:], y[600:]
x, y = x[:600], y[:600]

# %%
model = GradientBoostingRegressor(n_estimators=20, warm_start=True, random_state=0, max_depth=3)
curve = []

# %%
for trees in (20, 60, 120, 200):
    model.set_params(n_estimators=trees)
    model.fit(x, y)
    curve.append((trees, mean_squared_error(new_y, model.predict(new_x))))
curve

# %%
staged = [mean_squared_error(new_y, guess) for guess in model.staged_predict(new_x)]
best = int(np.argmin(staged)) + 1
best

# %%
model.set_params(n_estimators=240)
model.fit(x, y)
len(model.estimators_)
