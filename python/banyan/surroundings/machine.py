"""Runs the parts of the surroundings: before a cell, after it, and when this process becomes a view of a commit.

The worker and the standalone extension own one `Surroundings` each. They hand what it reports to the log as they
do with variables.
"""

from __future__ import annotations

import contextlib
import logging
import operator
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython

from banyan.process import importing
from banyan.reducers import live
from banyan.reducers.streams import bind_streams
from banyan.state import own
from banyan.state.changes import Failure
from banyan.state.serialise import Pickled, dump
from banyan.surroundings import (
    generators,
    hooks,
    interpreter,
    ipython_settings,
    libraries,
    loggers,
    messages,
    of_abc,
    of_asyncio,
    of_builtins,
    of_clusters,
    of_comms,
    of_contextvars,
    of_figures,
    of_ipython,
    of_matplotlib,
    of_mimetypes,
    of_mock,
    of_mpmath,
    of_numpy,
    of_outputs,
    of_pandas,
    of_sklearn,
    of_torch,
    own_modules,
    patches,
    process,
    signals,
)
from banyan.surroundings.attributes import Attributes
from banyan.surroundings.capture import Keeping, capture_of
from banyan.surroundings.libraries import Libraries
from banyan.surroundings.loggers import Loggers
from banyan.surroundings.of_contextvars import Contexts
from banyan.surroundings.of_ipython import Registered
from banyan.surroundings.of_outputs import Outputs
from banyan.surroundings.part import UNSEEN, Moment, Part, Resists, Unkept, part_of
from banyan.surroundings.patches import Patches

if TYPE_CHECKING:
    from banyan.state.access import Accesses

_log = logging.getLogger("banyan")

_FILES = (
    process,
    own_modules,
    interpreter,
    generators,
    signals,
    messages,
    hooks,
    of_abc,
    of_asyncio,
    of_builtins,
    of_clusters,
    of_matplotlib,
    of_mimetypes,
    of_mock,
    of_mpmath,
    of_pandas,
    of_numpy,
    of_sklearn,
    of_torch,
    of_comms,
)


def _parts(
    attributes: Attributes,
    patched: Patches,
    others: Libraries,
    registered: Registered,
    contexts: Contexts,
    outputs: Outputs,
    logging_to: Loggers,
) -> dict[str, Part]:
    """All parts by name. Those that compare with how the process began see that now, so call it
    before user code runs.
    """
    modules = Part(
        "<modules>", "attributes that cells set on modules", attributes.read, attributes.write, attributes.glance
    )
    shell = [*of_ipython.parts(registered), *ipython_settings.parts(registered), *of_figures.parts(registered.shell)]
    shell += of_contextvars.parts(contexts)
    parts = [part for file in _FILES for part in _parts_of(file)]
    parts += [
        modules,
        *loggers.parts(logging_to),
        *patches.parts(patched),
        *libraries.parts(others),
        *shell,
        *of_outputs.parts(outputs),
    ]
    return {part.name: part for part in parts}


def _parts_of(file: types.ModuleType) -> list[Part]:
    """The parts of a file; none when the library is not as the file expects, so that the other files still work."""
    try:
        return list(file.parts())
    except Exception:
        _log.exception("what %s knows of is not kept", file.__name__)
        return []


_ALL = _parts(
    Attributes({}),
    Patches({}),
    Libraries({}, Attributes({}).has),
    Registered(None),
    Contexts({}),
    Outputs(None),
    Loggers(),
)
Capture = capture_of(_ALL.values())


class Surroundings:
    """The parts as they were last reported or set. Make it before any user code runs."""

    def __init__(self, capture: Keeping, namespace: dict[str, Any]) -> None:
        bind_streams()
        self._capture = capture
        self._attributes = Attributes(namespace)
        self._patches = Patches(namespace)
        self._libraries = Libraries(namespace, self._attributes.has)
        self._registered = Registered(get_ipython())
        self._contexts = Contexts(namespace)
        self._outputs = Outputs(get_ipython())
        logging_to = Loggers()
        importing.watch("loggers", logging_to.importing)
        parts = _parts(
            self._attributes,
            self._patches,
            self._libraries,
            self._registered,
            self._contexts,
            self._outputs,
            logging_to,
        )
        self._parts = {name: part for name, part in parts.items() if not part.holds}
        self._holders = {name: part for name, part in parts.items() if part.holds}
        self._restless = {name: part for name, part in self._parts.items() if part.restless}
        self._telling = [part for part in parts.values() if part.tell is not None]
        own.begin()
        live.begin()
        self._begun = False
        self._first: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        self._held: dict[str, Any] = {}
        self._again: dict[str, Any] = {}  # To be set again when a cell begins.
        self._glances: dict[str, Any] = {}  # By name: what the glance was when the value in `_last` was read.
        self._known: set[str] = set()

    @property
    def known(self) -> frozenset[str]:
        """The parts that the session holds values of, on which any cell may depend."""
        return frozenset(self._known - {of_outputs.NAME})

    def begin(self, accesses: Accesses | None = None) -> None:
        """User code is about to run. What the kernel itself has changed since the last cell (it draws random numbers)
        is not reported as a change.

        accesses: of the cell, as far as its source shows. It raises nothing, because a part that cannot be read must
        not stop the cell.
        """
        live.look()
        self._prepare(accesses)
        self._again.clear()
        if not self._begun:
            self._begun = True
            generators.start()
            self._first = {name: self._first_of(part) for name, part in self._parts.items()}
            self._last |= self._first
            self._glances.clear()
            return
        self._read_restless()

    def begin_again(self, accesses: Accesses | None = None) -> None:
        """A cell is about to be repeated, in a context of its own. What is to be set for the next cell is kept."""
        if not self._begun:
            self.begin()
        self._prepare(accesses)
        self._read_restless()

    def end_again(self) -> None:
        """The repeated cell has ended and `changes` has been called. What the cell set in its own context is set again
        for the next one, which has another context.
        """
        self._contexts.leave()
        for name, part in self._parts.items():
            if part.moment is Moment.CELL and self._is_here(part) and self._last.get(name) is not None:
                self._again[name] = self._last[name]

    def between(self) -> None:
        """A statement of the running cell has ended."""
        with contextlib.suppress(Exception):
            self._patches.look()
            self._libraries.look()
            self._registered.look()

    def _prepare(self, accesses: Accesses | None) -> None:
        with contextlib.suppress(Exception):
            self._contexts.enter()
        if accesses is not None:
            with contextlib.suppress(Exception):
                self._outputs.expect(accesses)
            with contextlib.suppress(Exception):
                self._attributes.expect(accesses.stores)
            with contextlib.suppress(Exception):
                self._patches.expect(accesses)
            with contextlib.suppress(Exception):
                self._libraries.expect(accesses)
        for name, value in self._again.items():
            with contextlib.suppress(Exception):
                (self._parts.get(name) or self._holders[name]).write(value)

    def _read_restless(self) -> None:
        for name, part in self._restless.items():
            glance = None
            with contextlib.suppress(Exception):
                glance = part.glance() if part.glance is not None else None
            if glance is None or glance != self._glances.get(name):
                self._last[name] = _read(part)
                self._glances[name] = glance

    def changes(self, stores: Iterable[tuple[str, str]] = ()) -> list[Pickled]:
        """The parts that differ from what was reported last, also where an import changed them. What parts hold
        comes from `held`.
        """
        self._attributes.note(stores)
        changed = []
        for name, part in self._parts.items():
            if not self._is_here(part):
                continue
            try:
                glance = part.glance() if part.glance is not None else None
                if glance is not None and glance == self._glances.get(name):
                    continue
                now = part.read()
                if now is None:
                    continue
                if now != self._last[name]:
                    self._last[name] = now
                    self._known.add(name)
                    changed.append(dump({name: now}))
                self._glances[name] = glance
            except Exception:  # It cannot be read, as a working directory that was removed. The others still count.
                continue
        for part in self._telling:
            with contextlib.suppress(Exception):
                part.tell()  # type: ignore[misc]
        return changed

    def held(self, accesses: Accesses | None = None) -> Mapping[str, Any]:
        """The objects that cells have made the process hold, by name. A cell with these accesses may
        have changed them.
        """
        if accesses is not None:
            with contextlib.suppress(Exception):
                self._attributes.note(accesses.stores)
                self._patches.note()
                self._libraries.note()
        held: dict[str, Any] = {}
        for part in self._holders.values():
            if not self._is_here(part):
                continue
            try:
                for key, value in part.read().items():
                    name = part.name_of(key)
                    held[name] = _the_same(self._held.get(name), value)
            except Exception:
                held |= {name: value for name, value in self._held.items() if part_of(name)[0] == part.name}
        self._held = held
        if held:
            self._known |= held.keys()
            if accesses is not None:
                accesses.names |= self._reached(accesses, held)
        return held

    def foresee(self, accesses: Accesses) -> Accesses:
        """Add to the accesses the held objects that the cell may touch. It is called before the cell runs."""
        accesses.names |= self._reached(accesses, self._held)
        return accesses

    def _reached(self, accesses: Accesses, held: Mapping[str, Any]) -> set[str]:
        chosen = [part for part in self._holders.values() if part.named is not None]
        reached = {name for name in held if not any(part_of(name)[0] == part.name for part in chosen)}
        return reached.union(*(part.named(accesses.names, accesses.imports) for part in chosen if part.named))

    @contextlib.contextmanager
    def loading(self) -> Iterator[None]:
        """Load values inside this context: what an import changes meanwhile is put back as it was.

        An import draws random numbers, sets environment variables and adds filters of warnings. In the session, a cell
        imported the library earlier, and later cells may have changed the same things since.
        """
        drawn, modules = self._drawn(), len(sys.modules)
        try:
            yield
        finally:
            kept = {name: self._last[name] for name in self._known & self._parts.keys() if name in self._last}
            self._put_back({**kept, **drawn} if len(sys.modules) != modules else drawn)

    def _is_drawn(self, name: str) -> bool:
        return name in self._parts and self._parts[name].drawn

    def _drawn(self) -> dict[str, Any]:
        return {name: _read(part) for name, part in self._parts.items() if part.drawn and self._is_here(part)}

    def _put_back(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            part = self._parts[name]
            with contextlib.suppress(Exception):
                if value is not None and self._is_here(part) and part.read() != value:
                    part.write(value)

    def follow_early(self, values: Mapping[str, Any]) -> None:
        """Set the parts that loading variables depends on. Failures are left to `follow`, which sets them
        again and reports.
        """
        if self._capture.wants(self._holders["<hooks>"]):
            with contextlib.suppress(Exception):
                hooks.find_early(values)
        for name, value in values.items():
            part = self._parts.get(name)
            if part is not None and part.moment is Moment.BEFORE and self._capture.wants(part):
                with contextlib.suppress(Exception):
                    part.write(value)
                    # If loading imports a library that changes it, this is the value that is put back.
                    self._last[name] = value

    def follow(self, values: Mapping[str, Any], deleted: Iterable[str]) -> list[Failure]:
        """Set the parts as a commit has them, and `deleted` ones as they were when the worker began.
        Returns those that fail.

        Call it after the variables were bound.
        """
        if not self._begun:
            self.begin()
        gone = set(deleted)
        self._known |= values.keys()
        self._glances.clear()
        drawn = self._drawn()  # Writing the other parts may import libraries that draw from these.
        failed = self._hold(values, gone)
        wanted = {**{name: self._before_cells(name) for name in gone}, **values}
        # The order of the parts matters: the time zone depends on the environment.
        places = {name: place for place, name in enumerate(self._parts)}
        for name, value in sorted(wanted.items(), key=lambda item: (self._is_drawn(item[0]), places.get(item[0], 0))):
            part = self._parts.get(name)
            if part is None or (value is None and name != "<modules>") or not self._capture.wants(part):
                continue
            try:
                part.write(value)
                if part.moment is Moment.CELL:
                    self._again[name] = value
            except Exception as error:
                failed.append(Failure(name, "", f"cannot be restored: {error}"))
        self._put_back({name: value for name, value in drawn.items() if name not in wanted})
        if self._capture.wants(self._parts["<modules>"]):
            self._attributes.rebind()
        for name, part in self._parts.items():  # Loading variables may have imported something that changed a part.
            if part.moment is Moment.CELL and name not in wanted and self._last.get(name) is not None:
                continue  # What cells set lies in their own context, and this is another one.
            with contextlib.suppress(Exception):
                if not part.needs or part.needs in sys.modules:
                    self._last[name] = part.read()
                    # A running timer's value differs at each read, so only its glance tells later that
                    # nobody has set it.
                    if part.glance is not None:
                        self._glances[name] = part.glance()
        return failed

    def _hold(self, values: Mapping[str, Any], gone: set[str]) -> list[Failure]:
        """Make each part hold exactly what the commit has. Returns the objects that cannot be restored."""
        failed: list[Failure] = []
        for part in self._holders.values():
            prefix = part.name_of("")[:-1]
            given = {name: value for name, value in values.items() if name.startswith(prefix)}
            taken = {name for name in gone if name.startswith(prefix)}
            if not self._capture.wants(part) or not (given or taken):
                continue
            held = {name: value for name, value in self._held.items() if name.startswith(prefix) and name not in gone}
            wanted = {part_of(name)[1]: value for name, value in {**held, **given}.items()}
            reasons: dict[str, str] = {}
            try:
                part.write(wanted)
            except Resists as error:
                reasons = error.reasons
            except Exception as error:
                reasons = {part_of(name)[1]: str(error) or repr(error) for name in given.keys() | taken}
            if part.moment is Moment.CELL:
                self._again[part.name] = wanted
            failed += [Failure(part.name_of(key), "", f"cannot be restored: {why}") for key, why in reasons.items()]
        return failed

    def _is_here(self, part: Part) -> bool:
        return (not part.needs or part.needs in sys.modules) and self._capture.wants(part)

    def _first_of(self, part: Part) -> Any:
        if part.first is not UNSEEN:
            return part.first
        return _read(part) if not part.needs or part.needs in sys.modules else None

    def _before_cells(self, name: str) -> Any:
        """The value as long as no cell has touched it, None where it is not known."""
        part, first = self._parts.get(name), self._first.get(name)
        return part.at_import() if first is None and part is not None and part.at_import is not None else first


def _read(part: Part) -> Any:
    """None where the value cannot be read, as a working directory that was removed."""
    try:
        return part.read()
    except Exception:
        return None


def _the_same(before: Any, now: Any) -> Any:
    """The earlier object if the new one is only another tuple of the same objects, so that it does not
    count as rebound.
    """
    if type(now) is tuple is type(before) and len(now) == len(before):
        return before if all(map(operator.is_, before, now)) else now
    return before if isinstance(now, Unkept) and now == before else now


def is_surrounding(name: str) -> bool:
    """Whether a name in the log is one of surroundings and not a variable's."""
    return name.startswith("<")
