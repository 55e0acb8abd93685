"""Which files are of installed packages or of Python itself, and which are the user's own."""

from __future__ import annotations

import functools
import os
import site
import sysconfig
from pathlib import Path

# Folders with these names hold packages, wherever they are.
_PACKAGES = ("site-packages", "dist-packages")


def is_of_python(path: str) -> bool:
    """Whether a file is of Python's standard library, or of this package."""
    return path.startswith(_folders_of_python())


def is_of_package(module: str, path: str) -> bool:
    """Whether the module of this name, which is read from `path`, is of a package that an installer has put there.

    Such folders are `site-packages` and their like, and any other in which an installer has recorded the package
    (`pip install --target FOLDER`; the files named RECORD of
    https://packaging.python.org/en/latest/specifications/recording-installed-packages/). The source tree of a package
    that is installed as editable is the user's own.
    """
    parts = path.split(os.sep)
    if any(part in _PACKAGES for part in parts) or path.startswith(_folders_of_packages()):
        return True
    library = module.partition(".")[0]
    for depth in range(len(parts) - 1, 0, -1):
        if parts[depth].partition(".")[0] != library:
            continue
        folder = os.sep.join(parts[:depth]) or os.sep
        try:
            changed = os.stat(folder).st_mtime_ns
        except OSError:
            continue
        if library in _recorded(folder, changed):
            return True
    return False


@functools.cache
def _folders_of_python() -> tuple[str, ...]:
    return _with_links([sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), str(Path(__file__).parents[1])])


@functools.cache
def _folders_of_packages() -> tuple[str, ...]:
    folders = [*site.getsitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return _with_links([*folders, site.getusersitepackages()])


def _with_links(folders: list[str]) -> tuple[str, ...]:
    """Each folder as it is written, and where symbolic links lead."""
    return tuple(sorted(each + os.sep for folder in folders for each in {folder, os.path.realpath(folder)}))


@functools.cache
def _recorded(folder: str, _changed_ns: int) -> frozenset[str]:
    """The modules and packages directly in a folder that an installer has recorded there."""
    found = set()
    for record in Path(folder).glob("*.dist-info/RECORD"):
        try:
            lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        # A line is PATH,HASH,SIZE; it is quoted where the path has a comma.
        found |= {line.strip('"').partition("/")[0].partition(",")[0].partition(".")[0] for line in lines}
    return frozenset(found - {""})
