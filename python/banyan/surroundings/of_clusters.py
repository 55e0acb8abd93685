"""Connections to clusters that no variable has: ray's, and clients of dask and sessions of Spark that are not bound."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from banyan.state.serialise import live_namespace
from banyan.surroundings.part import Part, Unkept

_KEY = "connection"


def _of(library: str) -> Any:
    """A file of `banyan.clusters`, which is imported only where the session uses the library."""
    return importlib.import_module(f"banyan.clusters.of_{library}")


def _bound() -> list[Any]:
    """The values of the user's variables. The shell's names, such as that of the last result, do not count."""
    return [value for name, value in live_namespace().copy().items() if not name.startswith("_")]


def _read_dask() -> dict[str, Any]:
    """The client that dask computes with, if no variable has it."""
    client = _of("dask").default_client()
    return {} if client is None or any(value is client for value in _bound()) else {_KEY: client}


def _write_dask(_wanted: dict[str, Any]) -> None:
    """Nothing to do: a client becomes dask's default when it is loaded, and one that is here may stay."""


def _read_ray() -> dict[str, Any]:
    try:
        connection = _of("ray").connection()
    except TypeError as error:
        connection = Unkept(str(error))
    return {} if connection is None else {_KEY: connection}


def _write_ray(wanted: dict[str, Any]) -> None:
    connection = wanted.get(_KEY)
    if connection is None:
        sys.modules["ray"].shutdown()
    elif not isinstance(connection, Unkept):
        _of("ray").connect(connection)


def _read_spark() -> dict[str, Any]:
    spark = _of("spark")
    if not spark.is_begun() or any(map(spark.is_session, _bound())):
        return {}
    return {_KEY: Unkept(f"cannot keep a session of Spark: {spark.WHY}")}


def _write_spark(_wanted: dict[str, Any]) -> None:
    """Nothing to do: a session that is here may stay, as whoever begins one gets it."""


def parts() -> list[Part]:
    return [
        Part(
            "<dask>",
            "a client of dask that no variable has",
            _read_dask,
            _write_dask,
            needs="distributed",
            holds=True,
        ),
        Part("<ray>", "the connection to a ray cluster", _read_ray, _write_ray, needs="ray", holds=True),
        Part(
            "<spark>",
            "a session of Spark that no variable has",
            _read_spark,
            _write_spark,
            needs="pyspark.core.context",
            holds=True,
        ),
    ]
