"""matplotlib's settings, the backend that a cell has chosen, and fonts that cells have added."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from IPython.core.getipython import get_ipython

from banyan.surroundings.part import Part

_NOT_RC = frozenset({"backend", "backend_fallback", "interactive"})
_INLINE = "module://matplotlib_inline.backend_inline"


def _matplotlib() -> Any:
    """The module if it is fully imported."""
    module = sys.modules["matplotlib"]
    return module if hasattr(module, "rcParamsOrig") else None


class _Settings:
    """matplotlib's settings. The kernel chooses the backend, until a cell chooses another one: `%matplotlib agg`."""

    def __init__(self) -> None:
        self._default = os.environ.get("MPLBACKEND", "")

    def read(self) -> Any:
        matplotlib = _matplotlib()
        if matplotlib is None:
            return None
        original = matplotlib.rcParamsOrig
        items = dict.items(matplotlib.rcParams)
        changed = {key: value for key, value in items if key not in _NOT_RC and dict.get(original, key) != value}
        return changed | self._chosen(matplotlib)

    def glance(self) -> Any:
        matplotlib = _matplotlib()
        # RcParams.copy() would call RcParams.__getitem__ for each setting, which is slow.
        return None if matplotlib is None else dict(dict.items(matplotlib.rcParams))

    def write(self, difference: Mapping[str, Any]) -> None:
        import matplotlib

        backend, before = difference.get("backend"), self._chosen(matplotlib)
        if backend != before.get("backend"):
            _activate(backend or self._default)
        original = {key: value for key, value in dict.items(matplotlib.rcParamsOrig) if key not in _NOT_RC}
        settings: Any = matplotlib.rcParams
        dict.update(settings, original)  # RcParams would warn of deprecated settings.
        dict.update(settings, {key: value for key, value in difference.items() if key not in _NOT_RC})
        if "interactive" in difference or "interactive" in before:
            matplotlib.interactive(difference.get("interactive", _is_active()))

    def _chosen(self, matplotlib: Any) -> dict[str, Any]:
        """The backend, if a cell has chosen one. A kernel names its own in MPLBACKEND; without that matplotlib chooses,
        and nothing is stored.
        """
        backend = dict.get(matplotlib.rcParams, "backend")
        interactive = bool(dict.get(matplotlib.rcParams, "interactive"))
        if self._default and isinstance(backend, str) and _name(backend) != _name(self._default):
            return {"backend": backend, "interactive": interactive}
        return {"interactive": False} if self._default and _is_active() and not interactive else {}


def _name(backend: str) -> str:
    return "inline" if backend == _INLINE else backend.lower()


def _is_active() -> bool:
    """Whether the backend is loaded, which makes matplotlib interactive in a kernel."""
    return getattr(sys.modules.get("matplotlib.pyplot"), "_backend_mod", None) is not None


def _activate(backend: str) -> None:
    """Choose a backend as %matplotlib does."""
    from IPython.core.pylabtools import activate_matplotlib
    from matplotlib_inline.backend_inline import configure_inline_support

    activate_matplotlib(backend)
    configure_inline_support(get_ipython(), backend)  # type: ignore[no-untyped-call]


class _Fonts:
    """Files of fonts that cells have added to those that matplotlib finds by itself and lists in its cache."""

    def __init__(self) -> None:
        self._count = -1  # The number of all fonts when they were last looked at.
        self._found: set[str] | None = None
        self._added: list[str] = []

    def read(self) -> list[str] | None:
        manager = getattr(sys.modules["matplotlib.font_manager"], "fontManager", None)
        if manager is None:
            return None
        if len(manager.ttflist) != self._count:
            self._count = len(manager.ttflist)
            if self._found is None:
                self._found = _found_fonts(manager)
            self._added = [font.fname for font in manager.ttflist if font.fname not in self._found]
        return self._added

    def write(self, wanted: list[str]) -> None:
        """Let these fonts be the added ones. Raises ValueError for files that are not here, after the
        others are added.
        """
        from matplotlib import font_manager

        manager, missing = font_manager.fontManager, []
        before = self.read() or []
        manager.ttflist[:] = [font for font in manager.ttflist if font.fname in wanted or font.fname not in before]
        for path in wanted:
            if path not in before:
                try:
                    manager.addfont(path)
                except (OSError, RuntimeError) as error:
                    missing.append(f"{path}: {error}")
        self._count = -1
        if missing:
            raise ValueError("; ".join(missing))


def _found_fonts(manager: Any) -> set[str]:
    """The fonts that matplotlib has found itself, in this process or in an earlier one."""
    from matplotlib import font_manager, get_cachedir

    with contextlib.suppress(Exception):
        cached: Any = font_manager.json_load(os.path.join(get_cachedir(), f"fontlist-v{manager.__version__}.json"))
        return {font.fname for font in cached.ttflist}
    return {font.fname for font in manager.ttflist}


def parts() -> list[Part]:
    settings, fonts = _Settings(), _Fonts()
    return [
        Part(
            "<fonts>",
            "files of fonts that cells add to matplotlib's",
            fonts.read,
            fonts.write,
            needs="matplotlib.font_manager",
            first=[],
        ),
        Part(
            "<rcParams>",
            "matplotlib's settings, and its backend where a cell chooses one",
            settings.read,
            settings.write,
            settings.glance,
            needs="matplotlib",
            first={},
        ),
    ]
