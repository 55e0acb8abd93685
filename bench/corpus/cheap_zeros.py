"""Buffers for a simulation: zeros, ones, ranges, most of it never written. 200 MB."""

# %%
import numpy as np

steps, cells = 500, 40_000
field = np.zeros((steps, cells))
clock = np.arange(5_000_000, dtype=np.int64)

# %%
field[0, cells // 2] = 1.0
for step in range(1, 40):
    before = field[step - 1]
    field[step, 1:-1] = before[1:-1] + 0.25 * (before[2:] - 2 * before[1:-1] + before[:-2])
field[39].max()

# %%
width = [int((field[step] > 1e-6).sum()) for step in range(0, 40, 10)]
width

# %%
current = field[39]
middle = current[cells // 2 - 3 : cells // 2 + 4]
middle.round(3)
