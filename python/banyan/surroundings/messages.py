"""Which warnings are shown, and what is logged: filters of warnings, and levels of loggers."""

from __future__ import annotations

import logging
import operator
import warnings
from collections.abc import Mapping
from typing import Any

from banyan.surroundings.loggers import all_loggers
from banyan.surroundings.part import Part


def _write_filters(filters: list[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined]


def _read_logging() -> dict[str, tuple[int, bool, bool]]:
    return {one.name: _told(one) for one in all_loggers() if _told(one) != _untold(one.name)}


def _glance_at_logging() -> object:
    return [list(map(get, all_loggers())) for get in _TOLD]


_TOLD = tuple(map(operator.attrgetter, ("level", "propagate", "disabled")))


def _told(logger: logging.Logger) -> tuple[int, bool, bool]:
    return logger.level, logger.propagate, logger.disabled


def _untold(name: str) -> tuple[int, bool, bool]:
    return logging.WARNING if name == "root" else logging.NOTSET, True, False


def _write_logging(difference: Mapping[str, tuple[int, bool, bool]]) -> None:
    for name in _read_logging().keys() | difference.keys():
        logger = logging.getLogger(name)
        level, logger.propagate, logger.disabled = difference.get(name, _untold(name))
        logger.setLevel(level)


def parts() -> list[Part]:
    return [
        Part("<warnings>", "the filters of the warnings module", lambda: list(warnings.filters), _write_filters),
        Part(
            "<logging>",
            "the levels of loggers, and whether they are disabled or propagate",
            _read_logging,
            _write_logging,
            _glance_at_logging,
        ),
    ]
