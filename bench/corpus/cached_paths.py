"""Counting paths and words with lru_cache: caches that are full when the notebook ends."""

# %%
from functools import cache, lru_cache

blocked = frozenset({(1, 1), (2, 3), (4, 2)})


@cache
def paths(row, column):
    if row < 0 or column < 0 or (row, column) in blocked:
        return 0
    return 1 if row == column == 0 else paths(row - 1, column) + paths(row, column - 1)


paths(12, 12)


# %%
@lru_cache(maxsize=128)
def distance(one, other):
    if not one or not other:
        return len(one) + len(other)
    if one[-1] == other[-1]:
        return distance(one[:-1], other[:-1])
    return 1 + min(distance(one[:-1], other), distance(one, other[:-1]), distance(one[:-1], other[:-1]))


distance("notebook", "nutcracker")

# %%
words = "tree trees three there these theme".split()
table = {(one, other): distance(one, other) for one in words for other in words if one < other}
min(table, key=table.get)

# %%
paths.cache_info().currsize, distance.cache_info().currsize

# %%
history = [paths.cache_info(), distance]
paths(13, 13)
