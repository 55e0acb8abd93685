"""ipykernel's kernel with a fence before each cell and a report after it.

`child.py` starts it in a worker. It decides when an interrupt may raise; `replica.py` talks with the host agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from ipykernel.jsonutil import json_clean

from banyan.background import tasks
from banyan.notebook.rerun import tags_of
from banyan.reducers.streams import own_stream
from banyan.worker.channel import Channel
from banyan.worker.replica import Ending, Replica


class SessionKernel(IPythonKernel):
    """A stock IPythonKernel apart from what is overridden here. Without a replica it behaves like one."""

    # The worker sets the channel before it loads the extension, which makes the replica with it.
    channel: Channel | None = None
    replica: Replica | None = None

    _supports_kernel_subshells = False  # The cells of a session are one sequence of commits.
    _interruptible = True
    _interrupted = False
    in_request = False  # Whether a request of the shell channel is being handled.
    _idle_said: str | None = None  # The cell whose end was just announced by the status idle.

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.tasks: list[asyncio.Future[Any] | None] = []  # The tasks that handle the request.

    def set_parent(self, ident: Any, parent: Any, channel: str = "shell") -> None:
        """Make this request the parent of output on the kernel's own streams, too.

        Cells may have put other streams in their place. ipykernel then sets the parent only of those, and in a process
        other than the one where the cell ran the kernel's streams would never have had a parent.
        """
        super().set_parent(ident, parent, channel)
        for name in ("stdout", "stderr"):
            stream = own_stream(name)
            if channel == "shell" and stream is not getattr(sys, name) and hasattr(stream, "set_parent"):
                stream.set_parent(parent)

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, str] | None = None,
        allow_stdin: bool = False,
        *,
        cell_meta: dict[str, Any] | None = None,
        cell_id: str | None = None,
    ) -> dict[str, Any]:
        if self.replica is not None:
            self.replica.devices = []

        async def run() -> dict[str, Any]:
            reply: dict[str, Any] = await super(SessionKernel, self).do_execute(
                code, silent, store_history, user_expressions, allow_stdin, cell_meta=cell_meta, cell_id=cell_id
            )
            if self.replica is not None:
                self.replica.end_forked(reply)
            return reply

        if self.replica is None or not code.strip():
            self._interruptible = True
            return await run()
        parent = self.get_parent("shell")
        execution = parent["header"]["msg_id"]
        refusal = self.replica.fence(execution, code)
        if refusal is not None:
            return self._failure("NotStarted", refusal)
        metadata = self.init_metadata(parent)
        ending = None  # It stays None when the cell is cancelled.
        try:
            if self._interrupted:
                reply = self._interrupt_before_start(code, store_history and not silent)
            else:
                reply = await self._run_interruptibly(run)
            ending = self._packed(parent, metadata, reply)
        except Exception as error:  # The exception cannot be shown, or the reply cannot be sent.
            reply = self._failure(type(error).__name__, "the cell ended in a way that cannot be shown")
            ending = self._packed(parent, metadata, reply)
        finally:
            self.replica.end_forked({"status": "error"})
            changes = self.replica.detect(code, tags_of(parent))
            self._end_output()
            self.replica.report(execution, changes, ending)
        return reply

    def _end_output(self) -> None:
        """Send the cell's last output and then idle, so that the host agent need not wait for the execute_reply."""
        for stream in (sys.stdout, sys.stderr, own_stream("stdout"), own_stream("stderr")):
            with contextlib.suppress(Exception):  # User code may have put any object there.
                stream.flush()
        self._publish_status("idle", "shell")
        self._idle_said = self._parent_id()

    def _publish_status(self, status: str, channel: str, parent: dict[str, Any] | None = None) -> None:
        """Leave out ipykernel's idle after the reply, because `_end_output` has announced it."""
        if channel == "shell":
            said, self._idle_said = self._idle_said, None
            if said is not None and status == "idle" and parent is None and said == self._parent_id():
                return
        super()._publish_status(status, channel, parent)

    def _parent_id(self) -> str:
        return str(self.get_parent("shell")["header"]["msg_id"])

    def _packed(self, parent: dict[str, Any], metadata: dict[str, Any], reply: dict[str, Any]) -> Ending:
        """Content and metadata of the execute_reply, packed as ipykernel is about to send them."""
        assert self.session is not None
        finished = self.finish_metadata(parent, metadata, reply)
        return Ending(self.session.pack(json_clean(reply)), self.session.pack(finished))

    def finish_metadata(
        self, parent: dict[str, Any], metadata: dict[str, Any], reply_content: dict[str, Any]
    ) -> dict[str, Any]:
        """What the reply of a cell says beside its content: also which devices the cell had."""
        finished: dict[str, Any] = super().finish_metadata(parent, metadata, reply_content)
        if self.replica is not None and self.replica.devices:
            finished["banyan"] = {"devices": self.replica.devices}
        return finished

    def _abort_queues(self, subshell_id: str | None = None) -> None:
        """Do nothing: cells wait at the gateway, which decides what an error means to them. Any that
        arrives here is to run.
        """

    async def _run_interruptibly(self, run: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """Run a cell. SIGINT raises only within this call, so that it never loses a report or a reply."""
        try:
            self._interruptible = True
            return await run()
        # It was raised within IPython itself, which handles those that are raised within user code.
        except KeyboardInterrupt:
            self._interruptible = False
            return self._failure("KeyboardInterrupt", "")
        finally:
            self._interruptible = False

    def _interrupt_before_start(self, code: str, counted: bool) -> dict[str, Any]:
        """End a cell whose start is committed and that was interrupted while it waited at the fence."""
        reply = self._failure("KeyboardInterrupt", "")
        if counted and self.shell is not None:
            self.shell.history_manager.store_inputs(self.shell.execution_count, code)
            self.shell.execution_count += 1
        return reply

    def _failure(self, name: str, reason: str) -> dict[str, Any]:
        """End a cell with an error that no user code raised. Returns the content of its execute_reply."""
        content = {"ename": name, "evalue": reason, "traceback": [f"{name}: {reason}" if reason else name]}
        self.send_response(self.iopub_socket, "error", content, ident=self._topic("error"))
        count = self.shell.execution_count if self.shell is not None else 0
        return {"status": "error", **content, "execution_count": count, "user_expressions": {}, "payload": []}

    def pre_handler_hook(self) -> None:
        """Set when SIGINT may raise. Stock ipykernel allows it during any request; here an
        execute_request decides itself.
        """
        self._interrupted = False
        self.in_request = True
        self.tasks = [asyncio.current_task()]
        tasks.handle(asyncio.current_task())
        self._interruptible = (
            self.get_parent("shell")["header"]["msg_type"] != "execute_request" or self.replica is None
        )
        self.saved_sigint_handler = signal.signal(signal.SIGINT, self._on_sigint)

    def post_handler_hook(self) -> None:
        if self.replica is not None:
            self.replica.end_forked()
        self.in_request = False
        tasks.handle(None)
        self.tasks.clear()
        super().post_handler_hook()

    def _on_sigint(self, _signal: int, _frame: FrameType | None) -> None:
        if self._interruptible:
            raise KeyboardInterrupt
        self._interrupted = True

    @contextlib.contextmanager
    def _cancel_on_sigint(self, future: asyncio.Future[Any]) -> Iterator[None]:
        """Cancel a cell that awaits. Stock ipykernel does not wake its event loop, which would go on waiting."""
        loop = asyncio.get_running_loop()

        def cancel(_signal: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(future.cancel)

        saved = signal.signal(signal.SIGINT, cancel)
        self.tasks.append(future)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, saved)

    async def create_subshell_request(self, socket: Any, ident: Any, parent: dict[str, Any]) -> None:
        content = {"status": "error", "ename": "NotSupported", "evalue": "a replicated session has no subshells"}
        assert self.session is not None
        self.session.send(socket, "create_subshell_reply", {**content, "traceback": []}, parent, ident)
