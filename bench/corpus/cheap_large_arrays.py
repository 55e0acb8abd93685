"""Large arrays that take no time to make: a grid, its distances, a mask. 130 MB."""

# %%
import numpy as np

side = 2000
axis = np.linspace(-1, 1, side)

# %%
x, y = np.meshgrid(axis, axis)
distance = np.hypot(x, y)
distance.nbytes + x.nbytes + y.nbytes

# %%
ring = (distance > 0.5) & (distance < 0.7)
rows = np.flatnonzero(ring.any(axis=1))
rows[0], rows[-1]

# %%
angle = np.arctan2(y, x)
area = ring.sum() * (axis[1] - axis[0]) ** 2
round(float(area), 3)

# %%
settings = {"side": side, "ring": (0.5, 0.7)}
profile = distance[side // 2]
profile.min()
