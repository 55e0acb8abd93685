"""The tables of the corpus bench: one row for each notebook, a group of columns for each way."""

from collections.abc import Sequence
from typing import Any

from dev import ui

Row = dict[str, Any]
_MARKS = {True: ("ok", "green"), False: ("no", "red"), None: ("-", "dim")}


def size(count: float | None) -> str:
    """A number of bytes, for people."""
    if count is None:
        return ""
    for unit in ("B", "kB", "MB"):
        if abs(count) < 1000 or unit == "MB":
            return f"{count:.3g} {unit}" if count < 1000 else f"{count:.0f} {unit}"
        count /= 1000
    raise AssertionError


def per_notebook(rows: Sequence[Row], ways: Sequence[str]) -> list[str]:
    """The lines of the table. Each way has four columns: right or not, bytes, seconds to store and restore together,
    seconds to restore alone."""
    by_notebook: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_notebook.setdefault(row["notebook"], {})[row["way"]] = row
    present = [way for way in ways if any(way in found for found in by_notebook.values())]
    groups = [["", "bytes", "migrate", "restore"] for _ in present]
    table = [["notebook", "cells s", *(cell for group in groups for cell in group)]]
    marks: dict[tuple[int, int], str] = {}
    for name, found in by_notebook.items():
        ran = next((row["cells_s"] for row in found.values() if row["cells_s"] is not None), None)
        line = [name, _seconds(ran)]
        for way in present:
            row = found.get(way, {"correct": None, "bytes": None, "store_s": None, "restore_s": None})
            mark, colour = _MARKS[row["correct"]]
            marks[len(table), len(line)] = colour
            whole = None if row["restore_s"] is None else row["store_s"] + row["restore_s"]
            line += [mark, size(row["bytes"]), _seconds(whole), _seconds(row["restore_s"])]
        table.append(line)
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    for number, way in enumerate(present):  # the name of a way stands above its columns
        own = range(2 + 4 * number, 6 + 4 * number)
        widths[own[1]] += max(0, len(way) - sum(widths[column] for column in own) - 6)
    head = " " * (widths[0] + 2 + widths[1])
    for number, way in enumerate(present):
        width = sum(widths[2 + 4 * number : 6 + 4 * number]) + 6
        head += "  " + way.center(width)
    return [head.rstrip(), *(_line(line, widths, marks, number) for number, line in enumerate(table))]


def failures(rows: Sequence[Row]) -> list[str]:
    """Why each way was not right. A reason that makes a way unavailable stands once, not for each notebook."""
    lines = []
    for way in dict.fromkeys(row["way"] for row in rows):
        wrong = [row for row in rows if row["way"] == way and row["correct"] is False]
        absent = {row["reason"] for row in rows if row["way"] == way and row["correct"] is None}
        lines += [f"{way}: {reason}" for reason in sorted(absent)]
        lines += [f"{way}, {row['notebook']}: {row['reason']}{_notes(row)}" for row in wrong]
    return lines or ["all are right"]


def per_contestant(summary: Sequence[Row]) -> list[str]:
    table = [["way", "right", "wrong", "unavailable", "bytes", "store s", "restore s", "median migrate s"]]
    for row in summary:
        counts = [str(row[key]) for key in ("correct", "wrong", "unavailable")]
        times = [_seconds(row[key]) for key in ("store_s", "restore_s", "migrate_median_s")]
        table.append([row["way"], *counts, size(row["bytes"]), *times])
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    return [_line(line, widths, {}, number) for number, line in enumerate(table)]


def _notes(row: Row) -> str:
    named = [f"{name} {reason}" for name, reason in row.get("notes", {}).items() if reason != "refused"]
    return f" [{'; '.join(named)[:200]}]" if named else ""


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _line(line: Sequence[str], widths: Sequence[int], marks: dict[tuple[int, int], str], number: int) -> str:
    cells = [line[0].ljust(widths[0])]
    for column in range(1, len(line)):
        text = line[column].rjust(widths[column])
        cells.append(ui.colour(marks[number, column], text) if (number, column) in marks else text)
    return "  ".join(cells).rstrip()
