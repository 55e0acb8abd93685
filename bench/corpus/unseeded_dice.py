"""A game of dice with no seed: nobody gets these numbers again by running the cells."""

# differs

# %%
import secrets

import numpy as np

rng = np.random.default_rng()

# %%
rolls = rng.integers(1, 7, (20_000, 3))
sums, counts = np.unique(rolls.sum(axis=1), return_counts=True)
dict(zip(sums.tolist(), counts.tolist(), strict=True))[10]

# %%
lucky = [secrets.randbelow(6) + 1 for _ in range(10)]
first = rolls[:5]

# %%
played = {"rolls": rolls, "lucky": lucky, "best": int(sums[counts.argmax()])}
played["best"]
