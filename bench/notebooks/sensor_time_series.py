"""Hourly readings of a building's sensors: gaps, seasons, a forecast."""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(3)

# %%
index = pd.date_range("2021-01-01", periods=4 * 365 * 24 * 4, freq="15min")
hours = np.arange(len(index)) / 4
sensors = pd.DataFrame(index=index)
for floor in range(8):
    daily = 2.5 * np.sin(2 * np.pi * (hours - 8) / 24 + floor / 8)
    yearly = 6 * np.sin(2 * np.pi * hours / (24 * 365) - 1.5)
    noise = pd.Series(rng.normal(0, 0.6, len(index))).ewm(alpha=0.2).mean().to_numpy()
    sensors[f"floor_{floor}"] = 20 + floor * 0.3 + daily + yearly + noise
sensors.shape

# %%
for column in sensors:
    for start in rng.integers(0, len(sensors), 40):
        sensors.iloc[start : start + rng.integers(1, 60), sensors.columns.get_loc(column)] = np.nan
sensors.isna().mean()

# %%
sensors.loc["2022-03"].plot(figsize=(10, 4), lw=0.6)

# %%
gaps = sensors["floor_0"].isna()
blocks = (gaps != gaps.shift()).cumsum()[gaps]
blocks.value_counts().describe()

# %%
filled = sensors.interpolate("time", limit=16)
filled = filled.fillna(filled.rolling(96 * 7, min_periods=1, center=True).mean())
filled.isna().sum().sum()

# %%
daily = filled.resample("D").agg(["mean", "min", "max"])
daily["floor_0"].head()

# %%
figure, axes = plt.subplots(figsize=(10, 3))
axes.fill_between(daily.index, daily["floor_0"]["min"], daily["floor_0"]["max"], alpha=0.3)
axes.plot(daily["floor_0"]["mean"])

# %%
hourly = filled["floor_0"].resample("h").mean()
trend = hourly.rolling(24 * 30, center=True, min_periods=1).mean()
detrended = hourly - trend
profile = detrended.groupby(detrended.index.hour).mean()
seasonal = pd.Series(profile.reindex(detrended.index.hour).to_numpy(), index=detrended.index)
residual = detrended - seasonal
residual.std()


# %%
def autocorrelation(series, lags):
    values = series.to_numpy() - series.mean()
    total = values @ values
    return np.array([values[lag:] @ values[: len(values) - lag] / total for lag in lags])


lags = np.arange(1, 24 * 14)
correlations = autocorrelation(residual, lags)
plt.stem(lags[:72], correlations[:72], markerfmt=".")

# %%
order = 48
values = residual.to_numpy()
design = np.column_stack([values[order - lag - 1 : -lag - 1] for lag in range(order)])
target = values[order:]
coefficients, *_ = np.linalg.lstsq(design, target, rcond=None)
error = target - design @ coefficients
error.std()


# %%
def holt_winters(series, alpha, beta, gamma, period):
    """Additive triple smoothing; the one-step forecasts."""
    level, slope = series[0], 0.0
    season = list(series[:period] - series[:period].mean())
    forecasts = np.empty(len(series))
    for at, value in enumerate(series):
        place = at % period
        forecasts[at] = level + slope + season[place]
        old = level
        level = alpha * (value - season[place]) + (1 - alpha) * (level + slope)
        slope = beta * (level - old) + (1 - beta) * slope
        season[place] = gamma * (value - level) + (1 - gamma) * season[place]
    return forecasts


train = hourly.to_numpy()
grid = []
for alpha in (0.1, 0.2, 0.4, 0.6, 0.8):
    for beta in (0.0, 0.001, 0.01, 0.1):
        for gamma in (0.05, 0.1, 0.2, 0.4):
            forecast = holt_winters(train, alpha, beta, gamma, 24)
            grid.append((np.sqrt(np.mean((forecast[48:] - train[48:]) ** 2)), alpha, beta, gamma))
best = min(grid)
best

# %%
scores = pd.DataFrame(grid, columns=["rmse", "alpha", "beta", "gamma"])
scores.pivot_table(index="alpha", columns="gamma", values="rmse", aggfunc="min")

# %%
anomalies = filled.copy()
for column in anomalies:
    rolling = anomalies[column].rolling(96 * 2)
    anomalies[column] = (anomalies[column] - rolling.median()) / rolling.std()
(anomalies.abs() > 3).sum()

# %%
correlation = filled.diff().dropna().corr()
plt.imshow(correlation, vmin=0, vmax=1)
plt.colorbar()
