"""Finds out which variables a cell changed: it pickles those that the cell may have touched, and compares blocks.

`DigestDetector` is what the worker and the standalone extension use as their `Detector` (changes.py). It remembers each
co-variable as a `_Group`; `_Pass` is one detection. docs/internals/worker.md has the rules.
"""

from __future__ import annotations

import contextlib
import gc
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from banyan import _native
from banyan.state import own
from banyan.state.access import DYNAMIC_ATTRIBUTES, DYNAMIC_NAMES, SHELL_NAME, Accesses
from banyan.state.changes import Adopted, Changes, Failure
from banyan.state.serialise import LARGE_BLOCK, Block, Bundle, Pickled, Source, Unserialisable, blocks_of, dump, look_at

_UNCHANGING = (
    *(int, float, complex, str, bytes, type(None), type),
    *(types.ModuleType, types.FunctionType, types.BuiltinFunctionType),
)


@dataclass(slots=True)
class _Group:
    """A co-variable as it was last reported or adopted.

    A fingerprint of None says that it was adopted and not pickled since: if a cell may have touched it, it counts as
    changed.
    """

    names: frozenset[str]
    fingerprint: tuple[tuple[Block, ...], ...] | None
    owned: _native.Owned
    uses: frozenset[str]
    # Digests of the large blocks that the session has of the version that was last reported or adopted.
    stored: frozenset[str]
    holds_class: bool  # Whether one of them is a class, of which other variables may have instances.

    @property
    def shares(self) -> bool:
        """Whether it owns objects that another variable could own too."""
        return len(self.owned) > 0


class DigestDetector:
    """A Detector that reads a cell's source and compares digests."""

    def __init__(self, namespace: dict[str, Any], hidden: dict[str, Any], *, spools: bool = False) -> None:
        """Start with an empty record of the namespace.

        hidden: what the shell put into the namespace. Such a name is a variable only once it has another value.
        spools: whether long pickles go to a spool, because another process reads them.
        """
        self._spools = spools
        self._variables = namespace
        self._beside: Mapping[str, Any] = {}
        self._hidden = hidden
        self._groups: dict[str, _Group] = {}
        self._bindings: dict[str, int] = {}
        # The objects beside the namespace whose ids are in `_bindings`. They are kept alive here, because a new object
        # at the address of one that is gone would be taken for it.
        self._bound_beside: dict[str, Any] = {}
        # What `look_at` says of each variable that cannot be pickled. None: nobody knows what the value refers to.
        self._failed: dict[str, Pickled | None] = {}
        self.unsettled = False
        self._skip: set[object] = set(hidden)
        self._seen: set[str] = set()

    @property
    def _namespace(self) -> Mapping[str, Any]:
        """The variables, and the objects that the process holds beside them."""
        return {**self._variables, **self._beside} if self._beside else self._variables

    def changes(self, accesses: Accesses, beside: Mapping[str, Any] | None = None) -> Changes:
        if beside is not None:
            self._beside = beside
        bindings = self._current()
        deleted: set[str] = set()
        rebound: set[str] = set()
        if bindings != self._bindings:
            deleted = self._bindings.keys() - bindings.keys()
            rebound = {name for name, value in bindings.items() if self._bindings.get(name) != value}
        if not (rebound or deleted or accesses.dynamic or not bindings.keys().isdisjoint(accesses.names)):
            return Changes()
        held = self._held_by_modules(accesses.names, bindings)
        accesses.names |= held
        accesses.reads |= held
        with _no_collection():
            found = _Pass(
                self._namespace, self._groups, self._failed, bindings, _native.Spool() if self._spools else None
            )
            result = found.run(accesses, rebound, deleted)
        gone = {name for name in deleted if name in self._groups or name in self._failed}
        known = set().union(*_stored(self._groups, (name for pickled in result.changed for name in pickled.names)))
        changes = Changes(result.changed, known, sorted(gone), spool=result.spool)
        changes.failed = sorted(result.failures(rebound), key=lambda failure: failure.name)
        changes.reads = sorted(result.reads(accesses, rebound) & self._bindings.keys())
        changes.reads_all = result.reads_all
        for name in result.dumped | deleted:
            self._groups.pop(name, None)
        self._groups.update(result.groups)
        for name in result.dumped | deleted:
            self._failed.pop(name, None)
        self._failed |= result.looks
        self._bindings = bindings
        self._bound_beside = dict(self._beside)
        return changes

    def adopt(
        self, changed: Iterable[Adopted], deleted: Iterable[str], beside: Mapping[str, Any] | None = None
    ) -> None:
        if beside is not None:
            self._beside = beside
        namespace = self._namespace
        for name in deleted:
            self._groups.pop(name, None)
            self._bindings.pop(name, None)
            self._bound_beside.pop(name, None)
            self._failed.pop(name, None)
        for adopted in changed:
            names = tuple(name for name in adopted.names if name in namespace)
            if not names:
                continue
            self.unsettled = True
            holds_class = _hold_class(namespace, names)
            group = _Group(frozenset(names), None, _native.Owned(), frozenset(), adopted.stored, holds_class)
            self._groups.update(dict.fromkeys(names, group))
            self._bindings.update({name: id(namespace[name]) for name in names})
            self._bound_beside |= {name: self._beside[name] for name in names if name in self._beside}
            for name in names:
                self._failed.pop(name, None)

    def blocks(self, names: Iterable[str]) -> dict[str, Source]:
        found: dict[str, Source] = {}
        namespace = self._namespace
        for group in _unique(self._groups[name] for name in names if name in self._groups):
            with contextlib.suppress(Unserialisable, KeyError):
                pickled = dump({name: namespace[name] for name in group.names})
                found |= {digest: source for digest, size, source in blocks_of(pickled) if size >= LARGE_BLOCK}
        return found

    def forget_stored(self, names: Iterable[str]) -> None:
        for group in _unique(self._groups[name] for name in names if name in self._groups):
            forgotten = replace(group, stored=frozenset())
            self._groups.update(dict.fromkeys(group.names, forgotten))

    def settle(self) -> bool:
        group = next((group for group in self._groups.values() if group.fingerprint is None), None)
        self.unsettled = group is not None
        if group is not None:
            self._settle(group)
        return self.unsettled

    def settle_for(self, accesses: Accesses) -> None:
        namespace = self._namespace
        touched = [group for name in accesses.names if (group := self._groups.get(name)) is not None]
        everything = accesses.dynamic or any(group.holds_class for group in touched)
        pending = set(self._groups) if everything else accesses.names | own.reached(accesses.names, accesses.imports)
        seen: set[str] = set()
        modules: set[str] = set()
        while pending:
            name = pending.pop()
            seen.add(name)
            group = self._groups.get(name)
            if group is None:
                continue
            if group.fingerprint is None and all(
                self._bindings.get(member) == id(namespace.get(member)) for member in group.names
            ):
                group = self._settle(group)
            pending |= (group.names | group.uses | own.expanded(group.uses, modules)) - seen
            if not (DYNAMIC_NAMES | DYNAMIC_ATTRIBUTES).isdisjoint(group.uses):
                pending |= self._groups.keys() - seen

    def reads_of(self, accesses: Accesses, missing: Collection[str]) -> set[str]:
        if accesses.dynamic or accesses.lists:
            return set(missing)
        self.settle_for(accesses)  # What functions use is only known once they were pickled.
        pending = accesses.reads | own.reached(accesses.names, accesses.imports)
        pending |= accesses.names & self._beside.keys()
        seen: set[str] = set()
        modules: set[str] = set()
        while pending:
            name = pending.pop()
            seen.add(name)
            if name in self._failed and self._failed[name] is None:
                return set(missing)
            group = self._groups.get(name) or self._failed.get(name)
            if group is None:
                continue
            if not (DYNAMIC_NAMES | DYNAMIC_ATTRIBUTES).isdisjoint(group.uses):
                return set(missing)
            pending |= {*group.names, *group.uses, *own.expanded(group.uses, modules)} - seen
        return seen.intersection(missing)

    def _settle(self, group: _Group) -> _Group:
        try:
            namespace = self._namespace
            values = {name: namespace[name] for name in group.names}
            # Only the fingerprint and the sharing are wanted, so no block needs bytes.
            pickled = dump(values, _native.Spool(), _Everything())
            settled = _Group(
                group.names, pickled.fingerprint, pickled.owned, pickled.uses, group.stored, group.holds_class
            )
        except (Unserialisable, KeyError):
            settled = _Group(group.names, (), _native.Owned(), DYNAMIC_NAMES, group.stored, group.holds_class)
        self._groups.update({name: settled for name in group.names if self._groups.get(name) is group})
        return settled

    def _held_by_modules(self, names: set[str], bindings: dict[str, int]) -> set[str]:
        """Variables whose value is an attribute of a named module, too: a call into the module may change it."""
        modules = [value for name in names if isinstance(value := self._variables.get(name), types.ModuleType)]
        if not modules:
            return set()
        bound = set(bindings.values())
        values = (value for module in modules for value in list(vars(module).values()))
        held = {at for value in values if (at := id(value)) in bound and not isinstance(value, _UNCHANGING)}
        return {name for name, value in bindings.items() if value in held} if held else set()

    def _current(self) -> dict[str, int]:
        """The id of each variable's value, and of each object beside the namespace."""
        current = _native.identities(self._variables, self._skip, self._hidden)
        if not current.keys() <= self._seen:
            for name in current.keys() - self._seen:
                if _is_variable(name):
                    self._seen.add(name)
                else:
                    self._skip.add(name)
                    del current[name]
        if self._beside:
            current |= {name: id(value) for name, value in self._beside.items()}
        return current


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Turn the cyclic garbage collector off: pickling makes many objects and no garbage, and collections would double
    its time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _is_variable(name: str) -> bool:
    """Whether a variable of this name is reported: the name has to be valid as UTF-8, and not one of the shell's."""
    return SHELL_NAME.match(name) is None and name.encode(errors="replace").decode() == name


def _hold_class(namespace: Mapping[str, Any], names: Iterable[str]) -> bool:
    return any(isinstance(namespace[name], type) for name in names)


_T = TypeVar("_T")


def _unique(items: Iterable[_T]) -> list[_T]:
    return list({id(item): item for item in items}.values())


class _Everything:
    def __contains__(self, _: object) -> bool:
        return True


def _stored(groups: Mapping[str, _Group], names: Iterable[str]) -> list[frozenset[str]]:
    """For each co-variable of `groups` that has one of these names, the digests of the blocks that the session has of
    it.
    """
    return [group.stored for group in _unique(groups[name] for name in names if name in groups)]


class _Pass:
    """One detection. It reads the previous groups and does not change them.

    Afterwards `groups` has the new group of each name in `dumped` that can be pickled, and of the variables that now
    share objects with one of these.
    """

    def __init__(
        self,
        namespace: Mapping[str, Any],
        groups: Mapping[str, _Group],
        failing: Mapping[str, Pickled | None],
        bindings: Mapping[str, int],
        spool: _native.Spool | None,
    ) -> None:
        self._namespace = namespace
        self._before = groups
        self._failing = failing
        self._bindings = bindings
        self._bundles: list[Bundle | None] = []  # A bundle by its number; None once its pickle is complete or lost.
        self._rebound: set[str] = set()
        # By co-variable as it was before, by its identity: the bundle that its variables are in.
        self._number_of: dict[int, int] = {}
        self._unnoted: set[int] = set()  # Numbers of bundles with objects that the watch has not been told of.
        self._apart: list[str] = []  # Variables to be pickled singly, because their bundle failed.
        self._watch = _native.Watch()
        self.spool = spool
        self._units: list[Pickled] = []  # Complete pickles, each of variables that share objects.
        self._uses: set[str] = set()
        self._modules: set[str] = set()  # The user's modules whose globals are among these uses.
        self._all = False
        self.dumped: set[str] = set()
        self.looks: dict[str, Pickled | None] = {}  # By the names in `failed`: what `look_at` says of them.
        self.failed: dict[str, Failure] = {}
        self.changed: list[Pickled] = []
        self.groups: dict[str, _Group] = {}

    def run(self, accesses: Accesses, rebound: set[str], deleted: Iterable[str]) -> _Pass:
        self._rebound = rebound
        self._all = accesses.dynamic or self._opaque(accesses.names)
        touched = accesses.names | rebound
        self._reach(touched | set(deleted))
        touched |= self._users_of_classes(rebound.union(deleted))
        pending = self._candidates(touched.union(*(self._before[n].names for n in deleted if n in self._before)))
        while pending:
            for name in sorted(pending):
                self._dump(name, accesses.names)
            pending = (self._candidates(self._uses) | self._failing_with_touched()) - self.dumped
        self._finish()
        self._regroup()
        return self

    def _failing_with_touched(self) -> set[str]:
        """Variables that cannot be pickled but share objects with touched ones: they may have changed with these."""
        rest = self._failing.keys() & self._bindings.keys() - self.dumped
        looks = [(name, look) for name in rest if (look := self._failing[name]) is not None]
        if not looks:
            return set()
        self._finish()
        touched = [unit.owned for unit in self._units]
        touched += [look.owned for look in self.looks.values() if look is not None]
        touched += [group.owned for name in self.dumped if (group := self._before.get(name)) is not None]
        labels = _native.components(touched, [look.owned for _, look in looks])
        found = set(labels[: len(touched)])
        return {name for (name, _), label in zip(looks, labels[len(touched) :], strict=True) if label in found}

    def _users_of_classes(self, released: set[str]) -> set[str]:
        """Variables with instances of a class that its name no longer leads to. If no other name does, the class now
        has to be stored with them.
        """
        names = {name for name in released if (group := self._before.get(name)) is not None and group.holds_class}
        if not names:
            return set()
        return {name for name, group in self._before.items() if not names.isdisjoint(group.uses)}

    def _opaque(self, names: set[str]) -> bool:
        """Whether one of the names is a value that cannot be pickled, so that nobody can tell which variables it
        reaches.
        """
        return any(self._failing[name] is None for name in names & self._failing.keys())

    def _reach(self, names: set[str]) -> None:
        """Add the names that functions among `names`, as they were before the cell, may refer to."""
        seen: set[str] = set()
        seen_groups: set[int] = set()
        pending = set(names)
        while pending:
            name = pending.pop()
            seen.add(name)
            group = self._before.get(name) or self._failing.get(name)
            if group is not None and id(group) not in seen_groups:
                seen_groups.add(id(group))
                self._use(group.uses)
                pending |= {*group.names, *group.uses} - seen
                self._all = self._all or self._opaque(set(group.uses))

    def _use(self, names: frozenset[str]) -> None:
        self._uses |= names
        self._uses |= own.expanded(names, self._modules)
        self._all = self._all or not (DYNAMIC_NAMES | DYNAMIC_ATTRIBUTES).isdisjoint(names)

    def _candidates(self, names: set[str]) -> set[str]:
        if self._all:
            return set(self._bindings)
        return self._with_their_groups((names | self._uses) & self._bindings.keys()) & self._bindings.keys()

    def _with_their_groups(self, names: set[str]) -> set[str]:
        """The names, and those that were in one co-variable with them before."""
        groups = _unique(self._before[name] for name in names if name in self._before)
        return names.union(*(group.names for group in groups))

    def _dump(self, name: str, touched: set[str]) -> None:
        """Pickle a variable, in one bundle with the variables that it is known to share objects with."""
        self.dumped.add(name)
        try:
            self._bundle(name, self._number_of_group(name), self._watch)
        except Unserialisable as error:
            self._use(error.uses)
            self._fail(name, error)
            self._all = self._all or (name in touched and self.looks[name] is None)

    def _number_of_group(self, name: str) -> int | None:
        """The bundle that holds variables which were in one co-variable with this one before. None: there is no such
        bundle.
        """
        group = self._before.get(name)
        if group is None or name in self._rebound:
            return None
        return self._number_of.get(id(group))

    def _bundle(self, name: str, number: int | None, watch: _native.Watch | None) -> None:
        """Add a variable to the bundle of that number; without a number to a new one, or to the bundle that it shares
        an object with.
        """
        value = self._namespace[name]
        if isinstance(value, type):  # A class is pickled alone, because in a bundle it would link all of its instances.
            self._units.append(self._pickle({name}))
            return
        if number is not None and (bundle := self._bundles[number]) is not None:
            self._tell_known(bundle, name)
            try:
                bundle.add(name, value)
            except Unserialisable:
                self._bundles[number] = None
                self._apart += [member for member in bundle.names if member != name]
                raise
        else:
            self._note()
            number = len(self._bundles)
            bundle = Bundle(spool=self.spool)
            self._tell_known(bundle, name)
            try:
                bundle.add(name, value, watch)
            except _native.Met as met:
                self._bundle(name, met.args[0], None)
                return
            self._bundles.append(bundle)
        if (group := self._before.get(name)) is not None and name not in self._rebound:
            self._number_of[id(group)] = min(number, self._number_of.get(id(group), number))
        self._unnoted.add(number)
        self._use(bundle.uses)

    def _note(self) -> None:
        """Tell the watch of the objects that the bundles have, so that the pickling of the next variable stops where it
        meets one of them.
        """
        for number in sorted(self._unnoted):
            if (bundle := self._bundles[number]) is not None:
                bundle.note(self._watch, number)
        self._unnoted.clear()

    def _tell_known(self, bundle: Bundle, name: str) -> None:
        for stored in _stored(self._before, [name]):
            bundle.know(stored)

    def _finish(self) -> None:
        """Complete the bundles, and split those whose variables turn out to share nothing."""
        again: list[list[str]] = [[name] for name in self._apart]
        self._apart.clear()
        for number, bundle in enumerate(self._bundles):
            if bundle is None:
                continue
            self._bundles[number] = None
            try:
                pickled = bundle.finish()
            except Unserialisable:
                again += [[name] for name in bundle.names]
                continue
            parts: dict[int, list[str]] = {}
            for name, label in pickled.links.items():
                parts.setdefault(label, []).append(name)
            if len(parts) == 1:
                self._units.append(pickled)
            else:
                again += parts.values()
        for names in again:
            try:
                self._units.append(self._pickle(names))
            except Unserialisable as error:
                for name in names:
                    self._fail(name, error)

    def _pickle(self, names: Collection[str]) -> Pickled:
        try:
            pickled = dump({name: self._namespace[name] for name in names}, self.spool, *_stored(self._before, names))
        except Unserialisable as error:
            self._use(error.uses)
            raise
        self._use(pickled.uses)
        return pickled

    def _fail(self, name: str, error: Unserialisable | str) -> None:
        look = self.looks[name] = look_at(self._namespace[name])
        if look is not None:
            self._use(look.uses)
        kind = type(self._namespace[name])
        module = "" if kind.__module__ in ("builtins", "__main__") else kind.__module__ + "."
        self.failed[name] = Failure(name, module + kind.__qualname__, str(error))

    def _regroup(self) -> None:
        """Join the variables that share objects now, and compare each co-variable with what it was."""
        units = self._units
        others: list[_Group] = []
        if any(len(unit.owned) for unit in units):
            rest = self._bindings.keys() - self.dumped
            others = _unique(group for name, group in self._before.items() if group.shares and name in rest)
        parts: list[Pickled | _Group] = [*units, *others]
        labels = _native.components([unit.owned for unit in units], [group.owned for group in others])
        joined: dict[int, list[Pickled | _Group]] = {}
        for label, part in zip(labels, parts, strict=True):
            joined.setdefault(label, []).append(part)
        for component in joined.values():
            self._settle(component)

    def failures(self, rebound: set[str]) -> Iterator[Failure]:
        """The variables among those that cannot be pickled that changed, as far as their looks show."""
        changed = []
        for name, failure in self.failed.items():
            before, now = self._failing.get(name), self.looks[name]
            news = name not in self._failing or name in rebound
            if news or before is None or now is None or before.parts != now.parts:
                changed.append(replace(failure, news=news))
        alone = self._alone([failure.name for failure in changed])
        for failure in changed:
            yield replace(failure, alone=failure.name in alone)

    def _alone(self, names: list[str]) -> set[str]:
        """Those of the failed that share no object with another variable, as far as their looks show. One without a
        look counts as alone.
        """
        looks = [(name, look) for name in names if (look := self.looks[name]) is not None]
        if not looks:
            return set(names)
        rest = self._bindings.keys() - self.dumped
        groups = [group for name, group in self._before.items() if group.shares and name in rest]
        others = [group.owned for group in _unique([*groups, *self.groups.values()])]
        failing = {name: look for name, look in self._failing.items() if name in rest} | self.looks
        known = {name for name, _ in looks}
        others += [look.owned for name, look in failing.items() if look is not None and name not in known]
        labels = _native.components([look.owned for _, look in looks], others)
        linked = {name for (name, _), label in zip(looks, labels, strict=False) if labels.count(label) > 1}
        return set(names) - linked

    @property
    def reads_all(self) -> bool:
        return self._all

    def reads(self, accesses: Accesses, rebound: set[str]) -> set[str]:
        """Variables whose value from before the cell it may have used: it names them, a function uses them, or it
        changed them in place.
        """
        changed = {name for pickled in self.changed for name in pickled.names} | self.failed.keys()
        return self._with_their_groups(accesses.reads | self._uses | (changed - rebound))

    def _settle(self, parts: list[Pickled | _Group]) -> None:
        if len(parts) == 1 and isinstance(parts[0], _Group):
            return
        if len(parts) == 1 and isinstance(parts[0], Pickled):
            pickled = parts[0]
        else:
            names = {name for part in parts for name in part.names}
            try:
                pickled = self._pickle(names)
            except Unserialisable as error:
                for name in sorted(names):
                    self._fail(name, error)
                return
        before = self._before.get(pickled.names[0])
        if (
            before is not None
            and before.names == frozenset(pickled.names)
            and before.fingerprint == pickled.fingerprint
        ):
            stored = before.stored
        else:
            self.changed.append(pickled)
            stored = frozenset(digest for part in pickled.parts for digest, size in part if size >= LARGE_BLOCK)
        members, holds_class = frozenset(pickled.names), _hold_class(self._namespace, pickled.names)
        group = _Group(members, pickled.fingerprint, pickled.owned, pickled.uses, stored, holds_class)
        self.groups.update(dict.fromkeys(members, group))
