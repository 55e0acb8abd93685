"""Homework on recursion: towers, permutations, a maze, and a cache that helps."""

# %%
from functools import lru_cache

# %%
pegs = {"left": list(range(8, 0, -1)), "middle": [], "right": []}
moves = []


def move(count, source, target, spare):
    if count:
        move(count - 1, source, spare, target)
        pegs[target].append(pegs[source].pop())
        moves.append((source, target))
        move(count - 1, spare, target, source)


move(8, "left", "right", "middle")
len(moves), pegs


# %%
@lru_cache(maxsize=None)
def ways(steps):
    return 1 if steps < 2 else ways(steps - 1) + ways(steps - 2) + (ways(steps - 3) if steps > 2 else 0)


ways(60), ways.cache_info().currsize

# %%
maze = [list(row) for row in ("S.#.....", ".##.###.", "....#...", "###.#.#.", "....#.#E")]
found = []


def walk(row, column, path):
    if not (0 <= row < len(maze) and 0 <= column < len(maze[0])) or maze[row][column] in "#x":
        return False
    path.append((row, column))
    if maze[row][column] == "E":
        found.append(list(path))
        return True
    maze[row][column] = "x"
    done = any(walk(row + dr, column + dc, path) for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)))
    path.pop()
    return done


walk(0, 0, [])
len(found[0])


# %% raises RecursionError
def countdown(n):
    return countdown(n - 1)


countdown(10)
