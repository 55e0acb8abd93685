"""A commit that another replica ran becomes the state of this worker's namespace and counters."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from banyan.channel import ChannelError
from banyan.detect import Detector, Failure
from banyan.serialise import load

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from banyan.channel import Message


def apply(shell: InteractiveShell, detector: Detector, message: Message) -> list[Failure]:
    """Follow an `apply` frame. A co-variable that does not load is wholly missing afterwards, and in the result."""
    loaded: list[dict[str, Any]] = []
    gone: set[str] = set(message.body["deleted"])
    failed: list[Failure] = []
    for covariable in message.body["changed"]:
        names = covariable["names"]
        try:
            loaded.append(_load(message, covariable))
        except ChannelError:
            raise
        except BaseException as error:
            gone.update(names)
            failed += [Failure(name, "", f"cannot be loaded: {type(error).__name__}: {error}") for name in names]
    for name in gone:
        shell.user_ns.pop(name, None)
    for values in loaded:
        shell.user_ns.update(values)
    _enable_figures()
    _follow_history(shell, message.body["count"], message.body["code"])
    detector.adopt([tuple(values) for values in loaded], gone)
    return failed


def _load(message: Message, covariable: Mapping[str, Any]) -> dict[str, Any]:
    data = message.blob(covariable["pickle"])
    buffers = [message.blob(reference) for reference in covariable["buffers"]]
    values = load(data, buffers)
    if not values.keys() >= set(covariable["names"]):
        raise ValueError(f"the pickle holds {sorted(values)}")
    return {name: values[name] for name in covariable["names"]}


def _enable_figures() -> None:
    """Load matplotlib's backend, as the first figure of a cell does: figures that were loaded are shown as such."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and "matplotlib_inline.backend_inline" not in sys.modules:
        pyplot.switch_backend(os.environ.get("MPLBACKEND", "module://matplotlib_inline.backend_inline"))


def _follow_history(shell: InteractiveShell, count: int, code: str) -> None:
    """`count` is the number of the last cell, `code` its source: In[count] unless it is there already."""
    history = shell.history_manager
    if history is not None:
        while len(history.input_hist_raw) < count + (0 if code else 1):
            history.input_hist_parsed.append("")
            history.input_hist_raw.append("")
        if code and len(history.input_hist_raw) == count:
            history.store_inputs(count, _transformed(shell, code), code)
    shell.execution_count = count + 1


def _transformed(shell: InteractiveShell, code: str) -> str:
    try:
        return str(shell.transform_cell(code))
    except Exception:
        return code
