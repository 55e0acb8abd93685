"""Widgets that no variable has, such as those of `interact`, and which comms pages have open."""

from __future__ import annotations

from typing import Any

from IPython import get_ipython

from banyan.process import pages
from banyan.surroundings.part import Part

# Only the newest are kept, as a notebook may show a progress bar for each of its loops.
_KEPT_MAX = 200


def _read() -> dict[str, Any]:
    """Each widget that is not a part of another one and that no variable has."""
    found = pages.widgets()
    if not found:
        return {}
    shell: Any = get_ipython()
    elsewhere = {id(value) for value in shell.user_ns.values()}
    elsewhere.update(id(part) for widget in list(found.values()) for part in pages.parts_of(widget))
    free = [(comm_id, widget) for comm_id, widget in list(found.items()) if id(widget) not in elsewhere]
    return {f"{type(widget).__name__} {comm_id[:12]}": widget for comm_id, widget in free[-_KEPT_MAX:]}


def _write(_wanted: dict[str, Any]) -> None:
    """Nothing to do: loading a widget makes it, and `pages.follow` closes those that the commit does not have."""


def _named(names: set[str], imports: set[str]) -> set[str]:
    """No variable refers to these widgets, but a cell may reach them through the library."""
    reaches = "ipywidgets" in imports or "ipywidgets" in names
    return {f"<widgets: {key}>" for key in _read()} if reaches else set()


def parts() -> list[Part]:
    return [
        Part(
            "<widgets>",
            "widgets that no variable has",
            _read,
            _write,
            needs="ipywidgets.widgets.widget",
            holds=True,
            named=_named,
        ),
        Part("<comms>", "comms that pages have open", pages.of_kernel, pages.follow, first=()),
    ]
