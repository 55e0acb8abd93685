"""The linters that other people wrote: clang-format, clang-tidy, ruff, mypy, shellcheck, eslint, prettier."""

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tidy.cache import Cache
from tidy.tree import File, Finding, Tree

_CLANG_FORMAT = "clang-format-19"
# The debug preset compiles each source by itself, which the checks need; release presets compile several together.
PRESET = "debug"
_CLANG_TIDY = "clang-tidy-19"
_OWN_FILES = r"--header-filter=/(src|python)/.*\.(h|cc)$"
_BATCH = 12
_LINE = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<kind>(?:fatal )?error|warning|note): (?P<text>.*)$")
_QUOTED_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


class Unavailable(Exception):
    """The linter is not on this machine; the message says what brings it."""


def _need(program: str | Path) -> str:
    path = shutil.which(str(program))
    if path is None:
        raise Unavailable(f"{program} is not installed; ./dev tidy installs it")
    return path


def _parse(output: str, root: Path, *, notes: bool = False) -> list[Finding]:
    """Findings in compiler style; without `notes` only errors and warnings."""
    findings = []
    for line in output.splitlines():
        found = _LINE.match(line)
        if found and (notes or found["kind"] != "note"):
            path = os.path.relpath(found["path"], root) if found["path"].startswith("/") else found["path"]
            findings.append(Finding(path, int(found["line"]), found["text"]))
    return findings


def _run(argv: list[str], root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)


def _failed(done: subprocess.CompletedProcess[str], findings: list[Finding], program: str) -> list[Finding]:
    """A linter that failed without a finding is a finding."""
    if done.returncode != 0 and not findings:
        text = (done.stderr or done.stdout).strip().splitlines()
        findings.append(
            Finding(program, 0, f"ended with status {done.returncode}: {text[-1] if text else 'no output'}")
        )
    return findings


def check_format(tree: Tree) -> list[Finding]:
    """C++ is formatted as .clang-format says."""
    program = _need(_CLANG_FORMAT)
    style = (tree.root / ".clang-format").read_bytes()
    cache = Cache("clang-format")
    keys = {file.path: Cache.key(style, file.path, file.text) for file in tree.named(".cc", ".h")}
    todo = [path for path, key in keys.items() if not cache.passed(key)]
    findings = []
    for start in range(0, len(todo), 50):
        part = todo[start : start + 50]
        done = _run([program, "--dry-run", "-Werror", *part], tree.root)
        bad = {finding.path for finding in _parse(done.stderr, tree.root)}
        findings += [Finding(path, 1, "not formatted; ./dev fmt does it") for path in sorted(bad)]
        findings = _failed(done, findings, _CLANG_FORMAT)
        for path in set(part) - bad:
            cache.remember(keys[path])
    return findings


def check_ruff(tree: Tree) -> list[Finding]:
    """Python is formatted and lint-free."""
    ruff = _need(tree.root / ".venv" / "bin" / "ruff")
    done = _run([ruff, "check", "--quiet", "--output-format=concise", "."], tree.root)
    findings = []
    for line in done.stdout.splitlines():
        if found := re.match(r"^(.+?):(\d+):\d+: (.*)$", line):
            findings.append(Finding(found[1], int(found[2]), found[3]))
    findings = _failed(done, findings, "ruff")
    done = _run([ruff, "format", "--check", "--output-format=concise", "."], tree.root)
    for line in done.stdout.splitlines():
        if found := re.match(r"^(.+?):(\d+):\d+: unformatted", line):
            findings.append(Finding(found[1], int(found[2]), "not formatted; ./dev fmt does it"))
    return findings


def check_mypy(tree: Tree) -> list[Finding]:
    """Python's type hints hold, strictly; packages by their own settings."""
    mypy = _need(tree.root / ".venv" / "bin" / "mypy")
    findings = []
    for folder, arguments in (("tools", ["-p", "dev", "-p", "tidy"]), ("python", []), ("jupyter/server", [])):
        if not (tree.root / folder).is_dir() or not (arguments or (tree.root / folder / "pyproject.toml").exists()):
            continue
        done = _run([mypy, "--no-error-summary", *arguments], tree.root / folder)
        found = _parse(done.stdout, tree.root / folder)
        findings += _failed(done, [Finding(f"{folder}/{f.path}", f.line, f.text) for f in found], f"mypy {folder}")
    return findings


def check_shell(tree: Tree) -> list[Finding]:
    """Shell scripts pass shellcheck."""
    program = _need("shellcheck")
    scripts = [f.path for f in tree.files if f.suffix in (".sh", "") and re.match(r"#!.*\b(?:ba)?sh\b", f.text)]
    if not scripts:
        return []
    done = _run([program, "--format=gcc", *scripts], tree.root)
    return _failed(done, _parse(done.stdout, tree.root, notes=True), "shellcheck")


def check_typescript(tree: Tree) -> list[Finding]:
    """jupyter/lab passes eslint and prettier."""
    folder = tree.root / "jupyter" / "lab"
    programs = folder / "node_modules" / ".bin"
    if not (programs / "eslint").exists():
        raise Unavailable("jupyter/lab has no node_modules, and there is no npm to install them with")
    findings = []
    for name, options in (("eslint", ["--format", "json", "src"]), ("prettier", ["--list-different", "."])):
        done = _run([str(programs / name), *options], folder)
        if name == "eslint" and done.stdout.startswith("["):
            found = [
                Finding(os.path.relpath(file["filePath"], tree.root), one.get("line", 0), one["message"])
                for file in json.loads(done.stdout)
                for one in file["messages"]
            ]
        else:
            found = [Finding(f"jupyter/lab/{line}", 0, "prettier formats it") for line in done.stdout.splitlines()]
        findings += _failed(done, found, name)
    return findings


def check_headers(tree: Tree) -> list[Finding]:
    """Each header compiles alone."""
    build = tree.root / "build" / PRESET
    if not (build / "build.ninja").exists():
        raise Unavailable(f"no build/{PRESET}; ./dev tidy makes it")
    command = [_need("ninja"), "-C", str(build), "-k0", "-j", str(os.cpu_count()), "all_verify_interface_header_sets"]
    done = _run(command, tree.root)
    return _failed(done, _parse(done.stdout, tree.root), "ninja all_verify_interface_header_sets")


def check_clang_tidy(tree: Tree) -> list[Finding]:
    """C++ sources (without tests) and their headers pass .clang-tidy. What passed is remembered by content, with all
    headers of ours that a source reaches, its compile command and the settings."""
    program = _need(_CLANG_TIDY)
    database = tree.root / "build" / PRESET / "compile_commands.json"
    if not database.exists():
        raise Unavailable(f"no build/{PRESET}/compile_commands.json; ./dev tidy makes it")
    flags = {entry["file"]: _flags(entry) for entry in json.loads(database.read_text())}
    settings = (tree.root / ".clang-tidy").read_bytes()
    by_path = {file.path: file for file in tree.files}
    cache = Cache("clang-tidy")

    def key(file: File) -> str:
        contents = "".join(by_path[path].text for path in sorted(_reached(file, by_path)))
        return Cache.key(_CLANG_TIDY, settings, *flags[str(tree.root / file.path)], contents)

    def check(batch: list[File]) -> list[Finding]:
        with tempfile.TemporaryDirectory() as folder:
            together = Path(folder) / "together.cc"
            # The linter must not report that this file includes sources.
            together.write_text("".join(f'#include "{tree.root / file.path}"  // NOLINT\n' for file in batch))
            command = [
                program,
                "--quiet",
                f"--config-file={tree.root / '.clang-tidy'}",
                _OWN_FILES,
                str(together),
                "--",
            ]
            done = _run([*command, *flags[str(tree.root / batch[0].path)]], tree.root)
        findings = _failed(done, _parse(done.stdout, tree.root), f"{_CLANG_TIDY} {batch[0].path} …")
        if not findings:
            for file in batch:
                cache.remember(keys[file.path])
        return findings

    sources = [f for f in tree.cpp("src", "python") if not f.is_test and str(tree.root / f.path) in flags]
    keys = {file.path: key(file) for file in sources}
    todo = [file for file in sources if not cache.passed(keys[file.path])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(
            pool.map(check, _batches(todo, lambda file: (file.parts[:-1], flags[str(tree.root / file.path)])))
        )
    return sorted({finding for result in results for finding in result}, key=str)


def _flags(entry: dict[str, str]) -> list[str]:
    """The compiler's flags for a source: its command without the compiler, the source and the output."""
    command = re.sub(r"\s-o\s+\S+", "", entry["command"])
    words = shlex.split(command)
    start = next(n for n, word in enumerate(words) if "clang" in Path(word).name or "++" in word) + 1
    return [word for word in words[start:] if word not in ("-c", entry["file"])]


def _batches(files: list[File], kind: Callable[[File], tuple[object, list[str]]]) -> list[list[File]]:
    """Groups the files of a folder that are compiled alike, because reading headers takes most of the time; the longest
    group comes first."""
    batches: list[list[File]] = []
    for _, alike in itertools.groupby(sorted(files, key=lambda file: (kind(file), file.path)), kind):
        group = list(alike)
        batches += [group[start : start + _BATCH] for start in range(0, len(group), _BATCH)]
    return sorted(batches, key=len, reverse=True)


def _reached(file: File, by_path: dict[str, File]) -> set[str]:
    """The file and every header of ours that it includes, directly or not."""
    seen: set[str] = set()
    queue = [file.path]
    while queue:
        path = queue.pop()
        if path in seen or path not in by_path:
            continue
        seen.add(path)
        for name in _QUOTED_INCLUDE.findall(by_path[path].text):
            queue += [f"src/{name}", str(Path(path).parent / name)]
    return seen
