"""Handlers of signals, and the timers that send signals."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import signal
import time
from typing import Any

from banyan.surroundings.part import Part, Resists

# The kernel sets a handler of SIGINT for each request, and the other two can have none.
_NOT_OURS = frozenset({signal.SIGINT, signal.SIGKILL, signal.SIGSTOP})
_SIGNALS = sorted(each for each in signal.Signals if each not in _NOT_OURS)
_NUMBERS = [int(each) for each in _SIGNALS]

# Which timer sends which signal.
_TIMERS = {
    signal.SIGALRM: signal.ITIMER_REAL,
    signal.SIGVTALRM: signal.ITIMER_VIRTUAL,
    signal.SIGPROF: signal.ITIMER_PROF,
}


class _Handlers:
    def __init__(self) -> None:
        self._before = [signal.getsignal(each) for each in _SIGNALS]

    def read(self) -> dict[str, Any]:
        """It runs after each cell, so it first compares the plain values: signal.getsignal would make
        enumerations of them.
        """
        if list(map(_signal.getsignal, _NUMBERS)) == self._before:
            return {}
        now = [signal.getsignal(each) for each in _SIGNALS]
        both = zip(_SIGNALS, now, self._before, strict=True)
        return {each.name: handler for each, handler, before in both if handler != before and handler is not None}

    def write(self, wanted: dict[str, Any]) -> None:
        running = {
            each: signal.setitimer(timer, 0) for each, timer in _TIMERS.items()
        }  # Stopped, because a signal that meets its default handler would end the process.
        reasons = {}
        for each, before in zip(_SIGNALS, self._before, strict=True):
            handler = wanted.get(each.name, before)
            if handler is None or signal.getsignal(each) == handler:
                continue
            try:
                signal.signal(each, handler)
            except (OSError, TypeError, ValueError) as error:
                reasons[each.name] = str(error)
        for each, (left_s, interval_s) in running.items():
            if left_s and callable(signal.getsignal(each)):
                signal.setitimer(_TIMERS[each], left_s, interval_s)
        if reasons:
            raise Resists(reasons)


def _read_timers() -> dict[str, tuple[float, float]]:
    """By signal: seconds until the next one, and seconds between two."""
    now = {each.name: signal.getitimer(timer) for each, timer in _TIMERS.items()}
    return {name: timer for name, timer in now.items() if timer[0]}


def _glance_at_timers() -> object:
    """When each timer ends: that stays the same while the timer runs on."""
    now = [signal.getitimer(timer) for timer in _TIMERS.values()]
    if not any(left for left, _ in now):
        return ()
    clocks = time.monotonic(), time.process_time(), time.process_time()
    ends = (left and round(clock + left, 1) for (left, _), clock in zip(now, clocks, strict=True))
    return [(each, 0 if each else end) for (_, each), end in zip(now, ends, strict=True)]


def _write_timers(wanted: dict[str, tuple[float, float]]) -> None:
    for each, timer in _TIMERS.items():
        left_s, interval_s = wanted.get(each.name, (0.0, 0.0))
        signal.setitimer(timer, left_s, interval_s)


def parts() -> list[Part]:
    handlers = _Handlers()
    return [
        Part("<signals>", "handlers of signals", handlers.read, handlers.write, holds=True),
        Part(
            "<timers>",
            "the timers of signal.setitimer and signal.alarm",
            _read_timers,
            _write_timers,
            _glance_at_timers,
            first={},
        ),
    ]
