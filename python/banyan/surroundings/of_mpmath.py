"""The precision that mpmath computes with."""

from __future__ import annotations

import sys
from typing import Any

from banyan.surroundings.part import Part

_SETTINGS = ("prec", "pretty", "trap_complex")


def _read() -> dict[str, Any] | None:
    context = getattr(sys.modules["mpmath"], "mp", None)
    return None if context is None else {name: getattr(context, name) for name in _SETTINGS}


def _write(settings: dict[str, Any]) -> None:
    import mpmath

    for name, value in settings.items():
        setattr(mpmath.mp, name, value)


def parts() -> list[Part]:
    first = {"prec": 53, "pretty": False, "trap_complex": False}
    return [Part("<mpmath>", "the precision of mpmath", _read, _write, needs="mpmath", first=first)]
