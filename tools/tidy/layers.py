"""Includes point down: base < core < node < port < runtime | sim < daemons < cli."""

import re

from tidy.tree import Finding, Tree

RANK = {"base": 0, "core": 1, "node": 2, "port": 3, "runtime": 4, "sim": 4, "daemons": 5, "cli": 6}

# Which module of core may include which other. A new edge is a decision: it belongs here, with the module's README.
CORE_EDGES = {
    "planner": {"checkpoint"},
    "schedule": {"cluster"},
    "session": {"api", "checkpoint", "jupyter", "planner"},
    "view": {"checkpoint", "planner", "session"},
}

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def check(tree: Tree) -> list[Finding]:
    findings = []
    for file in tree.cpp():
        for number, line in enumerate(file.code, 1):
            found = _INCLUDE.match(line)
            if found and (why := _wrong(file.parts[1:-1], tuple(found[1].split("/")))):
                findings.append(Finding(file.path, number, why))
    return findings


def _wrong(own: tuple[str, ...], included: tuple[str, ...]) -> str | None:
    """Why a file in src/OWN must not include "INCLUDED"; None when it may."""
    if not own or own[0] not in RANK:
        return f"src/{'/'.join(own)} is no layer; the layers are {', '.join(RANK)}"
    if len(included) == 1 or included[0] == "..":
        return "include by the path from src/"
    layer = included[0]
    if layer not in RANK:
        return None
    if layer != own[0] and RANK[layer] == RANK[own[0]]:
        return f"{own[0]} and {layer} must not know each other"
    if RANK[layer] > RANK[own[0]]:
        return f"{own[0]} must not include {layer}, which is above it"
    if layer == own[0] == "core" and len(own) > 1 and len(included) > 2:
        allowed = CORE_EDGES.get(own[1], set()) | {own[1]}
        if included[1] not in allowed:
            return f"core/{own[1]} must not include core/{included[1]} (edges: tools/tidy/layers.py)"
    return None
