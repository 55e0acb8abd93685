"""In which formats figures are shown, where a cell has set that by set_matplotlib_formats and not by `%config`."""

from __future__ import annotations

import functools
import sys
from typing import Any

from banyan.surroundings.part import Part

# By the MIME type: what IPython calls the format.
_FORMATS = {"image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg", "application/pdf": "pdf"}
_OTHER_NAMES = {"jpeg": "jpg", "png2x": "retina"}


class _Figures:
    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def read(self) -> dict[str, Any]:
        """Empty where figures are shown as the settings of the inline backend say."""
        formats, options = self._shown()
        if not formats or (formats, options) == self._by_settings():
            return {}
        return {"formats": sorted(formats), "options": options}

    def write(self, wanted: dict[str, Any]) -> None:
        from IPython.core.pylabtools import select_figure_formats

        now = self._shown()
        if wanted:
            formats, options = set(wanted["formats"]), wanted["options"]
        else:
            formats, options = self._by_settings()
            if not now[0]:
                return
        if now != (formats, options):
            select_figure_formats(self._shell, formats, **options)

    def _shown(self) -> tuple[set[str], dict[str, Any]]:
        """The formats of figures, and the options with which they are made."""
        formats: set[str] = set()
        options: dict[str, Any] = {}
        figure: Any = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
        if self._shell is None or figure is None:
            return formats, options
        formatters = self._shell.display_formatter.formatters
        for kind, name in _FORMATS.items():
            show = formatters[kind].type_printers.get(figure)
            if isinstance(show, functools.partial) and show.func.__module__ == "IPython.core.pylabtools":
                formats.add("retina" if show.func.__name__ == "retina_figure" else name)
                options = {key: value for key, value in show.keywords.items() if key not in ("fmt", "base64")}
        return formats, options

    def _by_settings(self) -> tuple[set[str], dict[str, Any]]:
        from matplotlib_inline.config import InlineBackend

        inline = InlineBackend.instance(parent=self._shell)
        formats = {_OTHER_NAMES.get(name, name) for name in inline.figure_formats}
        return formats - ({"png"} if "retina" in formats else set()), dict(inline.print_figure_kwargs)


def parts(shell: Any) -> list[Part]:
    figures = _Figures(shell)
    about = "formats of figures, where set_matplotlib_formats has set them"
    return [Part("<ipython.figures>", about, figures.read, figures.write, needs="matplotlib.figure", first={})]
