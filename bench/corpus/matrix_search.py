"""Many decompositions of random matrices; what remains is a histogram."""

# %%
import numpy as np

rng = np.random.default_rng(1955)
size, tries = 60, 9000

# %%
spacings = np.empty((tries, size - 1))
for n in range(tries):
    made = rng.normal(size=(size, size))
    levels = np.linalg.eigvalsh(made + made.T)
    spacings[n] = np.diff(levels)
    spacings[n] /= spacings[n].mean()

# %%
middle = spacings[:, 15:-15].ravel()
counts, edges = np.histogram(middle, bins=40, range=(0, 4), density=True)
centres = (edges[1:] + edges[:-1]) / 2
guess = np.pi / 2 * centres * np.exp(-np.pi / 4 * centres**2)
float(np.abs(counts - guess).max())

# %%
del spacings, middle, made, levels
best = {"mean": float((counts * centres).sum() / counts.sum()), "tries": tries}
best
