"""A cell that adds to what there is, run three times, and one that was run with an old function."""

# order: 1 2 3 3 5 4 3 6 5

# %%
import numpy as np

rng = np.random.default_rng(4)
samples, rounds = [], 0


# %%
def draw(size):
    return rng.normal(10, 2, size)


# %%
samples.extend(draw(500).tolist())
rounds += 1
len(samples), rounds


# %%
def draw(size):
    return rng.exponential(10, size)


# %%
mean = sum(samples) / len(samples)
means = [*globals().get("means", []), mean]
means

# %%
last = samples[-500:]
del samples[:250]
max(last)
