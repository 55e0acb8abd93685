"""Installs what is missing: Debian packages, the virtual environment, node modules. Each part leaves a stamp, so that a
run with nothing to do takes milliseconds."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev import ui
from dev.paths import BUILD, DEBIAN_PYTHON, LAB_EXTENSION, LOGS, NODE_TESTS, PACKAGES, ROOT, S3_SERVER, STATE, VENV

_DPKG_STATUS = Path("/var/lib/dpkg/status")


@dataclass(frozen=True)
class Package:
    """A Debian package of a list; `unless` names a command that makes it unnecessary."""

    name: str
    unless: str | None = None


def read_packages(path: Path) -> list[Package]:
    packages = []
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        unless = next((word.removeprefix("unless=") for word in words[1:] if word.startswith("unless=")), None)
        packages.append(Package(words[0], unless))
    return packages


def missing_packages(packages: list[Package]) -> list[str]:
    """The packages that dpkg does not have installed and whose `unless` command is missing too."""
    query = subprocess.run(
        ["dpkg-query", "-W", "-f=${Package} ${db:Status-Status}\n"], capture_output=True, text=True, check=True
    )
    installed = {line.split()[0] for line in query.stdout.splitlines() if line.endswith(" installed")}
    return [p.name for p in packages if p.name not in installed and not (p.unless and shutil.which(p.unless))]


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Holds a lock of this checkout, so that two runs of ./dev take turns."""
    STATE.mkdir(exist_ok=True)
    with (STATE / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with ui.Step("Waiting for another ./dev"):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Stamp:
    """Remembers that a part was done for these inputs."""

    def __init__(self, path: Path, *inputs: str | Path) -> None:
        self._path = path
        digest = hashlib.sha256()
        for item in inputs:
            digest.update(item.read_bytes() if isinstance(item, Path) else item.encode())
            digest.update(b"\0")
        self._digest = digest.hexdigest()

    def fresh(self) -> bool:
        return self._path.exists() and self._path.read_text() == self._digest

    def write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(self._digest)


def as_root(argv: list[str]) -> list[str]:
    """The command, run through sudo where the user is not root."""
    if os.geteuid() == 0:
        return argv
    if not shutil.which("sudo"):
        raise ui.UserError(
            f"installing packages needs root and there is no sudo; run once as root:\n  {' '.join(argv)}"
        )
    return ["sudo", *argv]


def apt(*lists: str) -> None:
    """Installs the Debian packages of tools/packages/LIST.txt that are missing, for each of the lists."""
    for name in lists:
        path = PACKAGES / f"{name}.txt"
        if not _DPKG_STATUS.exists():
            raise ui.UserError(f"this is not Debian: install the equivalents of {path.relative_to(ROOT)} yourself")
        if Stamp(STATE / "stamps" / name, path, str(_DPKG_STATUS.stat().st_mtime_ns)).fresh():
            continue
        if names := missing_packages(read_packages(path)):
            _install(names)
        Stamp(STATE / "stamps" / name, path, str(_DPKG_STATUS.stat().st_mtime_ns)).write()


def _install(names: list[str]) -> None:
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    # --no-remove: a package that conflicts (an older boost) is removed by the person who wants that, never by this.
    install = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-q", "--no-install-recommends"]
    ui.run("Reading Debian's package lists", as_root(["apt-get", "update", "-q"]), LOGS / "apt-update.log", env=quiet)
    label = f"Installing {len(names)} Debian package{'s' if len(names) > 1 else ''}"
    ui.run(label, as_root([*install, "--no-remove", *names]), LOGS / "apt-install.log", env=quiet)


def python(*locks: str) -> None:
    """Makes .venv hold exactly the pinned packages of tools/packages/LOCK.txt (hashes are checked)."""
    venv(VENV, *locks)


def venv(folder: Path, *locks: str, with_debian: bool = False) -> Path:
    """Does the same as `python` for any virtual environment and returns its interpreter. `with_debian`: the environment
    sees the packages of Debian too."""
    interpreter = folder / "bin" / "python"
    name = folder.relative_to(ROOT)
    if interpreter.exists() and not (folder / "pyvenv.cfg").exists():
        raise ui.UserError(f"{folder} is not a virtual environment: remove it and run this again")
    if not interpreter.exists():
        options = ["--system-site-packages"] if with_debian else []
        ui.run(f"Creating {name}", [DEBIAN_PYTHON, "-m", "venv", *options, folder], LOGS / "venv.log")
    for lock in locks:
        path = PACKAGES / f"{lock}.txt"
        stamp = Stamp(folder / "stamps" / lock, path)
        if stamp.fresh():
            continue
        pip: list[str | Path] = [
            interpreter,
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
            "--require-hashes",
        ]
        ui.run(f"Installing {path.relative_to(ROOT)}", [*pip, "-r", path], LOGS / f"pip-{lock}.log")
        stamp.write()
    return interpreter


def test_servers() -> None:
    """Installs the servers that the tests of the data stores start: Redis, and an S3 server that checks signatures."""
    apt("apt-test")
    venv(S3_SERVER, "requirements-s3")


def node() -> None:
    """Installs the modules of tests/node/package-lock.json."""
    stamp = Stamp(NODE_TESTS / "node_modules" / ".banyan-stamp", NODE_TESTS / "package-lock.json")
    if not stamp.fresh():
        ui.run("Installing node modules", ["npm", "ci"], LOGS / "npm.log", cwd=NODE_TESTS)
        stamp.write()


def _npm_path() -> str:
    """A PATH with npm: this machine's, or one from PyPI."""
    path = os.environ.get("PATH", os.defpath)
    if shutil.which("npm"):
        return path
    return os.pathsep.join([str(venv(BUILD / "node", "requirements-node").parent), path])


def lab_modules() -> None:
    """Installs the modules of jupyter/lab/package-lock.json."""
    lock = LAB_EXTENSION / "package-lock.json"
    modules = Stamp(LAB_EXTENSION / "node_modules" / ".banyan-stamp", lock)
    if modules.fresh():
        return
    install = ["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"]
    path = {"PATH": _npm_path()}
    ui.run("Installing node modules of jupyter/lab", install, LOGS / "npm-lab.log", cwd=LAB_EXTENSION, env=path)
    modules.write()


def lab_extension() -> None:
    """Builds jupyter/lab for JupyterLab, again only when its sources change."""
    lock = LAB_EXTENSION / "package-lock.json"
    built = LAB_EXTENSION / "labextensions" / "banyan-lab" / "package.json"
    settings = [LAB_EXTENSION / name for name in ("package.json", "tsconfig.json")]
    sources = [path for folder in ("src", "style") for path in sorted((LAB_EXTENSION / folder).rglob("*"))]
    stamp = Stamp(STATE / "stamps" / "lab-extension", lock, *settings, *(path for path in sources if path.is_file()))
    if built.exists() and stamp.fresh():
        return
    lab_modules()
    path = {"PATH": os.pathsep.join([str(VENV / "bin"), _npm_path()])}
    build = ["npm", "run", "build"]
    ui.run("Building the JupyterLab extension", build, LOGS / "lab-extension.log", cwd=LAB_EXTENSION, env=path)
    stamp.write()
