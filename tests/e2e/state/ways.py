"""The ways in which a session goes to another process, or back in its history. Each kind of `kinds.py` takes all ways.

Kinds share a session as long as they bind no variable in common, so that a row costs a few cells and not a failover.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import requests
from harness.client import wait_until
from IPython.core.inputtransformer2 import TransformerManager
from notebook import Notebook

from python.tests.kinds import Kind


@dataclass
class Walked:
    """The results of one kind on the ways that its session took."""

    kind: Kind
    before: str = ""
    after: str = ""
    stderr: str = ""  # what the cell that made the change told the user
    problems: dict[str, str] = field(default_factory=dict)  # the complaint about each way on which something went wrong


def together(kinds: Iterable[Kind]) -> list[list[Kind]]:
    """Groups the kinds into lists whose kinds may share a session."""
    groups: list[tuple[set[str], list[Kind]]] = []
    for kind in kinds:
        names = _bound(kind)
        for taken, members in groups:
            if taken.isdisjoint(names):
                taken |= names
                members.append(kind)
                break
        else:
            groups.append((names, [kind]))
    return [members for _, members in groups]


def _bound(kind: Kind) -> set[str]:
    """The setting and the variables that a kind binds. Imports do not count: two kinds may import the same module."""
    found: set[str] = {kind.sets} if kind.sets else set()
    code = TransformerManager().transform_cell(
        f"{kind.before}\n{kind.change}"
    )  # magics become calls, so that the code is plain Python
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id != "_":
            found.add(node.id)
    return found


def walk(notebook: Notebook, kinds: Sequence[Kind]) -> list[Walked]:
    """Changes, undoes, redoes and checks out each kind that must be kept; then moves the session in each way and checks
    all of them."""
    walked = [Walked(kind) for kind in kinds]
    for number, one in enumerate(walked):
        _change(notebook, one, number)
    for way, go in MOVES.items():
        try:
            lost = go(notebook)
        except AssertionError as error:
            lost = [str(error)]
        for one in walked:
            found = notebook.value(one.kind.look)
            if found != one.after:
                one.problems[way] = f"{one.kind.look} is {found}, not {one.after}"
            elif lost:
                one.problems[way] = f"lost: {lost}"
    return walked


def _change(notebook: Notebook, one: Walked, number: int) -> None:
    kind = one.kind
    notebook.ok(kind.before)
    one.before = notebook.value(kind.look)
    notebook.ok(f"%tag before{number}")
    one.stderr = notebook.ok(kind.change).stderr
    one.after = notebook.value(kind.look)
    notebook.ok(f"%tag after{number}")
    if one.after == one.before:
        one.problems["undo"] = f"{kind.change} did not change {kind.look}"
    for way, magic, expected in (
        ("undo", "%undo", one.before),
        ("redo", "%redo", one.after),
        ("checkout", f"%checkout before{number}", one.before),
        ("checkout and back", f"%checkout after{number}", one.after),
    ):
        cell = notebook.run(magic)
        found = notebook.value(kind.look) if cell.status == "ok" else f"{magic}: {cell.reply.get('evalue')}"
        if found != expected:
            newest = [(row.get("code"), row.get("changed")) for row in notebook.ask(do="log", limit=5)["commits"]]
            one.problems[way] = f"{kind.look} is {found}, not {expected}; the newest commits: {newest}"


def operate(notebook: Notebook, what: str, **body: object) -> requests.Response:
    way = f"/api/banyan/sessions/{notebook.kernel}/{what}"
    return notebook.platform.gateway.call("POST", way, json=body, timeout=120)


def _operate(way: str) -> Callable[[Notebook], list[object]]:
    def go(notebook: Notebook) -> list[object]:
        what, body = question(notebook, way)
        answer = operate(notebook, what, **body)
        assert answer.status_code == 200, answer.text
        return list(answer.json().get("lost", []))

    return go


def question(notebook: Notebook, way: str) -> tuple[str, dict[str, object]]:
    """The operation and its parameters that make the session go this way."""
    if way == "suspension":
        return "suspend", {}
    gateway = notebook.platform.gateway
    wait_until(lambda: len(gateway.session(notebook.kernel)["replicas"]) == 3, "three replicas")
    members = {each["host"] for each in gateway.session(notebook.kernel)["replicas"]}
    others = set(gateway.hosts_up()) - {gateway.executor(notebook.kernel)}
    chosen = others & members if way == "migration to a replica" else others - members
    return "migrate", {"host": min(chosen)}


def _fail_over(notebook: Notebook) -> list[object]:
    notebook.fail_over()
    notebook.platform.repair()
    return []


OPERATIONS = ["migration to a replica", "migration to another host", "suspension"]
MOVES: dict[str, Callable[[Notebook], list[object]]] = {
    **{way: _operate(way) for way in OPERATIONS},
    "failover": _fail_over,
}
WAYS = ["undo", "redo", "checkout", "checkout and back", *MOVES]
