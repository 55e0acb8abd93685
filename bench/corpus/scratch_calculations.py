"""A scratch pad: names bound in every way there is, and some of them deleted again."""

# %%
from math import *

a, (b, *c) = 1, "xyz"
for index, letter in enumerate(c):
    pass

# %%
if (n := len(c)) > 1:
    import statistics as stats
with open("/dev/null") as nothing:
    empty = nothing.read()

# %%
x = y = [pi, e, tau]
y += [stats.mean(x)]
x is y, len(x)

# %%
match {"kind": "circle", "r": 2.0}:
    case {"kind": kind, "r": radius}:
        area = pi * radius**2
del kind

# %%
_hidden = {"of": x}
try:
    1 / 0
except ZeroDivisionError as error:
    message = str(error)

# %%
squares = {k: k * k for k in range(10)}
del squares[3], index, a
globals()["made"] = [squares]
exec("also = made * 2")
also[0] is squares

# %%
nothing.closed, letter, sorted(squares)[-1]
