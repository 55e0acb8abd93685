"""Makes the namespace a view of a commit: of one that another replica ran, or of one that was checked out.

The worker and the standalone extension call `show` with the values that differ.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from banyan import _native
from banyan.process import failpoints, pages
from banyan.state.changes import Adopted, Detector, Failure
from banyan.state.serialise import Source, load
from banyan.surroundings import Surroundings, is_surrounding, part_of

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from typing_extensions import Buffer


@dataclass(frozen=True, slots=True)
class Value:
    """A co-variable to be loaded.

    names: those of its names that are wanted.
    stored: digests of its large blocks.
    read: gives its pickle and its buffers, which are writable. It raises Lacking (a block is not here) or Unreadable.
    """

    names: tuple[str, ...]
    stored: frozenset[str]
    read: Callable[[], Sequence[Buffer | list[Any]]]


@dataclass(slots=True)
class Applied:
    """What `show` did.

    failed: names that could not be loaded and are missing now.
    lacking: names that are as before, because blocks were not here; they have to be sent.
    took: seconds to load each other co-variable, by its first name, if that imported nothing.
    """

    failed: list[Failure] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    took: dict[str, float] = field(default_factory=dict)


class Lacking(Exception):
    """A block that was thought to be in the worker's memory is no longer there."""


class Unreadable(Exception):
    """The source of the blocks is broken: no more values can be read from it."""


def show(
    shell: InteractiveShell,
    detector: Detector,
    surroundings: Surroundings,
    values: Iterable[Value],
    deleted: Iterable[str],
) -> Applied:
    """Load all values, then bind them and delete names. What cannot be loaded is missing afterwards, and in the result.

    Raises Unreadable. No variable is bound then, unless it is raised when a value is loaded for the second time.
    """
    values = sorted(values, key=lambda value: (not is_surrounding(value.names[0]), part_of(value.names[0])[1] != ""))
    loading = _Loading(shell, surroundings)
    gone = set(deleted)
    with pages.quiet(), surroundings.loading(), shell.builtin_trap:
        for value in values:
            loading.load(value)
        for name in gone:
            if not is_surrounding(name):
                shell.user_ns.pop(name, None)
        loading.bind()
        while loading.load_again():
            loading.bind()
        for failure in loading.give_up():
            gone.add(failure.name)
            shell.user_ns.pop(failure.name, None)
        _enable_figures()
    with pages.quiet():
        loading.result.failed += surroundings.follow(loading.around, {name for name in gone if is_surrounding(name)})
    detector.adopt(loading.adopted, gone, surroundings.held())
    return loading.result


class _Loading:
    """Values on their way into the namespace: all are loaded before the first one is bound.

    Code that runs while a value is loaded (its `__setstate__`, a finder of the user's) may use variables that are not
    bound yet. A value that fails for that reason is loaded again once the variable is bound.
    """

    def __init__(self, shell: InteractiveShell, surroundings: Surroundings) -> None:
        self.result = Applied()
        self.around: dict[str, Any] = {}
        self.adopted: list[Adopted] = []
        self._shell = shell
        self._surroundings = surroundings
        self._loaded: list[dict[str, Any]] = []
        self._failed: list[tuple[Value, BaseException]] = []

    def load(self, value: Value) -> None:
        try:
            modules, begun = len(sys.modules), time.perf_counter()
            bound = _load(value)
            # Otherwise it includes the time of an import, which the value's cell would need, too.
            if len(sys.modules) == modules:
                self.result.took[value.names[0]] = time.perf_counter() - begun
            failpoints.reach("worker.load")
            beside = {name: one for name, one in bound.items() if is_surrounding(name)}
            if beside:
                self.around |= beside
                self._surroundings.follow_early(beside)
            if variables := {name: one for name, one in bound.items() if name not in beside}:
                self._loaded.append(variables)
            self.adopted.append(Adopted(value.names, value.stored))
        except Unreadable:
            raise
        # BufferError: a thread has written to a live array that holds some of its blocks.
        except (Lacking, BufferError):
            self.result.lacking += value.names
        except BaseException as error:
            self._failed.append((value, error))

    def bind(self) -> None:
        for bound in self._loaded:
            self._shell.user_ns.update(bound)
            failpoints.reach("worker.bind")
        self._loaded.clear()

    def load_again(self) -> bool:
        """Load what failed because a variable was not bound that is bound now. Whether anything was loaded."""
        again = [each for each in self._failed if _missing(each[1]) & self._shell.user_ns.keys()]
        self._failed = [each for each in self._failed if each not in again]
        for value, _ in again:
            self.load(value)
        return bool(self._loaded)

    def give_up(self) -> list[Failure]:
        """The values that cannot be loaded."""
        failed = [
            Failure(name, "", f"cannot be loaded: {type(error).__name__}: {error}")
            for value, error in self._failed
            for name in value.names
        ]
        self.result.failed += failed
        return failed


def _missing(error: BaseException | None) -> set[str]:
    """The names whose absence led to this exception."""
    names: set[str] = set()
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, NameError) and error.name:
            names.add(error.name)
        error = error.__cause__ or error.__context__
    return names


def joined_pieces(blocks: Sequence[Buffer | Source]) -> Buffer | list[Any]:
    """The bytes of one part of a value. For an array of texts of which some are alive, the pieces instead."""
    if any(isinstance(block, Source) and isinstance(block.data, _native.Atoms) for block in blocks):
        return [block.piece() if isinstance(block, Source) else block for block in blocks]
    return memoryview(_native.assemble([block() if isinstance(block, Source) else block for block in blocks]))


def _load(value: Value) -> dict[str, Any]:
    data, *buffers = value.read()
    assert not isinstance(data, list)  # The first part is the pickle itself.
    values = load(data, buffers)
    if not values.keys() >= set(value.names):
        raise ValueError(f"the pickle holds {sorted(values)}")
    return {name: values[name] for name in value.names}


def _enable_figures() -> None:
    """Load matplotlib's backend as the first figure of a cell would, so that figures that were loaded are shown."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    backend = os.environ.get("MPLBACKEND")
    if pyplot is not None and backend and getattr(pyplot, "_backend_mod", pyplot) is None:
        pyplot.switch_backend(backend)
