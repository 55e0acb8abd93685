"""`%load_ext banyan` in a stock ipykernel or IPython: each cell becomes a commit of a session that lives here.

`Standalone` is to such a kernel what `banyan.worker.replica` is to a worker. It asks `LocalHistory`
instead of a host agent.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from banyan.background import Background
from banyan.background.beside import Beside
from banyan.notebook import comm, directives, rerun
from banyan.notebook.history import HistoryError, names_text, size_text
from banyan.notebook.magics import HistoryMagics
from banyan.notebook.notices import LOCAL, name_failures
from banyan.process import forked, pages
from banyan.process.interrupts import no_interrupt
from banyan.process.say import say, say_by_reason
from banyan.restore.effects import Effects
from banyan.restore.leftovers import Leftovers
from banyan.restore.repeat import Repeated, at_once, compare, run_again
from banyan.restore.show import show
from banyan.standalone.history import Cell, LocalHistory, Repeat
from banyan.standalone.magics import LocalMagics
from banyan.standalone.place import VSCODE_NOTEBOOK, store_path
from banyan.standalone.store import StoreError
from banyan.state.access import Accesses, analyse
from banyan.state.changes import Changes, Detector
from banyan.state.detect import DigestDetector
from banyan.state.serialise import bind_namespace, note_imports
from banyan.surroundings import Capture, Surroundings, is_surrounding, statements

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

    from banyan.notebook import api

_log = logging.getLogger("banyan")
_loaded: dict[int, Standalone] = {}  # By the id of the shell.

# Names that a module or an editor puts into a namespace, and that the shell does not count as its own.
_NOT_THE_USERS = (
    *("__builtin__", "__builtins__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__spec__"),
    VSCODE_NOTEBOOK,
)

# The code that the log shows for changes that no cell made.
_BEFORE = "# variables from before %load_ext banyan"
_OUTSIDE = "# changes by code outside of cells"


def load(shell: InteractiveShell) -> None:
    """Keep this shell's history from now on. Raises UsageError when its store cannot be used."""
    if _of_the_platform(shell):
        print("banyan: this session is kept by the platform already: %undo, %log and %checkout are there")
        return
    _attach(Standalone(shell, store_path(shell.user_ns)))


def unload(shell: InteractiveShell) -> None:
    """Leave the shell as it was. The store stays."""
    standalone = _loaded.pop(id(shell), None)
    if standalone is not None:
        standalone.detach()


def _attach(standalone: Standalone) -> None:
    _loaded[id(standalone.shell)] = standalone
    try:
        standalone.attach()
    except BaseException:
        unload(standalone.shell)
        raise


def _of_the_platform(shell: InteractiveShell) -> bool:
    module: Any = sys.modules.get("banyan.worker.kernel")
    kernel = getattr(shell, "kernel", None)
    return module is not None and isinstance(kernel, module.SessionKernel) and kernel.channel is not None


class Standalone:
    """Joins a shell, its detector and its history. It works only on the thread and in the process that made it.

    Between two cells the namespace shows head, except for what cannot be saved or loaded, which the user was told of.
    """

    def __init__(self, shell: InteractiveShell, path: Path) -> None:
        self.shell = shell
        self._process, self._thread = os.getpid(), threading.get_ident()
        try:
            self._history = LocalHistory(path, say)
        except StoreError as error:
            raise UsageError(f"banyan: {error}") from None
        bind_namespace(shell.user_ns)
        self._hidden: dict[str, Any] = {}
        self._detector: Detector = self._fresh_detector()
        self._capture = Capture(parent=shell)
        self._surroundings = Surroundings(self._capture, shell.user_ns)
        self._beside = Beside(shell.user_ns)
        self._background = Background()
        self._effects = Effects(self._background.hears)
        self._leftovers = Leftovers(shell, self._background)
        self._cells: list[str] = []  # The code of running cells, the outermost first.
        self._request = ""  # The message id of the execute_request that runs these cells.
        self._entered = 0  # How many executions have begun that were no cells, or were not known to be cells yet.
        self._began_at = time.monotonic()
        self._travels = False  # Whether the running cell has moved head.
        self._stale = False  # Whether the namespace shows no commit, because something went wrong.
        self._making = False  # Whether cells are being repeated.
        self._magics_before: dict[str, Any] = {}
        self._events: list[tuple[str, Callable[..., None]]] = [
            ("pre_execute", self._execution_begins),
            ("pre_run_cell", self._cell_begins),
            ("post_run_cell", self._cell_ends),
        ]

    def attach(self) -> None:
        """Commit what is in the namespace, tell the user where the history is, and watch the shell's cells."""
        namespace, hidden = self.shell.user_ns, self.shell.user_ns_hidden
        self._hidden = {name: namespace[name] for name in _NOT_THE_USERS if name in namespace and name not in hidden}
        hidden.update(self._hidden)
        before: api.LogAnswer = self._history.ask({"do": "log", "limit": 1})
        lost_at, lost = self._lost(before)
        commits = len(before["commits"]) + before["more"]
        # This comes first, so that what the package registers is not taken for something of the session.
        self._register_magics()
        with no_interrupt(), _nothing_raised(self._went_wrong):
            self._take_in(_BEFORE)
        comm.register(self.shell, self.ask_between)
        self.shell.configurables.append(self._capture)  # type: ignore[arg-type]  # %config lists it.
        self._surroundings.begin()
        statements.watch(self.shell, self._surroundings.between)
        for event, callback in self._events:
            self.shell.events.register(event, callback)
        atexit.register(self._history.close)
        where = self._where()
        if commits == 0:
            commands = "%undo takes the last one back, %log lists all"
            print(f"banyan: each cell is a commit from now on, {where}; {commands}")
        else:
            back = f"; %checkout {lost_at} brings back {names_text(lost)}" if lost else ""
            print(f"banyan: {commits} commit{'s' * (commits > 1)} of before, {where}{back}; %log lists all")

    def detach(self) -> None:
        for event, callback in self._events:
            with contextlib.suppress(ValueError):
                self.shell.events.unregister(event, callback)
        statements.unwatch(self.shell)
        self._restore_magics()
        comm.unregister(self.shell)
        with contextlib.suppress(ValueError):
            self.shell.configurables.remove(self._capture)  # type: ignore[arg-type]
        for name in self._hidden:
            self.shell.user_ns_hidden.pop(name, None)
        atexit.unregister(self._history.close)
        self._history.close()

    # What the magics call:

    def ask(self, question: api.Question) -> Any:
        """Put a question to the history while a cell runs. What moves head takes effect when the cell has ended
        without an error.
        """
        if not self._is_here():
            raise HistoryError("the history can be asked only in a cell, and not from a thread")
        answer = self._history.ask(question)
        self._travels = self._travels or question["do"] in ("undo", "redo", "checkout")
        return answer

    def ask_between(self, question: api.Question) -> Any:
        """Put a question to the history between two cells. What it asks for takes effect at once."""
        if self._cells:
            return self.ask(question)
        if answer := self._history.look(question):
            return answer
        self._prepare("")
        self._effects.end()
        answer = self.ask(question)
        self._record(Cell(_OUTSIDE, ended_at_us=_now_us(), looks=True), Changes())
        if self._travels:
            self._show_head()
        self._travels = False
        return answer

    def status(self) -> str:
        state: api.StateAnswer = self._history.ask({"do": "state"})
        file = f" ({size_text(self._history.size)})" if self._history.path else ""
        return f"{state['commits']} commits, {size_text(state['bytes'])} of values, {self._where()}{file}"

    def check(self) -> str:
        try:
            damage = self._history.damage()
        except StoreError as error:
            raise UsageError(str(error)) from None
        return "\n".join(damage) or "all commits and their values are intact"

    def move_to(self, path: Path) -> None:
        if path == self._history.path:
            raise UsageError("that is where the history is kept")
        other = Standalone(self.shell, path)
        unload(self.shell)
        _attach(other)

    # What the shell calls:

    def _execution_begins(self) -> None:
        """A cell, a silent request or the callback of a comm is about to run. Subshells run in threads of their own."""
        if self._is_here():
            self._entered += 1
            if self._history.unread and not self._making and self._calls_back():
                with no_interrupt(), _nothing_raised(self._went_wrong):
                    self._make(self._history.unread)
        elif os.getpid() == self._process:
            self._beside.note()

    def _cell_begins(self, info: ExecutionInfo) -> None:
        if not self._is_here():
            return
        self._entered -= 1  # This cell was counted when its execution began.
        request = self._parent_request()
        if self._cells and request != self._request:  # The shell did not report the end of the last cell.
            self._cells.clear()
        if not self._cells:
            self._request = request
            with no_interrupt(), _nothing_raised(self._went_wrong):
                self._prepare(info.raw_cell or "")
            self._began_at = time.monotonic()
        self._cells.append(info.raw_cell or "")

    def _cell_ends(self, result: ExecutionResult | None) -> None:
        """A cell has ended. result: None when it was cancelled."""
        if not self._is_here():
            self._end_forked(result)
            return
        info = None if result is None else result.info
        raw_cell = None if info is None else info.raw_cell
        loading = not self._cells
        if loading:  # This cell loaded the extension, so its beginning was not seen.
            if not raw_cell or raw_cell.isspace():
                return
            code = raw_cell
        else:
            if raw_cell is not None and raw_cell != self._cells[-1]:
                # It is an empty cell within another one; the shell does not report the beginning of such a cell.
                return
            code = self._cells.pop()
            if self._cells:
                return
        with no_interrupt(), _nothing_raised(self._went_wrong):
            self._commit(code, result, loading)

    def _end_forked(self, result: ExecutionResult | None) -> None:
        """End a process that the cell has forked: it is no kernel, but would answer requests as this one does."""
        if os.getpid() == self._process or getattr(self.shell, "kernel", None) is None or not self._cells:
            return
        self._cells.pop()
        if not self._cells:
            forked.end(0 if result is not None and result.success else 1)

    # What a cell leads to:

    def _prepare(self, code: str) -> None:
        """A cell is about to run. Commit what other code did since the last one, so that it does not
        count as the cell's.
        """
        self._travels = False
        self._surroundings.begin(analyse(code, self.shell.transform_cell))
        if self._stale:
            self._take_in(_OUTSIDE)
        elif self._entered > 0:
            changes = self._detector.changes(Accesses(dynamic=True), self._surroundings.held())
            if changes.changed or changes.deleted or changes.failed:
                self._record(Cell(_OUTSIDE, ended_at_us=_now_us(), looks=True), changes)
        self._entered = 0
        self._make_what_is_read(code)
        if self._detector.unsettled:
            self._detector.settle_for(self._surroundings.foresee(analyse(code, self.shell.transform_cell)))
        self._effects.begin()

    def _commit(self, code: str, result: ExecutionResult | None, loading: bool) -> None:
        rerun.note_tags(rerun.tags_of(getattr(self.shell, "parent_header", None)), self._effects)
        self._background.look(code, _loop())
        if self._background.ended:
            self._beside.note()
        effects = self._effects.end()
        self._leftovers.note(code, _loop())
        ok = result is not None and bool(result.success)
        count = result.execution_count if result is not None else None
        cell = Cell(
            code,
            ok=ok,
            count=count or self.shell.execution_count - 1,
            runtime_us=int((time.monotonic() - self._began_at) * 1e6),
            ended_at_us=_now_us(),
            looks=loading,
        )
        if self._stale:
            self._take_in(code)
        else:
            accesses = self._accesses(code)
            changes = self._detector.changes(accesses, self._surroundings.held(accesses))
            changes.changed += self._surroundings.changes(accesses.stores)
            changes.effects = effects
            changes.begun = [] if self._effects.allowed else self._background.begun
            self._record(cell, changes)
        if self._travels and ok:
            self._show_head()
        self._travels = False

    def _accesses(self, code: str) -> Accesses:
        accesses = analyse(code, self.shell.transform_cell)
        note_imports(accesses.imports)
        if self._entered > 0:
            self._beside.note()
            self._entered = 0
        self._beside.widen(accesses, _loop())
        return accesses

    def _record(self, cell: Cell, changes: Changes) -> None:
        name_failures(changes, LOCAL)
        changes.reads = sorted({*changes.reads, *self._surroundings.known})
        self._history.commit(cell, changes)

    def _make_what_is_read(self, code: str) -> None:
        """Make the unread values that a cell may read. Making one may make others unread, so this goes on
        until none is left.
        """
        while unread := self._history.unread:
            expected = self._surroundings.foresee(analyse(code, self.shell.transform_cell))
            reads = self._detector.reads_of(expected, unread)
            if not reads:
                break
            self._make(sorted(reads))
            self._surroundings.begin(analyse(code, self.shell.transform_cell))

    def _make(self, names: list[str]) -> None:
        """Make these values, which were left out until something reads them."""
        self._history.need(names)
        self._show_head()

    def _show_head(self) -> None:
        self._making = True
        try:
            self._follow_head()
            if self._background.work and (unread := self._history.unread):  # Nobody can tell what a thread reads.
                self._history.need(unread)
                self._follow_head()
        finally:
            self._making = False

    def _follow_head(self) -> None:
        reasons: dict[str, str] = {}
        while True:
            cell = self._history.next_repeat(self._detector)
            if cell is None:
                values, deleted = self._history.behind(self._detector)
            else:
                values, deleted = cell.values, list(cell.unbind)
            shown = show(self.shell, self._detector, self._surroundings, values, deleted)
            failed = shown.failed
            reasons |= {failure.name: failure.reason for failure in failed}
            if failed:
                self._history.cannot_load([failure.name for failure in failed], shown.lacking)
            elif cell is None:
                break
            else:
                self._history.repeated(self._run_again(cell))
        self._history.shows_head()
        pages.settle(getattr(self.shell, "kernel", None))
        say_by_reason(
            (
                repr(name),
                f"{reasons[name]}; it is missing now, for {reason}"
                if name in reasons
                else f"cannot be restored: {reason}",
            )
            for name, reason in self._history.lost.items()
        )

    def _run_again(self, cell: Repeat) -> Repeated:
        expected = analyse(cell.code, self.shell.transform_cell)
        self._surroundings.begin_again(expected)
        if self._detector.unsettled:
            self._detector.settle_for(self._surroundings.foresee(expected))
        entered = self._entered
        error = at_once(run_again(self.shell, self._leftovers, cell.code, cell.fails, _loop()))
        self._leftovers.note(cell.code, _loop())
        self._background.look(cell.code, _loop())
        self._entered = entered
        accesses = self._accesses(cell.code)
        changes = self._detector.changes(accesses, self._surroundings.held(accesses))
        changes.changed += self._surroundings.changes(expected.stores)
        self._surroundings.end_again()
        result = compare(changes, cell.makes)
        result.error = error
        self._detector.forget_stored(result.changed)
        return result

    def _take_in(self, code: str) -> None:
        """Begin anew with what the namespace holds, whatever it showed before."""
        self._detector = self._fresh_detector()
        changes = self._detector.changes(Accesses(dynamic=True), self._surroundings.held())
        held = {name for pickled in changes.changed for name in pickled.names}
        changes.deleted = sorted(set(self._history.names) - held)
        if held or changes.failed or not changes.deleted:
            self._record(Cell(code, ended_at_us=_now_us(), looks=True), changes)
        else:
            self._history.restart()
        self._stale = False

    def _fresh_detector(self) -> DigestDetector:
        return DigestDetector(self.shell.user_ns, self.shell.user_ns_hidden)

    def _went_wrong(self, error: Exception) -> None:
        """An error of ours must not break a cell: the next cell commits the whole namespace."""
        self._stale = True
        _log.info("a cell is not recorded", exc_info=error)
        say(f"a cell was not recorded: {error!r}; the next one takes in what it did")

    # Helpers:

    def _is_here(self) -> bool:
        return threading.get_ident() == self._thread and os.getpid() == self._process

    def _parent_request(self) -> str:
        """The message id of the execute_request; empty in a terminal."""
        parent = getattr(self.shell, "parent_header", None)
        return str(parent["header"].get("msg_id", "")) if isinstance(parent, dict) and "header" in parent else ""

    def _calls_back(self) -> bool:
        """Whether what begins is a comm's callback or a silent request and no cell, so that nobody
        knows what it reads.
        """
        kernel = getattr(self.shell, "kernel", None)
        parent = kernel.get_parent() if kernel is not None else {}
        kind = parent.get("header", {}).get("msg_type", "") if isinstance(parent, dict) else ""
        silent = kind == "execute_request" and parent.get("content", {}).get("silent", False)
        return bool(silent) or str(kind) in ("comm_msg", "comm_open", "comm_close")

    def _where(self) -> str:
        path = self._history.path
        if path is None:
            return "kept in memory"
        with contextlib.suppress(ValueError):
            path = path.relative_to(Path.cwd())
        return f"kept in {path}"

    def _lost(self, log: api.LogAnswer) -> tuple[str, list[str]]:
        """The commit that an earlier kernel worked on, and the variables of it that are not here."""
        commit = log["head"]
        newest = next(iter(log["commits"]), None)
        if newest is not None and newest["head"] and newest["status"] == "restart":
            commit = newest["parent"]
        if commit == "ROOT":
            return commit, []
        answer: api.ShowAnswer = self._history.ask({"do": "show", "at": commit})
        names = [entry["name"] for entry in answer["variables"]]
        return commit, [name for name in names if name not in self.shell.user_ns and not is_surrounding(name)]

    def _register_magics(self) -> None:
        registered = self.shell.magics_manager.magics["line"]
        before = dict(registered)
        self.shell.register_magics(HistoryMagics(self.shell, self.ask), LocalMagics(self.shell, self))
        rerun.register(self.shell, self._effects)
        self._directives = directives.Directives(self.shell)  # What they say means nothing here.
        self._magics_before = {
            name: before.get(name) for name, magic in registered.items() if before.get(name) is not magic
        }

    def _restore_magics(self) -> None:
        manager = self.shell.magics_manager
        for name, magic in self._magics_before.items():
            if magic is None:
                manager.magics["line"].pop(name, None)
            else:
                manager.magics["line"][name] = magic
        self.shell.input_transformers_cleanup.remove(rerun.as_line)
        self._directives.remove()
        for kind in (HistoryMagics, LocalMagics, rerun.RerunMagics):
            manager.registry.pop(kind.__name__, None)


@contextlib.contextmanager
def _nothing_raised(went_wrong: Callable[[Exception], None]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        went_wrong(error)


def _loop() -> asyncio.AbstractEventLoop | None:
    """The running event loop. IPython in a terminal has none between two awaits."""
    with contextlib.suppress(RuntimeError):
        return asyncio.get_running_loop()
    return None


def _now_us() -> int:
    return time.time_ns() // 1000
