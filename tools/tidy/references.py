"""What a text refers to exists: paths of this tree in Markdown and in comments of C++ and Python, the targets of links,
the numbers of decisions (ADR 7) and, in Markdown, tests between backquotes: `Suite.Name` and `test_name`. A path counts
from the root, from src/, or from the folder of its file or one above it."""

import fnmatch
import io
import itertools
import re
import tokenize
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePosixPath

from tidy.tree import NOT_CODE, File, Finding, Tree

_SOURCES = r"(?:h|cc|py|md|mjs|ts|cmake|sh)"
# A path with a folder: at least one slash, and either a suffix of a source or a name without a dot.
_PATH = re.compile(
    rf"(?<![\w./~$<{{@:-])((?:[\w.-]+/)+[\w*.{{}},-]*(?:\.(?:{_SOURCES}|\{{[\w,]+\}})|[\w*])(?![\w.]*/))"
)
# A name alone stands for a file somewhere in the tree; modules of Python only between backquotes, in Markdown.
_NAME = re.compile(r"(?<![\w./*<\"'{},-])((?:[\w{},-]|\*(?!\*))+\.(?:h|cc|md|\{h,cc\}))(?![\w/.]*\w)|`([\w-]+\.py)`")
# Names of examples and placeholders: foo.cc, my_policy.cc, bench/NAME.py.
_EXAMPLE = re.compile(r"(?:^|/)(?:foo|my_|\.\w|[A-Z]{2,}(?:\.(?!md$)|/|$))")
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(?:#[^)]*)?\)")
_TEST = re.compile(r"`([A-Z]\w+\.[A-Z]\w+|test_\w+)`")
_DECISION = re.compile(r"\bADR (\d+)")
_CPP_TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.M)
_PYTHON_TEST = re.compile(r"^\s*(?:async )?def (test_\w+)", re.M)
_BRACES = re.compile(r"\{([^{}]*)\}")


def check(tree: Tree) -> list[Finding]:
    names = _Names(tree)
    findings = []
    for file in tree.named(".md", ".h", ".cc", ".py"):
        stale = [*_stale(file, file.lines, names)]
        if stale and file.suffix != ".md":
            stale = [*_stale(file, _only_comments(file), names)]  # seldom: to find the comments takes time
        findings += [Finding(file.path, line, f"there is no {text}") for line, text in dict.fromkeys(stale)]
    return findings


class _Names:
    """The files and folders of the tree."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @cached_property
    def paths(self) -> set[str]:
        files = {PurePosixPath(path) for path in self._tree.names}
        return {str(path) for file in files for path in (file, *file.parents)} - {"."}

    @cached_property
    def last_parts(self) -> set[str]:
        return {path.rsplit("/", 1)[-1] for path in self.paths}

    @cached_property
    def decisions(self) -> set[int]:
        return {int(found[1]) for path in self.paths if (found := re.fullmatch(r"docs/adr/(\d+)-.*\.md", path))}

    @cached_property
    def tests(self) -> set[str]:
        found = set()
        for file in self._tree.named(".cc", ".py"):
            if file.is_test and file.suffix == ".cc":
                found |= {f"{suite}.{name}" for suite, name in _CPP_TEST.findall(file.text)}
            elif file.is_test:
                found |= {*_PYTHON_TEST.findall(file.text), PurePosixPath(file.path).stem}
        return found

    def has(self, folder: str, path: str) -> bool:
        whole = _joined(PurePosixPath(folder), path)
        return whole in self.paths or ("*" in whole and bool(fnmatch.filter(self.paths, whole)))


def _stale(file: File, lines: list[str], names: _Names) -> Iterator[tuple[int, str]]:
    """Line and text of each reference in these lines of the file that leads nowhere."""
    own = PurePosixPath(file.path).parent
    bases = ["", "src", *(str(folder) for folder in (own, *own.parents) if str(folder) != ".")]
    for number, line in enumerate(lines, 1):
        if "/" in line:
            for found in _PATH.finditer(line):
                path = found[1].rstrip(".,").removeprefix("./")
                near = [base for base in bases if path.startswith("..") or names.has(base, path.split("/")[0])]
                stale = [each for each in _spread(path) if not any(names.has(base, each) for base in near)]
                if (near or path.endswith(".md")) and stale and not _EXAMPLE.search(path):
                    yield number, stale[0]
        if "ADR " in line:
            for found in _DECISION.finditer(line):
                if int(found[1]) not in names.decisions:
                    yield number, found[0]
        if file.suffix == ".md":
            for found in _TEST.finditer(line):
                if found[1] not in names.tests:
                    yield number, f"test {found[1]}"
            for found in _LINK.finditer(line):
                if not names.has("", _joined(own, found[1])):
                    yield number, found[1]
        for found in _NAME.finditer(line):
            if found[1] or file.suffix == ".md":
                for each in _spread(found[1] or found[2]):
                    known = fnmatch.filter(names.last_parts, each) if "*" in each else each in names.last_parts
                    if not known and not _EXAMPLE.search(each):
                        yield number, each


def _spread(path: str) -> list[str]:
    """`foo.{h,cc}` stands for two files."""
    found = _BRACES.search(path)
    if not found:
        return [path]
    return [path[: found.start()] + each + path[found.end() :] for each in found[1].split(",")]


def _joined(folder: PurePosixPath, link: str) -> str:
    parts: list[str] = []
    for part in (folder / link).parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
    return "/".join(parts)


def _only_comments(file: File) -> list[str]:
    """The lines with all blanked out but comments and, in Python, texts that stand alone (docstrings)."""
    kept = bytearray(len(file.text))
    for start, end in _docstrings_and_comments(file) if file.suffix == ".py" else _comments(file):
        kept[start:end] = b"\1" * (end - start)
    return "".join(c if keep or c == "\n" else " " for c, keep in zip(file.text, kept, strict=True)).splitlines()


def _comments(file: File) -> Iterator[tuple[int, int]]:
    return (found.span() for found in NOT_CODE.finditer(file.text) if found[0].startswith("/"))


def _docstrings_and_comments(file: File) -> Iterator[tuple[int, int]]:
    begins = [0, *itertools.accumulate(map(len, file.text.splitlines(keepends=True)))]
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
        stands_alone = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and stands_alone):
            yield begins[token.start[0] - 1] + token.start[1], begins[token.end[0] - 1] + token.end[1]
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type
