"""How a handle is refused: with its type, and what its user may do about it."""

from __future__ import annotations

from typing import Any, NoReturn

from banyan.reducers.reducer import Pickling, Reducer


def refusing(whose: str, why: str) -> Reducer:
    """A reducer that raises TypeError. whose: "of dask"."""

    def refuse(handle: Any, _pickling: Pickling) -> NoReturn:
        raise TypeError(f"cannot pickle a {type(handle).__name__} {whose}: {why}")

    return refuse
