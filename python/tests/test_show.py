"""What the namespace holds when values of a commit cannot be had."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from travels import NoSurroundings

from banyan.restore.show import Applied, Lacking, Unreadable, Value, show
from banyan.state.detect import DigestDetector
from banyan.state.serialise import dump


def _shown(namespace: dict[str, Any], second: Callable[[], NoReturn]) -> Applied:
    """Show two values, of which the second one is read so."""
    shell: Any = SimpleNamespace(user_ns=namespace, builtin_trap=contextlib.nullcontext())
    surroundings: Any = NoSurroundings()
    first = Value(("a",), frozenset(), lambda: [bytes(dump({"a": 2}).pickle)])
    return show(shell, DigestDetector(namespace, {}), surroundings, [first, Value(("b",), frozenset(), second)], [])


def _fails(error: Exception) -> Callable[[], NoReturn]:
    def read() -> NoReturn:
        raise error

    return read


def test_where_nothing_can_be_read_no_variable_is_bound() -> None:
    namespace = {"a": 1}
    with pytest.raises(Unreadable):
        _shown(namespace, _fails(Unreadable("a frame ends early")))
    assert namespace == {"a": 1}


def test_where_a_block_is_lacking_the_others_are_bound() -> None:
    namespace = {"a": 1, "b": 1}
    assert _shown(namespace, _fails(Lacking())).lacking == ["b"]
    assert namespace == {"a": 2, "b": 1}
