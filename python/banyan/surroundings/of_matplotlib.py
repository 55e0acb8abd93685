"""matplotlib's settings."""

from __future__ import annotations

import sys
from typing import Any

from banyan.surroundings.part import Part

# The backend is the front end's business.
_NOT_RC = frozenset({"backend", "backend_fallback", "interactive"})


def _matplotlib() -> Any:
    """The module, when it is whole."""
    module = sys.modules["matplotlib"]
    return module if hasattr(module, "rcParamsOrig") else None


def _read() -> Any:
    matplotlib = _matplotlib()
    if matplotlib is None:
        return None
    original = matplotlib.rcParamsOrig
    items = dict.items(matplotlib.rcParams)
    return {key: value for key, value in items if key not in _NOT_RC and dict.get(original, key) != value}


def _glance() -> Any:
    matplotlib = _matplotlib()
    # Its copy() looks at each by RcParams.__getitem__.
    return None if matplotlib is None else dict(dict.items(matplotlib.rcParams))


def _write(difference: dict[str, Any]) -> None:
    import matplotlib

    original = {key: value for key, value in dict.items(matplotlib.rcParamsOrig) if key not in _NOT_RC}
    settings: Any = matplotlib.rcParams
    dict.update(settings, original)  # not through RcParams, which warns of deprecated ones
    dict.update(settings, difference)


def parts() -> list[Part]:
    return [Part("<rcParams>", "matplotlib's settings", _read, _write, _glance, needs="matplotlib", first={})]
