"""Makes a copy of the tree with all faults in it, and builds the copy once."""

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dev import build, ui
from dev.paths import BUILD, LOGS, ROOT

from mutants.faults import Fault, faults_of
from mutants.switches import HEADER, SWITCH, rewritten

FOLDER = BUILD / "mutants"
_COPY = FOLDER / "tree"
_BUILT = FOLDER / "build"
_ERROR = re.compile(r"^(?:In file included from )?(\S+?):(\d+):\d+: (?:fatal )?error:", re.MULTILINE)
_ROUNDS_MAX = 12
_COPIED = (
    "CMakeLists.txt",
    "cmake",
    "src",
    "tests",
    "bench",
)  # what CMake reads when it configures without the runtime


def sources_of(folder: str) -> list[str]:
    """The product's sources and headers in a folder, without tests and without the files that only tests use."""
    found = sorted((ROOT / folder).rglob("*"))
    return [
        str(path.relative_to(ROOT))
        for path in found
        if path.suffix in (".cc", ".h") and not path.stem.endswith("_test") and not path.name.startswith("test_")
    ]


def all_faults(folders: Sequence[str]) -> list[Fault]:
    return [fault for folder in folders for path in sources_of(folder) for fault in faults_of(ROOT, path)]


def built(faults: Sequence[Fault], targets: Sequence[str]) -> dict[Fault, int]:
    """Builds the targets with these faults and leaves out those that do not compile. Returns the numbers of the
    others."""
    _copy()
    numbers = {fault: number for number, fault in enumerate(faults, 1)}
    # The libraries that contain the faults come first: a header that does not compile then stops the build early.
    wanted = sorted({str(Path(fault.path).parent).removeprefix("src/").replace("/", "_") for fault in faults})
    for round_ in range(1, _ROUNDS_MAX + 1):
        _write({fault.path for fault in faults}, numbers)
        log = LOGS / f"mutants-build-{round_}.log"
        label = f"Building {', '.join(wanted)} with {len(numbers)} faults"
        status = ui.run(label, ["ninja", "-C", _BUILT, "-k", "0", *_jobs(), *wanted], log, check=False)
        if status == 0 and wanted == [*targets]:
            return numbers
        if status == 0:
            wanted = [*targets]
            continue
        wrong = _wrong(log.read_text(errors="replace"), numbers)
        if not wrong:
            raise ui.UserError(f"the tree does not build, and no fault is where it fails: {log}")
        numbers = {fault: number for fault, number in numbers.items() if fault not in wrong}
    raise ui.UserError(f"after {_ROUNDS_MAX} rounds there are still faults that do not compile: {log}")


def binary(target: str) -> Path:
    """The file of a program in the build of the copy."""
    found = [path for path in _BUILT.rglob(target) if path.is_file()]
    if not found:
        raise ui.UserError(f"{target} was not built: {_BUILT}")
    return found[0]


def _copy() -> None:
    """Copies the files that git tracks or would track. An unchanged file keeps its time, so ninja does not rebuild
    it."""
    listed = subprocess.run(
        [
            "git",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            *_COPIED,
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    names = {name for name in listed if name and (ROOT / name).is_file()}
    for path in [path for path in _COPY.rglob("*") if path.is_file()] if _COPY.exists() else []:
        if str(path.relative_to(_COPY)) not in names:
            path.unlink()
    for name in names:
        _put(_COPY / name, (ROOT / name).read_bytes())
    _put(FOLDER / "include" / HEADER, SWITCH.encode())
    _configure()


def _configure() -> None:
    """Configures the build of the copy, unless it is configured in this way already."""
    flags = f"-O1 -w -Wno-c++11-narrowing -ferror-limit=0 -DNDEBUG -D_GLIBCXX_ASSERTIONS -I{FOLDER / 'include'}"
    command = ["cmake", "-S", _COPY, "-B", _BUILT, "-G", "Ninja", "-DBANYAN_RUNTIME=OFF", "-DCMAKE_BUILD_TYPE=None"]
    command += ["-DCMAKE_CXX_COMPILER=clang++-19", "-DCMAKE_C_COMPILER=clang-19", f"-DCMAKE_CXX_FLAGS={flags}"]
    configured = FOLDER / "configured.txt"
    wanted = "\n".join(map(str, command))
    if (_BUILT / "build.ninja").exists() and configured.exists() and configured.read_text() == wanted:
        return
    ui.run("Configuring mutants", command, LOGS / "mutants-configure.log")
    configured.write_text(wanted)


def _write(paths: Iterable[str], numbers: Mapping[Fault, int]) -> None:
    for path in paths:
        own = {fault: number for fault, number in numbers.items() if fault.path == path}
        _put(_COPY / path, rewritten((ROOT / path).read_bytes(), own))


def _put(path: Path, content: bytes) -> None:
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _wrong(log: str, numbers: Mapping[Fault, int]) -> set[Fault]:
    """The faults on lines in which the compiler has found an error."""
    lines = {(str(Path(path).name), int(line)) for path, line in _ERROR.findall(log)}
    found = set()
    for fault in numbers:
        name = Path(fault.path).name
        if any((name, line) in lines for line in range(fault.line, fault.end_line + 1)):
            found.add(fault)
    return found


def _jobs() -> list[str]:
    return ["-j", str(build.jobs())]
