"""Widgets of ipywidgets as values: their state, what observes them, and the id by which pages know them."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from banyan.process import pages
from banyan.reducers import lazy
from banyan.reducers.reducer import Pickling, Reducer

# A progress bar of tqdm is known to its widget by such a reference. Without it, the widget shows the same.
_PROXIES = (weakref.ProxyType, weakref.CallableProxyType)


def reducer_for(kind: type) -> Reducer | None:
    module: Any = sys.modules.get("ipywidgets.widgets.widget")
    return _reduce if module is not None and issubclass(kind, module.Widget) else None


def _reduce(widget: Any, pickling: Pickling) -> Any:
    as_traits = lazy.reducer_of_library(type(widget))
    reduced = widget.__reduce_ex__(5) if as_traits is None else as_traits(widget, pickling)
    if isinstance(reduced, str) or len(reduced) < 3 or not isinstance(reduced[2], dict):
        return reduced
    state = {name: value for name, value in reduced[2].items() if type(value) not in _PROXIES}
    values = dict(state["_trait_values"])
    open_as = widget.model_id if values.pop("comm", None) is not None else ""
    state["_trait_values"] = values
    return *reduced[:2], (state, open_as, _observers(widget)), None, None, set_state


def _observers(widget: Any) -> list[tuple[str, str, Any]]:
    """The observers that were added to a widget. Those that its class defines exist in every instance."""
    traitlets = sys.modules["traitlets"]
    return [
        (name, kind, observer)
        for name, kinds in widget._trait_notifiers.items()
        for kind, observers in kinds.items()
        for observer in observers
        if not isinstance(observer, traitlets.EventHandler)
    ]


def set_state(widget: Any, content: tuple[dict[str, Any], str, list[tuple[str, str, Any]]]) -> None:
    state, open_as, observers = content
    widget.__setstate__(state)
    if open_as:
        pages.connect(widget, open_as)
    for name, kind, observer in observers:
        widget._add_notifiers(observer, name, kind)
