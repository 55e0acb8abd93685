"""Groups in data: k-means, mixtures, density, hierarchy, and how good they are."""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(21)

# %%
centres = rng.uniform(-10, 10, (6, 2))
spreads = rng.uniform(0.4, 1.6, 6)
truth = rng.integers(0, 6, 6000)
points = centres[truth] + rng.normal(size=(6000, 2)) * spreads[truth, None]
plt.scatter(*points.T, s=2, c=truth)


# %%
def k_means(points, count, rounds=60):
    centre = points[rng.choice(len(points), 1)]
    while len(centre) < count:  # k-means++
        nearest = ((points[:, None] - centre[None]) ** 2).sum(axis=2).min(axis=1)
        centre = np.vstack([centre, points[rng.choice(len(points), p=nearest / nearest.sum())]])
    for _ in range(rounds):
        distance = ((points[:, None] - centre[None]) ** 2).sum(axis=2)
        label = distance.argmin(axis=1)
        moved = np.array([points[label == k].mean(axis=0) if (label == k).any() else centre[k] for k in range(count)])
        if np.allclose(moved, centre):
            break
        centre = moved
    return label, centre, float(distance.min(axis=1).sum())


labels, found, inertia = k_means(points, 6)
inertia

# %%
inertias = {count: min(k_means(points, count)[2] for _ in range(6)) for count in range(2, 13)}
plt.plot(*zip(*inertias.items(), strict=True), marker="o")


# %%
def silhouette(points, labels):
    distance = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    kinds = np.unique(labels)
    mean = np.stack([distance[:, labels == kind].mean(axis=1) for kind in kinds], axis=1)
    own = np.searchsorted(kinds, labels)
    inside = mean[np.arange(len(points)), own]
    mean[np.arange(len(points)), own] = np.inf
    outside = mean.min(axis=1)
    return float(((outside - inside) / np.maximum(inside, outside)).mean())


subset = rng.choice(len(points), 1500, replace=False)
quality = {count: silhouette(points[subset], k_means(points, count)[0][subset]) for count in range(2, 11)}
max(quality, key=quality.get)


# %%
class Mixture:
    """Gaussians, fitted by expectation maximisation."""

    def __init__(self, count, points):
        _, self.mean, _ = k_means(points, count)
        self.covariance = np.array([np.cov(points.T)] * count)
        self.share = np.full(count, 1 / count)
        self.likelihood = []

    def density(self, points):
        parts = []
        for mean, covariance, share in zip(self.mean, self.covariance, self.share, strict=True):
            offset = points - mean
            inverse = np.linalg.inv(covariance)
            power = -0.5 * np.einsum("ij,jk,ik->i", offset, inverse, offset)
            parts.append(share * np.exp(power) / (2 * np.pi * np.sqrt(np.linalg.det(covariance))))
        return np.array(parts).T

    def fit(self, points, rounds):
        for _ in range(rounds):
            density = self.density(points)
            total = density.sum(axis=1, keepdims=True)
            self.likelihood.append(float(np.log(total).sum()))
            duty = density / total
            weight = duty.sum(axis=0)
            self.share = weight / len(points)
            self.mean = (duty.T @ points) / weight[:, None]
            for k in range(len(weight)):
                offset = points - self.mean[k]
                self.covariance[k] = (duty[:, k, None] * offset).T @ offset / weight[k] + 1e-6 * np.eye(2)
        return self


mixtures = {count: Mixture(count, points).fit(points, 80) for count in range(2, 10)}
bic = {count: 6 * count * np.log(len(points)) - 2 * mixture.likelihood[-1] for count, mixture in mixtures.items()}
min(bic, key=bic.get)

# %%
for count, mixture in mixtures.items():
    plt.plot(mixture.likelihood, label=str(count))
plt.legend()


# %%
def dbscan(points, radius, least):
    cells = {}
    for number, (x, y) in enumerate(points):
        cells.setdefault((int(x // radius), int(y // radius)), []).append(number)

    def neighbours(number):
        x, y = points[number]
        cx, cy = int(x // radius), int(y // radius)
        near = [n for dx in (-1, 0, 1) for dy in (-1, 0, 1) for n in cells.get((cx + dx, cy + dy), ())]
        return [n for n in near if (points[n][0] - x) ** 2 + (points[n][1] - y) ** 2 < radius * radius]

    label = [None] * len(points)
    cluster = 0
    for number in range(len(points)):
        if label[number] is not None:
            continue
        seeds = neighbours(number)
        if len(seeds) < least:
            label[number] = -1
            continue
        cluster += 1
        label[number] = cluster
        while seeds:
            other = seeds.pop()
            if label[other] in (None, -1):
                fresh = label[other] is None
                label[other] = cluster
                if fresh and len(more := neighbours(other)) >= least:
                    seeds += more
    return label


listed = points[:3000].tolist()
dense = dbscan(listed, 0.5, 6)
pd.Series(dense).value_counts()

# %%
plt.scatter(*points[:3000].T, s=3, c=dense, cmap="tab20")


# %%
def rand_index(a, b):
    table = pd.crosstab(pd.Series(a), pd.Series(b)).to_numpy()
    pairs = lambda counts: (counts * (counts - 1) / 2).sum()  # noqa: E731
    both, left, right = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = left * right / pairs(np.array([len(a)]))
    return float((both - expected) / ((left + right) / 2 - expected))


by_mixture = mixtures[6].density(points).argmax(axis=1)
rand_index(truth, labels), rand_index(truth, by_mixture), rand_index(truth[:3000], dense)

# %%
small = points[:220]
groups = {n: [n] for n in range(len(small))}
distance = np.sqrt(((small[:, None] - small[None]) ** 2).sum(axis=2))
while len(groups) > 6:
    keys = list(groups)
    best = min(
        (distance[np.ix_(groups[a], groups[b])].max(), a, b) for i, a in enumerate(keys) for b in keys[i + 1 : i + 40]
    )
    groups[best[1]] += groups.pop(best[2])
sorted(map(len, groups.values()))

# %%
summary = pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "truth": truth, "k_means": labels})
summary.groupby(["truth", "k_means"]).size().unstack(fill_value=0)
