"""Problems that remember their answers."""

# %%
import random
from functools import cache

import matplotlib.pyplot as plt
import numpy as np

random.seed(4)

# %%
weights = [random.randint(5, 60) for _ in range(120)]
values = [random.randint(10, 200) for _ in range(120)]


def knapsack(weights, values, capacity):
    table = [[0] * (capacity + 1)]
    for weight, value in zip(weights, values, strict=True):
        above = table[-1]
        row = [
            max(above[room], above[room - weight] + value) if room >= weight else above[room]
            for room in range(capacity + 1)
        ]
        table.append(row)
    taken, room = [], capacity
    for item in range(len(weights), 0, -1):
        if table[item][room] != table[item - 1][room]:
            taken.append(item - 1)
            room -= weights[item - 1]
    return table[-1][capacity], taken


best, taken = knapsack(weights, values, 3000)
best, sum(weights[item] for item in taken)

# %%
by_capacity = {capacity: knapsack(weights, values, capacity)[0] for capacity in range(100, 2001, 100)}
plt.plot(*zip(*by_capacity.items(), strict=True))


# %%
def common(a, b):
    """A longest common subsequence."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    i, j, found = len(a), len(b), []
    while i and j:
        if a[i - 1] == b[j - 1]:
            found.append(a[i - 1])
            i, j = i - 1, j - 1
        elif table[i - 1][j] >= table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return "".join(reversed(found))


gene = "".join(random.choices("ACGT", k=1600))
mutant = "".join(random.choice("ACGT") if random.random() < 0.1 else base for base in gene if random.random() > 0.05)
shared = common(gene, mutant)
len(gene), len(mutant), len(shared)


# %%
def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(diagonal + (x != y), row[j] + 1, row[j - 1] + 1)
    return row[-1]


species = ["".join(random.choices("ACGT", k=260))]
while len(species) < 12:
    parent = random.choice(species)
    species.append("".join(random.choice("ACGT") if random.random() < 0.08 else base for base in parent))
distances = np.array([[edit_distance(a, b) for a in species] for b in species])
distances

# %%
clusters = {number: (number,) for number in range(len(species))}
merges = []
while len(clusters) > 1:
    pairs = [
        (np.mean([distances[x, y] for x in clusters[a] for y in clusters[b]]), a, b)
        for a in clusters
        for b in clusters
        if a < b
    ]
    height, a, b = min(pairs)
    merges.append((round(float(height), 1), clusters[a], clusters[b]))
    clusters[a] += clusters.pop(b)
merges[-3:]


# %%
@cache
def ways(amount, largest):
    """Ways to pay an amount with coins no larger than one."""
    coins = (1, 2, 5, 10, 20, 50, 100, 200)
    if amount == 0:
        return 1
    return sum(ways(amount - coin, coin) for coin in coins if coin <= min(amount, largest))


totals = [ways(amount, 200) for amount in range(1500)]
totals[200], totals[-1], ways.cache_info()

# %%
sizes = [random.randint(5, 100) for _ in range(161)]
count = len(sizes) - 1
cost = [[0] * count for _ in range(count)]
where = [[0] * count for _ in range(count)]
for span in range(1, count):
    for start in range(count - span):
        end = start + span
        options = [
            (cost[start][cut] + cost[cut + 1][end] + sizes[start] * sizes[cut + 1] * sizes[end + 1], cut)
            for cut in range(start, end)
        ]
        cost[start][end], where[start][end] = min(options)


def brackets(start, end):
    if start == end:
        return f"A{start}"
    cut = where[start][end]
    return f"({brackets(start, cut)}{brackets(cut + 1, end)})"


cost[0][-1], brackets(0, count - 1)[:80]

# %%
states, symbols = 12, 30
rng = np.random.default_rng(4)
start_probability = rng.dirichlet(np.ones(states))
transition = rng.dirichlet(np.ones(states) * 0.3, states)
emission = rng.dirichlet(np.ones(symbols) * 0.2, states)
hidden, seen = [rng.choice(states, p=start_probability)], []
for _ in range(20_000):
    seen.append(rng.choice(symbols, p=emission[hidden[-1]]))
    hidden.append(rng.choice(states, p=transition[hidden[-1]]))
seen[:20]


# %%
def viterbi(seen):
    with np.errstate(divide="ignore"):
        log_t, log_e, score = np.log(transition), np.log(emission), np.log(start_probability)
    score = score + log_e[:, seen[0]]
    back = np.zeros((len(seen), states), int)
    for at, symbol in enumerate(seen[1:], 1):
        options = score[:, None] + log_t
        back[at] = options.argmax(axis=0)
        score = options.max(axis=0) + log_e[:, symbol]
    path = [int(score.argmax())]
    for at in range(len(seen) - 1, 0, -1):
        path.append(int(back[at, path[-1]]))
    return path[::-1]


decoded = viterbi(seen)
float(np.mean(np.array(decoded) == np.array(hidden[:-1])))

# %%
grid = rng.integers(1, 10, (700, 700))
total = np.zeros_like(grid)
for row in range(700):
    for column in range(700):
        above = total[row - 1, column] if row else None
        left = total[row, column - 1] if column else None
        known = [value for value in (above, left) if value is not None]
        total[row, column] = grid[row, column] + (min(known) if known else 0)
int(total[-1, -1])

# %%
plt.imshow(total, cmap="viridis")
plt.colorbar()


# %%
def longest_increasing(numbers):
    from bisect import bisect_left

    ends = []
    for number in numbers:
        place = bisect_left(ends, number)
        ends[place : place + 1] = [number]
    return len(ends)


lengths = [longest_increasing(random.sample(range(size), size)) for size in range(1000, 60_000, 3000)]
plt.plot([length / (2 * size**0.5) for length, size in zip(lengths, range(1000, 60_000, 3000), strict=True)])
