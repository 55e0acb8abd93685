"""Handles on clusters are named: some pickle, and load elsewhere as something that never answers."""

from __future__ import annotations

from test_replication import Pair, pair

__all__ = ["pair"]

SETUP = """
import distributed
from distributed import Event, Lock, MultiLock, Queue, Semaphore, Variable
import dask.array
client = distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
class Counter:
    n = 0
    def add(self): return self.n + 1
"""

HANDLES = {
    "future": "x = client.submit(abs, -3)",
    "futures in a list": "x = [client.submit(abs, -n) for n in range(3)]",
    "scattered data": "x = client.scatter({'a': 1})",
    "persisted collection": "x = client.persist(dask.array.ones(9, chunks=3))",
    "actor": "x = client.submit(Counter, actor=True).result()",
    "variable": "x = Variable('v')",
    "queue": "x = Queue('q')",
    "lock": "x = Lock('l')",
    "locks": "x = MultiLock(['m'])",
    "event": "x = Event('e')",
    "semaphore": "x = Semaphore(name='s')",
    "client": "x = client",
    "what derives from one": "class Mine(distributed.Client): pass\nx = Mine(client.scheduler.address)",
}


def test_each_is_named_and_none_comes_along_dead(pair: Pair) -> None:
    pair.executor.run(SETUP)
    for kind, code in HANDLES.items():
        cell = pair.executor.run(code)
        assert cell.failed == ["x"], kind
        assert "of a cluster: only this process is connected to it" in cell.stderr, kind
    plain = pair.executor.run("y = dask.array.ones(9, chunks=3).sum()")
    assert ["y"] in plain.changed, "a graph that nobody has begun is a value"
    pair.executor.run("client.close()")
