"""What a cell may hold of dask."""

from __future__ import annotations

from handles import Library, again, kept, named

_IMPORT = "import dask, distributed as dd\nimport dask.array, dask.bag\n"
_FRAME = (
    "import dask.dataframe, pandas as pd\nx = dask.dataframe.from_pandas(pd.DataFrame({'a': [1, 2]}), npartitions=1)"
)
_ACTOR = (
    "class Counter:\n    n = 0\n    def add(self):\n        self.n += 1\n        return self.n\n"
    "made = client.submit(Counter, actor=True).result()\n"
)
_WANTED = "only as long as a client wants it"

DASK = Library(
    "dask.distributed",
    _IMPORT + "client = dd.Client('ADDRESS')\n",
    _IMPORT + "client = dd.Client(n_workers=1, threads_per_worker=1, host='127.0.0.1', dashboard_address=None)\n",
    (
        kept("dask.delayed.Delayed", "x = dask.delayed(sum)([1, 2])", "x.compute(scheduler='sync')"),
        kept("dask.array.Array", "x = dask.array.ones(4, chunks=2)", "x.sum().compute(scheduler='sync')"),
        kept("dask.bag.Bag", "x = dask.bag.from_sequence([1, 2])", "x.compute(scheduler='sync')"),
        kept("dask.dataframe.DataFrame", _FRAME, "x.a.sum().compute(scheduler='sync')", needs="pyarrow"),
        named("dask.array.Array", "x = dask.array.ones(4, chunks=2).persist()", _WANTED, "persisted"),
        named("dask.bag.Bag", "x = dask.bag.from_sequence([1, 2]).persist()", _WANTED, "persisted"),
        named("dask.delayed.Delayed", "x = dask.delayed(sum)([1, 2]).persist()", _WANTED, "persisted"),
        named("dask.dataframe.DataFrame", f"{_FRAME}.persist()", _WANTED, "persisted", "pyarrow"),
        again("distributed.Client", "x = client", "x.submit(abs, -3).result(), x is client, dd.default_client() is x"),
        named(
            "distributed.Client",
            "class Mine(dd.Client): pass\nx = Mine(client.scheduler.address, set_as_default=False)",
            "",
            "of a subclass",
        ),
        named(
            "distributed.Client",
            "x = dd.Client(client.scheduler.address, set_as_default=False)\nx.close()",
            "is closed",
            "closed",
        ),
        named("distributed.Future", "x = client.submit(abs, -7)", _WANTED),
        named(
            "distributed.Future", "x = client.submit(divmod, 1, 0)\nd = dd.wait(x)", _WANTED, "of a task that failed"
        ),
        named("distributed.Future", "x = client.map(abs, [-1, -2])", _WANTED, "in a list"),
        named("distributed.Future", "x = client.scatter({'a': 1})", _WANTED, "of scattered data"),
        named(
            "distributed.Future", "x = lambda f=client.submit(abs, -1): f.result()", _WANTED, "of a function's default"
        ),
        named("distributed.Actor", f"{_ACTOR}x = made", _WANTED),
        named("distributed.ActorFuture", f"{_ACTOR}x = made.add()", "keep its result()"),
        again("distributed.Variable", "x = dd.Variable('v')\nx.set(5)", "x.get(timeout=5), x.client is client"),
        again("distributed.Queue", "x = dd.Queue('q', maxsize=3)\nx.put(1)", "x.qsize() > 0, x.maxsize"),
        again("distributed.Event", "x = dd.Event('e')\nx.set()", "x.is_set()"),
        again("distributed.Lock", "x = dd.Lock('l')", "x.name, x.locked()"),
        named("distributed.Lock", "x = dd.Lock('held')\nok = x.acquire()", "release it", "held"),
        again("distributed.Semaphore", "x = dd.Semaphore(2, 's')\nok = x.register()", "x.max_leases, x.get_value()"),
        again("distributed.MultiLock", "x = dd.MultiLock(['a', 'b'])", "x.names, x.locked()"),
        named("distributed.as_completed", "x = dd.as_completed([])", "make it again"),
        named("distributed.cfexecutor.ClientExecutor", "x = client.get_executor()", "client.get_executor()"),
        named("distributed.core.PooledRPCCall", "x = client.scheduler", "its client makes another one"),
    ),
)
