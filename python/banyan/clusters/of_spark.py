"""Handles on Spark: they stand for objects of a Java process that this process has started, and that ends with it.

Spark pickles broadcasts and accumulators for its own workers; elsewhere they load as something empty or as part of
another session. Most other handles hold a Java object, and are refused here with advice what to do. Rows, schemas and
functions that were made to be called on columns are values.
"""

from __future__ import annotations

import sys
from typing import Any

from banyan.clusters.by_name import Reducers, imported
from banyan.clusters.refusals import refusing
from banyan.reducers.reducer import Pickling

# What a function for columns has gained once it was called: its Java object, and its type as the Java
# process parsed it.
_OF_THE_SESSION = ("_judf_placeholder", "_returnType_placeholder")


def is_session(value: object) -> bool:
    """Whether a variable with this value refers to the session, so that the session is named when the variable is."""
    return any(isinstance(value, base) for base, reducer in imported(REDUCERS) if reducer is _SESSION)


def is_begun() -> bool:
    """Whether this process has started a Java process of Spark."""
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

# By module and name of the type. The first one counts that is a base of an object's type.
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
