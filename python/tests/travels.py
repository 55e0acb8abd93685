"""The engine in one process, without a kernel: cells, commits in memory, and travels between them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from cloudpickle import cloudpickle
from isomorphism import Different, assert_isomorphic
from programs import Cell, Checkout, Step, execute, new_namespace, replayed

from banyan.restore.show import show
from banyan.standalone import history as local_history
from banyan.standalone.history import LocalHistory
from banyan.state import serialise
from banyan.state.access import Accesses, analyse
from banyan.state.changes import Changes
from banyan.state.detect import DigestDetector


def travel(steps: Sequence[Step]) -> None:
    """Run cells and go back and forth. After each step the namespace is what a fresh run of its cells makes."""
    session = Session()
    for step in steps:
        match step:
            case Cell(code):
                session.run(code)
            case Checkout():
                session.go(step)
        session.check()


class NoSurroundings:
    def loading(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def follow_early(self, _values: object) -> None:
        pass

    def follow(self, _values: object, _deleted: object) -> list[Any]:
        return []

    def held(self) -> dict[str, Any]:
        return {}


class Session:
    """The engine with a history in memory, beside the cells that led to what its namespace holds."""

    def __init__(self) -> None:
        self.namespace = new_namespace()
        hidden = dict(self.namespace)
        self.path: list[str] = []
        self._shell: Any = SimpleNamespace(user_ns=self.namespace, builtin_trap=contextlib.nullcontext())
        self._detector = DigestDetector(self.namespace, hidden)
        self._history = LocalHistory(None, pytest.fail)
        self._heads: list[tuple[str, list[str], dict[str, frozenset[str]]]] = []  # what the cells left
        self._head = "ROOT"
        self._groups: dict[str, frozenset[str]] = {}
        serialise.bind_namespace(self.namespace)

    def run(self, code: str) -> Changes:
        accesses = analyse(code, str)
        if self._detector.unsettled:
            self._detector.settle_for(accesses)
        ok = execute(code, self.namespace)
        changes = self._detector.changes(analyse(code, str))
        assert not changes.failed, changes.failed
        self._history.commit(local_history.Cell(code, ok=ok), changes)
        self._check_reported(code, accesses, changes)
        self.path = [*self.path, code]
        self._head = str(self._history.ask({"do": "state"})["head"])
        self._heads.append((self._head, self.path, self._groups))
        return changes

    def go(self, step: Checkout) -> None:
        if step.by_undo and len(self._heads) > 1:
            self._move({"do": "undo"})
            self.check()
        if step.anew:
            self._begin_anew()
        head, self.path, self._groups = self._heads[step.cell]
        self._move({"do": "checkout", "at": head})
        if step.looks:
            self._look()

    def _begin_anew(self) -> None:
        """As in a new process: no variables, and none of the classes that were made."""
        self._history.restart()
        for name in _variables(self.namespace):
            del self.namespace[name]
        cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.clear()
        cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.clear()
        self._detector = DigestDetector(self.namespace, dict(self.namespace))

    def check(self) -> None:
        twin = replayed(self.path)
        assert_isomorphic(_variables(self.namespace), _variables(twin))

    def _move(self, question: dict[str, object]) -> None:
        answer = self._history.ask(question)
        self._history.commit(local_history.Cell("%checkout", looks=True), Changes())
        assert self._history.next_repeat(self._detector) is None, "all of it can be loaded"
        values, deleted = self._history.behind(self._detector)
        applied = show(self._shell, self._detector, NoSurroundings(), values, deleted)  # type: ignore[arg-type]
        assert not applied.failed and not applied.lacking
        self._history.shows_head()
        self._head = str(answer["head"])
        if question["do"] == "undo":
            self.path = next((path for head, path, _ in self._heads if head == self._head), [])

    def _look(self) -> None:
        """A cell that names all variables and changes none."""
        while self._detector.settle():
            pass
        changes = self._detector.changes(Accesses(names=set(self.namespace)))
        assert not changes.changed and not changes.deleted, "looking is a change"

    def _check_reported(self, code: str, accesses: Accesses, changes: Changes) -> None:
        """What is reported was touched, or linked to what was, or differs."""
        for pickled in changes.changed:
            linked = set(pickled.names).union(*(self._groups.get(name, ()) for name in pickled.names))
            if linked.isdisjoint(accesses.names):
                self._check_differs(linked, code, accesses.names)
        groups = {name: names for name, names in self._groups.items() if name not in changes.deleted}
        groups.update({name: frozenset(p.names) for p in changes.changed for name in p.names})
        self._groups = groups

    def _check_differs(self, names: Iterable[str], code: str, mentioned: set[str]) -> None:
        before, after = replayed(self.path), replayed([*self.path, code])
        if any(isinstance(before.get(name), type) for name in mentioned):
            return  # instances whose class has no other name have it together from now on
        try:
            assert_isomorphic({n: before[n] for n in names if n in before}, {n: after[n] for n in names if n in after})
        except Different:
            return
        raise AssertionError(f"{sorted(names)} were not touched and have not changed, and are reported")


def _variables(namespace: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in namespace.items() if not name.startswith("__")}
