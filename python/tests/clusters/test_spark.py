"""Handles on Spark, which runs in a Java process of the session's own: what ends with it is named."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator

import pytest
from conftest import Host, Worker
from handles import Handle
from of_spark import SPARK
from sessions import Holding, Session, parameters

pytest.importorskip("pyspark", reason="pyspark is not installed: see CONTRIBUTING.md, How to test")
if shutil.which("java") is None:
    pytest.skip("there is no java for pyspark", allow_module_level=True)

HERE = [handle for handle in SPARK.handles if handle.is_here]
_ENV = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


@pytest.fixture(scope="module")
def holding(host: Host) -> Iterator[Holding]:
    holding = Holding(Session(host.spawn(**_ENV)))
    holding.session.run(SPARK.connect)
    holding.make(HERE)
    other = host.spawn(**_ENV)
    holding.go_to(other, HERE)
    yield holding
    for worker in (holding.session.worker, other):
        host.retire(worker)


@parameters(HERE)
def test_in_another_process(holding: Holding, handle: Handle) -> None:
    holding.check(handle)


def test_a_session_without_a_variable_is_named_too(spawn: Callable[..., Worker]) -> None:
    session, other = Session(spawn(**_ENV)), spawn(**_ENV)
    begun = session.run(
        SPARK.connect.replace("spark = ", "count = ").replace("context = spark.sparkContext", "count = 1")
    )
    assert begun.failed == ["<spark: connection>"]
    assert "<spark: connection>" in begun.stderr
    assert session.goes_to(other) == {}
    bound = session.run("spark = SparkSession.builder.getOrCreate()")
    assert (bound.failed, bound.body["deleted"]) == (["spark"], ["<spark: connection>"]), "it is named once"


def test_a_session_of_spark_connect_is_named_with_what_holds_it(spawn: Callable[..., Worker]) -> None:
    """Its own pickles load where the same session is the active one, and nowhere else."""
    session = Session(spawn(**_ENV))
    session.run("from pyspark.sql import SparkSession, functions as F")
    session.run(
        "spark = SparkSession.builder.remote('local[1]').getOrCreate()\nframe = spark.range(3)\nplain = F.col('id')"
    )
    session.run("held = {'frame': frame}\ndef use(): return frame.count()\nbound = frame.count")
    named = session.named()
    assert {name for name in named if not name.startswith("<")} == {"spark", "frame", "held", "bound"}
    assert "SparkSession.builder.remote" in named["spark"]
    assert session.goes_to(spawn(**_ENV)) == {}, "said too late"
