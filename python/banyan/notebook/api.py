"""Questions about a session and their answers (docs/internals/history.md), for type checkers only.

Written by `PYTHONPATH=tools .venv/bin/python -m dev.api_types`.
"""

from typing import Any, Literal, NotRequired, TypedDict, final


@final
class Log(TypedDict):
    do: Literal["log"]
    # a branch, a tag, or a commit's id
    at: NotRequired[str]
    # how many; 20 when it is left out
    limit: NotRequired[int]


@final
class Show(TypedDict):
    do: Literal["show"]
    # a branch, a tag, or a commit's id; HEAD when it is left out
    at: NotRequired[str]


Diff = TypedDict(
    "Diff",
    {
        "do": Literal["diff"],
        # the parent of `to` when it is left out
        "from": NotRequired[str],
        # a branch, a tag, or a commit's id; HEAD when it is left out
        "to": NotRequired[str],
    },
)


@final
class Blame(TypedDict):
    do: Literal["blame"]
    # a branch, a tag, or a commit's id; HEAD when it is left out
    at: NotRequired[str]
    # of the variable
    name: str


@final
class State(TypedDict):
    do: Literal["state"]


@final
class Undo(TypedDict):
    do: Literal["undo"]
    # how many cells
    count: NotRequired[int]
    # also where something goes from the disk by it
    force: NotRequired[bool]
    # cells may run again for it, whatever they do outside of the session
    repeat: NotRequired[bool]


@final
class Redo(TypedDict):
    do: Literal["redo"]
    # how many undos
    count: NotRequired[int]
    # also where something goes from the disk by it
    force: NotRequired[bool]
    # cells may run again for it, whatever they do outside of the session
    repeat: NotRequired[bool]


@final
class Checkout(TypedDict):
    do: Literal["checkout"]
    # a branch, a tag, or a commit's id
    at: NotRequired[str]
    # also where something goes from the disk by it
    force: NotRequired[bool]
    # cells may run again for it, whatever they do outside of the session
    repeat: NotRequired[bool]


@final
class Branch(TypedDict):
    do: Literal["branch"]
    # where it begins; HEAD when it is left out
    at: NotRequired[str]
    # the branch that is not needed any more
    drop: NotRequired[str]
    # of a new branch
    name: NotRequired[str]
    # the new name of the present branch
    rename: NotRequired[str]


@final
class Tag(TypedDict):
    do: Literal["tag"]
    # what it names; HEAD when it is left out
    at: NotRequired[str]
    # the tag that is not needed any more
    drop: NotRequired[str]
    # of a new tag
    name: NotRequired[str]


@final
class Describe(TypedDict):
    do: Literal["describe"]
    # a branch, a tag, or a commit's id; HEAD when it is left out
    at: NotRequired[str]
    message: str


@final
class Gc(TypedDict):
    do: Literal["gc"]
    # how many of each line of commits; all when it is left out
    keep: NotRequired[int]


@final
class Space(TypedDict):
    do: Literal["space"]


@final
class Document(TypedDict):
    do: Literal["document"]
    # a branch, a tag, or a commit's id; HEAD when it is left out
    at: NotRequired[str]


@final
class Copy(TypedDict):
    do: Literal["copy"]
    # false: not any more
    always: NotRequired[bool]
    # the cell that asks makes them
    made_now: NotRequired[bool]
    # with spaces between them; none to ask only
    names: str


@final
class Migrate(TypedDict):
    do: Literal["migrate"]
    # also where something is lost by it
    force: NotRequired[bool]
    # of the host on which the session would be
    gpus: NotRequired[int]
    # where it is to be
    host: str
    # what would be lost on a host that has no GPU
    without_gpu: NotRequired[str]


@final
class Suspend(TypedDict):
    do: Literal["suspend"]
    # also where something is lost by it
    force: NotRequired[bool]
    # of the host on which the session would be
    gpus: NotRequired[int]


@final
class Commit(TypedDict):
    # when it ended
    at: NotRequired[str | None]
    # what it began that went on in the background
    begun: NotRequired[list[str]]
    # that end here
    branches: list[str]
    # variables
    changed: NotRequired[list[str]]
    code: NotRequired[str]
    # the number in brackets
    count: NotRequired[int]
    # variables
    deleted: NotRequired[list[str]]
    # what the cell did outside of the session
    effects: NotRequired[list[str]]
    # of `changed`, what cannot be serialised
    failed: NotRequired[list[str]]
    # that it used
    gpus: NotRequired[int]
    # the session shows it
    head: bool
    id: str
    # that somebody gave it
    message: NotRequired[str | None]
    parent: NotRequired[str]
    # seconds that the cell took
    runtime_s: NotRequired[float]
    # seconds that serialising took, by type of value
    serialised_s: NotRequired[dict[str, float]]
    # of its cell: ok, error, aborted or lost; else restart, or forgotten when the cell is too old
    status: NotRequired[str]
    tags: list[str]


@final
class LogAnswer(TypedDict):
    # the current branch; null when head is on none
    branch: str | None
    # the newest first
    commits: list[Commit]
    # the id of the commit that the session shows; ROOT before the first
    head: str
    # how many older ones are left out
    more: int


@final
class Variable(TypedDict):
    bytes: int
    # that made this value; null when that is forgotten
    commit: str | None
    name: str
    # its value has bytes; otherwise its cell would run again
    saved: bool
    # variables that have objects of it
    shares_with: list[str]


@final
class ShowAnswer(TypedDict):
    commit: Commit
    variables: list[Variable]


@final
class Difference(TypedDict):
    # in the later one, unless it was deleted
    bytes: NotRequired[int]
    # in the earlier one, unless it was added
    bytes_before: NotRequired[int]
    name: str


DiffAnswer = TypedDict(
    "DiffAnswer",
    {
        "added": list[Difference],
        "changed": list[Difference],
        "deleted": list[Difference],
        "from": str,
        "to": str,
    },
)


@final
class BlameAnswer(TypedDict):
    # that changed it, the newest first
    commits: list[Commit]
    # of the variable
    name: str


@final
class Pending(TypedDict):
    bytes: int
    # the part that is only in the memory of the executor's host
    captured_bytes: int
    # how long the oldest of them has been pending
    for_ms: int


@final
class StateAnswer(TypedDict):
    # the current branch; null when head is on none
    branch: str | None
    # of all values that the session keeps
    bytes: int
    # an undo can be taken back
    can_redo: bool
    # how many there are
    commits: int
    # the id of the commit that the session shows; ROOT before the first
    head: str
    # large values that are still being copied, if there are any
    pending: NotRequired[Pending]
    variables: list[Variable]


@final
class Lost(TypedDict):
    name: str
    reason: str


@final
class RemovedFile(TypedDict):
    # of the variable
    name: str
    path: str


TravelAnswer = TypedDict(
    "TravelAnswer",
    {
        # the current branch; null when head is on none
        "branch": str | None,
        # of what is loaded
        "bytes": int,
        # that were undone or redone
        "commits": list[Commit],
        # variables
        "deletes": list[str],
        # where head was
        "from": str,
        # the id of the commit that the session shows; ROOT before the first
        "head": str,
        # variables that nothing brings back
        "lost": list[Lost],
        # variables that cells make again
        "recomputes": list[str],
        # what goes from the disk
        "removes": NotRequired[list[RemovedFile]],
        # cells that run again
        "repeats": list[Commit],
        # variables that are loaded
        "restores": list[str],
        # of `recomputes`, those that are made when something reads them
        "unread": list[str],
    },
)


@final
class Name(TypedDict):
    # of a branch: head moves with it
    current: NotRequired[bool]
    # of the commit
    id: str
    name: str


@final
class BranchAnswer(TypedDict):
    # the current branch; null when head is on none
    branch: str | None
    branches: list[Name]
    # the id of the commit that the session shows; ROOT before the first
    head: str


@final
class TagAnswer(TypedDict):
    tags: list[Name]


@final
class DescribeAnswer(TypedDict):
    commit: Commit


@final
class GcAnswer(TypedDict):
    # of the values that are left
    bytes: int
    # how many are left
    commits: int
    # commits
    forgets: list[Commit]
    # bytes that only these had
    freed: int


@final
class VariableSpace(TypedDict):
    # of all versions; what they share counts once
    bytes: int
    # of the version that the session shows
    bytes_at_head: int
    name: str
    # how many the session keeps
    versions: int


@final
class SpaceAnswer(TypedDict):
    # of all values that the session keeps
    bytes: int
    # how many there are
    commits: int
    # bytes beyond which the oldest commits go
    limit: int
    # the largest first
    variables: list[VariableSpace]


@final
class DocumentAnswer(TypedDict):
    # the id of the last commit in it
    at: str
    # a notebook of nbformat 4
    notebook: Any


@final
class Suspended(TypedDict):
    lost: list[Lost]
    suspended: bool


@final
class CopyAnswer(TypedDict):
    # the names of all such variables
    always: list[str]


@final
class MigrateAnswer(TypedDict):
    host: str


Question = (
    Log
    | Show
    | Diff
    | Blame
    | State
    | Undo
    | Redo
    | Checkout
    | Branch
    | Tag
    | Describe
    | Gc
    | Space
    | Document
    | Copy
    | Migrate
    | Suspend
)
