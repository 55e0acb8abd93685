"""How bound methods are pickled: by name, if the name leads to the method."""

from __future__ import annotations

import operator
import types
from typing import Any

from banyan.reducers.reducer import Pickling


def reduce_method(method: types.MethodType, pickling: Pickling) -> Any:
    name = method.__name__
    found = getattr(method.__self__, name, None)
    if isinstance(found, types.MethodType) and (found == method or _same_method(found, method)):
        owner = method.__self__ if isinstance(method.__self__, type) else type(method.__self__)
        if pickling.copies(owner):  # Its class may not be complete yet when the method is loaded.
            return types.MethodType, (found.__func__, method.__self__)
        # Found by its name, the method does not link its object with its function.
        return getattr, (method.__self__, name)
    return types.MethodType, (method.__func__, method.__self__)


def _same_method(found: types.MethodType, method: types.MethodType) -> bool:
    """Whether what the name leads to is the same method in another form: a class that was loaded in place
    has new functions.
    """
    if found.__self__ is not method.__self__:
        return False
    one, other = found.__func__, method.__func__
    if not isinstance(one, types.FunctionType) or not isinstance(other, types.FunctionType):
        return False
    held = [(function.__defaults__, function.__kwdefaults__, function.__dict__ or None) for function in (one, other)]
    try:
        cells = [[cell.cell_contents for cell in function.__closure__ or ()] for function in (one, other)]
    except ValueError:  # A cell is empty.
        return False
    return (
        one.__code__ == other.__code__
        and held == [(None, None, None)] * 2
        and len(cells[0]) == len(cells[1])
        and all(map(operator.is_, *cells))
    )
