"""What cells change beside their variables: random number generators, the working directory, the environment, …

Each is a value under a name that no variable can have (`<cwd>`); it is reported, loaded and undone as a variable is.
A session that never touched one has no such value: it is then as it was when the worker began.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from traitlets import Bool
from traitlets.config import Configurable

from banyan.detect import Failure
from banyan.serialise import Pickled, Unserialisable, dump


@dataclass(frozen=True, slots=True)
class _Part:
    """One of them. `read` gives None while its library is not loaded; `write` loads it."""

    read: Callable[[], Any]
    write: Callable[[Any], None]


def _read_numpy() -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "random"):
        return None
    state = numpy.random.get_state(legacy=False)
    return {**state, "state": {key: _plain(value) for key, value in state["state"].items()}}


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _write_numpy(state: Any) -> None:
    import numpy

    numpy.random.set_state(state)


def _read_torch() -> Any:
    torch = sys.modules.get("torch")
    return bytes(torch.get_rng_state().tolist()) if torch is not None and hasattr(torch, "get_rng_state") else None


def _write_torch(state: bytes) -> None:
    import torch  # type: ignore[import-not-found]

    torch.set_rng_state(torch.tensor(list(state), dtype=torch.uint8))


def _write_warnings(filters: list[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined]


def _read_environ() -> dict[str, str | None]:
    changed = {name: value for name, value in os.environ.items() if _environ.get(name) != value}
    return changed | dict.fromkeys(_environ.keys() - os.environ.keys())


def _write_environ(difference: Mapping[str, str | None]) -> None:
    wanted = {name: value for name, value in {**_environ, **difference}.items() if value is not None}
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


# The environment as it was when the worker began: it is the host's, and no part of the session.
_environ: dict[str, str] = {}

# The backend is the front end's business.
_NOT_RC = frozenset({"backend", "backend_fallback", "interactive"})


def _read_rc() -> Any:
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is None or not hasattr(matplotlib, "rcParamsOrig"):
        return None
    original = matplotlib.rcParamsOrig
    items = dict.items(matplotlib.rcParams)
    return {key: value for key, value in items if key not in _NOT_RC and dict.get(original, key) != value}


def _write_rc(difference: dict[str, Any]) -> None:
    import matplotlib

    original = {key: value for key, value in dict.items(matplotlib.rcParamsOrig) if key not in _NOT_RC}
    settings: Any = matplotlib.rcParams
    dict.update(settings, original)  # not through RcParams, which warns of deprecated ones
    dict.update(settings, difference)


_PARTS = {
    "<cwd>": _Part(os.getcwd, os.chdir),
    "<environ>": _Part(_read_environ, _write_environ),
    "<random>": _Part(random.getstate, random.setstate),
    "<numpy.random>": _Part(_read_numpy, _write_numpy),
    "<torch.random>": _Part(_read_torch, _write_torch),
    "<warnings>": _Part(lambda: list(warnings.filters), _write_warnings),
    "<rcParams>": _Part(_read_rc, _write_rc),
}


class Capture(Configurable):
    """What Banyan keeps beside variables: `%config Capture.environ = False` leaves the environment out."""

    cwd = Bool(True, help="the working directory").tag(config=True)
    environ = Bool(True, help="environment variables that cells set or delete").tag(config=True)
    random = Bool(True, help="the state of Python's random module").tag(config=True)
    numpy_random = Bool(True, help="the state of numpy.random").tag(config=True)
    torch_random = Bool(True, help="the state of torch's generator on the CPU").tag(config=True)
    warnings = Bool(True, help="the filters of the warnings module").tag(config=True)
    rcParams = Bool(True, help="matplotlib's settings").tag(config=True)

    def wants(self, name: str) -> bool:
        return bool(getattr(self, name.strip("<>").replace(".", "_")))


class Surroundings:
    """Knows them as they were last reported or set. Made before any user code runs."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        _environ.clear()
        _environ.update(os.environ)
        self._first: dict[str, Any] = {}
        self._last: dict[str, Any] = {}

    def begin(self) -> None:
        """User code is about to run. What the kernel itself did meanwhile (it draws random numbers) is no change."""
        now = {name: part.read() for name, part in _PARTS.items() if not self._first or name == "<random>"}
        if not self._first:
            now["<rcParams>"] = now["<rcParams>"] or {}
            self._first = dict(now)
        self._last |= now

    def changes(self) -> list[Pickled]:
        """Those that differ from what was reported last; what a cell imported counts."""
        changed = []
        for name, part in _PARTS.items():
            try:
                now = part.read()
                if now is None or now == self._last[name] or not self._capture.wants(name):
                    continue
                self._last[name] = now
                changed.append(dump({name: now}))
            except (Unserialisable, OSError, ValueError):  # such as a working directory that was removed
                continue
        return changed

    def follow(self, values: Mapping[str, Any], deleted: Iterable[str]) -> list[Failure]:
        """Set them as a commit has them, the deleted ones as they were when the worker began. Those that resist."""
        if not self._first:
            self.begin()
        failed = []
        for name, value in {**{name: self._first.get(name) for name in deleted}, **values}.items():
            if name not in _PARTS or value is None or not self._capture.wants(name):
                continue
            try:
                _PARTS[name].write(value)
            except Exception as error:
                failed.append(Failure(name, "", f"cannot be restored: {error}"))
        for name, part in _PARTS.items():  # loading variables may have imported something
            with contextlib.suppress(OSError, ValueError):
                self._last[name] = part.read()
        return failed


def all_surroundings() -> list[str]:
    """Their names: what any cell may depend on."""
    return sorted(_PARTS)


def is_surrounding(name: str) -> bool:
    """Whether this is the name of one, and not of a variable."""
    return name.startswith("<")
