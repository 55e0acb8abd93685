"""Sessions that hold one handle of each kind, and what another process makes of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from conftest import Cell, Host, Worker
from handles import Fate, Handle

SLOW_S = 90.0  # for what starts processes


class Session:
    """Cells of one worker."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.cells: list[Cell] = []

    def run(self, code: str) -> Cell:
        execution = self.worker.start(code)
        self.worker.go(execution)
        self.cells.append(self.worker.finish(execution, SLOW_S))
        assert self.cells[-1].error is None, f"{code}: {self.cells[-1].reply}"
        return self.cells[-1]

    def named(self) -> dict[str, str]:
        """What could not be saved, and why."""
        return {failure["name"]: failure["reason"] for cell in self.cells for failure in cell.body["failed"]}

    def goes_to(self, other: Worker) -> dict[str, str]:
        """What could not be loaded there, and why."""
        failures = [failure for cell in self.cells for failure in other.apply(cell)]
        return {failure["name"]: failure["reason"] for failure in failures}


@dataclass
class Holding:
    """A session with a variable for each handle. Each is made in a cell of its own."""

    session: Session
    names: dict[str, str] = field(default_factory=dict)  # by the handle's title
    looks: dict[str, str] = field(default_factory=dict)  # what each looks like there, if anybody looks elsewhere
    changed_by_look: dict[str, list[list[str]]] = field(default_factory=dict)
    unloaded: dict[str, str] = field(default_factory=dict)  # by variable
    elsewhere: dict[str, str] = field(default_factory=dict)  # what each looks like in the other process

    def make(self, handles: Iterable[Handle]) -> None:
        for number, handle in enumerate(handles):
            name = self.names[handle.title] = f"h{number}"
            self.session.run(f"{handle.make}\n{name} = x\ndel x")
            if handle.fate is not Fate.NAMED:
                self.looks[handle.title] = self.session.worker.value(look_at(handle, name))
                self.changed_by_look[handle.title] = self.session.run(look_at(handle, name)).changed

    def go_to(self, other: Worker, handles: Iterable[Handle]) -> None:
        self.unloaded = self.session.goes_to(other)
        for handle in handles:
            name = self.names[handle.title]
            found = other.run(
                f"repr(({look_at(handle, name)}))" if handle.title in self.looks else f"{name!r} in globals()"
            )
            self.elsewhere[handle.title] = found.result or ""

    def check(self, handle: Handle) -> None:
        """The other process has of it what it should, and what it has not was named before."""
        name, named = self.names[handle.title], self.session.named()
        assert name not in self.unloaded, f"it is said too late: {self.unloaded[name]}"
        if handle.fate is Fate.NAMED:
            assert handle.reason in named[name], named[name]
            assert self.elsewhere[handle.title] == "False"
        else:
            assert name not in named, named[name]
            assert [name] not in self.changed_by_look[handle.title], "looking is a change"
            assert self.elsewhere[handle.title] == repr(self.looks[handle.title])


def look_at(handle: Handle, name: str) -> str:
    return re.sub(r"\bx\b", name, handle.look)


def parameters(handles: Iterable[Handle], wanted: Callable[[Handle], bool] = lambda _: True) -> pytest.MarkDecorator:
    """A test for each that is wanted."""
    return pytest.mark.parametrize("handle", [pytest.param(each, id=each.title) for each in handles if wanted(each)])


def held_and_gone(host: Host, connect: str, handles: list[Handle], **environment: str) -> Iterator[dict[str, Holding]]:
    """One that goes to another process while its own is alive, and one after that: with what is not named."""
    again = [handle for handle in handles if handle.fate is not Fate.NAMED]
    alive, ended = (Holding(Session(host.spawn(**environment))) for _ in range(2))
    for holding, made in ((alive, handles), (ended, again)):
        holding.session.run(connect)
        holding.make(made)
    other, later = host.spawn(**environment), host.spawn(**environment)
    alive.go_to(other, handles)
    host.retire(alive.session.worker)
    host.retire(ended.session.worker)
    ended.go_to(later, again)
    yield {"alive": alive, "ended": ended}
    for worker in (other, later):
        host.retire(worker)
