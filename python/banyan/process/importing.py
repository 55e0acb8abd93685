"""Tells others when the import of an installed library begins and when it ends.

What a library does to the process while it is imported is done again in each process that imports it; what a cell does
by calling the library is not. Only those who look before and after can tell the two apart.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import types
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

# By name: called when an import begins that no other import has caused; what it returns is called when that import has
# ended.
_watchers: dict[str, Callable[[], Callable[[], None]]] = {}
_after: dict[str, Callable[[types.ModuleType], None]] = {}


class _UnderWay(threading.local):
    """Whether this thread imports a library now."""

    now = False


_under_way = _UnderWay()


def watch(name: str, begins: Callable[[], Callable[[], None]]) -> None:
    """Let `begins` be called, in the place of what was called by this name before."""
    _watchers[name] = begins


def after(module: str, do: Callable[[types.ModuleType], None]) -> None:
    """Call `do` with the module whenever the module of this name has been imported."""
    _after[module] = do


def tell_of(spec: ModuleSpec) -> None:
    """The module of this spec is about to be imported by its loader. The loader is as it was once it has begun."""
    loader: Any = spec.loader
    if loader is None or not hasattr(loader, "exec_module"):
        return
    with contextlib.suppress(AttributeError, TypeError):  # Some loaders are classes, or take no attributes.
        loader.exec_module = functools.partial(_exec_module, loader, loader.exec_module)


def imported(module: types.ModuleType) -> None:
    """A module has been imported."""
    if module.__name__ in _after:
        _after[module.__name__](module)


def _as_pythons_own(function: Any) -> Any:
    """Let Python take the function's frames for those of its import system: warnings that name their caller's caller
    pass over these, and tracebacks leave them out (`is_internal_frame` and `remove_importlib_frames` in its sources).
    """
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    return function


@_as_pythons_own
def _exec_module(loader: Any, execute: Callable[[types.ModuleType], None], module: types.ModuleType) -> None:
    vars(loader).pop("exec_module", None)
    if _under_way.now:
        execute(module)
    else:
        _tell(execute, module)
    imported(module)


@_as_pythons_own
def _tell(execute: Callable[[types.ModuleType], None], module: types.ModuleType) -> None:
    ends = []
    for begins in list(_watchers.values()):
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
