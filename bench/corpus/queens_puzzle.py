"""Eight queens, then ten: all solutions by backtracking, those that differ, and a board drawn with letters."""

# %%
from itertools import count


def solutions(size):
    found, columns = [], []

    def place(row):
        if row == size:
            found.append(tuple(columns))
            return
        for column in range(size):
            if all(column != c and abs(column - c) != row - r for r, c in enumerate(columns)):
                columns.append(column)
                place(row + 1)
                columns.pop()

    place(0)
    return found


eight = solutions(8)
len(eight)


# %%
def turned(board):
    size = len(board)
    result = [0] * size
    for row, column in enumerate(board):
        result[column] = size - 1 - row
    return tuple(result)


def images(board):
    for _ in range(4):
        yield board
        yield board[::-1]
        board = turned(board)


# %%
different = {min(images(board)) for board in eight}
len(different)

# %%
ten = solutions(10)
numbers = count(1)
listed = {next(numbers): board for board in ten[:5]}
len(ten)

# %%
drawn = ["".join("Q" if column == c else "." for c in range(8)) for column in eight[0]]
drawn
