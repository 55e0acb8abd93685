"""What pages know of this process's comms, through which a widget talks with the pages that show it.

While values are loaded and cells are repeated, pages are told nothing: what comms open, close and say is collected
here, and told at once by `settle` when it is certain. So a page has a comm exactly as long as this process has it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from IPython import get_ipython

_WIDGETS = "ipywidgets.widgets.widget"

# Sets of comm ids. Of the first three kinds pages are to be told.
_opened: set[str] = set()
_closed: set[str] = set()
_changed: set[str] = set()
_gone: set[str] = set()  # Pages have been told that these are closed.
_of_pages: set[str] = set()  # A page has opened these, and finds out by itself when they end.
_remade: set[str] = set()  # Cells that were repeated have opened these: no commit has their ids.
_opened_by: dict[str, int] = {}  # By comm id: the cell that has opened the comm, as the hash of its code.
_quiet = 0


def comms() -> dict[str, Any]:
    """The comms of this process, by id."""
    module: Any = sys.modules.get("ipykernel.ipkernel")
    manager = getattr(module, "_comm_manager", None)
    found: dict[str, Any] = {} if manager is None else manager.comms
    return found


def widgets() -> dict[str, Any]:
    """The widgets of this process, by the ids of their comms."""
    found: dict[str, Any] = getattr(sys.modules.get(_WIDGETS), "_instances", {})
    return found


def of_kernel() -> tuple[str, ...]:
    """Comms that this process has opened, or that a process before it has."""
    return tuple(sorted(set(comms()) - _of_pages)) if comms() else ()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """In this context pages are told nothing of comms."""
    global _quiet
    module: Any = sys.modules.get("ipykernel.comm.comm")
    if module is None:
        yield
        return
    base = module.BaseComm
    publish = base.publish_msg
    if not _quiet:
        base.publish_msg = _keep_back
    _quiet += 1
    try:
        yield
    finally:
        _quiet -= 1
        if not _quiet:
            base.publish_msg = publish


def _keep_back(comm: Any, kind: str, *_: Any, **__: Any) -> None:
    {"comm_open": _opened, "comm_close": _closed}.get(kind, _changed).add(comm.comm_id)
    if kind == "comm_open":
        _remade.add(comm.comm_id)


def connect(widget: Any, comm_id: str) -> None:
    """Give a widget that was loaded its comm. An object that had this comm here before belongs to another commit."""
    import comm

    old = widgets().get(comm_id)
    if old is not None and old is not widget:
        _part(old)
    made: Any = comm.create_comm(target_name="jupyter.widget", comm_id=comm_id, primary=False)
    made.kernel = getattr(get_ipython(), "kernel", None)  # Without its kernel a comm of a widget sends nothing.
    comm.get_comm_manager().register_comm(made)
    widget.comm = made
    (_opened if comm_id in _gone else _changed).add(comm_id)


def _part(widget: Any) -> None:
    """Let the widget send nothing to pages from now on."""
    if widget.comm is not None:
        widget.comm._closed = True
        widget.comm.on_msg(None)
        widget._trait_values["comm"] = None


def follow(wanted: tuple[str, ...]) -> None:
    """Close the comms that a commit does not have, and those that it has but that could not be made here."""
    here = comms()
    kept = _of_variables() if _remade else set()
    for comm_id in set(of_kernel()) - set(wanted):
        if comm_id not in _remade or comm_id not in kept:
            _close(comm_id)
    _closed.update(comm_id for comm_id in wanted if comm_id not in here)


def parts_of(widget: Any) -> Iterator[Any]:
    """Widgets that it refers to: its children, its layout, its style."""
    base: Any = sys.modules[_WIDGETS].Widget
    for value in list(widget._trait_values.values()):
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, base):
                yield each


def _of_variables() -> set[str]:
    """Ids of comms that a variable refers to, directly or as the comm of a widget or of a part of one."""
    shell: Any = get_ipython()
    variables = {id(value) for value in shell.user_ns.values()}
    found = {comm_id for comm_id, comm in comms().items() if id(comm) in variables}
    waiting = [widget for widget in widgets().values() if id(widget) in variables]
    while waiting:
        widget = waiting.pop()
        if widget.comm is not None and widget.comm.comm_id not in found:
            found.add(widget.comm.comm_id)
            waiting += parts_of(widget)
    return found


def note(code: str) -> None:
    """A cell has run: comms of which no cell is known yet belong to it."""
    cell = hash(code)
    for comm_id in comms():
        _opened_by.setdefault(comm_id, cell)


def end(code: str) -> None:
    """A cell is about to be repeated: close the comms of its first run, because it opens others."""
    cell = hash(code)
    for comm_id in list(comms()):
        if _opened_by.get(comm_id) == cell and comm_id not in _of_pages:
            _close(comm_id)


def _close(comm_id: str) -> None:
    _closed.add(comm_id)
    found = widgets().get(comm_id)
    with quiet(), contextlib.suppress(Exception):  # What a widget does when it is closed may be the user's code.
        (found or comms()[comm_id]).close()
    comms().pop(comm_id, None)


def settle(kernel: Any) -> None:
    """Tell pages what has changed since the last call."""
    if kernel is None or not (_opened or _closed or _changed):
        return
    here = comms()
    for comm_id in _closed - here.keys():
        _tell_closed(kernel, comm_id)
    for comm_id in (_opened | _changed) & here.keys():
        with contextlib.suppress(Exception):
            _tell_state(here[comm_id], comm_id in _opened)
    _gone.difference_update(here)
    _opened.clear()
    _closed.clear()
    _changed.clear()


def _tell_state(comm: Any, opens: bool) -> None:
    module, widget = sys.modules.get(_WIDGETS), widgets().get(comm.comm_id)
    if widget is None:
        if opens:
            comm.publish_msg("comm_open", target_name=comm.target_name, target_module=comm.target_module)
        return
    if not opens:
        # Pages know more of an Output widget than the process whose output it shows.
        if type(widget).__name__ != "Output":
            widget.send_state()
        return
    state, paths, buffers = module._remove_buffers(widget.get_state())  # type: ignore[union-attr]
    comm.publish_msg(
        "comm_open",
        data={"state": state, "buffer_paths": paths},
        metadata={"version": module.__protocol_version__},  # type: ignore[union-attr]
        buffers=buffers,
        target_name=comm.target_name,
        target_module=comm.target_module,
    )


def _tell_closed(kernel: Any, comm_id: str) -> None:
    _gone.add(comm_id)
    _opened_by.pop(comm_id, None)
    content = {"comm_id": comm_id, "data": {}}
    topic = f"comm-{comm_id}".encode()
    kernel.session.send(kernel.iopub_socket, "comm_close", content, parent=kernel.get_parent(), ident=topic)


def listen(kernel: Any) -> None:
    """From now on, tell pages of all changes whenever one of their messages about comms is handled.

    A message for a comm that this process does not have is answered by closing it, so that what shows it
    does not look alive.
    """

    def heard(handle: Callable[..., Any]) -> Callable[..., Any]:
        def handler(stream: Any, ident: Any, message: Any) -> Any:
            kind, comm_id = message["header"]["msg_type"], message["content"].get("comm_id")
            # The message is handled before pages are told, as the state without it is older than what the page shows.
            if kind == "comm_msg":
                if comm_id in comms():
                    handle(stream, ident, message)
                else:
                    _tell_closed(kernel, comm_id)
                return settle(kernel)
            settle(kernel)
            if kind == "comm_open":
                _of_pages.add(comm_id)
            return handle(stream, ident, message)

        return handler

    for kind in ("comm_open", "comm_msg", "comm_close", "comm_info_request"):
        kernel.shell_handlers[kind] = heard(kernel.shell_handlers[kind])
