"""How handles on clusters are pickled: those of libraries whose work runs in other processes than the session's.

There is a file for each library. A handle on something that outlives the session's process is connected anew where it
is loaded. What ends with the process is refused, with advice what to do. No library is imported before the user has
imported it. `state/serialise.py` asks `reducer_for`. Look at `of_spark.py` first: it is the smallest.
"""

from __future__ import annotations

import importlib
import sys

from banyan.clusters.by_name import reducer_among
from banyan.reducers.reducer import Reducer

# By the module whose import shows that a library is used: the file that knows the library.
_FILES = {"distributed": "of_dask", "ray": "of_ray", "pyspark": "of_spark"}


def reducer_for(kind: type) -> Reducer | None:
    """The reducer for a type of these libraries, or for one that derives from such a type. None for others."""
    for module, name in _FILES.items():
        if module in sys.modules:
            file = importlib.import_module(f"banyan.clusters.{name}")
            if (reducer := reducer_among(file.REDUCERS, kind)) is not None:
                return reducer
    return None
