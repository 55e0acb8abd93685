"""Imports within python/banyan point down only, from one package (a room) to those below it."""

import ast
from collections.abc import Iterator

from tidy.tree import File, Finding, Tree

RANK = {
    "process": 0,
    "reducers": 1,
    "clusters": 2,
    "state": 3,
    "background": 4,
    "surroundings": 5,
    "restore": 6,
    "notebook": 7,
    "worker": 8,
    "standalone": 8,
}
# What lies in the package itself: names that others know. They may import any room, and no room imports them.
ENTRIES = {"__init__.py", "zygote.py"}
# What every room may have from there.
_OF_ALL = {"_native", "__version__"}
_PACKAGE = "python/banyan/"


def check(tree: Tree) -> list[Finding]:
    findings = []
    there, described = set(), set()
    for file in tree.named(".py"):
        if not file.path.startswith(_PACKAGE):
            continue
        room, *rest = file.path.removeprefix(_PACKAGE).split("/")
        if not rest:
            if room not in ENTRIES:
                findings.append(Finding(file.path, 1, f"is in no room; the rooms are {', '.join(RANK)}"))
            continue
        if room not in RANK:
            findings.append(Finding(file.path, 1, f"{room} is no room; the rooms are {', '.join(RANK)}"))
            continue
        there.add(room)
        module = ast.parse(file.text)
        if rest == ["__init__.py"] and ast.get_docstring(module):
            described.add(room)
        for line, imported in _imports(file, module):
            if why := _wrong(room, imported):
                findings.append(Finding(file.path, line, why))
    for room in sorted(there - described):
        findings.append(
            Finding(f"{_PACKAGE}{room}/__init__.py", 1, "say in a docstring: purpose, invariants, where to look first")
        )
    return findings


def _imports(file: File, module: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines and names, below `banyan`, of all imports from the package: also of those for types, and in functions."""
    folder = file.path.removeprefix("python/").split("/")[:-1]
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{source}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "banyan":
                yield node.lineno, rest


def _wrong(own: str, imported: str) -> str | None:
    """Why a module of the room `own` must not import banyan.IMPORTED; None when it may."""
    room = imported.split(".")[0]
    if room == own or room in _OF_ALL:
        return None
    if room not in RANK:
        return f"{own} must not import banyan{'.' * bool(room)}{room}, which is no room"
    if RANK[room] == RANK[own]:
        return f"{own} and {room} must not know each other"
    if RANK[room] > RANK[own]:
        return f"{own} must not import {room}, which is above it"
    return None
