"""A process that user code forks from a worker belongs to the user: it has none of the worker's sockets,
and is no kernel.

Right after the fork, each of the worker's descriptors is replaced in the child by one that leads nowhere. So nothing
that Python, ZMQ or the event loop still do with these descriptors in the child reaches the worker, and no reader waits
because the child holds a socket open. The numbers stay in use, so that no file of the child gets a number that ZMQ
takes for its own. What the child prints goes to the worker by a connection of its own, as ipykernel arranges it. The
child ends with the code in which it was forked: the cell, the callback of a comm, the task or the thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from banyan.process.forked import end

if TYPE_CHECKING:
    from banyan.worker.kernel import SessionKernel
    from banyan.worker.output import Stream

_DESCRIPTORS = "/proc/self/fd"
_of_this_thread = threading.local()  # In a thread that forked: an object that ends the child when the thread ends.


class Forks:
    """What belongs to the worker. Make one per process, in the event loop, before any user code runs."""

    def __init__(self, kernel: SessionKernel, forked: Callable[[], None]) -> None:
        """forked: called in each child, once nothing of the worker's can be reached from there."""
        self._kernel = weakref.ref(kernel)
        self._forked = forked
        self._worker = os.getpid()
        self._loop = asyncio.get_running_loop()
        self._own = dict(_descriptors())
        self._addresses = _addresses(self._own)
        streams: tuple[Any, Any] = (sys.stdout, sys.stderr)
        self._streams: list[Stream] = [stream for stream in streams if hasattr(stream, "begin_in_child")]
        os.register_at_fork(after_in_child=self._in_child)

    @property
    def in_child(self) -> bool:
        return os.getpid() != self._worker

    def end_child(self, reply: Mapping[str, Any] | None = None) -> None:
        """In a child: end it, because the code that forked it has ended. In the worker, do nothing."""
        if self.in_child:
            end(_status(reply or {}))

    def _in_child(self) -> None:
        self._leave_descriptors()
        for stream in self._streams:
            stream.begin_in_child()
        kernel = self._kernel()
        if kernel is None or kernel.shell is None:
            return
        kernel._allow_stdin = False
        # ZMQ's calls never return in a child, and the loop may be about to make one.
        requests: Any = kernel.shell_stream
        requests._handle_events = lambda *_: None
        kernel.shell._showtraceback = _show_traceback.__get__(kernel.shell)
        # The worker does what is registered for these events, such as showing figures.
        for event in ("post_execute", "post_run_cell"):
            kernel.shell.events.callbacks[event] = []
        self._forked()
        self._end_with_what_forks(kernel)

    def _leave_descriptors(self) -> None:
        for fd, what in _descriptors():
            if self._own.get(fd) == what or (what.startswith("socket:") and _address(fd) in self._addresses):
                with contextlib.suppress(OSError):
                    _replace(fd, what)

    def _end_with_what_forks(self, kernel: SessionKernel) -> None:
        if not _is_on(self._loop):
            _of_this_thread.end = _AtEndOfThread()
            return
        if sys.version_info >= (3, 14):
            # asyncio forgets the loop in a child, and from 3.14 on a step of a task cannot end without it: neither the
            # task nor the child would ever end.
            asyncio._set_running_loop(self._loop)
        task = asyncio.current_task(self._loop)
        if kernel.in_request and task in (None, *kernel.tasks):
            return  # `end_child` is called when the request has been handled.
        if task is not None:
            task.add_done_callback(lambda _: end(0))
            return
        self._loop.call_soon(end, 0)
        # The handler of a signal may have forked it while the loop waits, so wake the loop.
        ready = os.eventfd(1, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        selector: Any = getattr(self._loop, "_selector", None)
        with contextlib.suppress(OSError, AttributeError):
            select.epoll.fromfd(os.dup(selector.fileno())).register(ready, select.EPOLLIN)


class _AtEndOfThread:
    """Ends the process when its thread ends. A child that a thread forked has no other thread."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def __del__(self) -> None:
        if os.getpid() == self._process:
            end(0)


def _is_on(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether this is the thread on which the loop runs, or ran before the fork."""
    return getattr(loop, "_thread_id", None) == threading.get_ident()


def _descriptors() -> Iterator[tuple[int, str]]:
    """Sockets, event files and pollers: the number of each, and the system's text for it."""
    for name in os.listdir(_DESCRIPTORS):
        with contextlib.suppress(OSError):
            what = os.readlink(f"{_DESCRIPTORS}/{name}")
            if what.startswith(("socket:", "anon_inode:[event")):
                yield int(name), what


def _addresses(own: Mapping[int, str]) -> set[object]:
    """The addresses on which the worker listens. A connection that it accepts later has the same address."""
    found = {_address(fd) for fd, what in own.items() if what.startswith("socket:")}
    return found - {None, "", b""}


def _address(fd: int) -> object:
    try:
        end = socket.socket(fileno=fd)
    except OSError:
        return None
    try:
        address: object = end.getsockname()
        return address
    except OSError:
        return None
    finally:
        end.detach()


def _replace(fd: int, what: str) -> None:
    if what.startswith("socket:"):
        one, other = socket.socketpair()
        other.close()
        new = one.detach()
    elif "eventpoll" in what:
        poll = select.epoll()
        new = os.dup(poll.fileno())
        poll.close()
    else:
        new = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    os.dup2(new, fd, inheritable=False)
    os.close(new)


def _show_traceback(_shell: InteractiveShell, _kind: object, _value: object, lines: list[str]) -> None:
    """Print the traceback, because an error in the child is not an error of the cell."""
    print("\n".join(lines), file=sys.stderr, flush=True)


def _status(reply: Mapping[str, Any]) -> int:
    """The exit status that Python would give to a process whose code ends like this."""
    if reply.get("status") != "error":
        return 0
    if reply.get("ename") != "SystemExit":
        return 1
    code = str(reply.get("evalue", ""))
    if code in ("", "None"):
        return 0
    return int(code) & 0xFF if code.lstrip("-").isdigit() else 1
