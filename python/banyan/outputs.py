"""`_`, `Out` and their kin stay in the process that made them: elsewhere whoever uses one is told so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class NotKept:
    """Stands for what a cell has shown in another process."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __repr__(self) -> str:
        return f"<{self._message()}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "_repr_", "_ipython_")):
            raise AttributeError(name)
        raise AttributeError(self._message())

    def _message(self) -> str:
        return (
            f"Out[{self._count}] stayed in the process that made it, and this session goes on in another one: "
            "run its cell again, or give the value a name"
        )


def _refuse(one: NotKept, *_: Any) -> Any:
    raise RuntimeError(one._message())


for _operation in "len iter getitem setitem call bool int float contains add radd sub rsub mul rmul matmul neg".split():
    setattr(NotKept, f"__{_operation}__", _refuse)
for _operation in ("truediv", "rtruediv", "lt", "le", "gt", "ge"):
    setattr(NotKept, f"__{_operation}__", _refuse)


_UNDERS = ("_", "__", "___")


def name_lost(shell: InteractiveShell, count: int) -> None:
    """Cells up to this one have run elsewhere since the last one that ran here, and may have shown something."""
    shown = shell.user_ns.get("_oh")
    hook: Any = shell.displayhook
    new = range(shell.execution_count, count + 1)
    if not isinstance(shown, dict) or not new:
        return
    lost = {number: NotKept(number) for number in new[-1000:] if number not in shown}
    shown.update(lost)
    named: dict[str, Any] = {f"_{number}": one for number, one in lost.items()}
    if all(shell.user_ns.get(name) is getattr(hook, name, None) for name in _UNDERS):  # else they are the user's
        for one in lost.values():
            hook.___, hook.__, hook._ = hook.__, hook._, one
        named |= {name: getattr(hook, name) for name in _UNDERS}
    shell.push(named, interactive=False)
