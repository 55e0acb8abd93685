"""The cases that the rows of the table are made from."""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One class. The texts are cells and an expression, run where the library's `setup` has run.

    kind: the class as its users import it. make: binds `x`, the same each time. change: changes `x` in place, or
    binds it anew where its objects cannot change (`frozen`: then sharing shows nowhere). view: what of `x` must be
    equal, in values that == compares. form: which value of the class this is, where there are several. read: a cell
    that only reads.
    """

    kind: str
    make: str
    change: str
    view: str = "x"
    form: str = ""
    read: str = "repr(x)"
    frozen: bool = False

    @property
    def title(self) -> str:
        return f"{self.kind} ({self.form})" if self.form else self.kind


@dataclass(frozen=True)
class Library:
    """Cases that share a setup cell.

    distribution: its name on the package index; None: part of Python. venv: the folder below build/compat
    that has it.
    """

    name: str
    distribution: str | None
    setup: str
    cases: tuple[Case, ...]
    venv: str = "venv"

    def version(self) -> str:
        """Of what is installed for the running interpreter."""
        if self.distribution is None:
            return platform.python_version()
        return importlib.metadata.version(self.distribution)
