"""A worker's side of the state channel: the fence before a cell, the report after it, and other commits between cells.

`SessionKernel` calls it around each cell. Frames are described in docs/internals/worker.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import itertools
import logging
import os
import platform
import threading
import types
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from banyan import _native
from banyan.background import Background
from banyan.background.beside import Beside
from banyan.notebook.disk import removed_with
from banyan.notebook.history import HistoryError
from banyan.notebook.notices import MOVING, name_failures, name_work
from banyan.notebook.rerun import note_tags
from banyan.process import failpoints, pages
from banyan.process.interrupts import interrupt_afterwards
from banyan.process.say import say
from banyan.restore.effects import Effects
from banyan.restore.leftovers import Leftovers
from banyan.restore.repeat import compare, run_again
from banyan.state.access import Accesses, analyse
from banyan.state.changes import Changes, Detector, Failure
from banyan.state.serialise import Pickled, Source, blocks_of, note_imports
from banyan.surroundings import Surroundings, is_surrounding, part_of
from banyan.worker import gpus
from banyan.worker.ahead import Imported
from banyan.worker.apply import apply
from banyan.worker.channel import Blobs, Channel, ChannelClosed, ChannelError, Message
from banyan.worker.forks import Forks

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from banyan.notebook import api
    from banyan.worker.transformed import Transformed

# The exit statuses of a worker whose host agent closed the state channel, or broke its protocol.
CHANNEL_CLOSED = 87
PROTOCOL_BROKEN = 88

# The tag of a cell whose variables are always copied, as `%copy always` makes it.
_COPY_ALWAYS = "copy-always"
_COUNTS_S = 0.001  # Serialisation that takes less is not reported by type, but counts as part of the cell.

_log = logging.getLogger("banyan")


@dataclass(frozen=True, slots=True)
class Ending:
    """Content and metadata of a cell's execute_reply, as JSON."""

    content: bytes
    metadata: bytes


class Replica:
    """Joins a shell, its detector and the channel. Everything runs on the main thread, and never
    while user code does.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        detector: Detector,
        surroundings: Surroundings,
        channel: Channel,
        transformed: Transformed,
    ) -> None:
        self._shell = shell
        self._transformed = transformed
        self._detector = detector
        self._surroundings = surroundings
        self._channel = channel
        self._loop: asyncio.AbstractEventLoop | None = None
        self._busy = False  # True from the fence to the report.
        self._reading = False
        self._repeating: asyncio.Task[None] | None = None
        self._beside = Beside(shell.user_ns)
        self._imported = Imported()
        self._background = Background()
        self._leftovers = Leftovers(shell, self._background)
        self.effects = Effects(self._background.hears)
        self._analysed: tuple[str, Accesses] | None = None
        self.devices: list[str] = []  # Those that the running cell has.
        self._forks: Forks | None = None
        # The context of the cell that asked the history: messages that follow belong to that cell.
        self._asker: contextvars.Context | None = None

    def serve(self) -> None:
        """Say hello and apply commits while the kernel is idle. Call it in the kernel's event loop,
        once that serves.
        """
        # Made again, because the kernel's threads run now and are not the user's.
        self._beside = Beside(self._shell.user_ns)
        self._background.begin()
        self._channel.send({"type": "hello", "pid": os.getpid(), "python": platform.python_version()})
        self._loop = asyncio.get_running_loop()
        self._read_when_idle()
        self._forks = Forks(self._shell.kernel, self._forked)  # type: ignore[attr-defined]

    def end_forked(self, reply: Mapping[str, Any] | None = None) -> None:
        """In a process that user code has forked: end it, because that code has ended. In the worker, do nothing."""
        if self._forks is not None:
            self._forks.end_child(reply)

    def _forked(self) -> None:
        """In a process that user code has just forked: drop what would report to the session."""
        self._loop = None
        self.effects.end()

    def note_unfenced_code(self) -> None:
        """User code ran outside of a cell, in the callback of a comm: it may have changed any variable."""
        self._beside.note()

    def fence(self, execution: str, code: str) -> str | None:
        """Announce a cell and wait until its start is committed. Returns the reason when it must not run.

        If it returns None, the lease watchdog is armed, and `detect` and `report` have to follow.
        """
        self._busy = True
        self._send({"type": "fence", "execution": execution})
        while True:
            message = self._receive()
            kind = message.body.get("type")
            if message.body.get("execution") != execution:
                self._handle(message)
            elif kind == "go":
                _native.arm_lease()
                self._asker = None
                self.devices = [str(device) for device in message.body.get("devices", ())]
                gpus.show(self.devices)
                pages.settle(self._shell.kernel)  # type: ignore[attr-defined]
                self._settle_for(code)
                self._surroundings.begin(self._analyse(code))
                # What a transformer of the user changes from here on is an effect of the cell.
                self._transformed.begin()
                self.effects.begin()
                return None
            elif kind == "refuse":
                self._read_when_idle()
                return str(message.body.get("reason", ""))

    def ask(self, question: api.Question) -> Any:
        """Put a question to the session's history, in a cell or between two. Returns the answer
        (docs/internals/history.md).

        What a cell changes in the history takes effect when the cell has ended. Raises HistoryError with the host
        agent's objection.
        """
        if threading.current_thread() is not threading.main_thread():
            raise HistoryError("the history can be asked only in a cell, and not from a thread")
        if self._forks is not None and self._forks.in_child:
            raise HistoryError("a process that a cell has forked has no history")
        if self._loop is None or self._repeating is not None:
            raise HistoryError("the history cannot be asked while the session is being restored")
        self._asker = contextvars.copy_context()
        with interrupt_afterwards():  # An interrupt in the middle of a frame would make the channel unusable.
            self._send({"type": "ask", "question": question})
            while (message := self._receive()).body.get("type") != "answer":
                self._handle(message)
        if "error" in message.body:
            raise HistoryError(str(message.body["error"]))
        return message.body["content"]

    def detect(self, code: str, tags: Collection[str] = ()) -> Changes:
        """What the cell changed. What cannot be replicated is named on stderr.

        tags: the cell's tags, some of which say what is to become of its values.
        """
        self._transformed.end()
        note_tags(tags, self.effects)
        self._background.look(code, self._loop)
        if self._background.ended:
            self._beside.note()
        effects = self.effects.end()
        self._leftovers.note(code, self._loop)
        try:
            changes = self._changes(code)
        except Exception as error:  # A bug in the detection must not cost the client its reply.
            _log.exception("change detection failed")
            say(f"what this cell changed is replicated after the next one only: {error!r}")
            changes = Changes()
            self._beside.note()
        changes.effects = effects
        changes.begun = [] if self.effects.allowed else self._background.begun
        changes.gpus = gpus.in_use()
        name_work(self._background.begun)
        name_failures(changes, MOVING)
        if _COPY_ALWAYS in tags:
            names = [name for pickled in changes.changed for name in pickled.names if not is_surrounding(name)]
            self._copy_always(names)
        return changes

    def _copy_always(self, names: list[str]) -> None:
        if not names:
            return
        try:
            self.ask({"do": "copy", "names": " ".join(sorted(names)), "always": True, "made_now": True})
        except HistoryError as error:
            say(f"the tag {_COPY_ALWAYS} of this cell has no effect: {error}")

    def report(self, execution: str, changes: Changes, ending: Ending | None) -> None:
        """Report what the cell changed, and how it ended if that is known."""
        blobs = Blobs(spool=changes.spool or _native.Spool())
        changed = []
        failed = list(changes.failed)
        for pickled in changes.changed:
            try:
                kind = self._type_of(pickled)
                changed.append(_covariable(pickled, changes.known, blobs) | {"type": kind})
            except BufferError as error:  # A thread of the user has written to the buffer.
                failed += [Failure(name, "", str(error)) for name in pickled.names]
        body: dict[str, object] = {
            "type": "report",
            "execution": execution,
            "count": self._shell.execution_count - 1,
            "changed": changed,
            "deleted": changes.deleted,
            "failed": [{**_failures([each])[0], "alone": each.alone} for each in failed],
            "reads": _texts(sorted({*changes.reads, *self._surroundings.known})),
            "reads_all": changes.reads_all,
            "effects": _texts(changes.effects),
            "gpus": len(changes.gpus),
            "devices": changes.gpus,
            "work": _texts(self._background.work),
            "begun": _texts(changes.begun),
            "serialised": self._serialised(changes, at_least_s=_COUNTS_S),
        }
        if imported := self._imported.news():
            body["imported"] = imported
        if ending is not None:
            body["reply"] = {"content": blobs.add(ending.content), "metadata": blobs.add(ending.metadata)}
        failpoints.reach("worker.report")
        self._send(body, blobs)
        failpoints.reach("worker.reported")
        _native.disarm_lease()
        self._read_when_idle()

    def _changes(self, code: str) -> Changes:
        accesses = self._accesses(code)
        changes = self._detector.changes(accesses, self._surroundings.held(accesses))
        changes.changed += self._surroundings.changes(accesses.stores)
        return changes

    def _serialised(self, changes: Changes, at_least_s: float = 0.0) -> list[dict[str, object]]:
        """How long the changed values took to serialise, in microseconds by type."""
        seconds: dict[str, float] = defaultdict(float)
        for pickled in changes.changed:
            seconds[self._type_of(pickled)] += pickled.seconds
        return [{"type": kind, "us": round(each * 1e6)} for kind, each in seconds.items() if each >= at_least_s]

    def _type_of(self, pickled: Pickled) -> str:
        variables = [name for name in pickled.names if not is_surrounding(name)]
        if not variables:
            return part_of(pickled.names[0])[0]
        return type_of([self._shell.user_ns.get(name) for name in variables])

    def _settle_for(self, code: str) -> None:
        if not self._detector.unsettled:
            return
        try:
            self._detector.settle_for(self._surroundings.foresee(self._analyse(code)))
        except Exception:  # Without settling, more variables count as changed than really were.
            _log.exception("settling failed")

    def _analyse(self, code: str) -> Accesses:
        """What a cell's source says. It is analysed once for each cell, before the cell runs."""
        if self._analysed is None or self._analysed[0] != code:
            try:
                self._analysed = code, analyse(code, self._shell.transform_cell)
            except Exception:
                _log.exception("the analysis of a cell failed")
                self._analysed = code, Accesses(dynamic=True)
        return self._analysed[1]

    def _accesses(self, code: str) -> Accesses:
        accesses = self._analyse(code)
        self._analysed = None
        note_imports(accesses.imports)
        self._beside.widen(accesses, self._loop)
        return accesses

    def _read_when_idle(self) -> None:
        self._busy = False
        if self._loop is not None and not self._reading:
            self._loop.add_reader(self._channel, self._readable)
            self._reading = True

    def _readable(self) -> None:
        if not self._busy:
            self._handle(self._receive())
        elif self._loop is not None:  # A cell awaits something. Nothing has to be read until it has ended.
            self._loop.remove_reader(self._channel)
            self._reading = False

    def _handle(self, message: Message) -> None:
        if message.body.get("type") == "repeat" and self._loop is not None:
            self._busy = True
            self._repeating = self._loop.create_task(self._repeat(message.body))
            return
        if message.body.get("type") == "reads":
            self._say_reads(message.body)
            return
        if message.body.get("type") == "removes":
            self._say_removes(message.body)
            return
        if message.body.get("type") != "apply":
            _log.warning("unexpected on the state channel: %s", message.body.get("type"))
            return
        try:
            result = apply(self._shell, self._detector, self._surroundings, message)
        except Exception as error:  # A namespace that shows no commit must not be used.
            _end(PROTOCOL_BROKEN, f"cannot apply a commit: {error!r}")
        body: dict[str, object] = {
            "type": "applied",
            "commit": message.body["commit"],
            "failed": _failures(result.failed),
            "lacking": result.lacking,
            "took": [{"name": name, "us": round(seconds * 1e6)} for name, seconds in result.took.items()],
        }
        if imported := self._imported.news():
            body["imported"] = imported
        self._send(body)
        if self._asker is not None:
            self._asker.run(pages.settle, self._shell.kernel)  # type: ignore[attr-defined]
        if self._loop is not None:
            self._loop.call_later(0.01, self._settle)

    def _say_reads(self, body: dict[str, Any]) -> None:
        """Answer a `reads` frame: say which of these names a cell may read."""
        try:
            accesses = self._surroundings.foresee(self._analyse(body["code"]))
            names = self._detector.reads_of(accesses, body["names"])
        except Exception:  # Without an answer, all values are made and not only those that the cell reads.
            _log.exception("it cannot be told what a cell reads")
            names = set(body["names"])
        self._send({"type": "reads", "execution": body["execution"], "names": sorted(names)})

    def _say_removes(self, body: dict[str, Any]) -> None:
        """Answer a `removes` frame: say what goes from the disk when these variables lose their values."""
        removed = removed_with(self._shell.user_ns, body["names"])
        removes = [{"name": name, "path": path} for path, name in removed]
        self._send({"type": "removes", "request": body["request"], "removes": removes})

    async def _repeat(self, body: dict[str, Any]) -> None:
        """Follow a `repeat` frame: run a cell of the session again, and say what it made."""
        code = body["code"]
        gpus.show_all()  # No devices are bound to cells that run again.
        self._settle_for(code)
        self._surroundings.begin_again(self._analyse(code))
        try:
            error = await run_again(self._shell, self._leftovers, code, body["fails"], self._loop)
            self.end_forked()
            self._leftovers.note(code, self._loop)
            self._background.look(code, self._loop)
            changes = self._changes(code)
            self._surroundings.end_again()
            repeated = compare(changes, body["makes"])
            serialised = self._serialised(changes)
            blobs = Blobs(spool=changes.spool or _native.Spool())
            blocks = _wanted_blocks(changes, repeated.made, set(body["wanted"]), blobs)
        except Exception as failure:  # A namespace that shows no commit must not be used.
            _end(PROTOCOL_BROKEN, f"cannot run a cell again: {failure!r}")
        nowhere = {name for value in body["makes"] if not value["kept"] for name in value["names"]}
        self._detector.forget_stored([*repeated.changed, *nowhere.intersection(repeated.made)])
        self._send(
            {
                "type": "repeated",
                "commit": body["commit"],
                "made": repeated.made,
                "changed": repeated.changed,
                "error": _texts([error])[0],
                "serialised": serialised,
                "blocks": blocks,
            },
            blobs,
        )
        self._repeating = None
        self._read_when_idle()

    def _settle(self) -> None:
        if self._loop is not None and self._detector.settle():
            self._loop.call_soon(self._settle)

    def _send(self, body: dict[str, object], blobs: Blobs | None = None) -> None:
        try:
            self._channel.send(body, blobs)
        except ChannelClosed:
            _end(CHANNEL_CLOSED, "the host agent closed the state channel")

    def _receive(self) -> Message:
        try:
            message = self._channel.receive()
        except ChannelClosed:
            _end(CHANNEL_CLOSED, "the host agent closed the state channel")
        except ChannelError as error:
            _end(PROTOCOL_BROKEN, str(error))
        if message.fds:
            _end(PROTOCOL_BROKEN, "a file descriptor that nothing announced")
        return message


def _end(status: int, reason: str) -> NoReturn:
    _log.critical("this worker ends: %s", reason)
    os._exit(status)


def _covariable(pickled: Pickled, known: set[str], blobs: Blobs) -> dict[str, object]:
    blocks = blocks_of(pickled)
    parts = [
        [
            {"known": digest, "size": size} if digest in known else _blob(source, size, blobs)
            for digest, size, source in itertools.islice(blocks, len(part))
        ]
        for part in pickled.parts
    ]
    return {"names": list(pickled.names), "parts": parts}


def _wanted_blocks(changes: Changes, made: list[str], wanted: set[str], blobs: Blobs) -> list[dict[str, object]]:
    """The bytes of blocks that the host agent lacks, of values that are what they were at first."""
    blocks = []
    as_at_first = set(made)
    for pickled in changes.changed:
        if not wanted or not as_at_first.issuperset(pickled.names):
            continue
        for digest, size, source in blocks_of(pickled):
            if digest in wanted:
                wanted.discard(digest)
                with contextlib.suppress(BufferError):  # A thread of the user has written to the buffer.
                    blocks.append(_blob(source, size, blobs))
    return blocks


def _blob(source: Source, size: int, blobs: Blobs) -> dict[str, object]:
    at = source.spooled(blobs.spool)
    return blobs.add(source()) if at is None else blobs.add_spooled(at, size)


def type_of(values: list[object]) -> str:
    """The type that all the values have, as "numpy.ndarray"; "several" when they differ.

    A module, a class or a function has the library it comes from before its type, as "numpy.module": to load it is to
    import that library.
    """
    every = {_type_of(value) for value in values}
    return every.pop() if len(every) == 1 else "several"


def _type_of(value: Any) -> str:
    kind = type(value)  # Not its __class__: of a stand-in for another object, that may run any code.
    root = str(kind.__module__).partition(".")[0]
    comes_from: object = None
    with contextlib.suppress(Exception):
        if issubclass(kind, types.ModuleType):
            comes_from = value.__name__
        elif issubclass(kind, (type, types.FunctionType, types.BuiltinFunctionType)):
            comes_from = value.__module__
    if isinstance(comes_from, str) and comes_from != "__main__":
        root = comes_from.partition(".")[0]
    name = kind.__qualname__ if root == "builtins" else f"{root}.{kind.__qualname__}"
    return name.encode("ascii", errors="replace").decode()[:100]


def _texts(texts: list[str]) -> list[str]:
    """The texts as UTF-8 can encode them, without lone surrogates."""
    return [text.encode(errors="replace").decode() for text in texts]


def _failures(failures: list[Failure]) -> list[dict[str, str]]:
    return [{"name": failure.name, "reason": failure.reason} for failure in failures]
