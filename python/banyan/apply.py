"""A commit that another replica ran becomes the state of this worker's namespace and counters."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from banyan import _native
from banyan.channel import ChannelError
from banyan.detect import Adopted, Detector, Failure
from banyan.serialise import LARGE_BLOCK, load
from banyan.surroundings import Surroundings, is_surrounding

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from typing_extensions import Buffer

    from banyan.channel import Message


@dataclass(slots=True)
class Applied:
    """failed: could not be loaded, and are missing now. lacking: as before, for want of blocks to be sent."""

    failed: list[Failure] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)


class _Lacking(Exception):
    pass


def apply(shell: InteractiveShell, detector: Detector, surroundings: Surroundings, message: Message) -> Applied:
    """Follow an `apply` frame. A co-variable that does not load is wholly missing afterwards, and in the result."""
    loaded: list[dict[str, Any]] = []
    adopted: list[Adopted] = []
    around: dict[str, Any] = {}
    gone: set[str] = {name for name in message.body["deleted"] if not is_surrounding(name)}
    result = Applied()
    for covariable in message.body["changed"]:
        names = covariable["names"]
        try:
            values = _load(message, detector, covariable)
            if is_surrounding(names[0]):
                around |= values
                continue
            loaded.append(values)
            adopted.append(Adopted(tuple(names), _large_blocks(covariable)))
        except ChannelError:
            raise
        except _Lacking:
            result.lacking += names
        except BaseException as error:
            gone.update(names)
            result.failed += [Failure(name, "", f"cannot be loaded: {type(error).__name__}: {error}") for name in names]
    for name in gone:
        shell.user_ns.pop(name, None)
    for values in loaded:
        shell.user_ns.update(values)
    result.failed += surroundings.follow(around, filter(is_surrounding, message.body["deleted"]))
    _enable_figures()
    _follow_history(shell, message.body["count"], message.body["code"])
    detector.adopt(adopted, gone)
    return result


def _load(message: Message, detector: Detector, covariable: Mapping[str, Any]) -> dict[str, Any]:
    names = covariable["names"]
    some_known = any("known" in block for part in covariable["parts"] for block in part)
    known = detector.blocks(names) if some_known else {}
    data, *buffers = [_part(message, part, known) for part in covariable["parts"]]
    values = load(data, buffers)
    if not values.keys() >= set(names):
        raise ValueError(f"the pickle holds {sorted(values)}")
    return {name: values[name] for name in names}


def _part(message: Message, blocks: Sequence[Mapping[str, Any]], known: Mapping[str, memoryview]) -> Buffer:
    if len(blocks) == 1 and "known" not in blocks[0]:
        return message.blob(blocks[0])
    if not any("known" in block for block in blocks):
        joined = message.joined(blocks)
        if joined is not None:
            return joined
    try:
        pieces = [known[block["known"]] if "known" in block else message.blob(block) for block in blocks]
    except KeyError as error:
        raise _Lacking from error
    return memoryview(_native.assemble(pieces))


def _large_blocks(covariable: Mapping[str, Any]) -> frozenset[str]:
    blocks = (block for part in covariable["parts"] for block in part if block["size"] >= LARGE_BLOCK)
    return frozenset(block.get("known") or block["digest"] for block in blocks)


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
