"""Which types of libraries link the variables that reach their objects (banyan/reducers/sharing.py)."""

from __future__ import annotations

import inspect
import warnings

import pandas as pd
import pytest
from pandas.tseries import offsets

from banyan.reducers import sharing

_LINKS_NOTHING = 0
OFFSETS = [made for name in offsets.__all__ if not inspect.isabstract(made := getattr(offsets, name))]


class _Own(pd.DateOffset):
    """A class that the user derives."""


@pytest.mark.parametrize("kind", [*OFFSETS, pd.DateOffset, _Own], ids=lambda kind: kind.__name__)
def test_an_offset_of_pandas_links_nothing_and_is_looked_at_without_a_warning(kind: type) -> None:
    try:
        made = kind(1)
    except (TypeError, NotImplementedError):
        pytest.skip("a base class")
    sharing._known.pop(kind, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sharing.sharing_of(made) == _LINKS_NOTHING


def test_other_values_of_pandas_are_looked_at_without_a_warning() -> None:
    values = [pd.Timestamp(0), pd.Timedelta(1), pd.Period("2020"), pd.Interval(0, 1), pd.CategoricalDtype()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in values:
            sharing._known.pop(type(value), None)
            assert sharing.sharing_of(value) == _LINKS_NOTHING
        for linked in (pd.DataFrame({"a": [1]}), pd.Index([1])):
            sharing._known.pop(type(linked), None)
            assert sharing.sharing_of(linked) != _LINKS_NOTHING
