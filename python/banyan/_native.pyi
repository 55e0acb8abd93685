"""The C++ extension module (python/native)."""

from collections.abc import Callable, Sequence

from typing_extensions import Buffer

BLOB_ALIGNMENT: int
LEASE_EXPIRED: int

def start_lease_watchdog(fd: int) -> None:
    """Map the lease page and start the thread that ends the process when its deadline passes. Once per process."""

def arm_lease() -> None:
    """From here until `disarm_lease` a passed deadline ends the process with status LEASE_EXPIRED."""

def disarm_lease() -> None: ...
def die_with_parent(parent: int) -> None:
    """SIGKILL this process when the thread that forked it ends, and now if `parent` is not the parent any more."""

def write_sealed_memfd(blobs: Sequence[Buffer]) -> int:
    """A new sealed memfd with the blobs, each at the next multiple of BLOB_ALIGNMENT. One write, no other copy."""

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

class IdSet:
    """Ids of the mutable objects that one value owns."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...

class Pickle(Buffer):
    """A finished pickle: its bytes by the buffer protocol."""

    @property
    def buffers(self) -> list[Buffer]:
        """What it needs out of band, in order."""

    @property
    def owned(self) -> IdSet: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

def pickle(
    root: object,
    treat: Callable[[object], tuple[Callable[[object], object] | None, int]],
    classify: Callable[[object], bool],
    locate: Callable[[object, str | None], tuple[str, str]],
    classes: set[int],
    namespace: dict[str, object],
    live_namespace: Callable[[], dict[str, object]],
) -> Pickle:
    """Pickle `root` (protocol 5; buffers and bytes of 1 KiB and more out of band) and note the mutable objects met.

    Equal values have equal pickles, as far as their reducers make them so. Any depth of nesting. `treat` says for an
    object how those of its type are pickled: a reducer (answers as `__reduce_ex__` does, or NotImplemented) or None,
    and whether they link what reaches them: 0 no, 1 yes, 2 ask `classify`. Attributes of classes are not owned, unless
    of one of `classes` (ids, filled on the way): they are shared by all that have the class, and travel with it.
    `namespace` is pickled as a call of `live_namespace`.
    """

def pickle_blocks(pickle: Buffer) -> list[tuple[str, int]]:
    """Digest and size of the blocks that a pickle is cut into, by its content."""

def memory_blocks(memory: Buffer) -> list[tuple[str, int]]:
    """The same of memory, cut at fixed multiples.

    Remembers large buffers by address: pages not written since are not read again, where the kernel knows.
    """

def components(changed: Sequence[IdSet], others: Sequence[IdSet]) -> list[int]:
    """Labels of the components by common ids, over `changed + others`; the others are not compared among themselves."""
