"""Calls back between two statements of a cell, because the first may import the library that the second one changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def watch(shell: InteractiveShell, between: Callable[[], None], before: Callable[[], None] = lambda: None) -> None:
    """From now on call `before` before each statement and `between` after it, until `unwatch`."""
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
