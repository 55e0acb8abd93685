"""Suites of Debian, each a system of its own in a folder, made by debootstrap. Commands run inside such a system and
see this machine's checkout, home and /tmp. Newer suites give Pythons and compilers that this machine lacks; a new
Debian 12 has the packages of README and no others."""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dev import provision, ui
from dev.paths import LOGS, ROOT
from dev.pythons import ENVIRONMENTS, Python, debian_packages, version_of

SUITES = ("trixie", "sid")
DEBIAN_12 = "bookworm"
_FOLDER = ENVIRONMENTS / "suites"
_SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
# The packages that README names for `pip install ./python`, by their names in newer suites, and another compiler.
_PACKAGES = (
    "ca-certificates",
    "clang",
    "g++",
    "libboost-dev",
    "libexpected-dev",
    "libxxhash-dev",
    "nlohmann-json3-dev",
    "python3-dev",
)
_PYTHON = ("python3", "python3-venv")
# Only the command sees the mounts, and they end with it.
_ENTER = """#!/bin/sh
# Runs a command in the Debian suite beside this file, with the checkout, /tmp and the home folder of this machine.
exec unshare --mount sh -c '
for folder in /proc /sys /dev /tmp /etc/ssl "$HOME" {root}; do
  mkdir -p "{suite}$folder" && mount --rbind "$folder" "{suite}$folder" || exit 1
done
cp /etc/resolv.conf /etc/hosts "{suite}/etc/"
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
exec chroot {suite} sh -c "cd \\"\\$0\\" && exec \\"\\$@\\"" "$PWD" "$@"' enter "$@"
"""


def unavailable() -> str:
    """Why this machine cannot have such suites; empty when it can."""
    if os.geteuid() != 0:
        return "newer Debian suites need root"
    if not shutil.which("debootstrap"):
        return "newer Debian suites need debootstrap: apt-get install debootstrap"
    return ""


def python_of(suite: str) -> Python:
    """The Python of a newer suite that has the packages for building the package."""
    return _python_of(suite, [*_PYTHON, *_PACKAGES])


def of_readme() -> Python:
    """The Python of a new Debian 12, after README's `apt-get install`."""
    python = _python_of(DEBIAN_12, _PYTHON)
    (enter,) = python.within
    packages = debian_packages()
    stamp = provision.Stamp(_FOLDER / f"{DEBIAN_12}-packages.stamp", *packages)
    if not stamp.fresh():
        install = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", *packages]
        ui.run(f"apt-get install {' '.join(packages)}", [enter, *install], LOGS / "readme-apt-get.log")
        stamp.write()
    return python


@dataclass(frozen=True)
class System:
    """A Debian in a folder."""

    folder: Path
    enter: Path  # the program that runs its arguments as a command inside


def anew(*packages: str) -> System:
    """A Debian 12 that nobody has used yet, with the certificates and the packages that are named. The one
    that was made before goes."""
    return _made(DEBIAN_12, _FOLDER / "new", ["ca-certificates", *packages])


def _python_of(suite: str, packages: Sequence[str]) -> Python:
    """The Python of a suite, which is made when it is not there."""
    folder = _FOLDER / suite
    stamp = provision.Stamp(_FOLDER / f"{suite}.stamp", *packages)
    if stamp.fresh():
        system = System(folder, _enter(folder))
    else:
        for old in _FOLDER.glob(f"{suite}*.stamp"):
            old.unlink()
        system = _made(suite, folder, packages)
        stamp.write()
    interpreter = Path("/usr/bin/python3")
    version = version_of(interpreter, [system.enter])
    if version is None:
        raise ui.UserError(f"the Python of {folder} does not start; remove the folder to have it made again")
    return Python(version, f"Debian {suite}", interpreter, (system.enter,))


def _made(suite: str, folder: Path, packages: Sequence[str]) -> System:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = ["--variant=minbase", f"--include={','.join(packages)}"]
    command: list[str | Path] = ["debootstrap", *options, suite, folder, _mirror()]
    ui.run(f"Making Debian {suite}", command, LOGS / f"debootstrap-{suite}.log")
    return System(folder, _enter(folder))


def _enter(folder: Path) -> Path:
    program = folder.with_name(f"{folder.name}-run")
    program.write_text(_ENTER.format(root=ROOT, suite=folder))
    program.chmod(0o755)
    return program


def _mirror() -> str:
    """The mirror from which this machine installs its own packages."""
    found = re.search(r"^URIs: (\S+)", _SOURCES.read_text(), re.MULTILINE) if _SOURCES.exists() else None
    if found is None:
        raise ui.UserError(f"{_SOURCES} names no mirror of Debian")
    return found[1]
