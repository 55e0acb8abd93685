"""What cells change beside their variables: random number generators, the working directory, the environment, …

Each is a value under a name that no variable can have (`<cwd>`); it is reported, loaded and undone as a variable is.
A session that never touched one has no such value: it is then as it was when the worker began.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from traitlets import Bool
from traitlets.config import Configurable

from banyan.attributes import Attributes
from banyan.detect import Failure
from banyan.serialise import Pickled, dump


@dataclass(frozen=True, slots=True)
class _Part:
    """One of them. `read` gives None while its library is not loaded; `write` loads it.

    glance: cheaper than `read`, where that takes longer; while it gives the same, `read` does.
    """

    read: Callable[[], Any]
    write: Callable[[Any], None]
    glance: Callable[[], Any] | None = None


def _numpy_random() -> Any:
    """The module, when it is whole; to ask numpy for it would import it."""
    module = sys.modules.get("numpy.random")
    return module if hasattr(module, "get_state") else None


def _read_numpy() -> Any:
    generator = _numpy_random()
    if generator is None:
        return None
    state = generator.get_state(legacy=False)
    return {**state, "state": {key: _plain(value) for key, value in state["state"].items()}}


def _glance_at_numpy() -> Any:
    generator = _numpy_random()
    if generator is None:
        return None
    state = generator.get_state(legacy=False)
    numbers = [value.tobytes() if hasattr(value, "tobytes") else value for value in state.pop("state").values()]
    return state, numbers


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


def _glance_at_environ() -> Any:
    encoded = getattr(os.environ, "_data", None)  # what CPython keeps; os.environ decodes each item
    return dict(os.environ if encoded is None else encoded)


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


def _glance_at_rc() -> Any:
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is None or not hasattr(matplotlib, "rcParamsOrig"):
        return None
    return dict(dict.items(matplotlib.rcParams))  # its copy() looks at each by RcParams.__getitem__


def _write_rc(difference: dict[str, Any]) -> None:
    import matplotlib

    original = {key: value for key, value in dict.items(matplotlib.rcParamsOrig) if key not in _NOT_RC}
    settings: Any = matplotlib.rcParams
    dict.update(settings, original)  # not through RcParams, which warns of deprecated ones
    dict.update(settings, difference)


def _read_options() -> dict[str, Any] | None:
    config = sys.modules.get("pandas._config.config")
    if config is None or "pandas" not in sys.modules:
        return None
    now = ((key, _at(config._global_config, key)) for key in config._registered_options)
    return {key: value for key, value in now if value != config._registered_options[key].defval}


def _glance_at_options() -> Any:
    config = sys.modules.get("pandas._config.config")
    return None if config is None or "pandas" not in sys.modules else _copied(config._global_config)


def _copied(options: Any) -> Any:
    return {name: _copied(value) if type(value) is dict else value for name, value in options.items()}


def _at(options: Any, key: str) -> Any:
    return functools.reduce(lambda part, name: part[name], key.split("."), options)


def _write_options(difference: Mapping[str, Any]) -> None:
    import pandas  # type: ignore[import-untyped]

    config: Any = sys.modules["pandas._config.config"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deprecated ones
        for key in _read_options() or {}:
            if key not in difference:
                pandas.set_option(key, config._registered_options[key].defval)
        for key, value in difference.items():
            if _at(config._global_config, key) != value:
                pandas.set_option(key, value)


# How numpy prints where nobody has set it.
_PRINT: dict[str, Any] = {
    "edgeitems": 3,
    "floatmode": "maxprec",
    "formatter": None,
    "infstr": "inf",
    "legacy": False,
    "linewidth": 75,
    "nanstr": "nan",
    "override_repr": None,
    "precision": 8,
    "sign": "-",
    "suppress": False,
    "threshold": 1000,
}


def _read_print() -> dict[str, Any] | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "get_printoptions"):
        return None
    return {key: value for key, value in numpy.get_printoptions().items() if _PRINT.get(key) != value}


def _write_print(difference: dict[str, Any]) -> None:
    import numpy

    known = numpy.get_printoptions().keys()
    numpy.set_printoptions(**{key: value for key, value in {**_PRINT, **difference}.items() if key in known})


def _read_logging() -> dict[str, tuple[int, bool, bool]]:
    loggers = list(logging.root.manager.loggerDict.items())
    now = {name: _told(logger) for name, logger in loggers if isinstance(logger, logging.Logger)}
    return {name: told for name, told in {**now, "root": _told(logging.root)}.items() if told != _untold(name)}


def _told(logger: logging.Logger) -> tuple[int, bool, bool]:
    return logger.level, logger.propagate, logger.disabled


def _untold(name: str) -> tuple[int, bool, bool]:
    return logging.WARNING if name == "root" else logging.NOTSET, True, False


def _write_logging(difference: Mapping[str, tuple[int, bool, bool]]) -> None:
    for name in _read_logging().keys() | difference.keys():
        logger = logging.getLogger(name)
        level, logger.propagate, logger.disabled = difference.get(name, _untold(name))
        logger.setLevel(level)


def _read_path() -> list[str | int]:
    # Those that the worker began with are the host's: a session has their places only.
    own = {entry: place for place, entry in enumerate(_path)}
    return [own.get(entry, entry) for entry in sys.path if isinstance(entry, str)]


def _write_path(entries: list[str | int]) -> None:
    here = [_path[entry : entry + 1] if isinstance(entry, int) else [entry] for entry in entries]
    sys.path[:] = itertools.chain.from_iterable(here)


_path: list[str] = []

_PARTS = {
    "<sys.path>": _Part(_read_path, _write_path),
    "<cwd>": _Part(os.getcwd, os.chdir),
    "<environ>": _Part(_read_environ, _write_environ, _glance_at_environ),
    "<random>": _Part(random.getstate, random.setstate),
    "<numpy.random>": _Part(_read_numpy, _write_numpy, _glance_at_numpy),
    "<torch.random>": _Part(_read_torch, _write_torch),
    "<warnings>": _Part(lambda: list(warnings.filters), _write_warnings),
    "<rcParams>": _Part(_read_rc, _write_rc, _glance_at_rc),
    "<pandas.options>": _Part(_read_options, _write_options, _glance_at_options),
    "<numpy.printoptions>": _Part(_read_print, _write_print),
    "<logging>": _Part(_read_logging, _write_logging),
}


# Context variables: cells have a context of their own, which is there when one begins.
_OF_CONTEXT = frozenset({"<numpy.printoptions>"})

# What loading a value depends on.
_EARLY = frozenset({"<sys.path>", "<cwd>"})

_ATTRIBUTES = "<modules>"


class Capture(Configurable):
    """What Banyan keeps beside variables: `%config Capture.environ = False` leaves the environment out."""

    sys_path = Bool(True, help="where modules are found: sys.path").tag(config=True)
    modules = Bool(True, help="attributes that cells set on modules").tag(config=True)
    cwd = Bool(True, help="the working directory").tag(config=True)
    environ = Bool(True, help="environment variables that cells set or delete").tag(config=True)
    random = Bool(True, help="the state of Python's random module").tag(config=True)
    numpy_random = Bool(True, help="the state of numpy.random").tag(config=True)
    torch_random = Bool(True, help="the state of torch's generator on the CPU").tag(config=True)
    warnings = Bool(True, help="the filters of the warnings module").tag(config=True)
    rcParams = Bool(True, help="matplotlib's settings").tag(config=True)
    pandas_options = Bool(True, help="the options of pandas").tag(config=True)
    numpy_printoptions = Bool(True, help="how numpy prints").tag(config=True)
    logging = Bool(True, help="the levels of loggers, and whether they are disabled or propagate").tag(config=True)

    def wants(self, name: str) -> bool:
        return bool(getattr(self, name.strip("<>").replace(".", "_")))


class Surroundings:
    """Knows them as they were last reported or set. Made before any user code runs."""

    def __init__(self, capture: Capture, namespace: dict[str, Any]) -> None:
        self._capture = capture
        self._attributes = Attributes(namespace)
        self._parts = {
            **_PARTS,
            _ATTRIBUTES: _Part(self._attributes.read, self._attributes.write, self._attributes.glance),
        }
        _path[:] = sys.path
        _environ.clear()
        _environ.update(os.environ)
        self._first: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        self._late: dict[str, Any] = {}
        self._glances: dict[str, Any] = {}  # at what `_last` has

    def begin(self, stores: Iterable[tuple[str, str]] = ()) -> None:
        """User code is about to run. What the kernel itself did meanwhile (it draws random numbers) is no change.

        stores: attributes that it assigns to, by the names of their objects.
        """
        self._attributes.expect(stores)
        for name, value in self._late.items():
            with contextlib.suppress(Exception):
                self._parts[name].write(value)
        self._late.clear()
        now = {name: part.read() for name, part in self._parts.items() if not self._first or name == "<random>"}
        if not self._first:
            now |= {name: now[name] or {} for name in ("<rcParams>", "<pandas.options>", "<numpy.printoptions>")}
            self._first = dict(now)
            self._glances.clear()
        self._last |= now

    def changes(self, stores: Iterable[tuple[str, str]] = ()) -> list[Pickled]:
        """Those that differ from what was reported last; what a cell imported counts."""
        self._attributes.note(stores)
        changed = []
        for name, part in self._parts.items():
            if not self._capture.wants(name):
                continue
            try:
                glance = part.glance() if part.glance is not None else None
                if glance is not None and glance == self._glances.get(name):
                    continue
                now = part.read()
                if now is None:
                    continue
                if now != self._last[name]:
                    self._last[name] = now
                    changed.append(dump({name: now}))
                self._glances[name] = glance
            except Exception:  # such as a working directory that was removed: one is not to cost the others
                continue
        return changed

    def follow_early(self, values: Mapping[str, Any]) -> None:
        """Set what loading variables depends on; `follow` says what resists."""
        for name in _EARLY & values.keys():
            with contextlib.suppress(Exception):
                if self._capture.wants(name):
                    self._parts[name].write(values[name])

    def follow(self, values: Mapping[str, Any], deleted: Iterable[str]) -> list[Failure]:
        """Set them as a commit has them, the deleted ones as they were when the worker began. Those that resist.

        After the variables were bound.
        """
        if not self._first:
            self.begin()
        failed = []
        self._glances.clear()
        for name, value in {**{name: self._first.get(name) for name in deleted}, **values}.items():
            if name not in self._parts or (value is None and name != _ATTRIBUTES) or not self._capture.wants(name):
                continue
            try:
                self._parts[name].write(value)
                if name in _OF_CONTEXT:
                    self._late[name] = value
            except Exception as error:
                failed.append(Failure(name, "", f"cannot be restored: {error}"))
        if self._capture.wants(_ATTRIBUTES):
            self._attributes.rebind()
        for name, part in self._parts.items():  # loading variables may have imported something
            with contextlib.suppress(Exception):
                self._last[name] = part.read()
        return failed


def all_surroundings() -> list[str]:
    """Their names: what any cell may depend on."""
    return sorted((*_PARTS, _ATTRIBUTES))


def is_surrounding(name: str) -> bool:
    """Whether this is the name of one, and not of a variable."""
    return name.startswith("<")
