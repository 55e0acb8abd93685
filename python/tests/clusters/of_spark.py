"""What a cell may hold of Spark."""

from __future__ import annotations

from handles import Library, kept, named

_JAVA = "in a Java process, which ends with this one"
_IMPORT = "from pyspark.sql import SparkSession, Window, functions as F\nfrom pyspark.sql.types import IntegerType\n"
_CONFIG = ".master('local[1]').config('spark.ui.enabled', 'false')"
_UDF = "x = F.udf(lambda n: int(n) * 2, IntegerType())\n"
_LOOK_AT_UDF = "[row[0] for row in SparkSession.builder.getOrCreate().range(2).select(x('id')).collect()]"

SPARK = Library(
    "pyspark",
    f"{_IMPORT}factor = 2\nspark = SparkSession.builder{_CONFIG}.getOrCreate()\ncontext = spark.sparkContext\n",
    f"{_IMPORT}factor = 2\nspark = SparkSession.builder{_CONFIG}.getOrCreate()\ncontext = spark.sparkContext\n",
    (
        named("pyspark.sql.SparkSession", "x = spark", _JAVA),
        named("pyspark.SparkContext", "x = context", _JAVA),
        named("pyspark.sql.DataFrame", "x = spark.range(3)", "toPandas"),
        named("pyspark.sql.DataFrame", "x = {'one': spark.range(3).cache()}", "toPandas", "in a dict"),
        named("pyspark.RDD", "x = context.parallelize([1, 2])", "collect"),
        named("pyspark.RDD", "x = context.parallelize([1, 2]).map(abs)", "collect", "of a function"),
        named("pyspark.Broadcast", "x = context.broadcast([1])", "keep its value"),
        named(
            "pyspark.Broadcast",
            "x = lambda n, b=context.broadcast([1]): b.value[n]",
            "keep its value",
            "of a function's default",
        ),
        named("pyspark.Accumulator", "x = context.accumulator(0)\nx.add(5)", "keep its value"),
        named("pyspark.sql.Column", "x = F.col('id')", _JAVA),
        named("pyspark.sql.WindowSpec", "x = Window.partitionBy('id')", _JAVA),
        named("pyspark.sql.GroupedData", "x = spark.range(3).groupBy('id')", _JAVA),
        named("pyspark.sql.DataFrameReader", "x = spark.read", _JAVA),
        named("pyspark.sql.Catalog", "x = spark.catalog", _JAVA),
        named(
            "pyspark.ml.feature.VectorAssembler",
            "from pyspark.ml.feature import VectorAssembler\nx = VectorAssembler(inputCols=['id'], outputCol='f')",
            _JAVA,
        ),
        named("py4j.java_gateway.JavaObject", "x = spark.range(3)._jdf", _JAVA),
        named("py4j.java_gateway.JVMView", "x = context._jvm", _JAVA),
        kept("pyspark.sql.udf.UserDefinedFunction", _UDF, "x.func(4), x.returnType"),
        kept(
            "pyspark.sql.udf.UserDefinedFunction", f"{_UDF}seen = {_LOOK_AT_UDF}", "x.func(4), x.returnType", "called"
        ),
        kept("pyspark.sql.Row", "x = spark.range(2).collect()"),
        kept("pyspark.sql.types.StructType", "x = spark.range(2).schema"),
        kept("pyspark.StorageLevel", "from pyspark import StorageLevel\nx = StorageLevel.MEMORY_ONLY"),
    ),
)
