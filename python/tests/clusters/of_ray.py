"""What a cell may hold of ray."""

from __future__ import annotations

from handles import Library, again, kept, named

_ACTOR = (
    "@ray.remote(num_cpus=0)\nclass Counter:\n    def __init__(self): self.n = 0\n"
    "    def add(self):\n        self.n += 1\n        return self.n\n    def get(self): return self.n\n"
)
_FUNCTION = "@ray.remote\ndef double(n): return n * factor\n"
_OWNED = "ends it with the process that made it"

RAY = Library(
    "ray",
    "import ray, ray.data\nfactor = 2\nray.init('ADDRESS', namespace='tests', log_to_driver=False)\n",
    "import ray, ray.data\nfactor = 2\nray.init('local', num_cpus=2, include_dashboard=False, log_to_driver=False)\n",
    (
        kept("ray.remote_function.RemoteFunction", f"{_FUNCTION}x = double", "ray.get(x.remote(4), timeout=60)"),
        kept(
            "ray.remote_function.RemoteFunction",
            f"{_FUNCTION}x = double.options(num_cpus=0.5)",
            "ray.get(x.remote(4), timeout=60)",
            "with options",
        ),
        kept("ray.actor.ActorClass", f"{_ACTOR}x = Counter", "ray.get(x.remote().add.remote(), timeout=60)"),
        kept("ray.data.Dataset", "x = ray.data.range(4)", "x.count(), type(x).__name__", "that reads its data"),
        named("ray.ObjectRef", "x = ray.put([1, 2])", _OWNED, "of a value"),
        named("ray.ObjectRef", f"{_FUNCTION}x = double.remote(1)", _OWNED, "of a call"),
        named("ray.ObjectRef", f"{_FUNCTION}x = [double.remote(n) for n in range(2)]", _OWNED, "in a list"),
        named("ray.ObjectRefGenerator", "@ray.remote\ndef some(): yield 1\nx = some.remote()", _OWNED),
        again(
            "ray.actor.ActorHandle",
            f"{_ACTOR}x = Counter.options(name='kept', lifetime='detached', get_if_exists=True).remote()\n"
            "first = ray.get(x.add.remote(), timeout=60)",
            "ray.get(x.get.remote(), timeout=60) > 0",
            "detached",
        ),
        named("ray.actor.ActorHandle", f"{_ACTOR}x = Counter.remote()", "lifetime='detached'"),
        named(
            "ray.actor.ActorHandle", f"{_ACTOR}x = Counter.options(name='n').remote()", "lifetime='detached'", "by name"
        ),
        named("ray.actor.ActorMethod", f"{_ACTOR}x = Counter.remote().add", "lifetime='detached'"),
        named("ray.util.queue.Queue", "import ray.util.queue\nx = ray.util.queue.Queue()", "lifetime='detached'"),
        named("ray.util.ActorPool", f"import ray.util\n{_ACTOR}x = ray.util.ActorPool([Counter.remote()])", ""),
        named(
            "ray.util.placement_group.PlacementGroup",
            "import ray.util\nx = ray.util.placement_group([{'CPU': 0.1}])",
            _OWNED,
        ),
        named("ray.data.MaterializedDataset", "x = ray.data.from_items([1, 2])", "write_parquet", "of items"),
        named("ray.data.MaterializedDataset", "x = ray.data.range(4).materialize()", "write_parquet"),
    ),
)
