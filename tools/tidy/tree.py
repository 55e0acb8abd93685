"""The files under check, and the text of C++ files with everything blanked out that is not code."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_TEXT = {
    ".cc", ".h", ".py", ".md", ".txt", ".in", ".cmake", ".json", ".toml", ".yaml", ".yml",
    ".mjs", ".js", ".ts", ".sh", ".ipynb", "",
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """Something to change. A note is printed but does not fail the check."""

    path: str
    line: int
    text: str
    note: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {'note: ' if self.note else ''}{self.text}"


@dataclass(frozen=True)
class File:
    """A text file; `path` is relative to the root, with slashes."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def code(self) -> list[str]:
        """The lines of a C++ file with comments and the contents of literals blanked out."""
        return _blank(self.text).splitlines()

    @property
    def parts(self) -> tuple[str, ...]:
        return Path(self.path).parts

    @property
    def suffix(self) -> str:
        return Path(self.path).suffix

    @property
    def is_test(self) -> bool:
        """A test, or a header that only tests include."""
        name = self.parts[-1]
        return Path(name).stem.endswith("_test") or name.startswith("test_")


class Tree:
    """All files that git tracks or would track. `names` has those that are no texts, too."""

    def __init__(self, files: list[File], root: Path = Path(), names: set[str] | None = None) -> None:
        self.files = files
        self.root = root
        self.names = names or {file.path for file in files}

    @classmethod
    def read(cls, root: Path) -> "Tree":
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
        names = {name for name in listed if name and (root / name).is_file()}
        files = []
        for name in sorted(names):
            path = root / name
            if path.suffix in _TEXT and not path.is_symlink():
                files.append(File(name, path.read_text(errors="replace")))
        return cls(files, root, names)

    def cpp(self, *folders: str) -> Iterator[File]:
        """C++ files below the folders (src/ when none is named)."""
        for file in self.files:
            if file.suffix in (".cc", ".h") and any(file.path.startswith(f + "/") for f in folders or ("src",)):
                yield file

    def named(self, *suffixes: str) -> list[File]:
        return [file for file in self.files if file.suffix in suffixes]


NOT_CODE = re.compile(
    r"""
      //[^\n]*
    | /\*.*?\*/
    | R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"
    | "(?:[^"\\\n]|\\.)*"
    | (?<![0-9A-Za-z_])'(?:[^'\\\n]|\\.)*'
    """,
    re.S | re.X,
)
_INCLUDE = re.compile(r"^\s*#\s*include[^\n]*", re.M)


def _blank(text: str) -> str:
    kept = [(found.start(), found.end()) for found in _INCLUDE.finditer(text)]

    def blank(found: re.Match[str]) -> str:
        if any(start <= found.start() < end and found[0].startswith('"') for start, end in kept):
            return found[0]
        return re.sub(r"[^\n]", " ", found[0])

    return NOT_CODE.sub(blank, text)
