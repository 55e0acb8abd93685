"""The rows as a person reads them: on a terminal, and as a page of the documentation."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from dev import ui

from compat.runner import Reads, Row, Verdict

_HEAD = ("", "class", "noticed", "reads", "stored", "restored", "undone", "shared", "why")
_COLOURS = {Verdict.OK: "green", Verdict.RECOMPUTED: "yellow", Verdict.ABSENT: "dim"}
_MARKS = {True: "✓", False: "✗", None: "–"}
_REASON_LENGTH = 110
BAD = (Verdict.WRONG, Verdict.BROKEN)


def totals(rows: Sequence[Row]) -> dict[str, int]:
    counts = Counter(str(row.verdict) for row in rows)
    return {
        "cases": len(rows),
        "classes": len({row.kind for row in rows}),
        "libraries": len({row.library for row in rows}),
        **{str(verdict): counts[verdict] for verdict in Verdict if counts[verdict]},
        "changed_by_each_read": sum(row.reads is Reads.EACH for row in rows),
    }


def summary(rows: Sequence[Row]) -> str:
    counts = totals(rows)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if verdict in counts)
    text = f"{counts['cases']} cases, {counts['classes']} classes of {counts['libraries']} libraries: {verdicts}"
    again = counts["changed_by_each_read"]
    return f"{text}; {again} seem changed whenever they are read" if again else text


def show(rows: Sequence[Row]) -> None:
    """Prints the table on stdout."""
    lines = [_cells(row, _short(row.reason)) for row in rows]
    widths = [max(map(len, column)) for column in zip(_HEAD, *lines, strict=True)]
    for title, members in _grouped(zip(rows, lines, strict=True)):
        print(f"\n{ui.colour('bold', title, sys.stdout)}")
        for verdict, cells in [(None, _HEAD), *((row.verdict, cells) for row, cells in members)]:
            padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
            if verdict is None:
                print(ui.colour("dim", "  ".join(padded).rstrip(), sys.stdout))
            else:
                padded[0] = ui.colour(_COLOURS.get(verdict, "red"), padded[0], sys.stdout)
                print("  ".join(padded).rstrip())
    print(f"\n{summary(rows)}", flush=True)


def markdown(rows: Sequence[Row]) -> str:
    parts = [_PAGE.format(summary=summary(rows))]
    for title, members in _grouped((row, _cells(row, row.reason)) for row in rows):
        parts.append(f"\n## {title}\n")
        for cells in [_HEAD, tuple("---" for _ in _HEAD), *(cells for _, cells in members)]:
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(parts) + "\n"


def _grouped(
    rows: Iterable[tuple[Row, tuple[str, ...]]],
) -> list[tuple[str, list[tuple[Row, tuple[str, ...]]]]]:
    grouped = []
    for name, group in itertools.groupby(rows, key=lambda pair: pair[0].library):
        members = list(group)
        version = next((row.version for row, _ in members if row.version), "")
        grouped.append((f"{name} {version}".strip(), members))
    return grouped


def _cells(row: Row, reason: str) -> tuple[str, ...]:
    title = f"{row.kind} ({row.form})" if row.form else row.kind
    marks = [_MARKS[value] for value in (row.restored, row.undone, row.shared)]
    reads = "–" if row.reads is None else {Reads.CLEAN: "✓", Reads.FIRST: "1st", Reads.EACH: "✗"}[row.reads]
    return (str(row.verdict), title, _MARKS[row.noticed], reads, _size(row.stored), *marks, reason)


def _size(count: int | None) -> str:
    if count is None:
        return "–"
    return f"{count} B" if count < 1000 else f"{count / 1000:.3g} kB" if count < 1_000_000 else f"{count / 1e6:.3g} MB"


def _short(text: str) -> str:
    return text if len(text) <= _REASON_LENGTH else text[: _REASON_LENGTH - 1] + "…"


_PAGE = """\
# Compatibility

Which values a session keeps. Written by `./dev compat --write`; `./dev compat NAME` tries the rows with NAME in them.

{summary}.

For each row a cell makes `x` and `alias = [x]`, two cells read it, and one changes it. Another process knows only what
these cells reported; it restores each version and goes back to the first.

| Verdict | Meaning |
| --- | --- |
| ok | the change is noticed, each version comes back equal, and `alias[0] is x` still |
| recomputed | the session refuses the value by name and says why: another process has to run its cell again |
| WRONG | a silent failure: one of these promises does not hold, and nobody says so |
| broken, absent | the row's own code fails, so that it says nothing; the library is not here |

| Column | ✓ | ✗ | – |
| --- | --- | --- | --- |
| noticed | the cell that changes `x` reports it | it does not | refused before and after |
| reads | a cell that only reads reports no change (1st: the first one does, by filling a cache) | all do | refused |
| stored | bytes of `x` and `alias` together | | refused |
| restored | both versions, in a fresh process, are equal to what the cells make | one differs | refused |
| undone | so is the first version after the second | it differs | refused |
| shared | `x` and `alias` hold one object, as they did | two | an immutable value, or refused |

torch is Debian's 1.13, without GPU: the index's builds want several GB of GPU libraries even to be imported. What a
cell holds of ray, Spark and dask.distributed are handles on a cluster: [clusters](guide/clusters.md) says what becomes
of each. What a context variable is set to is kept [beside the variables](guide/beside-variables.md).
"""
