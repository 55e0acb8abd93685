"""Newer suites of Debian, for Pythons and compilers that this machine does not have: a system of their own in a folder,
made by debootstrap, which commands run in with this machine's folders."""

import os
import re
import shutil
from pathlib import Path

from dev import provision, ui
from dev.paths import LOGS, ROOT
from dev.pythons import ENVIRONMENTS, Python, version_of

SUITES = ("trixie", "sid")
_FOLDER = ENVIRONMENTS / "suites"
_SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
# What README names for a user's `pip install ./python`, and what Python itself needs.
_PACKAGES = (
    "ca-certificates",
    "clang",
    "g++",
    "libboost-dev",
    "libexpected-dev",
    "libxxhash-dev",
    "nlohmann-json3-dev",
)
_PYTHON = ("python3", "python3-dev", "python3-venv")
# Mounts are seen by the command only, and end with it.
_ENTER = """#!/bin/sh
# Runs a command in the Debian suite beside this file, with the checkout, /tmp and the home folder of this machine.
exec unshare --mount sh -c '
for folder in /proc /sys /dev /tmp /etc/ssl "$HOME" {root}; do
  mkdir -p "{suite}$folder" && mount --rbind "$folder" "{suite}$folder" || exit 1
done
cp /etc/resolv.conf /etc/hosts "{suite}/etc/"
exec chroot {suite} sh -c "cd \\"\\$0\\" && exec \\"\\$@\\"" "$PWD" "$@"' enter "$@"
"""


def unavailable() -> str:
    """Why this machine cannot have them; empty when it can."""
    if os.geteuid() != 0:
        return "newer Debian suites need root"
    if not shutil.which("debootstrap"):
        return "newer Debian suites need debootstrap: apt-get install debootstrap"
    return ""


def python_of(suite: str) -> Python:
    """The suite's Python. Makes the suite when it is not there."""
    folder = _FOLDER / suite
    stamp = provision.Stamp(_FOLDER / f"{suite}.stamp", *_PYTHON, *_PACKAGES)
    if not stamp.fresh():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command: list[str | Path] = [
            "debootstrap",
            "--variant=minbase",
            f"--include={','.join([*_PYTHON, *_PACKAGES])}",
        ]
        ui.run(f"Making Debian {suite}", [*command, suite, folder, _mirror()], LOGS / f"debootstrap-{suite}.log")
        stamp.write()
    enter = _FOLDER / f"{suite}-run"
    enter.write_text(_ENTER.format(root=ROOT, suite=folder))
    enter.chmod(0o755)
    interpreter = Path("/usr/bin/python3")
    version = version_of(interpreter, [enter])
    if version is None:
        raise ui.UserError(f"the Python of {folder} does not start; remove the folder to have it made again")
    return Python(version, f"Debian {suite}", interpreter, (enter,))


def _mirror() -> str:
    """Where this machine's own packages come from."""
    found = re.search(r"^URIs: (\S+)", _SOURCES.read_text(), re.MULTILINE) if _SOURCES.exists() else None
    if found is None:
        raise ui.UserError(f"{_SOURCES} names no mirror of Debian")
    return found[1]
