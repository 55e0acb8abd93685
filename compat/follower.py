"""The follower's side: a fresh process that knows only the commits restores each version, and goes back to the
first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from banyan.state import serialise

from compat.alike import alike
from compat.case import Case
from compat.session import Commit, Expectation, History, expectation, look, new_namespace

_MADE, _CHANGED, _UNDONE = "restored", "restored as changed", "undone"


@dataclass
class Restored:
    """Whether all versions were equal, and shared what they should; None where the value was refused or there was
    nothing to compare. `problems`: faults of which the session had not warned."""

    equal: bool | None = None
    undone: bool | None = None
    shared: bool | None = None
    problems: list[str] = field(default_factory=list)


@dataclass
class _Version:
    """`x` and what `alias` holds, as a cell sees them now; `seen` is None when `x` was refused."""

    label: str
    problems: list[str]
    seen: tuple[Any, Any] | None = None
    shared: bool = False


def follow(setup: str, case: Case, history: History) -> Restored:
    """Restores each version, then runs the case's own code to learn what the versions should have been."""
    follower = _Follower(case)
    follower.apply(history.setup)
    versions = [follower.version(_MADE, history.made)]
    versions.append(follower.version(_CHANGED, *history.read, history.changed))
    follower.forget()
    versions.append(follower.version(_UNDONE, history.made))
    return _judge(case, versions, expectation(setup, case))


class _Follower:
    def __init__(self, case: Case) -> None:
        self._case = case
        self._namespace = new_namespace()
        self._refused: set[str] = set()

    def apply(self, commit: Commit) -> list[str]:
        """Applies a commit as a standby does, and returns what went wrong."""
        problems = []
        self._refused |= commit.failed.keys()
        self._refused -= commit.names()
        for name in (*commit.deleted, *commit.failed):
            self._namespace.pop(name, None)
        for names, data, buffers in commit.changed:
            for name in names:
                self._namespace.pop(name, None)
            try:
                self._namespace.update(serialise.load(data, [bytearray(buffer) for buffer in buffers]))
            except Exception as error:
                problems.append(f"does not load: {_text(error)}")
        return problems

    def forget(self) -> None:
        for name in ("x", "alias", "near"):
            self._namespace.pop(name, None)
        self._refused.clear()

    def version(self, label: str, *commits: Commit) -> _Version:
        version = _Version(label, [problem for commit in commits for problem in self.apply(commit)])
        if version.problems:
            return version
        if self._namespace.get("near") != {"n": 1}:
            version.problems.append("a neighbour is lost")
        missing = {"x", "alias"} - self._namespace.keys()
        if missing - self._refused:
            version.problems.append(f"missing, and nobody said so: {' '.join(sorted(missing))}")
        elif (self._refused & {"x", "alias"}) - missing:
            version.problems.append("refused, but its old value stays")
        elif not missing:
            value, other = self._namespace["x"], self._namespace["alias"][0]
            version.shared = value is other
            try:
                version.seen = tuple(look(self._case.view, self._namespace, each) for each in (value, other))
            except Exception as error:
                version.problems.append(f"cannot be used: {_text(error)}")
        return version


def _judge(case: Case, versions: list[_Version], expected: Expectation) -> Restored:
    restored = Restored()
    wanted = {
        _MADE: ((expected.before, expected.before), True),
        _CHANGED: ((expected.after, expected.alias_after), expected.shared_after),
        _UNDONE: ((expected.before, expected.before), True),
    }
    for version in versions:
        views, shared = wanted[version.label]
        if version.seen is not None:
            equal = alike(version.seen, views)
            if not equal:
                version.problems.append(_difference(version.seen, views))
            if shared and not case.frozen:
                restored.shared = version.shared and restored.shared is not False
                if not version.shared:
                    version.problems.append("x and alias[0] are two objects")
        elif version.problems:
            equal = False
        else:
            continue
        if version.label == _UNDONE:
            restored.undone = equal
        else:
            restored.equal = equal and restored.equal is not False
        restored.problems += [f"{version.label}: {problem}" for problem in version.problems]
    return restored


def _difference(seen: tuple[Any, Any], wanted: tuple[Any, Any]) -> str:
    which = 1 if alike(seen[0], wanted[0]) else 0
    return f"{'alias' if which else 'x'} is {_short(seen[which])} instead of {_short(wanted[which])}"


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:59] + "…"


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0][:120]}"
