"""The Pythons of this machine, and for each an environment that has the package as a user installs it."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dev import ui
from dev.paths import BUILD, DEBIAN_PYTHON, LOGS, PACKAGES, ROOT

ENVIRONMENTS = BUILD / "pythons"
OLDEST = (3, 11)
COMPILERS = {"g++": "g++", "clang": "clang++-19"}
_OF_A_SUITE = {"g++": "g++", "clang": "clang++"}  # a newer suite of Debian has newer compilers
# The packages that the suites need beside the package under test: the whole suites, and their sample.
_LOCK = PACKAGES / "requirements-test.txt"
_LOCK_OF_SAMPLE = PACKAGES / "requirements-pythons.txt"
# The folders that the package is built from: `pip install ./python` compiles parts of src/ too.
_SOURCES = (
    "python",
    "src/base",
    *(f"src/core/{name}" for name in ("api", "checkpoint", "jupyter", "planner", "session", "view")),
)


@dataclass(frozen=True)
class Python:
    """An interpreter to try."""

    version: tuple[int, int, int]
    origin: str  # "Debian", "pyenv", or a newer suite of Debian
    interpreter: Path
    within: tuple[str | Path, ...] = ()  # the command prefix that enters the system which has it

    @property
    def name(self) -> str:
        return f"{'.'.join(map(str, self.version))} {self.origin}"


def found() -> list[Python]:
    """The Pythons of Debian and of pyenv that the package supports, every patch level of a minor version, oldest
    first."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [("Debian", DEBIAN_PYTHON)]
    candidates += [("pyenv", path) for path in sorted(pyenv.glob("versions/*/bin/python"))]
    pythons = [Python(version, origin, path) for origin, path in candidates if (version := version_of(path))]
    return sorted((one for one in pythons if one.version >= OLDEST), key=lambda one: (one.version[:2], one.origin))


def version_of(interpreter: Path, within: Sequence[str | Path] = ()) -> tuple[int, int, int] | None:
    """The version of an interpreter; None when it does not start or is no CPython."""
    code = "import json, sys; print(json.dumps([*sys.version_info[:3], sys.implementation.name]))"
    try:
        done = subprocess.run([*within, interpreter, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return None
    if done.returncode != 0:
        return None
    major, minor, micro, implementation = json.loads(done.stdout)
    return (major, minor, micro) if implementation == "cpython" else None


def one_of_each(pythons: Sequence[Python]) -> list[Python]:
    """One Python of each minor version: a build for one patch level works on all of them."""
    first = {one.version[:2]: one for one in reversed(pythons)}
    return [first[minor] for minor in sorted(first)]


def in_turn(pythons: Sequence[Python]) -> list["Environment"]:
    """The environments that CI tries: each Python and each compiler at least once."""
    compilers = list(COMPILERS)
    numbers = range(max(len(pythons), len(compilers)) if pythons else 0)
    return [Environment(pythons[n % len(pythons)], compilers[n % len(compilers)]) for n in numbers]


@dataclass(frozen=True)
class Environment:
    """A virtual environment of a Python, with the package built by one compiler, or out of a wheel."""

    python: Python
    compiler: str  # of COMPILERS, or "wheel"
    wheel: Path | None = None
    brief: bool = False  # the sample is enough: another environment of this kind runs the whole suites

    @property
    def slug(self) -> str:
        return re.sub(r"[^\w.]+", "-", f"{self.python.name} {self.compiler}".replace("+", "x")).lower()

    @property
    def folder(self) -> Path:
        return ENVIRONMENTS / self.slug

    @property
    def stamp(self) -> Path:
        """The file that exists once the environment is whole; it holds a digest of what the environment was made of."""
        return self.folder / "made.json"

    @property
    def interpreter(self) -> Path:
        """A file that starts the Python of the environment, from any folder."""
        return self.folder / "python" if self.python.within else self._inner

    @property
    def _inner(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    def make(self, *, sample: bool) -> float:
        """Makes the environment anew unless nothing has changed since, and returns the seconds that `pip install
        ./python` took. `sample`: the environment has only the packages that the sample of the suites needs, and the
        build may use the compiler's cache."""
        line = f"pip install {shlex.quote(str(self.wheel))}" if self.wheel else install_line()
        lock = _LOCK_OF_SAMPLE if sample else _LOCK
        inputs = _inputs(line, lock, *([self.wheel] if self.wheel else []))
        if self.stamp.exists() and (made := json.loads(self.stamp.read_text()))["inputs"] == inputs:
            return float(made["seconds"])
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._run("Creating an environment", [self.python.interpreter, "-m", "venv", self.folder / "venv"])
        start = time.monotonic()
        activated = f'cd "{ROOT}" && PATH="{self._inner.parent}:$PATH" && {line}'
        self._run(line, ["sh", "-c", activated], {} if self.wheel else self._build_settings(cached=sample))
        seconds = time.monotonic() - start
        pip = [self._inner, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--require-hashes"]
        # Without bytecode, because most of these modules are never imported and compiling them is most of the work.
        self._run("Installing what the suites need", [*pip, "--no-compile", "-r", lock])
        if self.python.within:
            command = " ".join(map(str, [*self.python.within, self._inner]))
            self.interpreter.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            self.interpreter.chmod(0o755)
        self.stamp.write_text(json.dumps({"inputs": inputs, "seconds": round(seconds, 1)}))
        return seconds

    def _build_settings(self, *, cached: bool) -> dict[str, str]:
        if self.python.within:
            return {"CXX": _OF_A_SUITE[self.compiler]}
        return {"CXX": COMPILERS[self.compiler], **build_settings(self.folder / "build", cached=cached)}

    def _run(self, label: str, command: Sequence[object], env: dict[str, str] | None = None) -> None:
        step = "-".join(re.findall("[a-z]+", label.lower())[:2])
        log = LOGS / f"pythons-{self.slug}-{step}.log"
        ui.run(
            f"{label}: Python {self.python.name}, {self.compiler}",
            [*self.python.within, *map(str, command)],
            log,
            env=env,
        )


def build_settings(folder: Path, *, cached: bool) -> dict[str, str]:
    """The environment of pip's build of the package. A warning is an error, as in the tree's own build. `cached`: the
    build uses the compiler's cache, which needs a build folder that stays the same."""
    settings = {"CMAKE_ARGS": "-DBANYAN_WERROR=ON"}
    if cached and shutil.which("ccache"):
        settings |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "SKBUILD_BUILD_DIR": str(folder)}
        settings |= {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    return settings


def install_line() -> str:
    """The line of README that installs the package, as its readers copy it."""
    return _of_readme(r"^```sh\n(pip install [^#\n]*[^#\s])", "line to install the package with")


def debian_packages() -> list[str]:
    """The packages that README tells its readers on Debian to install first."""
    return _of_readme(r"^pip install .*# Debian 12: after apt-get install (.*)$", "packages of Debian").split()


def _of_readme(pattern: str, what: str) -> str:
    section = (ROOT / "README.md").read_text().partition("## Undo in 30 seconds")[2]
    found = re.search(pattern, section, re.MULTILINE)
    if found is None:
        raise ui.UserError(f'README.md has no {what}, under "Undo in 30 seconds"')
    return found[1]


def _inputs(line: str, *files: Path) -> str:
    """A digest of everything that an environment is made of."""
    digest = hashlib.sha256(line.encode())
    for path in files:
        digest.update(path.read_bytes())
    for folder in _SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT)
            caches = any(part.startswith((".", "__pycache__")) for part in name.parts)
            if path.is_file() and not caches and "tests" not in name.parts and path.suffix not in (".so", ".md"):
                digest.update(str(name).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
