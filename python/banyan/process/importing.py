"""Tells others when the import of an installed library begins and when it ends.

What a library does to the process while it is imported is done again in each process that imports it; what a cell does
by calling the library is not. Only those who look before and after can tell the two apart.
"""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

# Called when an import begins that no other import has caused; what it returns is called when that import has ended.
_watchers: list[Callable[[], Callable[[], None]]] = []
_after: dict[str, Callable[[types.ModuleType], None]] = {}


class _UnderWay(threading.local):
    """Whether this thread imports a library now."""

    now = False


_under_way = _UnderWay()


def watch(begins: Callable[[], Callable[[], None]]) -> None:
    _watchers.append(begins)


def after(module: str, do: Callable[[types.ModuleType], None]) -> None:
    """Call `do` with the module whenever the module of this name has been imported."""
    _after[module] = do


def tell_of(spec: ModuleSpec) -> None:
    """The module of this spec is about to be imported by its loader. The loader is as it was once it has begun."""
    loader: Any = spec.loader
    if loader is None or not hasattr(loader, "exec_module"):
        return
    execute = loader.exec_module

    def exec_module(module: types.ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        if _under_way.now:
            execute(module)
        else:
            _tell(execute, module)
        if module.__name__ in _after:
            _after[module.__name__](module)

    with contextlib.suppress(AttributeError, TypeError):  # Some loaders are classes, or take no attributes.
        loader.exec_module = exec_module


def _tell(execute: Callable[[types.ModuleType], None], module: types.ModuleType) -> None:
    ends = []
    for begins in _watchers:
        with contextlib.suppress(Exception):
            ends.append(begins())
    _under_way.now = True
    try:
        execute(module)
    finally:
        _under_way.now = False
        for end in ends:
            with contextlib.suppress(Exception):
                end()
