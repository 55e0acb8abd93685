"""The last whole run of each row of the matrix, kept in the tree: the rows take hours together, and hardly anybody runs
all of them at once. Says which Pythons and compilers have been tried, and at which commit."""

import datetime
import subprocess
from collections.abc import Sequence

from dev.paths import ROOT

TABLE = ROOT / "docs" / "internals" / "pythons.md"
_WHEN = ["commit", "day"]


def keep(head: Sequence[str], row: Sequence[str]) -> None:
    """Puts the row in the place of the one that begins with the same two cells (Python, compiler), or adds it; with the
    commit, and the day. `head`: the names of the row's cells."""
    text = TABLE.read_text()
    about = text.partition("\n|")[0].rstrip("\n")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"][2:]
    made = [*row, commit(), datetime.datetime.now(datetime.UTC).date().isoformat()]
    kept = [one for one in rows if one[:2] != made[:2]]
    lines = [[*head, *_WHEN], ["---"] * (len(head) + len(_WHEN)), *sorted([*kept, made], key=_order)]
    TABLE.write_text(about + "\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines))


def _order(row: Sequence[str]) -> tuple[list[int], Sequence[str]]:
    version = row[0].split()[0]
    return [int(part) for part in version.split(".")], row[:2]


def commit() -> str:
    """The commit that runs here, with a plus sign where the tree differs from it in more than this table."""
    git = ["git", "-C", str(ROOT)]
    name = subprocess.run([*git, "rev-parse", "--short=9", "HEAD"], check=True, capture_output=True, text=True).stdout
    changes = ["status", "--porcelain", "--", ".", f":!{TABLE.relative_to(ROOT)}"]
    changed = subprocess.run([*git, *changes], check=True, capture_output=True, text=True).stdout
    return name.strip() + ("+" if changed else "")
