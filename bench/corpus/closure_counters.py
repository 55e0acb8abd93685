"""Functions that remember: counters that share a cell, a memo by hand, decorators, partials."""

# %%
import functools
import operator


def account(start):
    balance = start

    def add(amount):
        nonlocal balance
        balance += amount
        return balance

    def look():
        return balance

    return add, look


# %%
add, look = account(100)
other_add, other_look = account(5)
add(20), other_add(1)

# %%
calls = {}


def counted(function):
    @functools.wraps(function)
    def wrapper(*values):
        calls[function.__name__] = calls.get(function.__name__, 0) + 1
        return function(*values)

    return wrapper


@counted
def area(width, height):
    return width * height


[area(n, n + 1) for n in range(5)]

# %%
double = functools.partial(operator.mul, 2)
compose = functools.reduce(lambda f, g: lambda x: g(f(x)), [double, str, lambda text: text[::-1]])
compose(617)

# %%
makers = [lambda n=n: n**2 for n in range(4)]
late = [lambda: factor for factor in range(4)]
factor = 9
[make() for make in makers], [make() for make in late], calls

# %%
add(-50)
look(), other_look()
