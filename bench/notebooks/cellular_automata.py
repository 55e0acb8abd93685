"""Worlds of cells: life, rules on a line, forest fires, an epidemic, percolation."""

# %%
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(30)


# %%
def neighbours(world):
    return sum(
        np.roll(np.roll(world, dy, axis=0), dx, axis=1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)
    )


def life(world):
    count = neighbours(world)
    return ((count == 3) | ((world == 1) & (count == 2))).astype(np.uint8)


world = (rng.random((600, 800)) < 0.3).astype(np.uint8)
populations = []
for _ in range(200):
    world = life(world)
    populations.append(int(world.sum()))
populations[::40]

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 3))
axes[0].imshow(world[:150, :200], cmap="binary")
axes[1].plot(populations)


# %%
def life_of_sets(alive):
    """On an endless plane."""
    around = Counter((x + dx, y + dy) for x, y in alive for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
    return {cell for cell, count in around.items() if count == 3 or (count == 2 and cell in alive)}


acorn = {(0, 0), (1, 0), (1, 2), (3, 1), (4, 0), (5, 0), (6, 0)}
sizes = []
for _ in range(800):
    acorn = life_of_sets(acorn)
    sizes.append(len(acorn))
plt.plot(sizes)
max(sizes)


# %%
def rule(number, width, steps):
    table = np.array([number >> bits & 1 for bits in range(8)], np.uint8)
    rows = np.zeros((steps, width), np.uint8)
    rows[0, width // 2] = 1
    for step in range(1, steps):
        above = rows[step - 1]
        rows[step] = table[4 * np.roll(above, 1) + 2 * above + np.roll(above, -1)]
    return rows


figure, axes = plt.subplots(1, 4, figsize=(14, 3))
for axis, number in zip(axes, (30, 90, 110, 184), strict=True):
    axis.imshow(rule(number, 401, 200), cmap="binary")
    axis.set_title(f"rule {number}")


# %%
def entropy(rows, length=8):
    weights = 1 << np.arange(length)
    blocks = np.lib.stride_tricks.sliding_window_view(rows, length, axis=1) @ weights
    _, counts = np.unique(blocks, return_counts=True)
    share = counts / counts.sum()
    return float(-(share * np.log2(share)).sum())


ranking = {number: entropy(rule(number, 301, 150)) for number in range(0, 256, 4)}
sorted(ranking, key=ranking.get)[-5:]


# %%
def forest(side, growth, lightning, steps):
    """0 empty, 1 tree, 2 fire."""
    state = np.zeros((side, side), np.int8)
    trees, fires = [], []
    for _ in range(steps):
        burning = state == 2
        near = neighbours(burning.astype(np.int8)) > 0
        chance = rng.random(state.shape)
        new = state.copy()
        new[burning] = 0
        new[(state == 1) & (near | (chance < lightning))] = 2
        new[(state == 0) & (chance < growth)] = 1
        state = new
        trees.append(int((state == 1).sum()))
        fires.append(int(burning.sum()))
    return state, trees, fires


state, trees, fires = forest(250, 0.01, 2e-5, 500)
plt.plot(trees)
plt.plot(fires)

# %%
susceptible, infected, recovered = 0, 1, 2


def epidemic(side, infection, recovery, vaccinated, steps):
    people = np.where(rng.random((side, side)) < vaccinated, recovered, susceptible)
    people[side // 2, side // 2 - 5 : side // 2 + 5] = infected
    curve = []
    for _ in range(steps):
        ill = people == infected
        pressure = 1 - (1 - infection) ** neighbours(ill.astype(np.int8))
        chance = rng.random(people.shape)
        people = np.where((people == susceptible) & (chance < pressure), infected, people)
        people = np.where(ill & (chance < recovery), recovered, people)
        curve.append(int((people == infected).sum()))
    return people, curve


curves = {share: epidemic(220, 0.12, 0.2, share, 250)[1] for share in (0.0, 0.2, 0.4)}
for share, curve in curves.items():
    plt.plot(curve, label=f"{share:.0%} vaccinated")
plt.legend()


# %%
def percolates(grid):
    side = len(grid)
    reached = {(0, column) for column in range(side) if grid[0][column]}
    edge = list(reached)
    while edge:
        row, column = edge.pop()
        if row == side - 1:
            return True
        for cell in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if 0 <= cell[0] < side and 0 <= cell[1] < side and grid[cell[0]][cell[1]] and cell not in reached:
                reached.add(cell)
                edge.append(cell)
    return False


chances = np.linspace(0.5, 0.7, 11)
crossing = [np.mean([percolates((rng.random((60, 60)) < p).tolist()) for _ in range(25)]) for p in chances]
plt.plot(chances, crossing, marker="o")


# %%
def sandpile(side, grains):
    heights = np.zeros((side, side), int)
    sizes = []
    for _ in range(grains):
        heights[rng.integers(side), rng.integers(side)] += 1
        toppled = 0
        while (unstable := heights >= 4).any():
            toppled += int(unstable.sum())
            heights[unstable] -= 4
            heights[1:] += unstable[:-1]
            heights[:-1] += unstable[1:]
            heights[:, 1:] += unstable[:, :-1]
            heights[:, :-1] += unstable[:, 1:]
        sizes.append(toppled)
    return heights, sizes


heights, avalanches = sandpile(50, 6000)
np.bincount(np.array(avalanches).clip(max=20))

# %%
values, counts = np.unique([size for size in avalanches if size], return_counts=True)
plt.loglog(values, counts, ".")
