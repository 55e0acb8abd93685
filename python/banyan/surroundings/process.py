"""The process's own surroundings: its working directory, its environment, and where it finds modules."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Mapping
from typing import Any

from banyan.surroundings.part import Moment, Part

# Environment variables that say which GPUs a process may use, in an order of its choice. On a host with GPUs the
# platform sets both before each cell, as the cell has devices.
OF_DEVICES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


class _Environment:
    """Environment variables that differ from those that the worker began with, which belong to the host and
    not to the session.
    """

    def __init__(self) -> None:
        self._before = dict(os.environ)
        self._not_kept = OF_DEVICES if os.environ.get("BANYAN_GPUS") else ()

    def read(self) -> dict[str, str | None]:
        changed = {name: value for name, value in os.environ.items() if self._before.get(name) != value}
        difference = changed | dict.fromkeys(self._before.keys() - os.environ.keys())
        return {name: value for name, value in difference.items() if name not in self._not_kept}

    def glance(self) -> Any:
        encoded = getattr(os.environ, "_data", None)  # CPython's own dict: `os.environ` would decode each item.
        return dict(os.environ if encoded is None else encoded)

    def write(self, difference: Mapping[str, str | None]) -> None:
        kept = {name: os.environ.get(name) for name in self._not_kept}
        wanted = {name: value for name, value in {**self._before, **difference, **kept}.items() if value is not None}
        for name in os.environ.keys() - wanted.keys():
            del os.environ[name]
        for name, value in wanted.items():
            if os.environ.get(name) != value:
                os.environ[name] = value


class _Path:
    """sys.path. An entry that the worker began with belongs to the host, so a session stores only its index."""

    def __init__(self) -> None:
        self._before = list(sys.path)

    def read(self) -> list[str | int]:
        own = {entry: place for place, entry in enumerate(self._before)}
        return [own.get(entry, entry) for entry in sys.path if isinstance(entry, str)]

    def write(self, entries: list[str | int]) -> None:
        here = [self._before[entry : entry + 1] if isinstance(entry, int) else [entry] for entry in entries]
        sys.path[:] = itertools.chain.from_iterable(here)


def parts() -> list[Part]:
    environment, path = _Environment(), _Path()
    return [
        Part("<sys.path>", "where modules are found: sys.path", path.read, path.write, moment=Moment.BEFORE),
        Part("<cwd>", "the working directory", os.getcwd, os.chdir, moment=Moment.BEFORE),
        Part(
            "<environ>",
            "environment variables that cells set or delete",
            environment.read,
            environment.write,
            environment.glance,
            moment=Moment.BEFORE,
            first={},
        ),
    ]
