"""Runs the parts: before a cell, after it, and when a commit becomes what this process shows."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from banyan.detect import Failure
from banyan.serialise import Pickled, dump
from banyan.surroundings import generators, messages, of_matplotlib, of_numpy, of_pandas, process
from banyan.surroundings.attributes import Attributes
from banyan.surroundings.capture import Keeping, capture_of
from banyan.surroundings.part import UNSEEN, Moment, Part

_FILES = (process, generators, messages, of_matplotlib, of_pandas, of_numpy)


def _parts(attributes: Attributes) -> dict[str, Part]:
    """Whatever knows how the process began does so from here on."""
    modules = Part(
        "<modules>", "attributes that cells set on modules", attributes.read, attributes.write, attributes.glance
    )
    parts = [part for file in _FILES for part in file.parts()]
    return {part.name: part for part in (*parts, modules)}


_ALL = _parts(Attributes({}))
Capture = capture_of(_ALL.values())


class Surroundings:
    """Knows them as they were last reported or set. Made before any user code runs."""

    def __init__(self, capture: Keeping, namespace: dict[str, Any]) -> None:
        self._capture = capture
        self._attributes = Attributes(namespace)
        self._parts = _parts(self._attributes)
        self._first: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        self._again: dict[str, Any] = {}  # to be set when a cell begins
        self._glances: dict[str, Any] = {}  # at what `_last` has

    def begin(self, stores: Iterable[tuple[str, str]] = ()) -> None:
        """User code is about to run. What the kernel itself did meanwhile (it draws random numbers) is no change.

        stores: attributes that it assigns to, by the names of their objects.
        """
        self._attributes.expect(stores)
        for name, value in self._again.items():
            with contextlib.suppress(Exception):
                self._parts[name].write(value)
        self._again.clear()
        if not self._first:
            self._first = {name: self._begun(part) for name, part in self._parts.items()}
            self._last |= self._first
            self._glances.clear()
            return
        for name, part in self._parts.items():
            if part.restless:
                self._last[name] = part.read()

    def changes(self, stores: Iterable[tuple[str, str]] = ()) -> list[Pickled]:
        """Those that differ from what was reported last; what a cell imported counts."""
        self._attributes.note(stores)
        changed = []
        for name, part in self._parts.items():
            if (part.needs and part.needs not in sys.modules) or not self._capture.wants(part):
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
        for name, value in values.items():
            part = self._parts.get(name)
            if part is not None and part.moment is Moment.BEFORE and self._capture.wants(part):
                with contextlib.suppress(Exception):
                    part.write(value)

    def follow(self, values: Mapping[str, Any], deleted: Iterable[str]) -> list[Failure]:
        """Set them as a commit has them, the deleted ones as they were when the worker began. Those that resist.

        After the variables were bound.
        """
        if not self._first:
            self.begin()
        failed = []
        self._glances.clear()
        for name, value in {**{name: self._first.get(name) for name in deleted}, **values}.items():
            part = self._parts.get(name)
            if part is None or (value is None and name != "<modules>") or not self._capture.wants(part):
                continue
            try:
                part.write(value)
                if part.moment is Moment.CELL:
                    self._again[name] = value
            except Exception as error:
                failed.append(Failure(name, "", f"cannot be restored: {error}"))
        if self._capture.wants(self._parts["<modules>"]):
            self._attributes.rebind()
        for name, part in self._parts.items():  # loading variables may have imported something
            with contextlib.suppress(Exception):
                if not part.needs or part.needs in sys.modules:
                    self._last[name] = part.read()
        return failed

    def _begun(self, part: Part) -> Any:
        if part.first is not UNSEEN:
            return part.first
        return part.read() if not part.needs or part.needs in sys.modules else None


def all_surroundings() -> list[str]:
    """Their names: what any cell may depend on."""
    return sorted(_ALL)


def is_surrounding(name: str) -> bool:
    """Whether this is the name of one, and not of a variable."""
    return name.startswith("<")
