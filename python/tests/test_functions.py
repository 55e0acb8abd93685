"""What of a function is pickled beside its code."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from banyan.state import serialise


@pytest.fixture
def scope() -> Iterator[dict[str, Any]]:
    """A notebook's namespace."""
    before, names = serialise.live_namespace(), {"__name__": "__main__"}
    serialise.bind_namespace(names)
    yield names
    serialise.bind_namespace(before)


def define(scope: dict[str, Any], code: str) -> Callable[..., Any]:
    """The function `f` that a cell defines: with none of the features that this file imports from the future."""
    exec(compile(code, "<cell>", "exec", dont_inherit=True), scope)
    return scope["f"]


def again(function: Callable[..., Any]) -> Callable[..., Any]:
    pickled = serialise.dump({"f": function})
    return serialise.load(bytes(pickled.pickle), [bytes(buffer) for buffer in pickled.buffers])["f"]


def test_annotations_are_kept(scope: dict[str, Any]) -> None:
    loaded = again(define(scope, "def f(x: int) -> list[str]: pass"))
    assert loaded.__annotations__ == {"x": int, "return": list[str]}


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are worked out late from Python 3.14 on")
def test_annotations_may_name_what_is_not_there_yet(scope: dict[str, Any]) -> None:
    loaded = again(define(scope, "def f(x: Later) -> int: return x"))
    assert loaded(3) == 3
    scope["Later"] = float
    assert loaded.__annotations__ == {"x": float, "return": int}


def test_a_function_of_a_library_that_is_pickled_by_value_may_call_itself(scope: dict[str, Any]) -> None:
    code = "def make():\n    def g(x): return 0 if x == 0 else 1 + g(x - 1)\n    def f(x): return g(x)\n    return f\n"
    library: dict[str, Any] = {"__name__": "a_library"}
    exec(code, library)
    assert again(library["make"]())(3) == 3
