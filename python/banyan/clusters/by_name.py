"""Reducers by the names of their types, so that nothing is imported before the user has imported the library."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from banyan.reducers.reducer import Reducer

# By module and name of the type.
Reducers = Mapping[tuple[str, str], Reducer]


def imported(reducers: Reducers) -> Iterator[tuple[type, Reducer]]:
    """The types that are imported and that this version of the library has, with their reducers."""
    for (module, name), reducer in reducers.items():
        base = getattr(sys.modules.get(module), name, None)
        if isinstance(base, type):
            yield base, reducer


def reducer_among(reducers: Reducers, kind: type) -> Reducer | None:
    """The reducer of the first type that this one derives from or is; None if there is none."""
    return next((reducer for base, reducer in imported(reducers) if issubclass(kind, base)), None)
