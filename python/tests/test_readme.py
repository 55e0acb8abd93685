"""README's cells of "Undo in 30 seconds", as they are written there."""

from __future__ import annotations

import re
from collections.abc import Callable

from test_standalone import PACKAGE, Kernel, kernel

README = PACKAGE.parent / "README.md"

__all__ = ["kernel"]


def cells() -> list[str]:
    """The lines of the section's Python code: each is a cell."""
    section = README.read_text().partition("## Undo in 30 seconds")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if line]


def test_the_cells_of_readme_run_without_a_warning_and_undo_brings_the_column_back(
    kernel: Callable[..., Kernel],
) -> None:
    load, change = cells()
    notebook = kernel(PYTHONWARNINGS="default")
    notebook.run("import pandas as pd; df = pd.DataFrame({'name': ['a', 'b'], 'price': [1.5, 2.5]})")
    for code in (load, change):
        cell = notebook.run(code)
        assert (cell.status, cell.stderr) == ("ok", ""), (code, cell)
    assert notebook.value("list(df)") == "['name']"
    assert notebook.run("%undo").status == "ok"
    assert notebook.value("list(df), df.price.tolist()") == "(['name', 'price'], [1.5, 2.5])"
