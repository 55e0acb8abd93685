"""Shows answers of the session's history as text and as HTML; and the error that says why there is no answer.

`magics.py` prints these. The form of answers is described in docs/internals/history.md.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from banyan.notebook import api

_CODE_WIDTH = 48
_NAMES_SHOWN = 6
# The style of a column that may be broken into lines. Without a least width, a browser would break the names in it
# before it lets a table scroll.
_BROKEN_INTO_LINES = "pre-wrap;min-width:12em;max-width:32em;overflow-wrap:anywhere"


class HistoryError(Exception):
    """The session's history cannot do what it was asked to. The text says why, and what would help."""


@dataclass(frozen=True)
class Table:
    """Rows under headings, with a title above: an HTML table in a notebook, and aligned text elsewhere."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    numbers: frozenset[int] = frozenset()  # Columns that are aligned to the right.
    long: frozenset[int] = frozenset()  # Columns that a page may break into lines.

    def __repr__(self) -> str:
        lines = [self.headings, *self.rows]
        widths = [max(len(row[column]) for row in lines) for column in range(len(self.headings))]
        text = [
            "  ".join(
                cell.rjust(width) if column in self.numbers else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in lines
        ]
        return "\n".join([self.title, *text] if self.title else text)

    def _repr_html_(self) -> str:
        def cells(tag: str, row: Sequence[str]) -> str:
            made = []
            for column, cell in enumerate(row):
                side = "right" if column in self.numbers else "left"
                space = _BROKEN_INTO_LINES if column in self.long else "pre"
                made.append(f'<{tag} style="text-align:{side};white-space:{space}">{html.escape(cell)}</{tag}>')
            return "<tr>" + "".join(made) + "</tr>"

        caption = f"<p>{html.escape(self.title)}</p>" if self.title else ""
        body = "".join(cells("td", row) for row in self.rows)
        return f"{caption}<table><thead>{cells('th', self.headings)}</thead><tbody>{body}</tbody></table>"


def size_text(size: int) -> str:
    """A number of bytes for people: 512 B, 1.5 kB, 100 MB."""
    number = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" or number >= 99.5 else f"{number:.3g} {unit}"
        number /= 1000
    raise AssertionError


def log_table(answer: api.LogAnswer | api.BlameAnswer) -> Table:
    """The table for an answer with `commits`."""
    rows = []
    commits = answer["commits"]
    for place, row in enumerate(commits):
        following = commits[place + 1]["id"] if place + 1 < len(commits) else None
        rows.append(
            [
                "*" if row["head"] else "",
                row["id"],
                f"[{row['count']}]" if row.get("count") else "",
                _what(row),
                _effect(row),
                _labels(row, following if "head" in answer else None),
            ]
        )
    title = ""
    if "head" in answer:
        title = f"head {answer['head']}" + (f", branch {answer['branch']}" if answer["branch"] else ", on no branch")
        if answer["more"]:
            title += f"; {answer['more']} older commits: %log -n {len(commits) + answer['more']}"
    return Table(["", "commit", "cell", "code", "changed", "names"], rows, title, long=frozenset({3, 4}))


def diff_table(answer: api.DiffAnswer) -> Table:
    """The table for an answer with `added`, `changed` and `deleted`."""
    rows = []
    for sign, entries in (("+", answer["added"]), ("~", answer["changed"]), ("-", answer["deleted"])):
        for entry in entries:
            before = size_text(entry["bytes_before"]) if "bytes_before" in entry else ""
            after = size_text(entry["bytes"]) if "bytes" in entry else ""
            rows.append([sign, entry["name"], before, after])
    title = f"{answer['from']} → {answer['to']}" + ("" if rows else ": no variable differs")
    return Table(["", "variable", "before", "after"], rows, title, frozenset({2, 3}))


def state_view(answer: api.StateAnswer) -> Table:
    """The table for an answer with `variables`."""
    rows = [
        [entry["name"], size_text(entry["bytes"]), entry["commit"] or "", ", ".join(entry["shares_with"])]
        if entry["saved"]
        else [entry["name"], "", entry["commit"] or "", "cannot be saved: its cells make it again"]
        for entry in answer["variables"]
    ]
    branch = f"branch {answer['branch']}" if answer["branch"] else "on no branch"
    title = f"head {answer['head']}, {branch}; {answer['commits']} commits, {size_text(answer['bytes'])} of values"
    if pending := answer.get("pending"):
        title += f"; {size_text(pending['bytes'])} still being copied, for {pending['for_ms'] / 1000:.0f} s"
    return Table(["variable", "size", "written by", "shares objects with"], rows, title, frozenset({1}), frozenset({3}))


def space_table(answer: api.SpaceAnswer) -> Table:
    """The table for an answer with `variables` and their `versions`."""
    rows = [
        [entry["name"], str(entry["versions"]), size_text(entry["bytes"]), size_text(entry["bytes_at_head"])]
        for entry in answer["variables"]
    ]
    title = f"{answer['commits']} commits, {size_text(answer['bytes'])} of {size_text(answer['limit'])}"
    return Table(["variable", "versions", "all of them", "at head"], rows, title, frozenset({1, 2, 3}))


def travel_text(answer: api.TravelAnswer, verb: str) -> str:
    """What a move of head does, in a few lines. The answer's `removes` are those of `disk.removed_by`."""
    lines = [f"{verb}: [{row.get('count', '')}] {_what(row)}" for row in answer["commits"]] or [f"{verb}."]
    if answer["restores"]:
        lines.append(f"  restored: {names_text(answer['restores'])} ({size_text(answer['bytes'])})")
    if answer["deletes"]:
        lines.append(f"  deleted:  {names_text(answer['deletes'])}")
    if answer["repeats"]:
        cells = names_text([f"[{row['count']}]" for row in answer["repeats"]])
        unread = answer["unread"]
        at_once = [name for name in answer["recomputes"] if name not in unread]
        if at_once or not unread:
            lines.append(f"  made again by running cells again: {names_text(at_once)} (cells {cells})")
        if unread:
            lines.append(f"  made again when a cell reads it: {names_text(unread)} (by running cells {cells} again)")
        effects = [effect for row in answer["repeats"] for effect in row["effects"]]
        if effects:
            lines.append(f"  side effects that happen again: {names_text(effects)}")
    if verb == "Undone":
        goes = [removal["path"] for removal in answer["removes"]]
        effects = [effect for row in answer["commits"] for effect in row.get("effects", ())]
        stays = [effect for effect in effects if not any(_is_within(effect, path) for path in goes)]
        if stays:
            lines.append(f"  stays, outside of the session: {names_text(stays)}")
        works = [work for row in answer["commits"] for work in row.get("begun", ())]
        if works:
            lines.append(f"  goes on, unless it has ended: {names_text(works)}")
    lines += [
        f"  removes from the disk: {removal['path']}, which goes with {removal['name']}"
        for removal in answer["removes"]
    ]
    lines += [f"  cannot be restored: {entry['name']}, for {entry['reason']}" for entry in answer["lost"]]
    if answer["lost"]:
        lines.append("  what is there of these is left as it is; --repeat runs their cells again all the same")
    if not any(answer[kind] for kind in ("restores", "deletes", "recomputes", "lost")):
        lines.append("  no variable differs")
    return "\n".join(lines)


def _is_within(effect: str, path: str) -> bool:
    """Whether what a cell did outside of the session, such as `made /tmp/folder`, is at this path or below it."""
    did, _, where = effect.partition(" ")
    return bool(did) and (where == path or where.startswith(path + "/"))


def names_text(names: Sequence[str]) -> str:
    """Names for people: the first few, and the number of the others."""
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _what(row: api.Commit) -> str:
    if message := row.get("message"):
        return _cut(message)
    if row.get("status") == "restart":
        return "(the kernel was restarted)"
    return _cut(row.get("code", "")) or ("(before the first cell)" if row["id"] == "ROOT" else "(an empty cell)")


def _cut(text: str) -> str:
    lines = text.strip().splitlines() or [""]
    first = lines[0]
    if len(first) > _CODE_WIDTH or len(lines) > 1:
        return first[: _CODE_WIDTH - 1] + "…"
    return first


def _effect(row: api.Commit) -> str:
    parts = []
    if row.get("changed"):
        parts.append(names_text(row["changed"]))
    if row.get("deleted"):
        parts.append("deleted: " + names_text(row["deleted"]))
    if row.get("failed"):
        parts.append("not saved: " + names_text(row["failed"]))
    if row.get("status") in ("error", "lost"):
        parts.append("(" + row["status"] + ")")
    return ", ".join(parts)


def _labels(row: api.Commit, following: str | None) -> str:
    labels = [*row["branches"], *(f"tag {name}" for name in row["tags"])]
    if following is not None and row.get("parent") not in (following, "ROOT", None):
        labels.append(f"from {row['parent']}")
    return ", ".join(labels)
