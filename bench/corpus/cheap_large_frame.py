"""A wide table of repeated patterns, made in a moment. 80 MB."""

# %%
import numpy as np
import pandas as pd

days = pd.date_range("2000-01-01", periods=1_000_000, freq="min")

# %%
readings = pd.DataFrame({f"sensor_{n}": np.arange(1_000_000, dtype=float) % (n + 50) for n in range(10)}, index=days)
readings.shape

# %%
scaled = readings["sensor_3"] / readings["sensor_3"].max()
hourly = scaled.resample("h").mean()
len(hourly)

# %%
readings.iloc[0] = 0
labels = {name: name.split("_")[1] for name in readings}
labels["sensor_7"]
