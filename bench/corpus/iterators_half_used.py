"""Iterators of the standard library, each somewhere on its way."""

# %%
import itertools

letters = iter("abcdefgh")
numbers = itertools.count(10, 5)
next(letters), next(numbers), next(numbers)

# %%
pairs = zip(letters, numbers, strict=False)
next(pairs)

# %%
values = [3, 1, 4, 1, 5, 9, 2, 6]
backwards = reversed(values)
next(backwards), next(backwards)

# %%
around = itertools.cycle("xyz")
taken = [next(around) for _ in range(4)]
combined = itertools.combinations(values, 3)
skipped = list(itertools.islice(combined, 20))
taken, skipped[-1]

# %%
running = itertools.accumulate(values)
next(running), next(running)

# %%
squares = map(lambda n: n * n, filter(lambda n: n % 2, itertools.count()))
firsts = [next(squares) for _ in range(5)]
values.append(7)
firsts
