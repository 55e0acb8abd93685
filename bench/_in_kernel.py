"""Ways to store a namespace and to load it, as they work inside a kernel. Each function answers a text.

Runs in kernels as a module of its own: nothing of it is in the namespace that is stored.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import pickle
import types
from pathlib import Path
from typing import Any

from IPython.core.getipython import get_ipython


def _shell() -> Any:
    return get_ipython()


def ready(module: str) -> str:
    """Imports a library before times are taken."""
    importlib.import_module(module)
    return ""


def dill_store(path: str) -> str:
    import dill

    dill.dump_session(path)
    return ""


def dill_load(path: str) -> str:
    import dill

    dill.load_session(path)
    return ""


def each_store(path: str) -> str:
    """As %store does: each variable by itself, and nothing whose class is one of the notebook. Modules by name."""
    shell = _shell()
    kept: dict[str, bytes] = {}
    refused: list[str] = []
    for name, value in list(shell.user_ns.items()):
        if name in shell.user_ns_hidden or name.startswith("_"):
            continue
        if isinstance(value, types.ModuleType):
            kept[name] = b"module " + value.__name__.encode()
            continue
        try:
            if type(value).__module__ == "__main__":
                raise TypeError("its class is one of the notebook")
            kept[name] = pickle.dumps(value)
        except Exception:
            refused.append(name)
    Path(path).write_bytes(pickle.dumps(kept))
    return json.dumps(refused)


def each_load(path: str) -> str:
    namespace = _shell().user_ns
    refused = []
    for name, data in pickle.loads(Path(path).read_bytes()).items():
        try:
            if data.startswith(b"module "):
                namespace[name] = importlib.import_module(data[7:].decode())
            else:
                namespace[name] = pickle.loads(data)
        except Exception:
            refused.append(name)
    return json.dumps(refused)


def all_store(path: str) -> str:
    """As Banyan takes in a namespace: by co-variables, with its own serialiser. What it cannot hold is named."""
    from banyan.state.access import Accesses
    from banyan.state.detect import DigestDetector
    from banyan.state.serialise import bind_namespace, blocks_of

    shell = _shell()
    bind_namespace(shell.user_ns)
    changes = DigestDetector(shell.user_ns, shell.user_ns_hidden).changes(Accesses(dynamic=True))
    with Path(path).open("wb") as file:
        for pickled in changes.changed:
            sizes = [sum(size for _, size in part) for part in pickled.parts]
            pickle.dump((pickled.names, sizes), file)
            for _, _, block in blocks_of(pickled):
                file.write(block())
    return json.dumps({failure.name: failure.reason for failure in changes.failed})


def all_load(path: str) -> str:
    from banyan.restore.show import Value, show
    from banyan.state.detect import DigestDetector
    from banyan.state.serialise import bind_namespace

    shell = _shell()
    bind_namespace(shell.user_ns)
    values: list[Value] = []
    with Path(path).open("rb") as file:
        while True:
            try:
                names, sizes = pickle.load(file)
            except EOFError:
                break
            parts = [bytearray(size) for size in sizes]
            for part in parts:
                file.readinto(part)  # type: ignore[attr-defined]
            values.append(Value(tuple(names), frozenset(), lambda parts=parts: parts))  # type: ignore[misc]
    detector = DigestDetector(shell.user_ns, shell.user_ns_hidden)
    applied = show(shell, detector, _NoSurroundings(), values, [])  # type: ignore[arg-type]
    return json.dumps({failure.name: failure.reason for failure in applied.failed})


class _NoSurroundings:
    """Surroundings that hold nothing: this bench stores the namespace alone."""

    def loading(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def follow_early(self, _values: object) -> None: ...

    def follow(self, _values: object, _deleted: object) -> list[Any]:
        return []

    def held(self) -> dict[str, Any]:
        return {}
