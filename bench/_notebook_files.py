"""Notebooks as plain files, for benches and tests: `# %%` before each cell, as editors know it.

Before the first cell the file says what it is, and may have a line `# order: 1 2 4 3 2`, the cells as they are run, and
a line `# differs`: two runs do not end alike. `# %% raises KeyError` marks a cell that is to end with this error (or
another one of those named) at least once, `# %% tagged rerun-always` one with this tag (or several). A line
`# %magic` or `# !command` in a cell is one without the `# `.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent
CORPUS = _FOLDER / "corpus"
LONG = _FOLDER / "notebooks"

_MARK = re.compile(r"^# %%(?: (?P<title>.*))?\n", re.MULTILINE)
_ORDER = re.compile(r"^# order: (.+)$", re.MULTILINE)
_DIFFERS = re.compile(r"^# differs$", re.MULTILINE)
_MAGIC = re.compile(r"^# (?=%\w|%%\w|!)", re.MULTILINE)


class Unexpected(Exception):
    """A cell of a notebook did not end as its file says."""


@dataclass(frozen=True)
class Cell:
    """The code of a cell, the errors with which it may end, and its tags."""

    number: int
    code: str
    raises: frozenset[str]
    tags: frozenset[str]


@dataclass(frozen=True)
class Notebook:
    """Cells in the order in which they are run; one may be there more than once."""

    name: str
    about: str
    cells: tuple[Cell, ...]
    differs: bool

    def run(self, attempt: Callable[[str, Sequence[str]], str | None]) -> None:
        """Runs all cells with `attempt(code, tags)`, which returns the error as "NAME: text". Raises Unexpected."""
        raised: set[int] = set()
        for cell in self.cells:
            error = attempt(cell.code, sorted(cell.tags))
            if error is not None and error.partition(":")[0] not in cell.raises:
                raise Unexpected(f"{self.name}, cell {cell.number}: {error}")
            if error is not None:
                raised.add(cell.number)
        if lacking := {cell.number for cell in self.cells if cell.raises} - raised:
            raise Unexpected(f"{self.name}, cell {min(lacking)}: raised nothing")


def read(path: Path) -> Notebook:
    text = path.read_text()
    head, *parts = _MARK.split(text)
    titles, codes = parts[::2], parts[1::2]
    cells = [
        Cell(number, _MAGIC.sub("", code.strip()), _words("raises", title), _words("tagged", title))
        for number, (title, code) in enumerate(zip(titles, codes, strict=True), 1)
    ]
    order = _ORDER.search(head)
    numbers = [int(word) for word in order[1].split()] if order else range(1, len(cells) + 1)
    about = head.strip().strip('"').partition("\n")[0].rstrip('"')
    return Notebook(path.stem, about, tuple(cells[number - 1] for number in numbers), bool(_DIFFERS.search(head)))


def _words(what: str, title: str | None) -> frozenset[str]:
    kind, *words = (title or "").split() or [""]
    return frozenset(words if kind == what else ())


def read_all(*folders: Path) -> dict[str, Notebook]:
    """The notebooks of these folders, by name."""
    paths = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    return {path.stem: read(path) for path in paths}
