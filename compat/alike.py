"""Whether two values are equal in depth: of one type, with equal parts; NaN equals NaN."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


def alike(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    match left:
        case float() | complex():
            return bool(left == right or (left != left and right != right))
        case Mapping() if isinstance(left, dict):
            return list(left) == list(right) and all(alike(left[key], right[key]) for key in left)
        case list() | tuple():
            return len(left) == len(right) and all(map(alike, left, right))
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and isinstance(left, numpy.ndarray):
        return _arrays(left, right)
    if pandas is not None and isinstance(left, (pandas.DataFrame, pandas.Series, pandas.Index)):
        return _frames(left, right)
    return bool(left == right)


def _arrays(left: Any, right: Any) -> bool:
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.hasobject:
        return alike(left.tolist(), right.tolist())
    return left.tobytes() == right.tobytes() or alike(left.tolist(), right.tolist())


def _frames(left: Any, right: Any) -> bool:
    from pandas import DataFrame, Index, testing

    check = testing.assert_frame_equal if isinstance(left, DataFrame) else testing.assert_series_equal
    try:
        (testing.assert_index_equal if isinstance(left, Index) else check)(left, right)
    except AssertionError:
        return False
    return True
