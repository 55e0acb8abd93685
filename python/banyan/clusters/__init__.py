"""How handles on clusters are pickled: those of libraries whose work runs in other processes than the session's.

A file for each library. What outlives the session's process is connected to anew where the handle is loaded; what ends
with the process is refused, with what to do about it. Nothing is imported before the user has imported the library.
Look at `of_spark.py` first: it is the smallest.
"""

from __future__ import annotations

import importlib
import sys

from banyan.clusters.by_name import reducer_among
from banyan.reducers.reducer import Reducer

# The file that knows a library, by the module whose import says that the library is used.
_FILES = {"distributed": "of_dask", "ray": "of_ray", "pyspark": "of_spark"}


def reducer_for(kind: type) -> Reducer | None:
    """That of a type of these libraries, or of one that derives from it."""
    for module, name in _FILES.items():
        if module in sys.modules:
            file = importlib.import_module(f"banyan.clusters.{name}")
            if (reducer := reducer_among(file.REDUCERS, kind)) is not None:
                return reducer
    return None
