"""The guide says what becomes of each handle that is tried."""

from __future__ import annotations

from pathlib import Path

from page import tables

_PAGE = Path(__file__).parents[3] / "docs" / "guide" / "clusters.md"


def test_the_guide_has_the_tables() -> None:
    assert tables() in _PAGE.read_text(), "docs/guide/clusters.md lacks what python/tests/clusters/page.py prints"
