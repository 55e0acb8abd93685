"""A parser and an evaluator of formulas: classes by enum and dataclass, a registry filled by a decorator."""

# %%
import enum
import re
from dataclasses import dataclass


class Kind(enum.Enum):
    NUMBER = "number"
    NAME = "name"
    SIGN = "sign"


@dataclass(frozen=True)
class Token:
    kind: Kind
    text: str


# %%
pattern = re.compile(r"\s*(?:(\d+\.?\d*)|(\w+)|(.))")


def tokens(text):
    kinds = (Kind.NUMBER, Kind.NAME, Kind.SIGN)
    return [Token(kinds[m.lastindex - 1], m[m.lastindex]) for m in pattern.finditer(text)]


tokens("2*(x + 1.5)")

# %%
operators = {}


def operator(sign, strength):
    def register(function):
        operators[sign] = strength, function
        return function

    return register


@operator("+", 1)
def plus(a, b):
    return a + b


@operator("-", 1)
def minus(a, b):
    return a - b


@operator("*", 2)
def times(a, b):
    return a * b


# %%
variables = {"x": 4.0, "y": -1.0}


def value(stream, least=0):
    token = stream.pop(0)
    if token.text == "(":
        left = value(stream)
        stream.pop(0)
    else:
        left = variables[token.text] if token.kind is Kind.NAME else float(token.text)
    while stream and stream[0].text in operators and operators[stream[0].text][0] > least:
        strength, function = operators[stream.pop(0).text]
        left = function(left, value(stream, strength))
    return left


value(tokens("2*(x + 1.5) - y*3"))

# %% raises KeyError
value(tokens("z + 1"))

# %%
variables["z"] = 10
results = {text: value(tokens(text)) for text in ("z + 1", "x*x - z", "(1 + 2)*3")}
results
