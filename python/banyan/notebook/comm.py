"""The comm target `banyan.history`: a front end asks the history of its session (docs/internals/history.md).

A front end opens a comm and sends `{"id": ANY, "question": {…}}`; the answer is `{"id": ANY, "answer": {…}}`, or has
`error` with a text for a person instead. What moves head takes effect before the next cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from banyan.notebook.disk import removed_by
from banyan.notebook.history import HistoryError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from banyan.notebook import api
    from banyan.notebook.magics import Ask

TARGET = "banyan.history"


def register(shell: InteractiveShell, ask: Ask) -> None:
    """Offer the comm target. A shell without front ends has no comms; then nothing is done."""

    def opened(comm: Any, _message: object) -> None:
        comm.on_msg(lambda message: comm.send(_answer(ask, message["content"]["data"], shell.user_ns)))

    manager = _manager(shell)
    if manager is not None:
        manager.register_target(TARGET, opened)


def unregister(shell: InteractiveShell) -> None:
    manager = _manager(shell)
    if manager is not None:
        manager.targets.pop(TARGET, None)


def _manager(shell: InteractiveShell) -> Any:
    return getattr(getattr(shell, "kernel", None), "comm_manager", None)


def _answer(ask: Ask, data: object, namespace: dict[str, Any]) -> dict[str, object]:
    asked = data if isinstance(data, dict) else {}
    question = asked.get("question")
    answer: dict[str, object] = {"id": asked.get("id")}
    if not isinstance(question, dict):
        return answer | {"error": 'send {"id": ANY, "question": {"do": "log"}}'}
    try:
        found = ask(cast("api.Question", question))  # Who answers says what is wrong with it.
    except HistoryError as error:
        return answer | {"error": str(error)}
    if "restores" in found:  # The answer moves head.
        found["removes"] = removed_by(found, namespace)
    return answer | {"answer": found}
