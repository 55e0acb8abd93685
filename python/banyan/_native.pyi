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

def digest(parts: Sequence[Buffer]) -> bytes:
    """128-bit XXH3 of the parts and their sizes."""

class Mapping:
    """A private, writable mapping of a memfd, which it closes; lives as long as any of its slices."""

    def __init__(self, fd: int) -> None: ...
    def slice(self, at: int, size: int) -> Slice:
        """IndexError when the slice does not lie inside."""

    def __len__(self) -> int: ...

class Slice(Buffer):
    def __buffer__(self, flags: int, /) -> memoryview: ...

class IdSet:
    """Ids of the mutable objects that one value owns."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...

def owned_objects(
    memo: dict[int, tuple[int, object]],
    policy: dict[type, int],
    classify: Callable[[object], int],
    functions: set[int],
    classes: set[int],
) -> IdSet:
    """The mutable objects of a pickler's memo copy (emptied) that outlive the pickling, and `functions`.

    Not those that are attributes of a class, unless it is one of `classes`: such an object is shared by all that have
    the class, and travels with it. Clear the pickler's own memo first.

    Policy values: 0 ignore, 1 count, 2 ask `classify` for each object; `classify`
    also answers for types that `policy` lacks, and that answer is kept there.
    """

def components(changed: Sequence[IdSet], others: Sequence[IdSet]) -> list[int]:
    """Labels of the components by common ids, over `changed + others`; the others are not compared among themselves."""
