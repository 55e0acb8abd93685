"""Tells what is the user's: code of the notebook, and of the user's own modules."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable
from typing import Any

from banyan.state import own
from banyan.state.serialise import live_namespace

_FRAMES_MAX = 100
_NAME_MAX = 80
# Attributes by which a library's callback object refers to the function that it calls, as tornado's PeriodicCallback.
_CALLS = ("callback", "_callback", "func", "fn", "function")


def is_global(namespace: object) -> bool:
    if namespace is live_namespace():
        return True
    if not own.known:
        return False
    return isinstance(namespace, dict) and namespace.get("__name__") in own.known


def is_users(runs: Any) -> bool:
    """Whether a function, a method, a callable object or a wrapper of one of these is the user's."""
    function = bare(runs) if type(runs) is not types.FunctionType else runs
    if is_global(getattr(function, "__globals__", None)):
        return True
    if isinstance(function, (types.FunctionType, types.BuiltinFunctionType, type)):
        return False
    called: Any = next((vars(kind)["__call__"] for kind in type(function).__mro__ if "__call__" in vars(kind)), None)
    return is_global(getattr(called, "__globals__", None))


def users_among(runs: Any, arguments: Iterable[Any] = ()) -> Any:
    """The user's function that a callback with these arguments leads to; None if there is none."""
    for each in (runs, *arguments):
        if not callable(each):
            continue
        if is_users(each):
            return each
        if type(each) is types.FunctionType:
            continue
        inner: tuple[Any, ...] = ()
        while isinstance(each, functools.partial):
            inner, each = (*inner, *each.args), each.func
        holder = getattr(each, "__self__", None)
        inner = (*inner, *(getattr(holder, name, None) for name in _CALLS))
        found = next((one for one in inner if one is not None and is_users(one)), None)
        if found is not None:
            return found
    return None


def bare(runs: Any) -> Any:
    """The function inside partials, methods and decorators."""
    for _ in range(8):
        inner = getattr(runs, "__func__", None) or (runs.func if isinstance(runs, functools.partial) else None)
        if inner is None:
            break
        runs = inner
    return runs


def code_on(frame: types.FrameType | None) -> types.CodeType | None:
    """The outermost code of the user that is on a thread's stack."""
    found = None
    for _ in range(_FRAMES_MAX):
        if frame is None:
            break
        if is_global(frame.f_globals):
            found = frame.f_code
        frame = frame.f_back
    return found


def name_of(runs: Any) -> str:
    """The name of a function, for the user."""
    function = bare(runs)
    name = getattr(function, "__qualname__", None) or getattr(function, "co_qualname", None)
    return str(name or type(function).__qualname__).removeprefix("<locals>.")[:_NAME_MAX]
