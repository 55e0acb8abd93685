"""Says in words where two descriptions of namespaces (_describe.py) differ."""

import re
from itertools import zip_longest

Line = tuple[str, str]  # the place, and what is there

_TEXT_MAX = 70
_NAME = re.compile(r"\w+")


def difference(expected: list[Line], found: list[Line]) -> str:
    """Names that only one has, else the first place that differs; empty when the two are equal.

    How arrays lie in memory, and which frames have one index, is no difference here: `layout_difference`.
    """
    if expected == found:  # with millions of lines the comparison below would take long
        return ""
    return _difference(_without_layout(expected), _without_layout(found))


def layout_difference(expected: list[Line], found: list[Line]) -> str:
    """The first array with other strides, or that can be written where it could not; or an index that is shared."""
    return "" if difference(expected, found) else _difference(expected, found)


def _without_layout(lines: list[Line]) -> list[Line]:
    return [line for line in lines if not line[0].endswith(".layout")]


def _difference(expected: list[Line], found: list[Line]) -> str:
    if expected == found:
        return ""
    before, after = (_names(lines) for lines in (expected, found))
    parts = []
    if missing := sorted(before - after):
        parts.append(f"missing: {', '.join(missing)}")
    if new := sorted(after - before):
        parts.append(f"not there before: {', '.join(new)}")
    if parts:
        return "; ".join(parts)
    for (place, text), (other_place, other) in zip_longest(expected, found, fillvalue=("the end", "")):
        if place != other_place:
            return f"{place}: {_cut(text)}, now {other_place}: {_cut(other)}"
        if text != other:
            return f"{place}: {_cut(text)}, now {_cut(other)}"
    return ""


def _names(lines: list[Line]) -> set[str]:
    return {name[0] for place, _ in lines if (name := _NAME.match(place))}


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 1]}…"
