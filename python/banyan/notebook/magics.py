"""The IPython magics of time travel: %undo, %redo, %checkout, %branch, %tag, %describe, %log, %diff, %blame, %state.

Each asks the session's history a question (docs/internals/history.md) and shows the answer; the docstrings of the
methods are what `%undo?` shows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from banyan.notebook import history
from banyan.notebook.disk import removed_by
from banyan.notebook.history import HistoryError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from banyan.notebook import api

_REPEAT = "run cells again that variables need, whatever they do outside of the session"

# The answer is as `banyan.notebook.api` says: LogAnswer to Log, TravelAnswer to all that move head.
Ask = Callable[["api.Question"], Any]


@magics_class
class HistoryMagics(Magics):
    """The magics. One that moves head takes effect when its cell has ended: only then do variables change."""

    def __init__(self, shell: InteractiveShell, ask: Ask) -> None:
        super().__init__(shell)
        self._ask_history = ask

    @magic_arguments()
    @argument("count", type=int, nargs="?", default=1, help="how many cells; those that only looked do not count")
    @argument("--repeat", action="store_true", help=_REPEAT)
    @line_magic
    def undo(self, line: str) -> None:
        """Undo what the last cell did, or say why that cannot be. %redo brings it back; nothing is lost."""
        arguments = parse_argstring(self.undo, line)
        self._travel({"do": "undo", "count": _count("undo", arguments.count)}, "Undone", arguments.repeat)

    @magic_arguments()
    @argument("count", type=int, nargs="?", default=1, help="how many undos")
    @argument("--repeat", action="store_true", help=_REPEAT)
    @line_magic
    def redo(self, line: str) -> None:
        """Take an %undo back, with all the cells that it took back."""
        arguments = parse_argstring(self.redo, line)
        self._travel({"do": "redo", "count": _count("redo", arguments.count)}, "Redone", arguments.repeat)

    @magic_arguments()
    @argument("commit", help="a branch, a tag, an id as %%log shows it, HEAD~2, or ROOT for the beginning")
    @argument("--code", action="store_true", help="give its cell's code as the next cell, and leave the variables")
    @argument("--notebook", metavar="FILE", help="write the notebook as it was then, and leave the variables")
    @argument("--variables", action="store_true", help="leave the cells alone, as without --code")
    @argument("--repeat", action="store_true", help=_REPEAT)
    @line_magic
    def checkout(self, line: str) -> None:
        """Make the variables those of a commit. Work that goes on from an old commit begins a new branch.

        With --code or --notebook and --variables both.
        """
        arguments = parse_argstring(self.checkout, line)
        if arguments.code:
            self._give_code(arguments.commit)
        if arguments.notebook:
            self._write_notebook(arguments.commit, Path(arguments.notebook))
        if arguments.variables or not (arguments.code or arguments.notebook):
            self._travel({"do": "checkout", "at": arguments.commit}, f"At {arguments.commit}", arguments.repeat)

    @magic_arguments()
    @argument("name", nargs="?", help="a new branch; without it, the branches are listed")
    @argument("commit", nargs="?", help="where it begins; HEAD unless given")
    @argument("-d", "--delete", metavar="NAME", help="delete a branch; its commits stay")
    @argument("-m", "--move", metavar="NAME", help="name the current branch anew")
    @line_magic
    def branch(self, line: str) -> None:
        """Make, list, rename or delete branches."""
        arguments = parse_argstring(self.branch, line)
        question: api.Branch = {"do": "branch"}
        _name(question, arguments)
        if arguments.move:
            question["rename"] = arguments.move
        answer: api.BranchAnswer = self._ask(question)
        rows = [["*" if row.get("current") else "", row["name"], row["id"]] for row in answer["branches"]]
        display(history.Table(["", "branch", "commit"], rows))

    @magic_arguments()
    @argument("name", nargs="?", help="a new tag; without it, the tags are listed")
    @argument("commit", nargs="?", help="what it names; HEAD unless given")
    @argument("-d", "--delete", metavar="NAME", help="delete a tag")
    @line_magic
    def tag(self, line: str) -> None:
        """Make, list or delete tags."""
        arguments = parse_argstring(self.tag, line)
        question: api.Tag = {"do": "tag"}
        _name(question, arguments)
        answer: api.TagAnswer = self._ask(question)
        display(history.Table(["tag", "commit"], [[row["name"], row["id"]] for row in answer["tags"]]))

    @line_magic
    def describe(self, line: str) -> None:
        """Give the last commit a message: %describe any text."""
        self._ask({"do": "describe", "message": line.strip()})

    @magic_arguments()
    @argument("commit", nargs="?", help="only what led to it")
    @argument("-n", "--number", type=int, default=20, help="how many commits (20)")
    @line_magic
    def log(self, line: str) -> None:
        """List the commits, newest first. `*` is head: what the variables are now."""
        arguments = parse_argstring(self.log, line)
        question: api.Log = {"do": "log", "limit": arguments.number}
        if arguments.commit:
            question["at"] = arguments.commit
        display(history.log_table(self._ask(question)))

    @magic_arguments()
    @argument("start", nargs="?", help="the commit before; the parent of the other one unless given")
    @argument("end", nargs="?", help="the commit after; HEAD unless given")
    @line_magic
    def diff(self, line: str) -> None:
        """Show which variables differ between two commits."""
        arguments = parse_argstring(self.diff, line)
        question: api.Diff = {"do": "diff"}
        if arguments.start:
            question["from"] = arguments.start
        if arguments.end:
            question["to"] = arguments.end
        display(history.diff_table(self._ask(question)))

    @magic_arguments()
    @argument("name", help="a variable")
    @line_magic
    def blame(self, line: str) -> None:
        """List the cells that changed a variable, newest first."""
        name = parse_argstring(self.blame, line).name
        display(history.log_table(self._ask({"do": "blame", "name": name})))

    @magic_arguments()
    @argument("--space", action="store_true", help="what all kept versions of each variable take")
    @line_magic
    def state(self, line: str) -> None:
        """Show where head is and what the variables are."""
        if parse_argstring(self.state, line).space:
            display(history.space_table(self._ask({"do": "space"})))
            return
        display(history.state_view(self._ask({"do": "state"})))

    def _ask(self, question: api.Question) -> Any:
        try:
            return self._ask_history(question)
        except HistoryError as error:
            raise UsageError(str(error)) from None

    def _give_code(self, commit: str) -> None:
        answer: api.ShowAnswer = self._ask({"do": "show", "at": commit})
        code = answer["commit"].get("code")
        if not code:
            raise UsageError(f"{commit} has no code: no cell made it, or it is not kept any more")
        shell: Any = self.shell
        shell.set_next_input(code)

    def _write_notebook(self, commit: str, path: Path) -> None:
        answer: api.DocumentAnswer = self._ask({"do": "document", "at": commit})
        notebook = answer["notebook"]
        try:
            with path.open("x") as file:
                json.dump(notebook, file, indent=1, ensure_ascii=False)
        except OSError as error:
            raise UsageError(
                f"cannot write {path}: {error.strerror}; take a new name in a folder that is there"
            ) from None
        print(f"{path}: {len(notebook['cells'])} cells")

    def _travel(self, question: api.Undo | api.Redo | api.Checkout, verb: str, repeat: bool) -> None:
        if repeat:
            question["repeat"] = True
        answer: api.TravelAnswer = self._ask(question)
        shell: Any = self.shell
        answer["removes"] = removed_by(answer, shell.user_ns)
        print(history.travel_text(answer, verb))


def _name(question: api.Branch | api.Tag, arguments: argparse.Namespace) -> None:
    """Put what a person says of a branch or a tag into the question."""
    if arguments.name:
        question["name"] = arguments.name
    if arguments.commit:
        question["at"] = arguments.commit
    if arguments.delete:
        question["drop"] = arguments.delete


def _count(magic: str, count: int) -> int:
    if count < 1:
        raise UsageError(f"%{magic} takes a number, 1 or more")
    return count
