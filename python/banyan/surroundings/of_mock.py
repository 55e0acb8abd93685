"""Patches of unittest.mock that were started, and not stopped yet."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from banyan.surroundings.part import Part, Resists


def _active() -> list[Any]:
    patches: list[Any] = sys.modules["unittest.mock"]._patch._active_patches
    return patches


def _read() -> dict[str, Any]:
    """Each patch, and what it has put in its place."""
    found = {}
    for patch in _active():
        target = getattr(patch, "target", None)  # A patch of a dict has no target.
        if target is not None:
            name = getattr(target, "__name__", type(target).__name__)
            found[f"{name}.{patch.attribute}"] = patch, getattr(target, patch.attribute)
    return found


def _write(wanted: dict[str, Any]) -> None:
    importlib.import_module("unittest.mock")
    reasons = {}
    for key, (patch, _) in reversed(_read().items()):
        try:
            if not any(patch is each for each, _ in wanted.values()):
                patch.stop()
        except Exception as error:
            reasons[key] = str(error)
    for key, (patch, value) in wanted.items():
        try:
            setattr(patch.target, patch.attribute, value)
            if not any(patch is each for each in _active()):
                _active().append(patch)
        except Exception as error:
            reasons[key] = str(error)
    if reasons:
        raise Resists(reasons)


def parts() -> list[Part]:
    about = "patches of unittest.mock that were started"
    return [Part("<mock.patches>", about, _read, _write, needs="unittest.mock", holds=True)]
