"""The session's side: runs the cells and stores the changes of each one as a commit."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import types
from dataclasses import dataclass, field
from typing import Any

from banyan.state import serialise
from banyan.state.access import analyse
from banyan.state.detect import Changes, DigestDetector

from compat.alike import alike
from compat.case import Case, Library

# What a cell binds besides `x`: a second way to it, and a variable that has nothing to do with it.
COMPANIONS = "\nalias = [x]\nnear = {'n': 1}"


class CaseError(Exception):
    """The case's own code failed, so that it says nothing about the platform."""


@dataclass
class Commit:
    """What a cell changed: names, pickle and buffers of each co-variable; what is gone; what was refused, and why."""

    changed: list[tuple[tuple[str, ...], bytes, list[bytes]]] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, changes: Changes) -> Commit:
        changed = [(c.names, bytes(c.pickle), [bytes(b) for b in c.buffers]) for c in changes.changed]
        return cls(changed, list(changes.deleted), {failure.name: failure.reason for failure in changes.failed})

    def names(self) -> set[str]:
        return {name for names, _, _ in self.changed for name in names}

    def size(self, name: str) -> int:
        """The bytes of the co-variable that has the name."""
        parts = [(data, *buffers) for names, data, buffers in self.changed if name in names]
        return sum(len(part) for parts_of_one in parts for part in parts_of_one)


@dataclass
class History:
    """The commits of one case; `read` are those of two cells that only read. version: the library's."""

    setup: Commit
    made: Commit
    read: tuple[Commit, Commit]
    changed: Commit
    version: str
    problems: list[str] = field(default_factory=list)


def new_namespace() -> dict[str, Any]:
    """That of a fresh `__main__`, as a kernel has it, and bound as the one where variables are restored."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    serialise.bind_namespace(module.__dict__)
    return module.__dict__


def play(library: Library, case: Case) -> History:
    """Make, read twice, change; then see whether storing has altered the value itself."""
    namespace = new_namespace()
    detector = DigestDetector(namespace, dict(namespace))

    def run(code: str) -> Commit:
        execute(code, namespace)
        return Commit.of(detector.changes(analyse(code, str)))

    begin = run(library.setup)
    made = run(case.make + COMPANIONS)
    check_kind(case.kind, namespace["x"])
    reading = f"{case.read}\n[{case.view}]"
    read = (run(reading), run(reading))
    changed = run(case.change)
    history = History(begin, made, read, changed, library.version())
    live = _own_look(case.view, namespace)
    if not alike(live, expectation(library.setup, case).after):
        history.problems.append("storing it altered the value itself")
    return history


def execute(code: str, namespace: dict[str, Any]) -> None:
    try:
        exec(compile(code, "<cell>", "exec"), namespace)
    except Exception as error:
        raise CaseError(f"{code.splitlines()[-1][:60]}: {type(error).__name__}: {error}") from error


def look(view: str, namespace: dict[str, Any], value: object) -> Any:
    """The view of a value that may be bound to any name."""
    return eval(view, {**namespace, "x": value})


def _own_look(view: str, namespace: dict[str, Any]) -> Any:
    """The view of `x` where the case's own code has made it."""
    try:
        return look(view, namespace, namespace["x"])
    except Exception as error:
        raise CaseError(f"{view}: {type(error).__name__}: {error}") from error


def check_kind(kind: str, value: object) -> None:
    """The row says what it tries."""
    parts = kind.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        if found is None:
            break
        if isinstance(found, type) and not isinstance(value, found):
            raise CaseError(f"makes a {type(value).__module__}.{type(value).__qualname__}, not a {kind}")
        return
    raise CaseError(f"there is no {kind}")


@dataclass
class Expectation:
    """Views of `x` as made and as changed, of what `alias` holds then, and whether that is `x` still."""

    before: Any
    after: Any
    alias_after: Any
    shared_after: bool


def expectation(setup: str, case: Case) -> Expectation:
    """By the case's own code, without detection or storage. The change must show in the view."""
    before, namespace = _made(setup, case)
    if not alike(before, _made(setup, case)[0]):
        raise CaseError(f"{case.view}: is another each time")
    execute(case.change, namespace)
    alias = namespace["alias"][0]
    after, alias_after = _own_look(case.view, namespace), look(case.view, namespace, alias)
    before, _ = _made(setup, case)  # the first one may be the very object that has changed
    if alike(before, after):
        raise CaseError(f"{case.view}: does not show the change")
    return Expectation(before, after, alias_after, alias is namespace["x"])


def _made(setup: str, case: Case) -> tuple[Any, dict[str, Any]]:
    """The view of a new `x`, and the namespace it is in. The files it makes are in a folder of their own."""
    folder = tempfile.mkdtemp(dir=os.curdir)
    os.chdir(folder)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    execute(setup, namespace)
    execute(case.make + COMPANIONS, namespace)
    return _own_look(case.view, namespace), namespace
