"""Handles on a cluster of dask.distributed: clients, what a scheduler keeps under a name, futures and actors.

A client is loaded as one that connects to the same scheduler. Handles that share a client share one where they are
loaded, too: in the process that made it that is the client itself, as long as it is open. dask's own pickles take any
client that happens to be there, or none. Then a handle never answers, and nothing tells the user.

What only this process keeps alive on the cluster is refused. A scheduler drops the result of a future, and an actor,
when the last client that wants it is gone, as it is after a suspension.
"""

from __future__ import annotations

import importlib
import sys
import time
import weakref
from typing import Any, NoReturn

from banyan.clusters.by_name import Reducers
from banyan.clusters.refusals import refusing
from banyan.reducers.reducer import Pickling

_CONNECT_S = 10.0
_SILENT_S = 30.0  # How long a scheduler that did not answer is not tried again.
_OPTIONS = {
    "direct_to_workers": "direct_to_workers",
    "set_as_default": "_set_as_default",
    "serializers": "_serializers",
    "deserializers": "_deserializers",
}

# Clients by the id that each had when the session first connected, and these ids by client. Pickles hold these ids, so
# that they are equal on all hosts.
_clients: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_ids: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_silent: dict[str, tuple[float, str]] = {}  # By the address of a scheduler that did not answer: when that was, and why.

# How to connect once more: the client's first id, the scheduler's address and id, security and options.
Connection = tuple[str, str, str, Any, dict[str, Any]]


def _reduce_client(client: Any, _pickling: Pickling) -> Any:
    if type(client) is not _distributed().Client:
        raise TypeError(
            f"cannot pickle a {type(client).__name__}: only clients of dask's own class are connected again"
        )
    return connected, _connection(client)


def _reduce_variable(variable: Any, _pickling: Pickling) -> Any:
    return _named(variable, variable.client, variable.name)


def _reduce_queue(queue: Any, _pickling: Pickling) -> Any:
    return _named(queue, queue.client, queue.name, None, queue.maxsize)


def _reduce_event(event: Any, _pickling: Pickling) -> Any:
    return _named(event, event.client, event.name)


def _reduce_semaphore(semaphore: Any, _pickling: Pickling) -> Any:
    """For semaphores and for locks, which derive from them and are known by their names only."""
    if semaphore._leases:
        _refuse_held(semaphore)
    scheduler = semaphore.scheduler
    client = next((each for each in _open_clients() if each.scheduler is scheduler), None)
    is_lock = isinstance(semaphore, _distributed().Lock)
    return _named(semaphore, client, *((semaphore.name,) if is_lock else (semaphore.max_leases, semaphore.name)))


def _reduce_multi_lock(lock: Any, _pickling: Pickling) -> Any:
    if lock.locked():
        _refuse_held(lock)
    return _named(lock, lock.client, lock.names)


def _refuse_held(lock: Any) -> NoReturn:
    raise TypeError(f"cannot pickle a {type(lock).__name__} of dask that this process holds: release it first")


def _named(handle: Any, client: Any, *made_of: Any) -> Any:
    if client is None:
        raise TypeError(f"cannot pickle a {type(handle).__name__} of dask without an open client: connect first")
    return bound, (_connection(client), type(handle), *made_of)


def _open_clients() -> list[Any]:
    return [client for client in list(_distributed().Client._instances) if client.status == "running"]


def _connection(client: Any) -> Connection:
    """Raises TypeError for a client that no other process can have."""
    if client.status != "running" or client.scheduler is None:
        raise TypeError(f"cannot pickle a dask client that is {client.status}: connect again")
    address = client.scheduler.address
    if client.cluster is not None or address.startswith("inproc://") or address in _addresses_here():
        raise TypeError(f"cannot pickle a handle on a dask cluster that this process runs: {_ENDS}")
    if client.asynchronous:
        raise TypeError("cannot pickle a dask client with asynchronous=True, which belongs to this event loop")
    first = _ids.setdefault(client, client.id)
    _clients[first] = client
    options = {name: getattr(client, attribute) for name, attribute in _OPTIONS.items()}
    return first, address, _scheduler_of(client), _security(client), options


def default_client() -> Any:
    """The open client that dask's own functions compute with; None where they compute in this process."""
    client = sys.modules["distributed.client"]._get_global_client()
    return client if client is not None and client._set_as_default and client.status == "running" else None


def _scheduler_of(client: Any) -> str:
    return str((client._scheduler_identity or {}).get("id", ""))


def _addresses_here() -> set[str]:
    """The addresses of clusters that this process has started. A client may also connect to one of
    these by its address.
    """
    spec: Any = getattr(sys.modules.get("distributed.deploy.spec"), "SpecCluster", None)
    return {cluster.scheduler_address for cluster in list(spec._instances)} if spec is not None else set()


def _security(client: Any) -> Any:
    """None where nothing is set. Keys that are not in files are secrets and go into no commit."""
    security = client.security
    set_to = {name: getattr(security, name, None) for name in type(security).__slots__}
    texts = [value for value in set_to.values() if isinstance(value, str)]
    if any("\n" in text for text in texts):
        raise TypeError("cannot pickle a dask client whose keys are in memory: give Security the paths of files")
    return security if any(name.startswith("tls_c") for name, value in set_to.items() if value) else None


def _distributed() -> Any:
    return importlib.import_module("distributed")


# Pickles call what follows when they are loaded.


def connected(first: str, address: str, scheduler: str, security: Any, options: dict[str, Any]) -> Any:
    """The client that had this id first, or a new one that is connected to the same scheduler.
    Raises ConnectionError.
    """
    client = _clients.get(first)
    if client is not None and client.status == "running":
        return client
    since, why = _silent.get(address, (0.0, ""))
    if why and time.monotonic() - since < _SILENT_S:
        raise ConnectionError(why)
    try:
        client = _distributed().Client(address, security=security, timeout=_CONNECT_S, **options)
    except Exception as error:
        why = f"the dask scheduler at {address} does not answer ({type(error).__name__}): start it, and connect again"
        _silent[address] = time.monotonic(), why
        raise ConnectionError(why) from error
    if _scheduler_of(client) != scheduler:
        client.close()
        raise ConnectionError(f"another dask scheduler is at {address} now, which knows nothing of it: connect again")
    _ids[client] = first
    _clients[first] = client
    return client


def bound(connection: Connection, kind: Any, *made_of: Any) -> Any:
    """A handle on what the scheduler keeps under a name."""
    with connected(*connection).as_current():
        return kind(*made_of)


_ENDS = (
    "it ends with the process. Start the scheduler and its workers beside the session (dask scheduler, dask worker), "
    "and connect by the address: then its client is kept"
)
_WANTED = "the cluster keeps it only as long as a client wants it, and that is this process"
_PUBLISHED = f"{_WANTED}; keep its result(), or publish it (client.publish_dataset) and get it from there"

# By module and name of the type. The first one counts that is a base of an object's type.
REDUCERS: Reducers = {
    ("distributed", "Client"): _reduce_client,
    ("distributed", "Variable"): _reduce_variable,
    ("distributed", "Queue"): _reduce_queue,
    ("distributed", "Event"): _reduce_event,
    ("distributed", "Semaphore"): _reduce_semaphore,
    ("distributed", "MultiLock"): _reduce_multi_lock,
    ("distributed", "Future"): refusing("of dask", _PUBLISHED),
    ("distributed", "Actor"): refusing("of dask", _WANTED),
    ("distributed", "BaseActorFuture"): refusing("of dask", "its answer comes to this process: keep its result()"),
    ("distributed", "ActorFuture"): refusing("of dask", "its answer comes to this process: keep its result()"),
    ("distributed", "as_completed"): refusing("of dask", "it waits in this process: make it again of its futures"),
    ("distributed", "Pub"): refusing("of dask", "it is a connection of this process: make it again by its name"),
    ("distributed", "Sub"): refusing("of dask", "it is a connection of this process: make it again by its name"),
    ("distributed.cfexecutor", "ClientExecutor"): refusing("of dask", "client.get_executor() makes another one"),
    ("distributed.core", "Server"): refusing("of dask", _ENDS),
    ("distributed.core", "rpc"): refusing(
        "of dask", "it is a connection of this process: its client makes another one"
    ),
    ("distributed.core", "PooledRPCCall"): refusing(
        "of dask", "it is a connection of this process: its client makes another one"
    ),
    ("distributed.deploy.cluster", "Cluster"): refusing("of dask", _ENDS),
}
