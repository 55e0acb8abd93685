"""Ten years of a weather station: time zones, resampling, the warmest weeks."""

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(31)
hours = pd.date_range("2014-01-01", "2023-12-31 23:00", freq="h", tz="UTC")

# %%
season = -10 * np.cos(2 * np.pi * (hours.dayofyear - 20) / 365.25)
day = -4 * np.cos(2 * np.pi * (hours.hour - 3) / 24)
noise = pd.Series(rng.normal(0, 1, len(hours)), index=hours).ewm(span=72).mean() * 8
temperature = pd.Series(10 + season + day + noise.to_numpy(), index=hours, name="celsius")
temperature.iloc[::5000]

# %%
local = temperature.tz_convert("Europe/Zurich")
daily = local.resample("D").agg(["min", "mean", "max"])
frost = (daily["min"] < 0).groupby(daily.index.year).sum()
frost

# %%
gaps = rng.choice(len(daily), 60, replace=False)
daily.iloc[gaps] = np.nan
filled = daily.interpolate(limit=3)
filled.isna().sum().sum()

# %%
weeks = filled["mean"].resample("W").mean()
warmest = weeks.nlargest(5)
warmest

# %%
monthly = filled["mean"].groupby([filled.index.year, filled.index.month]).mean()
monthly.index.names = ["year", "month"]
climate = monthly.unstack("year")
climate.round(1).iloc[:, :4]
