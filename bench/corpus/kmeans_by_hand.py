"""K-means in numpy: centres that move in place, and the history of where they were."""

# %%
import numpy as np

rng = np.random.default_rng(88)
points = np.concatenate([rng.normal(centre, 0.6, (2000, 2)) for centre in ((0, 0), (4, 1), (1, 4))])

# %%
centres = points[rng.choice(len(points), 3, replace=False)].copy()
history = [centres.copy()]


def assign():
    return ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)


# %%
for _ in range(30):
    group = assign()
    for k in range(3):
        centres[k] = points[group == k].mean(axis=0)
    history.append(centres.copy())
    if np.allclose(history[-1], history[-2]):
        break
len(history)

# %%
inertia = float(((points - centres[group]) ** 2).sum())
clusters = [points[group == k] for k in range(3)]
[len(cluster) for cluster in clusters], round(inertia)

# %%
trail = np.stack(history)
moved = np.linalg.norm(np.diff(trail, axis=0), axis=2)
moved.round(3)[:3]
