"""The C++ extension module (python/native): pickling, digests and blocks, memfds, the lease watchdog,
and LocalSession.
"""

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import Buffer

BLOB_ALIGNMENT: int
LEASE_EXPIRED: int
# A buffer or a byte string of at least this many bytes is out of band in a pickle.
OUT_OF_BAND: int

def start_lease_watchdog(fd: int) -> None:
    """Map the lease page, and start the thread that ends the process when its deadline passes. Once per process."""

def arm_lease() -> None:
    """From now on until `disarm_lease`, a deadline that has passed ends the process with status LEASE_EXPIRED."""

def disarm_lease() -> None: ...

class AuditListener:
    """Hears audit events (PEP 578) of the given names while it listens. What `heard` raises is dropped,
    except for interrupts.
    """

    def __init__(self, events: Sequence[str], heard: Callable[[str, tuple[Any, ...]], None]) -> None:
        """Install an audit hook, which cannot be removed: it stays as long as the process."""
    def listen(self, on: bool) -> None: ...

def die_with_parent(parent: int) -> None:
    """SIGKILL this process when the thread that forked it ends, and at once if `parent` is no longer the parent."""

class Spool:
    """A memfd that is being written for another process: blobs, each at the next multiple of BLOB_ALIGNMENT."""

    def __init__(self) -> None: ...
    @property
    def end(self) -> int:
        """The offset of the next blob."""
    def add(self, blobs: Sequence[Buffer]) -> None:
        """Append the blobs by one write, without another copy."""
    def seal(self) -> int:
        """The sealed memfd, which the caller has to close. Call it once; afterwards nothing can be added or read."""

class Spill:
    """The blocks of a pickle that is too long to be held in memory. Blocks that were known already
    have no bytes here.
    """

    @property
    def blocks(self) -> list[tuple[str, int]]:
        """The digest and the size of each block."""
    @property
    def spool(self) -> Spool:
        """The spool in which the blocks lie as long as this object lives."""
    def at(self, index: int) -> int | None:
        """The offset of a block; None when it was known."""
    def block(self, index: int) -> bytes:
        """The bytes of a block. ValueError when it was known, or when the spool is sealed."""

class Mapping:
    """A private, writable mapping of a memfd, which it closes. It lives as long as any of its slices."""

    def __init__(self, fd: int) -> None: ...
    def slice(self, at: int, size: int) -> Slice:
        """IndexError when the slice does not lie inside."""

    def __len__(self) -> int: ...

def assemble(pieces: Sequence[Buffer]) -> Slice:
    """Fresh, writable memory with a copy of the pieces, one after the other."""

class Slice(Buffer):
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Owned:
    """The mutable objects that the values of a pickle own, and the memory that these objects lie in."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def shared_memory(self) -> list[tuple[int, int, int]]:
        """The ranges of memory in which several of the objects lie, unless all are tensors, or all are blocks.

        Ascending, as (begin, end, id of the bytearray whose memory it is, or 0).
        """

class Forgotten(Exception):
    """A reducer answered with what may lie in a container that was not remembered: pickle again with `remember_all`."""

class Met(Exception):
    """A pickling met an object of another one. `args[0]` is the number under which that one was noted."""

class Watch:
    """The mutable objects of earlier picklings that another one may meet."""

class Identities:
    """Objects that are known by their id. None of them is kept alive, so another object may be at
    the address of one.
    """

    def __init__(self) -> None: ...
    def add(self, object: object) -> None: ...

class Pickle(Buffer):
    """A pickle of protocol 5, and the mutable objects that it met. Buffers and bytes of 1 KiB and more are out of band.

    Equal values have equal pickles, if their reducers see to that. Texts of 64 Ki characters and bytes of 1 KiB or more
    are compared by identity, though. Values may be nested to any depth. A pickle is of one value (`whole`), or of a
    dict of the values that are added (`add`, `end`). Its bytes are available by the buffer protocol once it has ended.
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
        """Set up a pickler.

        treat: says for an object how those of its type are pickled: by a reducer (which answers as `__reduce_ex__`
            does, or NotImplemented) or None; whether they link what reaches them (0 no, 1 yes, 2 ask `classify`); and
            whether the reducer is direct, so that it puts no container into its answer that another object has.
        locate: module and path of an object that is pickled by name. It raises where they do not lead to the object.
        classes: ids of the classes whose attributes count as owned, filled while pickling. Attributes of other classes
            do not count, because a library's class would link all its instances.
        namespace: the dict that is pickled as a call of `live_namespace`.
        text_over: long texts are pickled as calls of this function.
        live: the reducer for the objects in `live_objects`, of whatever type.
        remember_all: if false, containers with one reference are not remembered, which is faster.
        spool: a long pickle goes there as it grows, except for the blocks whose digests are `known`.
        """

    def whole(self, value: object) -> None:
        """Pickle one value. Raises Forgotten when `remember_all` is needed, and whatever reducers raise."""
    def add(self, name: str, value: object, watch: Watch | None) -> None:
        """Add a value to the dict. It raises as `whole` does, and Met at the first object that `watch` has.

        After an exception this pickle is unusable.
        """
    def end(self) -> None: ...
    def forget(self) -> None:
        """Release the objects that were met, as `owned` does. Only the bytes and the buffers are left."""
    def note(self, watch: Watch, number: int) -> None:
        """Tell `watch` which objects were met since the last call, under this number."""
    @property
    def buffers(self) -> list[Buffer]:
        """What the pickle needs out of band, in order."""
    @property
    def spill(self) -> Spill | None:
        """Where a long pickle is once it has ended. It has no bytes of its own then."""

    def owned(self, memory: Sequence[tuple[int, int, int, int]]) -> tuple[Owned, list[int]]:
        """The mutable objects that were met, without those that only the pickle refers to, which a reducer has made.

        Call it once. The second item has a number for each value that was added; numbers are equal for values
        that share objects.

        memory: for each object that lies in memory of which others may be views: its id, the begin and the end of
        that memory, and its kind (0 array, 1 tensor, 2 block of a frame or column of arrow, which links only with
        the other kinds).
        """

    def __buffer__(self, flags: int, /) -> memoryview: ...

def pickle_blocks(pickle: Buffer) -> list[tuple[str, int]]:
    """Digest and size of the blocks of a pickle, which is cut where its content says so."""

def memory_blocks(memory: Buffer) -> list[tuple[str, int]]:
    """Digest and size of the blocks of some memory, which is cut at fixed multiples.

    Large buffers are remembered by their address: if the kernel tells which pages were written, only
    those are read again.
    """

class Atoms:
    """The bytes of an array of objects that are all str, int, float, bool or None. They are made
    when they are wanted.
    """

    @property
    def blocks(self) -> list[tuple[str, int]]:
        """Digest and size of each block. A block that nobody has written to since the last time is not read again."""
    def block(self, index: int) -> bytes:
        """The bytes of a block. BufferError when the array was written to and now has other objects."""
    def __bytes__(self) -> bytes: ...

def atoms(array: object) -> Atoms | None:
    """The Atoms of a contiguous array; None when an element is something else."""

def fill_atoms(array: object, pieces: Sequence[Buffer | tuple[Atoms, int]]) -> None:
    """Set the elements of a new array of objects.

    pieces: bytes of blocks, or a block of a live array, whose objects are taken as they are. Raises ValueError when the
    pieces do not fit, and BufferError when a live array was written to since.
    """

LARGE_SET: int  # A set with at least this many elements is passed to the reducers.

def table_of_set(set: set[Any] | frozenset[Any]) -> bytes:
    """A digest of the places of a set's elements. While it stays the same, a set of texts has not changed."""

def parts_of_set(
    set: set[Any] | frozenset[Any], bits: int, known: Sequence[bytes]
) -> list[tuple[bytes, bytes | None]] | None:
    """The sums of the 2^bits parts of a set of texts, with the bytes of those parts whose sums are not in `known`.

    known: the sums of before, by part; it may be empty. None for a set with an element that is no text.
    """

def texts_of_part(part: Buffer) -> list[str]:
    """The texts of a part. Raises ValueError when the bytes end too early."""

def identities(names: dict[str, Any], skip: set[object], hidden: dict[str, Any]) -> dict[str, int]:
    """The `id` of the value of each name of a namespace.

    Keys that are no texts are left out, and so are names in `skip`, unless the value differs from that in `hidden`.
    """

def components(changed: Sequence[Owned], others: Sequence[Owned]) -> list[int]:
    """Labels for `changed + others`, equal for those that are connected by common objects or memory.

    Two of the others are connected only by way of something in `changed`: they are not compared with each other.
    """

def chunk_digest(data: Buffer) -> bytes:
    """The content address of a chunk: XXH3-128 of its bytes."""

def keep_forever(value: object) -> None:
    """Leak a reference, so that the value is never finalised."""

class Blob(Buffer):
    def __buffer__(self, flags: int, /) -> memoryview: ...

class LocalStep:
    """What a store must hold from now on, all of it or none of it. Release it once it is stored."""

    @property
    def record(self) -> bytes:
        """The next entry of the log."""

    @property
    def added(self) -> list[tuple[bytes, Blob]]:
        """New chunks by digest. Some are views of the buffers that were given to `commit`."""

    @property
    def dropped(self) -> list[bytes]:
        """Digests of chunks that nothing refers to any more."""

class LocalSession:
    """core/session for one process. Texts and names have to be valid as UTF-8. Errors are ValueErrors with a reason."""

    def __init__(self, session_id: str, values_max: int) -> None:
        """values_max: how many bytes the values of all commits may take together."""

    @staticmethod
    def restore(snapshot: Buffer) -> LocalSession: ...
    def snapshot(self) -> bytes: ...
    def replay(self, record: Buffer) -> None:
        """Apply the record of a step once more."""

    def ask(self, question: str) -> str:
        """Answer a question (docs/internals/history.md); both are JSON. What it asks for takes effect with `commit`."""

    def look(self, question: str) -> str:
        """Answer a question that changes nothing. The answer to any other question is empty, and has no effect."""

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
        """Record a cell that has ended. Unless it failed, what it asked the history for takes effect after its changes.

        changed: for each co-variable its names and the parts of its bytes. A part has blocks: bytes, or the digest
            (hex) and the size of a chunk that the session has.
        looks: whether it makes no commit if it changed nothing.
        """

    def restart(self) -> LocalStep:
        """Record that the namespace is empty, as in a new process."""

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
        """The next cell that has to be repeated before head can be loaded. None: only what `behind`
        returns is left to do.

        The tuple has the values to load before the cell, the names to delete, its code, whether it failed at first, and
        what it made (`names`, and the digests of `blocks`).
        """

    def repeated(self, made: Sequence[str], changed: Sequence[str], error: str) -> None:
        """Note what the cell has made.

        made: names whose values are what the cell made at first.
        changed: other names that it changed.
        error: why it ended otherwise than at first; empty if it did not.
        """

    def cannot_load(self, names: Sequence[str], as_before: Sequence[str]) -> None:
        """Note that these names' values, at head or for `next_repeat`, cannot be loaded. The names are unbound now.

        All other values have been loaded, except for `as_before`: names that show what they showed."""

    @property
    def lost(self) -> dict[str, str]:
        """Names at head whose values nothing brings back, and why."""

    @property
    def unread(self) -> list[str]:
        """Names at head whose values are made when something reads them. They are unbound until then."""

    def need(self, names: Sequence[str]) -> None:
        """Let `next_repeat` make these, because something is about to read them."""

    def behind(self) -> tuple[list[tuple[list[str], list[list[bytearray | tuple[str, int]]]]], set[str]]:
        """What makes the namespace a view of head, apart from what is lost: values with their parts,
        and names to delete.

        A part is a list of blocks: bytes, or the digest (hex) and the size of a chunk of the store.
        """

    def shows_head(self) -> None:
        """Note that the namespace is a view of head now."""

    @property
    def names(self) -> list[str]:
        """The variables at head."""

    @property
    def chunks(self) -> dict[bytes, int]:
        """Digests of the chunks that are referred to, and how often."""
