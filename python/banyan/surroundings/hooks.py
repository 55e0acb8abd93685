"""What Python calls on behalf of cells: hooks of sys, threading, warnings and logging, and streams
that cells replaced.
"""

from __future__ import annotations

import gc
import itertools
import logging
import operator
import sys
import threading
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from banyan.state import own
from banyan.surroundings.part import Part, Resists

# sys.excepthook and sys.displayhook are not among them: a shell sets both for each cell and restores them afterwards.
_ATTRIBUTES: dict[str, tuple[Any, str]] = {
    "sys.unraisablehook": (sys, "unraisablehook"),
    "sys.breakpointhook": (sys, "breakpointhook"),
    "sys.stdout": (sys, "stdout"),
    "sys.stderr": (sys, "stderr"),
    "sys.stdin": (sys, "stdin"),
    "threading.excepthook": (threading, "excepthook"),
    "warnings.showwarning": (warnings, "showwarning"),
    "warnings.formatwarning": (warnings, "formatwarning"),
    "logging.lastResort": (logging, "lastResort"),
}
# The attributes of modules that this part keeps, as (module, attribute). `attributes.py` leaves these out.
ATTRIBUTES = frozenset((module.__name__, attribute) for module, attribute in _ATTRIBUTES.values())
# By the function that sets it: how a hook is read, and how it is set.
_CALLED: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "sys.settrace": (sys.gettrace, sys.settrace),
    "sys.setprofile": (sys.getprofile, sys.setprofile),
    "threading.settrace": (threading.gettrace, threading.settrace),
    "threading.setprofile": (threading.getprofile, threading.setprofile),
    "logging.setLoggerClass": (logging.getLoggerClass, logging.setLoggerClass),
    "logging.setLogRecordFactory": (logging.getLogRecordFactory, logging.setLogRecordFactory),
}
_KEYS = [*_ATTRIBUTES, *_CALLED]
_MODULES, _NAMES = zip(*_ATTRIBUTES.values(), strict=True)
_READS = [read for read, _ in _CALLED.values()]
# Lists in which functions and finders of cells stand beside those that libraries add when they are imported.
_LISTS: dict[str, list[Any]] = {
    "gc.callbacks": gc.callbacks,
    "sys.meta_path": sys.meta_path,
    "sys.path_hooks": sys.path_hooks,
}
_FINDERS = ("sys.meta_path", "sys.path_hooks")


class _Hooks:
    def __init__(self) -> None:
        self._first = _now()
        self._before = dict(zip(_KEYS, self._first, strict=True))
        self._lists = {key: list(items) for key, items in _LISTS.items()}

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        now = _now()
        if not all(map(operator.is_, now, self._first)):
            found = {key: value for key, value in zip(_KEYS, now, strict=True) if value is not self._before[key]}
            found = {key: value for key, value in found.items() if not _is_the_process_s(key, value)}
            for key in found.keys() & {"sys.stdout", "sys.stderr"}:
                _forget_shells_write(found[key])
        for key, items in _LISTS.items():
            if items != self._lists[key]:
                found |= {f"{key} {_name_of(one)}": (at, one) for at, one in enumerate(items) if is_users(one)}
        return found

    def write(self, wanted: dict[str, Any]) -> None:
        reasons: dict[str, str] = {}
        for key, now in zip(_KEYS, _now(), strict=True):
            value = wanted.get(key, self._before[key])
            if now is value or (key not in wanted and _is_the_process_s(key, now)):
                continue
            try:
                if key in _ATTRIBUTES:
                    setattr(*_ATTRIBUTES[key], value)
                else:
                    _CALLED[key][1](value)
            except Exception as error:
                reasons[key] = str(error)
        for key, items in _LISTS.items():
            rest = [one for one in items if not is_users(one)]
            for at, one in sorted((one for name, one in wanted.items() if name.startswith(key + " ")), key=_place):
                rest.insert(at, one)
            if rest != items:
                items[:] = rest
        if reasons:
            raise Resists(reasons)


def find_early(values: Mapping[str, Any]) -> None:
    """Put back the finders among these values at once, because loading the variables may need them.

    values: by their names in the log.
    """
    for name, value in values.items():
        for key in _FINDERS:
            if name.startswith(f"<hooks: {key} "):
                at, one = value
                if one not in _LISTS[key]:
                    _LISTS[key].insert(at, one)


def _place(each: tuple[int, Any]) -> int:
    return each[0]


def _name_of(one: Any) -> str:
    return str(getattr(one, "__qualname__", type(one).__qualname__))


def _now() -> list[Any]:
    """The current hooks, in the order of _KEYS. It runs after each cell."""
    return [*map(getattr, _MODULES, _NAMES, itertools.repeat(None)), *map(operator.call, _READS)]


def _is_the_process_s(key: str, value: object) -> bool:
    """Whether a debugger has set the hook. What logging.captureWarnings sets is kept as a setting
    of logging instead.
    """
    if key == "warnings.showwarning" and value is logging._showwarning:  # type: ignore[attr-defined]
        return True
    module = str(getattr(value, "__module__", None) or type(value).__module__)
    return module.partition(".")[0] in ("pydevd", "_pydevd_bundle", "debugpy", "coverage")


def is_users(one: Any) -> bool:
    """Whether a function, a class, or the class of an object is defined by a cell or by one of the user's modules."""
    one = getattr(one, "func", None) or getattr(one, "__func__", one)
    defined = one if isinstance(one, (type, types.FunctionType)) else type(one)
    return defined.__module__ == "__main__" or defined.__module__ in own.known


def _forget_shells_write(stream: Any) -> None:
    """Delete the method that IPython leaves in a stream object's attributes, after it has wrapped the
    method during a cell.
    """
    attributes = getattr(stream, "__dict__", {})
    write = attributes.get("write")
    left_behind = getattr(write, "__self__", None) is stream and getattr(write, "__name__", "") == "write"
    if left_behind or str(getattr(write, "__qualname__", "")).startswith("InteractiveShell._tee"):
        del attributes["write"]


def parts() -> list[Part]:
    hooks = _Hooks()
    about = "hooks of sys, threading, warnings and logging, and streams that cells put in the place of the kernel's"
    return [Part("<hooks>", about, hooks.read, hooks.write, holds=True)]
