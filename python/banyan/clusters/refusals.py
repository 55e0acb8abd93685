"""How a handle is refused: by an error with its type, and with what its user may do instead."""

from __future__ import annotations

from typing import Any, NoReturn

from banyan.reducers.reducer import Pickling, Reducer


def refusing(whose: str, why: str) -> Reducer:
    """A reducer that raises TypeError. whose: "of dask"; why: the reason, and what to do."""

    def refuse(handle: Any, _pickling: Pickling) -> NoReturn:
        raise TypeError(f"cannot pickle a {type(handle).__name__} {whose}: {why}")

    return refuse
