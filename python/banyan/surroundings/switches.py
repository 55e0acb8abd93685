"""Settings that no variable of a library shows: one function sets them, and another one reads them.

`libraries.py` reads one only around cells that call a function which may set it.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Switch:
    """One such setting. calls: the names of functions that set it; a cell that calls none of these leaves it alone."""

    name: str
    calls: frozenset[str]
    read: Callable[[], Any]
    write: Callable[[Any], object]


def _umask() -> int:
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as file:
        if found := re.search(rb"^Umask:\s*([0-7]+)", file.read(), re.MULTILINE):
            return int(found[1], 8)
    now = os.umask(0o077)
    os.umask(now)
    return now


def _limit(number: int) -> Switch:
    import resource

    def write(wanted: tuple[int, int]) -> None:
        """Set the limit as far as this process may: it cannot raise a hard limit that is lower here."""
        try:
            resource.setrlimit(number, wanted)
        except (OSError, ValueError):
            resource.setrlimit(number, (wanted[0], resource.getrlimit(number)[1]))

    name = next(name for name, value in vars(resource).items() if name.startswith("RLIMIT_") and value == number)
    return Switch(f"resource.{name}", frozenset({"setrlimit", "prlimit"}), lambda: resource.getrlimit(number), write)


def _limits() -> list[Switch]:
    """Empty where the system has no such limits."""
    try:
        import resource
    except ImportError:
        return []
    numbers = {value for name, value in vars(resource).items() if name.startswith("RLIMIT_")}
    return [_limit(number) for number in sorted(numbers)]


_DIALECT = "delimiter doublequote escapechar lineterminator quotechar quoting skipinitialspace strict".split()


def _dialects() -> dict[str, dict[str, Any]]:
    found = {name: csv.get_dialect(name) for name in csv.list_dialects()}
    return {name: {each: getattr(dialect, each) for each in _DIALECT} for name, dialect in found.items()}


def _set_dialects(wanted: Mapping[str, Mapping[str, Any]]) -> None:
    for name in csv.list_dialects():
        csv.unregister_dialect(name)
    for name, dialect in wanted.items():
        csv.register_dialect(name, **dialect)


def _tracing() -> int:
    tracemalloc = sys.modules.get("tracemalloc")
    return int(tracemalloc.get_traceback_limit()) if tracemalloc and tracemalloc.is_tracing() else 0


def _trace(frames: int) -> None:
    import tracemalloc

    if frames != _tracing():
        tracemalloc.stop()
        if frames:
            tracemalloc.start(frames)


def _special_errors() -> dict[str, str]:
    """How scipy.special treats errors."""
    special: Any = sys.modules.get("scipy.special")
    return dict(special.geterr()) if hasattr(special, "geterr") else {}


def _set_special_errors(wanted: Mapping[str, str]) -> None:
    import scipy.special  # type: ignore[import-untyped]

    scipy.special.seterr(**wanted)


def _domain() -> str:
    """The domain of gettext's messages."""
    gettext: Any = sys.modules.get("gettext")
    return str(gettext.textdomain()) if hasattr(gettext, "textdomain") else "messages"


def _set_domain(domain: str) -> None:
    import gettext

    gettext.textdomain(domain)


def _blocked() -> list[int]:
    """The signals that wait until they are unblocked."""
    return sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))


def _block(signals: Sequence[int]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, signals)


def _priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def _set_priority(value: int) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, value)


SWITCHES = {
    each.name: each
    for each in (
        Switch("umask", frozenset({"umask"}), _umask, os.umask),
        Switch("priority", frozenset({"nice", "setpriority"}), _priority, _set_priority),
        Switch(
            "processors",
            frozenset({"sched_setaffinity"}),
            lambda: os.sched_getaffinity(0),
            lambda wanted: os.sched_setaffinity(0, wanted),
        ),
        *_limits(),
        Switch("csv dialects", frozenset({"register_dialect", "unregister_dialect"}), _dialects, _set_dialects),
        Switch("scipy.special.errors", frozenset({"seterr"}), _special_errors, _set_special_errors),
        Switch("csv.field_size_limit", frozenset({"field_size_limit"}), csv.field_size_limit, csv.field_size_limit),
        Switch("tracemalloc", frozenset({"start", "stop"}), _tracing, _trace),
        Switch("gettext.textdomain", frozenset({"textdomain"}), _domain, _set_domain),
        Switch("blocked signals", frozenset({"pthread_sigmask"}), _blocked, _block),
        Switch("flags of dlopen", frozenset({"setdlopenflags"}), sys.getdlopenflags, sys.setdlopenflags),
        Switch(
            "origins of coroutines",
            frozenset({"set_coroutine_origin_tracking_depth"}),
            sys.get_coroutine_origin_tracking_depth,
            sys.set_coroutine_origin_tracking_depth,
        ),
    )
}

# By the name of a function: the settings that it may set.
BY_CALL = {
    call: [name for name, each in SWITCHES.items() if call in each.calls]
    for call in frozenset().union(*(each.calls for each in SWITCHES.values()))
}
