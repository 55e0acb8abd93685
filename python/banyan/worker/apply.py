"""Applies a commit of another replica, which comes in an `apply` frame, so that this worker shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from banyan.restore.show import Applied, Lacking, Unreadable, Value, joined_pieces, show
from banyan.state.changes import Detector
from banyan.state.serialise import LARGE_BLOCK, Source
from banyan.surroundings import Surroundings
from banyan.worker.channel import ChannelError, Message

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from typing_extensions import Buffer


def apply(shell: InteractiveShell, detector: Detector, surroundings: Surroundings, message: Message) -> Applied:
    """Apply the commit in an `apply` frame."""
    values = [_value(message, detector, covariable) for covariable in message.body["changed"]]
    result = show(shell, detector, surroundings, values, message.body["deleted"])
    _follow_history(shell, message.body["count"], message.body["code"])
    return result


def _value(message: Message, detector: Detector, covariable: Mapping[str, Any]) -> Value:
    names = tuple(covariable["names"])
    blocks = [block for part in covariable["parts"] for block in part]

    def read() -> Sequence[Buffer | list[Any]]:
        known = detector.blocks(names) if any("known" in block for block in blocks) else {}
        try:
            return [_part(message, part, known) for part in covariable["parts"]]
        except ChannelError as error:
            raise Unreadable(str(error)) from error

    large = (block for block in blocks if block["size"] >= LARGE_BLOCK)
    return Value(names, frozenset(block.get("known") or block["digest"] for block in large), read)


def _part(message: Message, blocks: Sequence[Mapping[str, Any]], known: Mapping[str, Source]) -> Buffer | list[Any]:
    if len(blocks) == 1 and "known" not in blocks[0]:
        return message.blob(blocks[0])
    if not any("known" in block for block in blocks):
        joined = message.joined(blocks)
        if joined is not None:
            return joined
    try:
        return joined_pieces([known[block["known"]] if "known" in block else message.blob(block) for block in blocks])
    except KeyError as error:
        raise Lacking from error


def _follow_history(shell: InteractiveShell, count: int, code: str) -> None:
    """Let IPython's history end with cell number `count`, whose source is `code`. A source that is there is kept."""
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
