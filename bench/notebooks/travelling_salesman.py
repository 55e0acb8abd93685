"""A round trip through 120 towns: greedy, local search, annealing, evolution, ants."""

# %%
import math
import random
import statistics

import matplotlib.pyplot as plt
import numpy as np

random.seed(33)

# %%
towns = [(random.random() * 100, random.random() * 60) for _ in range(120)]
distance = [[math.dist(a, b) for b in towns] for a in towns]


def length(tour):
    return sum(distance[a][b] for a, b in zip(tour, tour[1:] + tour[:1], strict=True))


def draw(tour, title):
    x, y = zip(*(towns[town] for town in tour + tour[:1]), strict=True)
    plt.plot(x, y, marker="o", ms=3)
    plt.title(f"{title}: {length(tour):.1f}")


shuffled = random.sample(range(120), 120)
draw(shuffled, "by chance")


# %%
def greedy(start):
    tour, left = [start], set(range(120)) - {start}
    while left:
        tour.append(min(left, key=distance[tour[-1]].__getitem__))
        left.remove(tour[-1])
    return tour


starts = {start: length(greedy(start)) for start in range(120)}
best_start = min(starts, key=starts.get)
draw(greedy(best_start), "greedy")


# %%
def two_opt(tour):
    tour, better = tour[:], True
    while better:
        better = False
        for i in range(len(tour) - 1):
            for j in range(i + 2, len(tour) - (i == 0)):
                a, b, c, d = tour[i], tour[i + 1], tour[j], tour[(j + 1) % len(tour)]
                if distance[a][c] + distance[b][d] < distance[a][b] + distance[c][d] - 1e-9:
                    tour[i + 1 : j + 1] = reversed(tour[i + 1 : j + 1])
                    better = True
    return tour


improved = [two_opt(greedy(start)) for start in range(0, 120, 12)]
lengths = [length(tour) for tour in improved]
min(lengths), statistics.mean(lengths)

# %%
draw(min(improved, key=length), "2-opt")


# %%
def anneal(tour, hot, cold, steps):
    tour, current = tour[:], length(tour)
    best, history = (current, tour[:]), []
    for step in range(steps):
        temperature = hot * (cold / hot) ** (step / steps)
        i, j = sorted(random.sample(range(120), 2))
        if j - i in (0, 119):
            continue
        a, b, c, d = tour[i - 1], tour[i], tour[j], tour[(j + 1) % 120]
        change = distance[a][c] + distance[b][d] - distance[a][b] - distance[c][d]
        if change < 0 or random.random() < math.exp(-change / temperature):
            tour[i : j + 1] = reversed(tour[i : j + 1])
            current += change
            if current < best[0]:
                best = (current, tour[:])
        if step % 1000 == 0:
            history.append(current)
    return best[1], history


annealed, history = anneal(shuffled, 30, 0.05, 300_000)
plt.plot(history)
length(annealed)

# %%
schedules = {hot: [length(anneal(shuffled, hot, 0.05, 60_000)[0]) for _ in range(3)] for hot in (1, 10, 100)}
schedules


# %%
def cross(mother, father):
    """Ordered crossover."""
    a, b = sorted(random.sample(range(120), 2))
    middle = mother[a:b]
    inside = set(middle)
    rest = [town for town in father if town not in inside]
    return rest[:a] + middle + rest[a:]


def evolve(population, generations):
    record = []
    for _ in range(generations):
        population.sort(key=length)
        record.append((length(population[0]), statistics.mean(map(length, population))))
        parents = population[: len(population) // 4]
        children = []
        while len(children) + len(parents) < len(population):
            child = cross(*random.sample(parents, 2))
            if random.random() < 0.4:
                i, j = sorted(random.sample(range(120), 2))
                child[i:j] = reversed(child[i:j])
            children.append(child)
        population = parents + children
    return min(population, key=length), record


evolved, record = evolve([random.sample(range(120), 120) for _ in range(120)], 350)
plt.plot(record)
length(evolved)

# %%
near = np.array(distance) + np.eye(120)
scent = np.ones((120, 120))
ants_best = (math.inf, None)
for _ in range(30):
    trips = []
    for _ in range(25):
        tour = [random.randrange(120)]
        free = np.ones(120, bool)
        free[tour[0]] = False
        while len(tour) < 120:
            wish = scent[tour[-1]] / near[tour[-1]] ** 3 * free
            tour.append(int(np.searchsorted(np.cumsum(wish), random.random() * wish.sum())))
            free[tour[-1]] = False
        trips.append((length(tour), tour))
    scent *= 0.9
    for cost, tour in sorted(trips)[:5]:
        scent[tour, tour[1:] + tour[:1]] += 40 / cost
    ants_best = min(ants_best, *trips)
ants_best[0]

# %%
results = {
    "chance": length(shuffled),
    "greedy": min(starts.values()),
    "2-opt": min(lengths),
    "annealing": length(annealed),
    "evolution": length(evolved),
    "ants": ants_best[0],
    "annealing and 2-opt": length(two_opt(annealed)),
}
plt.barh(list(results), list(results.values()))
results
