"""Python's own settings and those of the C library: limits, the collector, the locale, the time zone, decimals."""

from __future__ import annotations

import decimal
import faulthandler
import gc
import locale
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from banyan.surroundings.part import Moment, Part
from banyan.surroundings.settings import Access, Settings


def _limits() -> dict[str, Access]:
    return {
        "recursion limit": (sys.getrecursionlimit, sys.setrecursionlimit),
        "digits of an integer": (sys.get_int_max_str_digits, sys.set_int_max_str_digits),
        "switch interval": (sys.getswitchinterval, sys.setswitchinterval),
        "collection": (gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
        "thresholds of collection": (gc.get_threshold, lambda wanted: gc.set_threshold(*wanted)),
        "debugging of collection": (gc.get_debug, gc.set_debug),
        "stack of threads": (_stack_of_threads, threading.stack_size),
        "timeout of sockets": (socket.getdefaulttimeout, socket.setdefaulttimeout),
        "faulthandler": (faulthandler.is_enabled, lambda on: faulthandler.enable() if on else faulthandler.disable()),
        "traceback limit": (lambda: getattr(sys, "tracebacklimit", None), _limit_tracebacks),
        "bytecode is written": (lambda: not sys.dont_write_bytecode, _write_bytecode),
    }


def _stack_of_threads() -> int:
    """To ask for it sets it to the system's default, so it is set again."""
    size = threading.stack_size()
    if size:
        threading.stack_size(size)
    return size


def _limit_tracebacks(limit: int | None) -> None:
    if limit is not None:
        sys.tracebacklimit = limit
    elif hasattr(sys, "tracebacklimit"):
        del sys.tracebacklimit


def _write_bytecode(on: bool) -> None:
    sys.dont_write_bytecode = not on


# LC_ALL comes first: it has categories for which `locale` has no name. Earlier sessions stored only single categories.
_CATEGORIES = {"LC_ALL": locale.LC_ALL} | {
    name: getattr(locale, name) for name in vars(locale) if name.startswith("LC_")
}


def _locale() -> dict[str, Access]:
    def access(category: int) -> Access:
        return (lambda: locale.setlocale(category), lambda name: locale.setlocale(category, name))

    return {name: access(category) for name, category in _CATEGORIES.items()}


class _TimeZone:
    """What time.tzset has derived from the environment variable TZ."""

    def __init__(self) -> None:
        self._before = self._now()

    def read(self) -> Any:
        now = self._now()
        return {} if now == self._before else {"zone": now}

    def write(self, difference: Any) -> None:
        """The environment has been restored before."""
        time.tzset()
        if difference and self._now() != difference["zone"]:
            raise ValueError(f"the time zone {os.environ.get('TZ')!r} is not known here")

    def _now(self) -> Any:
        return time.tzname, time.timezone


class _Arguments:
    """sys.argv, where a cell has changed it. Otherwise each process keeps its own."""

    def __init__(self) -> None:
        self._before = list(sys.argv)

    def read(self) -> dict[str, list[str]]:
        return {} if sys.argv == self._before else {"argv": list(sys.argv)}

    def write(self, difference: dict[str, list[str]]) -> None:
        sys.argv[:] = difference.get("argv", self._before)


_DECIMAL = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _read_decimal(context: decimal.Context) -> dict[str, Any]:
    settings = {name: getattr(context, name) for name in _DECIMAL}
    return settings | {"traps": sorted(kind.__name__ for kind, on in context.traps.items() if on)}


def _copied(context: decimal.Context) -> Any:
    """All settings of a context in one call, without the flags, which every computation may raise."""
    settings = context.__reduce__()[1]
    return settings[:-2], settings[-1]


class _Decimals:
    def __init__(self, context: Callable[[], decimal.Context], untouched: Callable[[], decimal.Context]) -> None:
        """context: gives the one that counts now; untouched: gives what that is before a cell has set anything."""
        self._context, self._untouched = context, untouched

    def read(self) -> dict[str, Any]:
        context = self._context()
        return {} if _copied(context) == _copied(self._untouched()) else _read_decimal(context)

    def write(self, wanted: dict[str, Any]) -> None:
        context, settings = self._context(), wanted or _read_decimal(self._untouched())
        for name in _DECIMAL:
            setattr(context, name, settings[name])
        for kind in context.traps:
            context.traps[kind] = kind.__name__ in settings["traps"]


def parts() -> list[Part]:
    zone, arguments = _TimeZone(), _Arguments()
    first = decimal.DefaultContext.copy()
    default = _Decimals(lambda: decimal.DefaultContext, lambda: first)
    # Each thread's context begins as a copy of DefaultContext.
    decimals = _Decimals(decimal.getcontext, lambda: decimal.DefaultContext)
    return [
        Settings(_limits()).part("<interpreter>", "limits and other settings of Python itself"),
        Settings(_locale()).part("<locale>", "the locale of the C library"),
        Part("<timezone>", "the time zone of the C library", zone.read, zone.write, first={}),
        Part("<sys.argv>", "sys.argv, where cells change it", arguments.read, arguments.write, first={}),
        Part(
            "<decimal.DefaultContext>",
            "the context of decimal that threads begin with",
            default.read,
            default.write,
            first={},
        ),
        Part(
            "<decimal>",
            "the context of decimal",
            decimals.read,
            decimals.write,
            moment=Moment.CELL,
            first={},
        ),
    ]
