"""Homework on sorting: a function that is wrong, tests that say so, the function once more."""

# %%
import random

random.seed(6)
numbers = [random.randrange(1000) for _ in range(200)]


# %%
def insertion_sort(items):
    for i in range(1, len(items)):
        j = i
        while items[j - 1] > items[j]:
            items[j - 1], items[j] = items[j], items[j - 1]
            j -= 1
    return items


# %% raises IndexError
mine = insertion_sort(numbers)
assert mine == sorted(numbers), "not sorted"
assert len(mine) == 200
assert mine is not numbers, "the list itself was sorted"


# %%
def insertion_sort(items):
    items = list(items)
    for i in range(1, len(items)):
        j = i
        while j > 0 and items[j - 1] > items[j]:
            items[j - 1], items[j] = items[j], items[j - 1]
            j -= 1
    return items


# %%
random.shuffle(numbers)
mine = insertion_sort(numbers)
mine == sorted(numbers), mine is numbers


# %% raises RecursionError
def quick_sort(items):
    pivot = items[0] if items else 0
    low, high = [i for i in items if i <= pivot], [i for i in items if i > pivot]
    return quick_sort(low) + quick_sort(high)


quick_sort(numbers)


# %%
def quick_sort(items):
    if len(items) < 2:
        return items
    pivot, *rest = items
    return [*quick_sort([i for i in rest if i <= pivot]), pivot, *quick_sort([i for i in rest if i > pivot])]


quick_sort(numbers) == mine
