"""Handlers and filters of loggers, and the settings of the logging module as a whole."""

from __future__ import annotations

import logging
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from banyan.surroundings.part import ABSENT, Part
from banyan.surroundings.settings import Access, Settings

# The index of a handler or filter in its logger's list, and the object; ABSENT for one of the process's that is gone.
_Attached = tuple[int, Any]

_KINDS = ("handlers", "filters")


class Loggers:
    """The handlers and filters that cells added to loggers, and which of the process's own they removed.

    The process's own are those from before the first cell, and those that the imports of installed libraries attach:
    every process that imports these libraries has them. What an import attaches to the root logger, which serves
    everybody, is the session's all the same: another process may not need that library.
    """

    def __init__(self) -> None:
        self._places = [(logger, kind, list(getattr(logger, kind))) for logger in _with_any() for kind in _KINDS]
        self._own = {id(one): one for _, _, own in self._places for one in own}

    def importing(self) -> Callable[[], None]:
        """The import of a library begins. Call what this returns when it has ended."""
        before = {(logger.name, kind): list(getattr(logger, kind)) for logger in _with_any() for kind in _KINDS}
        return lambda: self._imported(before)

    def _imported(self, before: Mapping[tuple[str, str], list[Any]]) -> None:
        loggers = {logger.name: logger for logger in [*_with_any(), *map(_named, {name for name, _ in before})]}
        loggers.pop("root", None)
        for logger in loggers.values():
            for kind in _KINDS:
                was, now = before.get((logger.name, kind), []), list(getattr(logger, kind))
                if now == was:
                    continue
                added = [one for one in now if one not in was]
                removed = [one for one in was if one not in now]
                place = next((at for at, known in enumerate(self._places) if known[:2] == (logger, kind)), None)
                own = [] if place is None else self._places.pop(place)[2]
                self._places.append((logger, kind, [one for one in own if one not in removed] + added))
                self._own |= {id(one): one for one in added}

    def read(self) -> dict[str, _Attached]:
        return {f"{name}, {what}": attached for name, what, attached in self._attached()}

    def _attached(self) -> Iterator[tuple[str, str, _Attached]]:
        """The logger's name, a text that is unique within the logger, and the handler or filter with its index."""
        for logger, kind, own in self._places:
            now = getattr(logger, kind)
            if now != own:
                gone = [place for place, one in enumerate(own) if one not in now]
                yield from ((logger.name, f"no {kind[:-1]} {place}", (place, ABSENT)) for place in gone)
        for logger in _with_any():
            for kind in _KINDS:
                seen: Counter[str] = Counter()
                for place, one in enumerate(getattr(logger, kind)):
                    if id(one) in self._own or type(one) is logging.NullHandler:
                        continue
                    what = f"{kind[:-1]} {getattr(one, '__name__', type(one).__name__)}"
                    seen[what] += 1
                    yield logger.name, what if seen[what] == 1 else f"{what} {seen[what]}", (place, one)

    def write(self, wanted: dict[str, _Attached]) -> None:
        loggers = [*_with_any(), *(logger for logger, _, _ in self._places)]
        by_logger: dict[str, list[tuple[str, _Attached]]] = {logger.name: [] for logger in loggers}
        for key, attached in wanted.items():
            name, _, what = key.rpartition(", ")
            by_logger.setdefault(name, []).append((what, attached))
        for name, found in by_logger.items():
            logger = _named(name)
            for kind in _KINDS:
                gone = {place for what, (place, _) in found if what.startswith(f"no {kind[:-1]}")}
                own = self._own_of(logger, kind)
                rest = [one for place, one in enumerate(own) if place not in gone]
                rest += [one for one in getattr(logger, kind) if self._is_processs(one) and one not in own]
                for _, (place, one) in sorted(
                    (each for each in found if each[0].startswith(kind[:-1])), key=lambda each: each[1][0]
                ):
                    rest.insert(place, one)
                setattr(logger, kind, rest)

    def _own_of(self, logger: logging.Logger, kind: str) -> list[Any]:
        return next((own for each, which, own in self._places if (each, which) == (logger, kind)), [])

    def _is_processs(self, one: Any) -> bool:
        return id(one) in self._own or type(one) is logging.NullHandler


def _named(name: str) -> logging.Logger:
    return logging.getLogger(None if name == "root" else name)


def _with_any() -> list[logging.Logger]:
    """Loggers that have a handler or a filter. It runs after each cell, and there may be many loggers."""
    loggers = all_loggers()
    if not any(map(_HANDLERS, loggers)) and not any(map(_FILTERS, loggers)):
        return []
    return [logger for logger in loggers if logger.handlers or logger.filters]


_HANDLERS, _FILTERS = operator.attrgetter("handlers"), operator.attrgetter("filters")


class _All:
    """The loggers that exist, cached: loggers are never removed."""

    known: ClassVar[list[Any]] = []
    loggers: ClassVar[list[logging.Logger]] = []


def all_loggers() -> list[logging.Logger]:
    """All loggers, with the root logger first."""
    known = list(logging.root.manager.loggerDict.values())
    if known != _All.known or not _All.loggers:
        _All.known = known
        _All.loggers = [logging.root, *(one for one in known if isinstance(one, logging.Logger))]
    return _All.loggers


def _as_a_whole() -> dict[str, Access]:
    manager = logging.root.manager
    return {
        "disabled up to": (lambda: manager.disable, lambda level: setattr(manager, "disable", level)),
        "errors are raised": (lambda: logging.raiseExceptions, lambda on: setattr(logging, "raiseExceptions", on)),
        "warnings are logged": (
            lambda: logging._warnings_showwarning is not None,  # type: ignore[attr-defined]
            logging.captureWarnings,
        ),
        "names of levels": (lambda: dict(logging._levelToName), _name_levels),
    }


def _name_levels(names: dict[int, str]) -> None:
    for level in logging._levelToName.keys() - names.keys():
        logging._nameToLevel.pop(logging._levelToName.pop(level), None)
    for level, name in names.items():
        logging.addLevelName(level, name)


def parts(loggers: Loggers) -> list[Part]:
    return [
        Settings(_as_a_whole()).part("<logging.settings>", "how logging is set as a whole"),
        Part("<loggers>", "handlers and filters of loggers", loggers.read, loggers.write, holds=True),
    ]
