"""Two files of one folder do not call each other both ways: one of them is the part, and the other one uses it. A
header and the source of the same name are one file here. Pairs that do are in ceilings.toml."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from tidy import calls, ceilings
from tidy.calls import Call
from tidy.ceilings import Entry
from tidy.tree import Finding, Tree


def check(tree: Tree) -> list[Finding]:
    pairs = _both_ways(tree)
    there = {str(PurePosixPath(file.path).parent) for file in tree.cpp()}
    entries, findings = ceilings.recorded(tree, "folders", {"pairs": list}, there)
    known = {(folder, *names) for folder, entry in entries.items() for names in _recorded_pairs(entry)}
    for pair, (call, back) in pairs.items():
        if pair not in known:
            text = f"{pair[1]} and {pair[2]} call each other: {_said(call)}, and {_said(back)}. "
            advice = "Let one of them answer with a result instead of calling back."
            findings.append(Finding(call.path, call.line, text + advice))
    for folder, *names in sorted(known - pairs.keys()):
        text = f"{' and '.join(names)} do not call each other both ways. Remove the pair, so that it stays so."
        findings.append(Finding(ceilings.PATH, entries[folder].line, text))
    return findings


def _both_ways(tree: Tree) -> dict[tuple[str, ...], tuple[Call, Call]]:
    """The folder and the two names of each such pair, with the first call of each way."""
    first: dict[tuple[str, str, str], Call] = {}
    for call in sorted(calls.uses(tree).calls):
        own, other = PurePosixPath(call.path), PurePosixPath(call.defined)
        if own.parent == other.parent and own.stem != other.stem:
            first.setdefault((str(own.parent), own.stem, other.stem), call)
    return {
        (folder, own, other): (call, back)
        for (folder, own, other), call in first.items()
        if own < other and (back := first.get((folder, other, own)))
    }


def _recorded_pairs(entry: Entry) -> Iterator[list[str]]:
    for pair in entry.values.get("pairs", []):
        yield sorted(map(str, pair)) if isinstance(pair, list) else [str(pair)]


def _said(call: Call) -> str:
    return f"{call.path.rsplit('/', 1)[-1]}:{call.line} calls {call.name}()"
