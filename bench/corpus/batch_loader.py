"""Training in mini-batches from an endless generator; the loader is in the middle of an epoch at the end."""

# %%
import numpy as np

rng = np.random.default_rng(2)
inputs = rng.normal(size=(6000, 12))
truth = rng.normal(size=12)
labels = inputs @ truth + rng.normal(0, 0.1, 6000)


# %%
def batches(x, y, size, seed):
    order = np.random.default_rng(seed)
    while True:
        shuffled = order.permutation(len(x))
        for start in range(0, len(x) - size + 1, size):
            chosen = shuffled[start : start + size]
            yield x[chosen], y[chosen]


loader = batches(inputs, labels, 50, seed=9)

# %%
weights = np.zeros(12)
losses = []


def step(rate=0.05):
    x, y = next(loader)
    error = x @ weights - y
    weights[:] -= rate * x.T @ error / len(x)
    losses.append(float(error @ error / len(x)))


# %%
for _ in range(150):
    step()
losses[0], losses[-1]

# %%
np.abs(weights - truth).max()
