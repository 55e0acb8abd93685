"""Sees the moment between two statements of a cell: the first one may have imported what the second one changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def watch(shell: InteractiveShell, between: Callable[[], None], before: Callable[[], None] = lambda: None) -> None:
    """From here on `between` is called then, and `before` each statement."""
    one: Any = shell
    run = one.run_code

    async def run_code(*arguments: Any, **options: Any) -> Any:
        before()
        try:
            return await run(*arguments, **options)
        finally:
            between()

    one.run_code = run_code


def unwatch(shell: InteractiveShell) -> None:
    vars(shell).pop("run_code", None)
