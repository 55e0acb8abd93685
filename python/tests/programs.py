"""Random notebooks: cells over containers, arrays and their views, classes, closures and aliases; and travels."""

from __future__ import annotations

import functools
import itertools
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from hypothesis import assume
from hypothesis import strategies as st

NAMES = tuple("abcdefgh")
_STEPS_MAX = 9
_PLACES_MAX = 60

_IMPORTS = "import numpy, copy, functools, collections"
_CLASSES = (
    "class C:\n    held = []\n    def __init__(self, x): self.x = x\n"
    "    def put(self, v): self.y = v; return self\n    def hold(self, v): self.held.append(v)\n"
    "class D(C):\n    def put(self, v): self.held = [v]; return super().put(v)\n"
    "class S:\n    __slots__ = ('x', 'y')\n    def __init__(self, x): self.x = x\n"
    "class L(list): pass\nclass M(dict): pass"
)
_FUNCTIONS = (
    "def make(n, seen):\n    def step(v):\n        nonlocal n\n        n += 1\n        seen.append(v)\n"
    "    def look(): return n, seen\n    return step, look\n"
    "def keep(v, kept=[]): kept.append(v); return kept\n"
    "def far(v): a.append(v); return b\n"
    "def put(v):\n    global c\n    c = v"
)


@dataclass(frozen=True)
class Cell:
    """Code to be run."""

    code: str


@dataclass(frozen=True)
class Checkout:
    """Go to what this cell left, by its number. by_undo: undo first; anew: in a new process; looks: at all, then."""

    cell: int
    by_undo: bool = False
    anew: bool = False
    looks: bool = False


Step = Cell | Checkout
Draw = Callable[[st.SearchStrategy[Any]], Any]


def new_namespace() -> dict[str, Any]:
    return {"__builtins__": __builtins__, "__name__": "__main__"}


_DIMENSIONS = 32


@functools.lru_cache(20_000)
def _compiled(code: str) -> types.CodeType:
    return compile(code, "<cell>", "exec")


def execute(code: str, namespace: dict[str, Any]) -> bool:
    """Run a cell. Whether it ended without an error."""
    try:
        exec(_compiled(code), namespace)
    except Exception as error:
        assert not isinstance(error, SyntaxError), code
        return False
    finally:
        # numpy makes these of a list that holds itself, and cannot pickle them.
        arrays = (value for value in namespace.values() if isinstance(value, numpy.ndarray))
        if any(array.ndim > _DIMENSIONS for array in arrays):
            assume(False)
    return True


def replayed(path: Sequence[str]) -> dict[str, Any]:
    """What these cells make of a new namespace."""
    namespace = new_namespace()
    for code in path:
        execute(code, namespace)
    return namespace


@dataclass(frozen=True)
class Kind:
    """A kind of notebook: what its first cell may define, and expressions for new values, two places to be filled."""

    definitions: Sequence[str]
    fresh: Sequence[str]


@st.composite
def programs(draw: Draw, kind: Kind) -> list[Step]:
    """Steps that make sense one after the other: each cell is drawn from what the ones before it made."""
    choose = _Chooser(draw, kind)
    begin = "\n".join([_IMPORTS, *(some for some in kind.definitions if choose.often())])
    namespace = replayed([begin])
    steps: list[Step] = [Cell("\n".join([begin, *_lines(choose, namespace, choose.number(0, 8), _assignment)]))]
    paths = [[steps[0].code]]
    path = paths[0]
    for _ in range(choose.number(1, _STEPS_MAX)):
        if len(paths) > 1 and choose.number(0, 4) == 0:
            checkout = _checkout(choose, len(paths))
            steps.append(checkout)
            path = paths[checkout.cell]
            namespace = replayed(path)
        else:
            cell = Cell("\n".join(_lines(choose, namespace, choose.number(1, 4), _statement)))
            steps.append(cell)
            path = [*path, cell.code]
            paths.append(path)
    steps.append(_checkout(choose, len(paths)))
    return steps


def _lines(
    choose: _Chooser, namespace: dict[str, Any], count: int, draw_line: Callable[[_Chooser, dict[str, Any]], str]
) -> list[str]:
    """Lines, each drawn from what those before it made of the namespace."""
    lines = []
    for _ in range(count):
        lines.append(draw_line(choose, namespace))
        execute(lines[-1], namespace)
    return lines


def _checkout(choose: _Chooser, cells: int) -> Checkout:
    return Checkout(choose.number(0, cells - 1), choose.seldom(), choose.seldom(), choose.seldom())


_NUMBERS = [st.integers(0, most) for most in range(200)]


class _Chooser:
    """Draws numbers; the first choice is the simplest."""

    def __init__(self, draw: Draw, kind: Kind) -> None:
        self._draw = draw
        self.kind = kind

    def number(self, least: int, most: int) -> int:
        return least + int(self._draw(_NUMBERS[most - least])) if most > least else least

    def of(self, options: Sequence[Any]) -> Any:
        return options[self.number(0, len(options) - 1)]

    def often(self) -> bool:
        return self.number(0, 2) > 0

    def seldom(self) -> bool:
        return self.number(0, 4) == 4


def _places(namespace: dict[str, Any]) -> list[tuple[str, Any]]:
    """Expressions for what can be reached from the variables, with their values; nearer ones first."""
    found = [(name, namespace[name]) for name in NAMES if name in namespace]
    for expression, value in found:
        if len(found) >= _PLACES_MAX:
            break
        if expression.count("[") + expression.count(".") < 3:
            found += itertools.islice(_within(expression, value), 4)
    return found[:_PLACES_MAX]


def _within(expression: str, value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case list() | tuple() | deque():
            yield from ((f"{expression}[{index}]", item) for index, item in enumerate(value))
        case dict():
            yield from ((f"{expression}[{key!r}]", item) for key, item in value.items())
        case numpy.ndarray() if value.dtype.hasobject and value.ndim == 1:
            yield from ((f"{expression}[{index}]", item) for index, item in enumerate(value))
        case functools.partial():
            yield from ((f"{expression}.args[{index}]", item) for index, item in enumerate(value.args))
    if type(value).__module__ == "__main__":
        names = [*getattr(value, "__dict__", {}), *getattr(value, "__slots__", ())]
        yield from ((f"{expression}.{name}", getattr(value, name)) for name in names if hasattr(value, name))


_ATOMS = ("1", "'t'", "None", "2.5", "(1, 2)", "()", "-300", "b'b'", "True", "'two words'", "10**20", "frozenset({1})")
_CONTAINERS = (
    *("[{}, {}]", "[]", "{{'k': {}}}", "{{}}", "({}, {})", "{{1, 2}}", "{{'s'}}", "collections.deque([{}])"),
    *("collections.deque([{}], 2)", "collections.defaultdict(list, k={})", "collections.OrderedDict(k={})"),
    *("bytearray(b'abc')", "[[{}], [{}]]", "{{'k': [{}], 'm': {}}}", "[{}] * 2", "range(3)", "slice(1, None)"),
)
_INSTANCES = (
    "C({})",
    "D({})",
    "S({})",
    "L([{}])",
    "M(k={})",
    "C",
    "D",
    "C({}).put",
    "C({}).put({})",
    "type('T', (C,), {{}})",
)
_CALLS = ("make(1, [])", "make({}, [{}])[0]", "keep", "keep({})", "functools.partial(keep, {})", "far", "put")
_ARRAYS = (
    *("numpy.arange(6)", "numpy.zeros((2, 3))", "numpy.arange(200.)", "numpy.array([{}, None], dtype=object)"),
    *("numpy.asfortranarray(numpy.arange(6.).reshape(2, 3))", "numpy.array(['x', 'yy'])", "numpy.int64(3)"),
    *("numpy.arange(9000)", "numpy.ones(3, dtype=[('p', 'i4'), ('q', 'f8')])", "numpy.array(5)", "[{}, {}]"),
    *("numpy.frombuffer(bytearray(b'abcdefgh'), 'u1')", "numpy.zeros((0, 2))", "({}, {})", "{{'k': {}}}", "[{}]"),
    "numpy.array([[{}], [{}]], dtype=object)",
    *(
        "numpy.array(['2026-01-01'], 'M8[D]')",
        "numpy.frombuffer(b'abcd', 'u1')",
    ),
)
OBJECTS = Kind([_CLASSES, _FUNCTIONS], (*_CONTAINERS, *_INSTANCES, *_CALLS))
ARRAYS = Kind([], _ARRAYS)

_OF_PLACE = ("list({})", "copy.copy({})", "copy.deepcopy({})", "{}")

# Expressions and statements by the type of what they begin with.
_EXPRESSIONS: tuple[tuple[type | tuple[type, ...], tuple[str, ...]], ...] = (
    ((list, tuple), ("{0}[1:]", "{0}[:]", "{0} + {0}[:1]", "{0}[::-1]", "({0}, {0})")),
    (dict, ("dict({0})", "{0}.copy()", "list({0}.values())", "{{**{0}}}")),
    (set, ("{0} | {{5}}", "frozenset({0})")),
    (
        numpy.ndarray,
        (
            *("{0}[1:]", "{0}[::2]", "{0}[::-1]", "{0}.T", "{0}.reshape(-1)", "{0}.copy()", "{0}[...]", "{0}[:1]"),
            *(
                "{0}.view()",
                "{0}.ravel()",
                "{0}.view('u1')",
                "numpy.broadcast_to({0}, (2, *{0}.shape))",
            ),
            *(
                "numpy.lib.stride_tricks.sliding_window_view({0}, 1, writeable=True)",
                "{0}[0]",
                "{0}['p']",
                "{0}.real",
                "{0}.flat[0]",
            ),
        ),
    ),
    (bytearray, ("numpy.frombuffer({0}, 'u1')", "bytes({0})")),
    (types.FunctionType, ("functools.partial({0}, {1})", "{0}.__closure__", "{0}({1})", "{0}()")),
    (types.MethodType, ("{0}.__self__", "{0}({1})")),
)
_STATEMENTS: tuple[tuple[type | tuple[type, ...], tuple[str, ...]], ...] = (
    (
        list,
        (
            *("{0}.append({1})", "{0}[0] = {1}", "{0}[-1] = {1}", "{0}.insert(0, {1})", "{0}.pop()", "{0}.clear()"),
            *("{0} += [{1}]", "del {0}[0]", "{0}[:] = [{1}]", "{0}.reverse()", "{0}.extend([{1}, {1}])"),
        ),
    ),
    (
        dict,
        (
            *("{0}['k'] = {1}", "{0}['m'] = {1}", "{0}.pop('k', None)", "{0}.setdefault('n', []).append({1})"),
            *("{0}.clear()", "{0} |= {{'k': {1}}}", "{0}.update(k={1})", "{0}['k'] = {0}.pop('k')", "{0}[1] = {1}"),
        ),
    ),
    (set, ("{0}.add(7)", "{0}.discard(1)", "{0} |= {{8}}", "{0}.clear()", "{0}.add((1, 's'))")),
    (
        deque,
        ("{0}.append({1})", "{0}.appendleft({1})", "{0}.rotate(1)", "{0}.popleft()", "{0}[0] = {1}", "{0}.clear()"),
    ),
    (
        numpy.ndarray,
        (
            *("{0}[0] = 7", "{0}[-1:] = 1", "{0} += 1", "{0}[::2] = 9", "{0}.fill(3)", "{0}[0] = {1}", "{0}.sort()"),
            *("{0}.flags.writeable = False", "{0}.flat[0] = 4", "{0}['p'] = 2", "{0}.shape = (-1,)", "{0}[...] = {0}"),
        ),
    ),
    (bytearray, ("{0}[0] = 1", "{0}.append(2)", "{0}.clear()", "{0} += b'z'")),
    (types.FunctionType, ("{0}({1})", "{0}.mark = {1}", "{0}.__defaults__[0].append({1})")),
    (types.MethodType, ("{0}({1})",)),
    (type, ("{0}.held.append({1})", "{0}.held = {1}", "{0}.more = {1}", "del {0}.more")),
)
_OF_INSTANCES = ("{0}.x = {1}", "{0}.y = {1}", "del {0}.x", "{0}.put({1})", "{0}.hold({1})", "{0}.x.append({1})")


def _assignment(choose: _Chooser, namespace: dict[str, Any]) -> str:
    return f"{choose.of(NAMES)} = {_expression(choose, namespace, _places(namespace))}"


def _statement(choose: _Chooser, namespace: dict[str, Any]) -> str:
    places = _places(namespace)
    way = choose.number(0, 11)
    if way == 0 or not places:
        return f"{choose.of(NAMES)} = {_expression(choose, namespace, places)}"
    if way == 1:
        return f"{choose.of(NAMES)} = {choose.of(NAMES)} = {_expression(choose, namespace, places)}"
    if way == 2:
        return f"del {choose.of([name for name in NAMES if name in namespace])}"
    changeable = [(expression, templates) for expression, value in places if (templates := _changes_of(value))]
    if not changeable:
        return f"{choose.of(NAMES)} = {_expression(choose, namespace, places)}"
    expression, templates = choose.of(changeable)
    return str(choose.of(templates).format(expression, _expression(choose, namespace, places)))


def _changes_of(value: object) -> tuple[str, ...]:
    own = _OF_INSTANCES if type(value).__module__ == "__main__" else ()
    changes = (*itertools.chain.from_iterable(t for kinds, t in _STATEMENTS if isinstance(value, kinds)), *own)
    if isinstance(value, numpy.ndarray) and value.dtype.hasobject:  # numpy recurses into itself without a limit
        return tuple(change for change in changes if change not in ("{0} += 1", "{0}.sort()"))
    return changes


def _expression(choose: _Chooser, namespace: dict[str, Any], places: Sequence[tuple[str, Any]]) -> str:
    way = choose.number(0, 9)
    if way == 0 or (way < 5 and not places):
        return str(choose.of(_ATOMS))
    if way < 3:
        return str(choose.of(places)[0])
    if way < 5:
        expression, value = choose.of(places)
        templates = [t for kinds, of_kind in _EXPRESSIONS if isinstance(value, kinds) for t in of_kind]
        if (
            isinstance(value, numpy.ndarray) and value.dtype.names
        ):  # a record is a view (docs/internals/state-limits.md)
            templates = [template for template in templates if template not in ("{0}[0]", "{0}.flat[0]")]
        return str(choose.of([*templates, *_OF_PLACE]).format(expression, _atom_or_place(choose, places)))
    return str(choose.of(choose.kind.fresh).format(*(_atom_or_place(choose, places) for _ in range(2))))


def _atom_or_place(choose: _Chooser, places: Sequence[tuple[str, Any]]) -> str:
    return str(choose.of(places)[0]) if places and choose.often() else str(choose.of(_ATOMS))
