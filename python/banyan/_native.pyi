"""The C++ extension module (python/native)."""

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import Buffer

BLOB_ALIGNMENT: int
LEASE_EXPIRED: int
# Bytes of a buffer that is out of band in a pickle.
OUT_OF_BAND: int

def start_lease_watchdog(fd: int) -> None:
    """Map the lease page and start the thread that ends the process when its deadline passes. Once per process."""

def arm_lease() -> None:
    """From here until `disarm_lease` a passed deadline ends the process with status LEASE_EXPIRED."""

def disarm_lease() -> None: ...

class AuditListener:
    """Hears audit events (PEP 578) of the given names while it listens. Of what `heard` raises, interrupts pass."""

    def __init__(self, events: Sequence[str], heard: Callable[[str, tuple[Any, ...]], None]) -> None:
        """For good: an audit hook cannot be taken out."""
    def listen(self, on: bool) -> None: ...

def die_with_parent(parent: int) -> None:
    """SIGKILL this process when the thread that forked it ends, and now if `parent` is not the parent any more."""

class Spool:
    """A memfd in the making, for another process: blobs, each at the next multiple of BLOB_ALIGNMENT."""

    def __init__(self) -> None: ...
    @property
    def end(self) -> int:
        """Where the next one will lie."""
    def add(self, blobs: Sequence[Buffer]) -> None:
        """One write, no other copy."""
    def seal(self) -> int:
        """The sealed memfd, the caller's to close. Once, and nothing can be added or read then."""

class Spill:
    """The blocks of a pickle that is too long to be held in memory. Those that were known already have no bytes."""

    @property
    def blocks(self) -> list[tuple[str, int]]:
        """Digest and size of each."""
    @property
    def spool(self) -> Spool:
        """Where they lie as long as this lives."""
    def at(self, index: int) -> int | None:
        """Where a block lies; None when it was known."""
    def block(self, index: int) -> bytes:
        """Its bytes; ValueError when it was known. Not once the spool is sealed."""

class Mapping:
    """A private, writable mapping of a memfd, which it closes; lives as long as any of its slices."""

    def __init__(self, fd: int) -> None: ...
    def slice(self, at: int, size: int) -> Slice:
        """IndexError when the slice does not lie inside."""

    def __len__(self) -> int: ...

def assemble(pieces: Sequence[Buffer]) -> Slice:
    """Fresh, writable memory with a copy of the pieces, one after the other."""

class Slice(Buffer):
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Owned:
    """The mutable objects that one value owns, and the memory that they lie in."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def shared_memory(self) -> list[tuple[int, int, int]]:
        """Begin and end of the memory that several of them lie in, unless all are tensors or blocks.

        Ascending; the third is the id of the bytearray whose memory it is, or 0.
        """

class Forgotten(Exception):
    """A reducer answered with what may lie in a container that was not remembered: remember all."""

class Met(Exception):
    """A pickling met an object of another one; `args[0]` is the number of that."""

class Watch:
    """The mutable objects of picklings that others may meet."""

class Identities:
    """Objects that are known by their identity. It keeps none of them alive: another may have the place of one."""

    def __init__(self) -> None: ...
    def add(self, object: object) -> None: ...

class Pickle(Buffer):
    """A pickle (protocol 5; buffers and bytes of 1 KiB and more out of band), and what mutable objects were met.

    Equal values have equal pickles, as far as their reducers make them so; texts of 64 Ki characters and bytes of 1 KiB
    are compared by identity. Any depth of nesting. It is of one value, or of a dict of those that are added. Its bytes,
    by the buffer protocol, are there when it has ended.
    """

    def __init__(
        self,
        treat: Callable[[object], tuple[Callable[[object], object] | None, int, bool]],
        classify: Callable[[object], bool],
        locate: Callable[[object, str | None], tuple[str, str]],
        classes: set[int],
        namespace: dict[str, object],
        live_namespace: Callable[[], dict[str, object]],
        text_over: Callable[[Buffer], str],
        live: Callable[[object], object],
        live_objects: Identities,
        *,
        remember_all: bool,
        spool: Spool | None,
        known: Callable[[str], bool],
    ) -> None:
        """`treat` says for an object how those of its type are pickled: a reducer (answers as `__reduce_ex__` does, or
        NotImplemented) or None, whether they link what reaches them (0 no, 1 yes, 2 ask `classify`), and whether the
        reducer is direct: it puts no container into its answer that another object has. Attributes of classes are not
        owned, unless of one of `classes` (ids, filled on the way): those of a library are shared by all that have its
        objects. `namespace` is pickled as a call of `live_namespace`, long texts as calls of `text_over`. `live` is a
        reducer for those of `live_objects`, of whatever type.

        Without `remember_all` containers with one reference are not remembered, which is faster. A long pickle goes to
        `spool` as it grows, but for the blocks that are `known`, by their digests.
        """

    def whole(self, value: object) -> None:
        """Raises Forgotten, when `remember_all` is needed, and whatever reducers raise."""
    def add(self, name: str, value: object, watch: Watch | None) -> None:
        """The same; Met at the first object that `watch` has. After an exception this pickle is of no use."""
    def end(self) -> None: ...
    def forget(self) -> None:
        """Let go of what was met; `owned` does so too. Only its bytes and buffers are left."""
    def note(self, watch: Watch, number: int) -> None:
        """Let `watch` know what was met since the last time, under this number."""
    @property
    def buffers(self) -> list[Buffer]:
        """What it needs out of band, in order."""
    @property
    def spill(self) -> Spill | None:
        """Where it is when it has ended, if it was long. It has no buffer then."""

    def owned(self, memory: Sequence[tuple[int, int, int, int]]) -> tuple[Owned, list[int]]:
        """The mutable objects met, but for those that nobody else holds: a reducer made them. Once.

        memory: for objects that lie in memory of which others may be views: id, begin, end, and what they are (0 array,
        1 tensor, 2 block of a frame or a column of arrow's, which link with the others only). The second is a number
        for each value that was added: equal where they hang together.
        """

    def __buffer__(self, flags: int, /) -> memoryview: ...

def pickle_blocks(pickle: Buffer) -> list[tuple[str, int]]:
    """Digest and size of the blocks that a pickle is cut into, by its content."""

def memory_blocks(memory: Buffer) -> list[tuple[str, int]]:
    """The same of memory, cut at fixed multiples.

    Remembers large buffers by address: pages not written since are not read again, where the kernel knows.
    """

class Atoms:
    """The bytes of an array of objects that are all str, int, float, bool or None, made when they are asked for."""

    @property
    def blocks(self) -> list[tuple[str, int]]:
        """Digest and size of each block. What nobody has written since it was asked last is not read again."""
    def block(self, index: int) -> bytes:
        """BufferError when the array was written since, so that it is no such array any more."""
    def __bytes__(self) -> bytes: ...

def atoms(array: object) -> Atoms | None:
    """None when an element is something else. The array is contiguous."""

def fill_atoms(array: object, pieces: Sequence[Buffer | tuple[Atoms, int]]) -> None:
    """Set the elements of a new array of objects to those in blocks: their bytes, or those of a live array.

    Raises ValueError when they do not fit, BufferError when a live one was written since.
    """

LARGE_SET: int  # elements of a set that reducers are asked about

def table_of_set(set: set[Any] | frozenset[Any]) -> bytes:
    """Says what a set holds, by the places of its elements: while it is the same, a set of texts is the same."""

def parts_of_set(
    set: set[Any] | frozenset[Any], bits: int, known: Sequence[bytes]
) -> list[tuple[bytes, bytes | None]] | None:
    """Of the 2^bits parts of a set of texts the sums, and the bytes of those whose sum is another one in `known`.

    None for a set with something else.
    """

def texts_of_part(part: Buffer) -> list[str]:
    """Raises ValueError when the bytes end too early."""

def identities(names: dict[str, Any], skip: set[object], hidden: dict[str, Any]) -> dict[str, int]:
    """The `id` of the value of each name of a namespace, but for those in `skip` that have the value of `hidden`, or
    that it has not. Keys that are no texts are left out."""

def components(changed: Sequence[Owned], others: Sequence[Owned]) -> list[int]:
    """Labels of the components by common ids, over `changed + others`; the others are not compared among themselves."""

def chunk_digest(data: Buffer) -> bytes:
    """The content address of a chunk: XXH3-128 of its bytes."""

def keep_forever(value: object) -> None:
    """Leak a reference: the value is never finalised."""

class Blob(Buffer):
    def __buffer__(self, flags: int, /) -> memoryview: ...

class LocalStep:
    """What a store must hold from now on: all of it or none of it. Let go of it once it is stored."""

    @property
    def record(self) -> bytes:
        """The next entry of the log."""

    @property
    def added(self) -> list[tuple[bytes, Blob]]:
        """New chunks by digest. Some are views of the buffers that `commit` was given."""

    @property
    def dropped(self) -> list[bytes]:
        """Digests of chunks that nothing refers to any more."""

class LocalSession:
    """core/session for one process. Texts and names are UTF-8: no lone surrogates. ValueError says what is wrong."""

    def __init__(self, session_id: str, values_max: int) -> None:
        """values_max: bytes of the values of all commits that are kept."""

    @staticmethod
    def restore(snapshot: Buffer) -> LocalSession: ...
    def snapshot(self) -> bytes: ...
    def replay(self, record: Buffer) -> None:
        """Apply a step's record again."""

    def ask(self, question: str) -> str:
        """Answer a question (docs/internals/history.md), JSON both. What it asks for takes effect with `commit`."""

    def look(self, question: str) -> str:
        """The same for a question that asks for nothing to be done; empty for others."""

    def commit(
        self,
        *,
        code: str,
        ok: bool,
        count: int,
        runtime_us: int,
        ended_at_us: int,
        changed: Sequence[tuple[Sequence[str], Sequence[Sequence[Buffer | tuple[str, int]]]]],
        deleted: Sequence[str],
        failed: Sequence[str],
        alone: Sequence[str],
        reads: Sequence[str],
        reads_all: bool,
        effects: Sequence[str],
        begun: Sequence[str],
        looks: bool,
    ) -> LocalStep:
        """A cell has ended. changed: names that share objects, and the parts of their bytes: blocks, or digest (hex)
        and size of one that the session has; looks: no commit when it changed nothing. Unless it failed, what it asked
        for takes effect after its changes."""

    def restart(self) -> LocalStep:
        """The namespace is empty: a new process."""

    def next_repeat(
        self,
    ) -> (
        tuple[
            list[tuple[list[str], list[list[bytearray | tuple[str, int]]]]],
            set[str],
            str,
            bool,
            list[dict[str, list[str]]],
        ]
        | None
    ):
        """The next cell that has to run again before head can be loaded: values to load for it, names to delete, its
        code, whether it failed, and what it made (names, digests of blocks). None: `behind` is the rest."""

    def repeated(self, made: Sequence[str], changed: Sequence[str], error: str) -> None:
        """It has run. made: names that are what it made first; changed: others; error: why it ended otherwise."""

    def cannot_load(self, names: Sequence[str]) -> None:
        """What these names were to be, for `next_repeat` or at head, does not load; they are gone."""

    @property
    def lost(self) -> dict[str, str]:
        """Names at head that nothing brings back, and why."""

    @property
    def unread(self) -> list[str]:
        """Names at head whose values are made when something reads them; they are unbound until then."""

    def need(self, names: Sequence[str]) -> None:
        """Something is to read these: `next_repeat` makes them."""

    def behind(self) -> tuple[list[tuple[list[str], list[list[bytearray | tuple[str, int]]]]], set[str]]:
        """What makes the namespace a view of head, but for what is lost: values with their parts, names to delete.

        A part is its blocks: bytes, or digest (hex) and size of a chunk of the store.
        """

    def shows_head(self) -> None:
        """`behind` is done."""

    @property
    def names(self) -> list[str]:
        """Variables at head."""

    @property
    def chunks(self) -> dict[bytes, int]:
        """Digests of the chunks that are referred to, and how often."""
