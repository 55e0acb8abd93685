"""The guide's table of what a process holds beside variables is that of the code."""

from __future__ import annotations

import re
from pathlib import Path

from kinds import NAMED

from banyan.surroundings import Capture, Surroundings

_PAGE = (Path(__file__).parents[2] / "docs/guide/beside-variables.md").read_text()


def test_the_guide_has_a_row_for_each_part_with_an_example() -> None:
    rows = {
        name: (about, example)
        for name, about, example in re.findall(r"^\| `(<[^`]*>)` \| (.*?) \| `(.+)` \|$", _PAGE, re.MULTILINE)
    }
    surroundings = Surroundings(Capture(), {})
    parts = {**surroundings._parts, **surroundings._holders}
    wanted = [f"| `{name}` | {part.about} | `an example` |" for name, part in parts.items()]
    wanted = [
        row for row, (name, part) in zip(wanted, parts.items(), strict=True) if rows.get(name, ("",))[0] != part.about
    ]
    assert not wanted, "docs/guide/beside-variables.md lacks these rows:\n" + "\n".join(wanted)
    assert rows.keys() <= parts.keys(), f"there is no {rows.keys() - parts.keys()} any more"


def test_the_guide_shows_what_is_named() -> None:
    assert [kind.name for kind in NAMED if f"`{kind.change}`" not in _PAGE] == []
