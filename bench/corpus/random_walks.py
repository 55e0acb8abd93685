"""Walks with three sources of chance: a generator, the global one of numpy, the one of the standard library."""

# %%
import random

import numpy as np

random.seed(10)
np.random.seed(20)
rng = np.random.default_rng(30)
own = random.Random(40)

# %%
walks = rng.choice([-1, 1], (1000, 500)).cumsum(axis=1)
returns = (walks == 0).sum(axis=1)
returns.mean()

# %%
drunk = [0]
while abs(drunk[-1]) < 30:
    drunk.append(drunk[-1] + own.choice((-1, 1)))
len(drunk)

# %%
legacy = np.random.RandomState(5)
noise = np.random.normal(size=100) + legacy.normal(size=100)
children = rng.spawn(2)
first = [child.integers(100) for child in children]
first

# %%
draws = [random.random() for _ in range(3)]
same = rng
same.integers(10), own.getstate()[1][-1], draws[0] < 1
