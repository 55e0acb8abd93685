"""Handles on Spark: they stand for objects of a Java process that this one has started, and that ends with it.

Broadcasts and accumulators pickle well, for Spark's own workers, and load elsewhere as something that is empty or of
another session. Most others hold a Java object, which is refused here with what to do. Rows, schemas and functions
that were made to be called on columns are values.
"""

from __future__ import annotations

import sys
from typing import Any

from banyan.clusters.by_name import Reducers, imported
from banyan.clusters.refusals import refusing
from banyan.reducers.reducer import Pickling

# What a function for columns has when it was called: its Java object, and its type as that session has parsed it.
_OF_THE_SESSION = ("_judf_placeholder", "_returnType_placeholder")


def is_session(value: object) -> bool:
    """Whether whoever has this value has the session: it is named for it."""
    return any(isinstance(value, base) for base, reducer in imported(REDUCERS) if reducer is _SESSION)


def is_begun() -> bool:
    """Whether this process has a Java process of Spark."""
    context: Any = getattr(sys.modules.get("pyspark.core.context"), "SparkContext", None)
    return context is not None and context._active_spark_context is not None


def _reduce_function(function: Any, _pickling: Pickling) -> Any:
    make, arguments, state, *rest = function.__reduce_ex__(5)
    kept = {**state, **{name: None for name in _OF_THE_SESSION if name in state}}
    return make, arguments, kept, *rest


WHY = "it is in a Java process, which ends with this one"
_REMOTE = (
    "only the process that has begun it is connected to the server: SparkSession.builder.remote(…) begins another one"
)
_SESSION = refusing("of Spark", f"{WHY}. SparkSession.builder.getOrCreate() begins another one")
_ROWS = refusing("of Spark", f"{WHY}: keep its rows (toPandas, collect), or write them (write.parquet) and read them")
_JAVA = refusing("of Spark", f"{WHY}: make it again")

# By module and name, the first one that is a base of the type.
REDUCERS: Reducers = {
    ("pyspark.sql.session", "SparkSession"): _SESSION,
    ("pyspark.sql.connect.session", "SparkSession"): refusing("of Spark", _REMOTE),
    ("pyspark.core.context", "SparkContext"): _SESSION,
    ("pyspark.sql.dataframe", "DataFrame"): _ROWS,
    ("pyspark.core.rdd", "RDD"): _ROWS,
    ("pyspark.core.broadcast", "Broadcast"): refusing("of Spark", f"{WHY}: keep its value, and broadcast it again"),
    ("pyspark.accumulators", "Accumulator"): refusing("of Spark", f"{WHY}: keep its value"),
    ("pyspark.sql.udf", "UserDefinedFunction"): _reduce_function,
    ("py4j.java_gateway", "JavaObject"): _JAVA,
    ("py4j.java_gateway", "JavaClass"): _JAVA,
    ("py4j.java_gateway", "JavaMember"): _JAVA,
    ("py4j.java_gateway", "JavaPackage"): _JAVA,
    ("py4j.java_gateway", "JVMView"): _JAVA,
    ("py4j.java_gateway", "JavaGateway"): _JAVA,
    ("py4j.java_gateway", "GatewayClient"): _JAVA,
}
