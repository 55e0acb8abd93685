"""Roads and friendships: searching, shortest paths, ranking, flow."""

# %%
import heapq
import random
from collections import Counter, deque

import matplotlib.pyplot as plt

random.seed(17)

# %%
side = 170
position = {}
for row in range(side):
    for column in range(side):
        position[row * side + column] = (column + random.uniform(-0.3, 0.3), row + random.uniform(-0.3, 0.3))


def distance(a, b):
    (ax, ay), (bx, by) = position[a], position[b]
    return ((ax - bx) ** 2 + (ay - by) ** 2) ** 0.5


roads = {node: {} for node in position}
for node in position:
    row, column = divmod(node, side)
    for r, c in ((row + 1, column), (row, column + 1), (row + 1, column + 1)):
        if r < side and c < side and random.random() < 0.75:
            other = r * side + c
            roads[node][other] = roads[other][node] = distance(node, other)
len(roads), sum(map(len, roads.values())) // 2


# %%
def components(graph):
    seen, found = set(), []
    for start in graph:
        if start in seen:
            continue
        queue, members = deque([start]), {start}
        while queue:
            for neighbour in graph[queue.popleft()]:
                if neighbour not in members:
                    members.add(neighbour)
                    queue.append(neighbour)
        seen |= members
        found.append(members)
    return sorted(found, key=len, reverse=True)


parts = components(roads)
[len(part) for part in parts[:5]]


# %%
def dijkstra(graph, start, goal=None):
    best, previous, done = {start: 0.0}, {}, set()
    queue = [(0.0, start)]
    while queue:
        cost, node = heapq.heappop(queue)
        if node in done:
            continue
        done.add(node)
        if node == goal:
            break
        for neighbour, length in graph[node].items():
            new = cost + length
            if new < best.get(neighbour, float("inf")):
                best[neighbour], previous[neighbour] = new, node
                heapq.heappush(queue, (new, neighbour))
    return best, previous, len(done)


main = sorted(parts[0])
trips = [tuple(random.sample(main, 2)) for _ in range(25)]
plain = [dijkstra(roads, a, b) for a, b in trips]
sum(visited for _, _, visited in plain) / len(plain)


# %%
def a_star(graph, start, goal):
    best, done = {start: 0.0}, set()
    queue = [(distance(start, goal), start)]
    while queue:
        _, node = heapq.heappop(queue)
        if node == goal:
            return best[node], len(done)
        if node in done:
            continue
        done.add(node)
        for neighbour, length in graph[node].items():
            new = best[node] + length
            if new < best.get(neighbour, float("inf")):
                best[neighbour] = new
                heapq.heappush(queue, (new + distance(neighbour, goal), neighbour))
    return None, len(done)


guided = [a_star(roads, a, b) for a, b in trips]
[round(cost, 2) for cost, _ in guided[:5]], sum(visited for _, visited in guided) / len(guided)

# %%
start, goal = trips[0]
best, previous, _ = plain[0]
route = [goal]
while route[-1] != start:
    route.append(previous[route[-1]])
plt.figure(figsize=(6, 6))
plt.scatter(*zip(*position.values(), strict=True), s=0.3, color="grey")
plt.plot(*zip(*(position[node] for node in route), strict=True), color="red")


# %%
def kruskal(graph):
    parent = {node: node for node in graph}

    def find(node):
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    chosen = []
    edges = sorted((length, a, b) for a in graph for b, length in graph[a].items() if a < b)
    for length, a, b in edges:
        ra, rb = find(a), find(b)
        if ra != rb:
            parent[ra] = rb
            chosen.append((a, b, length))
    return chosen


tree = kruskal(roads)
len(tree), sum(length for _, _, length in tree)

# %%
people = 20_000
friends = {person: set() for person in range(people)}
ends = list(range(5))
for person in range(5, people):
    for friend in set(random.choices(ends, k=4)):
        friends[person].add(friend)
        friends[friend].add(person)
        ends += [person, friend]
degrees = Counter(len(known) for known in friends.values())
max(degrees), degrees[4]

# %%
plt.loglog(*zip(*sorted(degrees.items()), strict=True), ".")


# %%
def pagerank(graph, damping=0.85, rounds=30):
    rank = dict.fromkeys(graph, 1 / len(graph))
    for _ in range(rounds):
        new = dict.fromkeys(graph, (1 - damping) / len(graph))
        for node, neighbours in graph.items():
            share = damping * rank[node] / len(neighbours)
            for neighbour in neighbours:
                new[neighbour] += share
        rank = new
    return rank


rank = pagerank(friends)
sorted(rank, key=rank.get)[-5:]


# %%
def breadth_first(graph, start):
    depth, queue = {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for neighbour in graph[node]:
            if neighbour not in depth:
                depth[neighbour] = depth[node] + 1
                queue.append(neighbour)
    return depth


lengths = Counter()
for person in random.sample(range(people), 40):
    lengths.update(breadth_first(friends, person).values())
sorted(lengths.items())


# %%
def triangles(graph):
    total = 0
    for node, neighbours in graph.items():
        for other in neighbours:
            if other > node:
                total += sum(third > other for third in graph[other] & neighbours)
    return total


triangles(friends)


# %%
def max_flow(capacity, source, sink):
    """Edmonds and Karp."""
    residual = {node: dict(edges) for node, edges in capacity.items()}
    flow = 0
    while True:
        before, queue = {source: None}, deque([source])
        while queue and sink not in before:
            node = queue.popleft()
            for neighbour, left in residual[node].items():
                if left > 0 and neighbour not in before:
                    before[neighbour] = node
                    queue.append(neighbour)
        if sink not in before:
            return flow
        steps, node = [], sink
        while before[node] is not None:
            steps.append((before[node], node))
            node = before[node]
        amount = min(residual[a][b] for a, b in steps)
        for a, b in steps:
            residual[a][b] -= amount
            residual[b][a] = residual[b].get(a, 0) + amount
        flow += amount


pipes = {node: {other: random.randint(1, 20) for other in random.sample(range(1500), 6)} for node in range(1500)}
[max_flow(pipes, 0, sink) for sink in range(1490, 1500)]
