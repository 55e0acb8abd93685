"""A behaviour as a story: set-up cells, a cell that changes something, and what an expression shows before and after.

All stories of a module are told in one session, each with variables of its own. Then the executor's host is killed,
and each story is checked on another replica: in the standby's process, in a process made anew, and through checkout.

A number in front of a test's docstring, as in "(35) …", counts the behaviours that undo, checkout and moves of a
session must have. The tests in this folder are the list of these behaviours, and their names have the same numbers.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pytest
from notebook import Notebook


@dataclass(frozen=True)
class Story:
    """One behaviour. The expression `check` must change nothing; `before` and `after` are its reprs before and after
    the change, or errors such as "NameError: …"."""

    setup: str | Sequence[str]
    change: str | Sequence[str]
    check: str
    before: str
    after: str
    changes: str | None = None  # names in the commits of the change, "-x" for a deleted one; None: not checked
    groups: str = ""  # co-variables after the change, for example "a b, c"
    raises: str = ""  # the error that ends the change's last cell
    needs: Sequence[str] = ()  # modules that the kernel may not have


@dataclass
class Told:
    """The results of a story. The commits are the last one before and the last one after the change; `cells` is the
    number of cells to undo."""

    story: Story
    problems: list[str] = field(default_factory=list)
    skipped: str = ""
    before: str = ""
    after: str = ""
    cells: int = 0

    @property
    def settled(self) -> bool:
        """Whether there is nothing more to check."""
        return bool(self.skipped) or self.cells == 0

    @property
    def words(self) -> set[str]:
        """All words of the story's cells. A variable that is not among them belongs to another story."""
        cells = [*_cells(self.story.setup), *_cells(self.story.change), self.story.check]
        return set(re.findall(r"\w+", " ".join(cells)))


class StoryTest(Protocol):
    """The test that the decorator `story` makes of a function."""

    story: Callable[[], Story]


def story(tell: Callable[[], Story]) -> Callable[[Mapping[str, Told]], None]:
    """Makes a test of a function that returns a Story."""

    def test(told: Mapping[str, Told]) -> None:
        mine = told[tell.__name__]
        if mine.skipped:
            pytest.skip(mine.skipped)
        assert not mine.problems, "\n".join(mine.problems)

    test.__name__, test.__doc__, test.__module__ = tell.__name__, tell.__doc__, tell.__module__
    test.story = tell  # type: ignore[attr-defined]
    return test


def tell_all(notebook: Notebook, stories: Mapping[str, Story]) -> dict[str, Told]:
    """Tells the stories one after another in the notebook, and again after a failover."""
    told = {name: Told(story) for name, story in stories.items()}
    for one in told.values():
        with _Teller(notebook, one, "where it ran") as teller:
            teller.tell()
    notebook.fail_over()
    for where in ("on the other replica", "in a new process there"):
        for one in told.values():
            with _Teller(notebook, one, where) as teller:
                teller.recall()
        if where == "on the other replica":
            notebook.rebuild()
    for one in reversed(told.values()):
        with _Teller(notebook, one, "checked out there") as teller:
            teller.check_out()
    return told


class _Broken(Exception):
    """The story cannot go on."""


class _Teller:
    """Tells one story in one phase, and writes everything that is not as it should be into `told.problems`."""

    def __init__(self, notebook: Notebook, told: Told, where: str) -> None:
        self._notebook = notebook
        self._told = told
        self._story = told.story
        self._where = where
        self._disturbed = False  # a check has committed a change that another story made unnoticed

    def __enter__(self) -> "_Teller":
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> bool:
        return isinstance(error, _Broken)

    def tell(self) -> None:
        """Runs the set-up and the change, then undoes and redoes the change."""
        for module in self._story.needs:
            if self._notebook.run(f"import {module}").status != "ok":
                self._told.skipped = f"the kernel cannot import {module}"
                return
        for code in _cells(self._story.setup):
            self._run(code)
        start = self._notebook.head()
        self._check(self._story.before, "before the change")
        self._told.before = self._quiet(start, "the check")
        self._change()
        self._told.after = self._notebook.head()
        self._note_changes()
        self._undo_and_redo()
        self._check_groups()

    def recall(self) -> None:
        """Checks that the state after the change is there already."""
        if not self._told.settled:
            self._check(self._story.after, "after the change")

    def check_out(self) -> None:
        """Checks out the state after the change; undoes, redoes and undoes it; makes the change again on restored
        values."""
        if self._told.settled:
            return
        self._run(f"%checkout {self._told.after}")
        self._check(self._story.after, "after the checkout")
        self._check_groups()
        self._undo_and_redo()
        self._run(f"%undo {self._told.cells}")
        self._change()
        self._check(self._story.after, "after the change was made again")

    def _change(self) -> None:
        *first, last = _cells(self._story.change)
        for code in first:
            self._run(code)
        self._run(last, self._story.raises)

    def _note_changes(self) -> None:
        found: set[str] = set()
        for row in self._notebook.ask(do="log", at=self._told.after, limit=10)["commits"]:
            if row["id"] == self._told.before:
                break
            names = {*row["changed"], *(f"-{name}" for name in row["deleted"])}
            self._told.cells += bool(names)
            found |= {name for name in names if name.removeprefix("-") in self._told.words}
        expected = self._story.changes
        if expected is not None and found != set(expected.split()):
            self._note(f"the change's commits name {sorted(found)}, not {sorted(expected.split())}")
        if not found:
            self._note("no commit has the change")
            raise _Broken

    def _undo_and_redo(self) -> None:
        self._disturbed = False
        self._run(f"%undo {self._told.cells}")
        self._check(self._story.before, "after the undo")
        self._quiet(self._told.before, "the check after the undo")
        if self._disturbed or self._notebook.run("%redo").status != "ok":
            if not self._disturbed:
                self._note("there was nothing to redo")
            self._run(f"%checkout {self._told.after}")
        self._check(self._story.after, "after the redo")
        self._quiet(self._told.after, "the check after the redo")

    def _check(self, expected: str, when: str) -> None:
        found = self._notebook.value(self._story.check)
        if found != expected:
            self._note(f"{when}: {self._story.check} is {found}, not {expected}")

    def _check_groups(self) -> None:
        if not self._story.groups:
            return
        found = self._notebook.groups()
        for group in self._story.groups.split(","):
            members = group.split()
            for name in members:
                if (linked := found.get(name, frozenset())) != frozenset(members):
                    self._note(f"the co-variable of {name} is {sorted(linked)}, not {members}")

    def _quiet(self, before: str, what: str) -> str:
        """Returns head, which must be `before` or a commit that changed nothing."""
        head = self._notebook.head()
        if head != before and (changed := self._notebook.changes()):
            self._disturbed = True
            if own := sorted(changed & self._told.words):
                self._note(f"{what} counts as a change of {own}")
        return head

    def _run(self, code: str, raises: str = "") -> None:
        cell = self._notebook.run(code)
        if cell.reply.get("ename", "") != raises:
            self._note(f"{code!r} ended with {cell.reply.get('ename')}: {cell.reply.get('evalue')}")
            raise _Broken

    def _note(self, problem: str) -> None:
        self._told.problems.append(f"{self._where}: {problem}")


def _cells(cells: str | Sequence[str]) -> list[str]:
    return [cells] if isinstance(cells, str) else list(cells)
