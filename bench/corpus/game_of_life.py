"""Two boards that swap their names at each step, and a picture of the last."""

# %%
import numpy as np

rng = np.random.default_rng(23)
now = (rng.random((150, 150)) < 0.3).astype(np.uint8)
then = np.zeros_like(now)
boards = [now, then]


# %%
def step(source, target):
    padded = np.pad(source, 1, mode="wrap")
    neighbours = sum(padded[1 + dr : 151 + dr, 1 + dc : 151 + dc] for dr in (-1, 0, 1) for dc in (-1, 0, 1) if dr or dc)
    target[:] = (neighbours == 3) | ((neighbours == 2) & (source == 1))


# %%
population = []
for _ in range(301):
    step(now, then)
    now, then = then, now
    population.append(int(now.sum()))
population[-1]

# %%
now is boards[1], then is boards[0]

# %%
still = np.flatnonzero(np.diff(population) == 0)
window = now[60:90, 60:90]
window[:] = 0
int(boards[1].sum())
