"""Handles on a cluster of ray: detached actors and the connection are restored, and remote functions are values.

ray's own pickles of references and actors load anywhere. That the process which owned them is gone shows only when
somebody waits for them. So what ends with the process is refused. A remote function remembers to which cluster it was
sent at its first call; without that it is what its cell made.
"""

from __future__ import annotations

import contextlib
import importlib
import socket
import sys
from dataclasses import dataclass, field
from typing import Any, NoReturn

from banyan.clusters.by_name import Reducers
from banyan.clusters.refusals import refusing
from banyan.reducers.reducer import Pickling

_REACHED_S = 3.0


@dataclass(frozen=True)
class Connection:
    """How a driver is connected.

    address: of the head's control store.
    namespace: that of named actors.
    """

    address: str
    namespace: str
    runtime_env: dict[str, Any] = field(default_factory=dict)


def _ray() -> Any:
    return importlib.import_module("ray")


def _is_client() -> bool:
    """Whether the process is connected through a server of ray (ray://), and is not a driver itself."""
    client = sys.modules.get("ray.util.client")
    return client is not None and bool(client.ray.is_connected())


def connection() -> Connection | None:
    """How this process is connected; None if it is not. Raises TypeError for a connection that no other
    process can have.
    """
    ray = sys.modules.get("ray")
    if ray is None or not (ray.is_initialized() or _is_client()):
        return None
    if _is_client():
        raise TypeError("cannot keep a connection to ray through a server (ray://), which ends with the process")
    node = ray._private.worker._global_node
    if node is None or node.head:
        raise TypeError(f"cannot keep a ray cluster that this process runs: {_ENDS}")
    context = ray.get_runtime_context()
    return Connection(context.gcs_address, context.namespace, dict(context.runtime_env or {}))


def connect(wanted: Connection) -> None:
    """Connect to a cluster in this way, unless that is so already. Raises ConnectionError."""
    ray = _ray()
    with contextlib.suppress(TypeError):
        if connection() == wanted:
            return
    if ray.is_initialized():
        raise ConnectionError(
            f"ray is connected elsewhere, and not to {wanted.address}: ray.shutdown(), and connect again"
        )
    host, _, port = wanted.address.rpartition(":")
    try:
        # ray itself would wait for minutes.
        socket.create_connection((host.strip("[]"), int(port)), _REACHED_S).close()
        options = {"runtime_env": wanted.runtime_env} if wanted.runtime_env else {}
        ray.init(address=wanted.address, namespace=wanted.namespace, **options)
    except Exception as error:
        why = (
            f"the ray cluster at {wanted.address} does not answer ({type(error).__name__}): start it, and connect again"
        )
        raise ConnectionError(why) from error


def _reduce_function(function: Any, _pickling: Pickling) -> Any:
    """The function and its options. What its first call has added is made again by its next one."""
    if function._is_cross_language:
        return NotImplemented
    return remote_function, (function._function, function._default_options)


def _reduce_class(cls: Any, _pickling: Pickling) -> Any:
    modified = cls.__ray_metadata__.modified_class
    if cls.__ray_metadata__.is_cross_language:
        return NotImplemented
    return actor_class, (modified.__ray_actor_class__, cls._default_options)


def _reduce_actor(actor: Any, _pickling: Pickling) -> Any:
    here = connection()
    if here is None:
        _refuse_actor(actor, "ray is not connected any more")
    if not _state_of(actor._ray_actor_id.hex()).get("IsDetached"):
        _refuse_actor(actor, f"{_OWNED}: one with a name and lifetime='detached' is kept")
    serialized, _, weak = actor._serialization_helper()
    return found_actor, (here, actor._ray_actor_id.hex(), serialized, weak)


def _refuse_actor(actor: Any, why: str) -> NoReturn:
    raise TypeError(f"cannot pickle an {type(actor).__name__} of ray: {why}")


def _state_of(actor: str) -> dict[str, Any]:
    state: dict[str, Any] = importlib.import_module("ray._private.state").actors(actor_id=actor)
    return state or {}


def _reduce_dataset(dataset: Any, pickling: Pickling) -> Any:
    """Only a dataset that can read its data anew. Others hold references to blocks, which end with this process."""
    if not dataset.has_serializable_lineage():
        raise TypeError(
            f"cannot pickle a {type(dataset).__name__} of ray: its blocks are objects there, and {_WRITTEN}"
        )
    return NotImplemented


# Pickles call what follows when they are loaded.


def remote_function(function: Any, options: dict[str, Any]) -> Any:
    return _ray().remote(**options)(function) if options else _ray().remote(function)


def actor_class(cls: Any, options: dict[str, Any]) -> Any:
    return remote_function(cls, options)


def found_actor(where: Connection, actor: str, serialized: Any, weak: bool) -> Any:
    """Connect, and get the actor. Raises LookupError when it has ended."""
    connect(where)
    if _state_of(actor).get("State") in (None, "DEAD"):
        raise LookupError(f"the ray cluster at {where.address} has no such actor any more: make it again")
    return importlib.import_module("ray.actor").ActorHandle._deserialization_helper(serialized, weak, None)


_ENDS = (
    "it ends with the process. Start it beside the session (ray start --head), and connect by its address "
    "(ray.init(address=…)): then the connection is kept"
)
_OWNED = "the cluster ends it with the process that made it"
_WRITTEN = "end with this process: write them (write_parquet) and read them there"

# By module and name of the type. The first one counts that is a base of an object's type.
REDUCERS: Reducers = {
    ("ray.remote_function", "RemoteFunction"): _reduce_function,
    ("ray.actor", "ActorClass"): _reduce_class,
    ("ray.actor", "ActorHandle"): _reduce_actor,
    ("ray._raylet", "ObjectRef"): refusing("of ray", f"{_OWNED}: keep its value (ray.get)"),
    ("ray._raylet", "ObjectRefGenerator"): refusing("of ray", f"{_OWNED}: keep its values"),
    ("ray.util.placement_group", "PlacementGroup"): refusing("of ray", f"{_OWNED}: make it again"),
    ("ray.util.client.common", "ClientBaseRef"): refusing("of ray", f"{_OWNED}: keep its value (ray.get)"),
    ("ray.util.client.common", "ClientObjectRef"): refusing("of ray", f"{_OWNED}: keep its value (ray.get)"),
    ("ray.util.client.common", "ClientActorHandle"): refusing("of ray", _OWNED),
    ("ray.data", "Dataset"): _reduce_dataset,
}
