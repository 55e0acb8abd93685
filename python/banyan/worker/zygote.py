"""A process that has imported everything and forks workers on request: `python -m banyan.zygote --control-fd N`.

It has no threads, sockets or ZMQ context of its own when it forks, so that a child starts clean. The host agent starts
it and sends requests over the control socket.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from banyan import __version__, _native
from banyan.reducers import live
from banyan.worker import ahead, child
from banyan.worker.as_in_a_kernel import Imports
from banyan.worker.channel import PROTOCOL, Channel, ChannelClosed, Message

# What ipykernel imports at its first start or first cell, beyond what child.py imports. Left out is what only
# completion and usage requests need (jedi, psutil): it would cost 6 MB in each worker, and saves 50 ms once.
_LATE_IMPORTS = """
    banyan.worker.extension ipykernel.debugger tornado.platform.asyncio sqlite3 IPython.core.completer
    IPython.core.completerlib IPython.core.debugger IPython.core.history IPython.core.logger
    IPython.core.magics.ast_mod IPython.core.magics.execution IPython.core.magics.pylab IPython.core.oinspect
    IPython.core.pylabtools IPython.extensions.storemagic IPython.utils.module_paths IPython.utils.wildcard
    stack_data pygments.console pygments.formatters.terminal256 pygments.styles concurrent.futures.thread
    """.split()


@dataclass(slots=True)
class _Worker:
    number: int
    pid: int


class Zygote:
    """Serves the requests that come over one control socket."""

    def __init__(self, control: Channel, imports: Imports, own_session: bool, bytes_max: int = 0) -> None:
        """`bytes_max`: how much memory this process may have while it imports ahead; 0 for any."""
        self._control = control
        self._imports = imports
        self._own_session = own_session
        self._bytes_max = bytes_max
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._workers: dict[int, _Worker] = {}  # By the worker's pidfd.
        self._pid = os.getpid()

    def serve(self) -> child.Spawn | None:
        """Serve requests. In a forked child it returns the Spawn, and in the zygote None once the
        host agent is gone.
        """
        python = ".".join(map(str, sys.version_info[:3]))
        self._control.send({"type": "ready", "protocol": PROTOCOL, "python": python, "package": __version__})
        try:
            while True:
                for key, _ in self._selector.select():
                    if key.fileobj is not self._control:
                        self._reap(key.fd)
                        continue
                    spawn = self._handle(self._control.receive())
                    if spawn is not None:
                        return spawn
        except ChannelClosed:
            self._kill_all()
            return None

    def _handle(self, message: Message) -> child.Spawn | None:
        body = message.body
        match body.get("type"):
            case "spawn":
                return self._spawn(body, message.fds)
            case "kill":
                for known in self._workers.values():
                    if known.number == body.get("worker"):
                        _kill_group(known.pid)
            case "import":
                modules = body.get("modules", ())
                with self._imports.as_in_a_kernel():
                    done = ahead.at_leisure(
                        lambda: ahead.import_ahead(modules, self._bytes_max), own_session=self._own_session
                    )
                _be_ready_to_fork()
                self._control.send({"type": "imported", **done})
            case other:
                print(f"zygote: unknown request {other!r}", file=sys.stderr)
        return None

    def _spawn(self, body: dict[str, Any], fds: list[int]) -> child.Spawn | None:
        """Fork. The child gets the Spawn, with nothing of the zygote's left open; the zygote gets None."""
        number = body.get("worker")
        try:
            channel_fd, lease_fd = fds
            spawn = child.Spawn(
                worker=int(body["worker"]),
                session_id=str(body["session_id"]),
                connection_file=str(body["connection_file"]),
                cwd=str(body["cwd"]),
                env={str(name): str(value) for name, value in body["env"].items()},
                log=str(body["log"]),
                channel_fd=channel_fd,
                lease_fd=lease_fd,
            )
            pid = os.fork()
        except Exception as error:
            self._control.send({"type": "failed", "worker": number, "reason": f"{type(error).__name__}: {error}"})
            _close(fds)
            return None
        if pid == 0:
            self._selector.close()
            self._control.close()
            _close(self._workers)
            return spawn
        _close(fds)
        pidfd = os.pidfd_open(pid)
        self._workers[pidfd] = _Worker(spawn.worker, pid)
        self._selector.register(pidfd, selectors.EVENT_READ)
        self._control.send({"type": "spawned", "worker": spawn.worker, "pid": pid})
        return None

    def _reap(self, pidfd: int) -> None:
        ended = self._workers.pop(pidfd)
        self._selector.unregister(pidfd)
        os.close(pidfd)
        _kill_group(
            ended.pid
        )  # End what the worker left behind. Before waitpid returns, no other group can get the number of this one.
        _, status = os.waitpid(ended.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        how = {"signal": -code} if code < 0 else {"code": code}
        self._control.send({"type": "exited", "worker": ended.number, "pid": ended.pid, **how})

    def _kill_all(self) -> None:
        for known in self._workers.values():
            _kill_group(known.pid)


def _kill_group(pid: int) -> None:
    """SIGKILL a worker and its process group. A worker that was just forked has no group of its own yet."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _close(fds: Sequence[int] | dict[int, _Worker]) -> None:
    for fd in fds:
        os.close(fd)


def _be_ready_to_fork() -> None:
    """Exempt all existing objects from collection, so that collections in the children do not copy their pages."""
    if threading.active_count() > 1:
        print(f"zygote: threads before the fork: {threading.enumerate()}", file=sys.stderr)
    live.look()
    gc.collect()
    gc.freeze()


def _import_all(modules: Sequence[str]) -> None:
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:
            print(f"zygote: cannot preload {module}: {error!r}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(prog="banyan.zygote", description="Fork kernels on request.")
    parser.add_argument("--control-fd", type=int, required=True, help="one end of a Unix stream socket pair")
    parser.add_argument("--preload", default="", help="modules to import first, separated by commas")
    parser.add_argument("--import-ahead", default="", help="libraries that `import` requests may name, likewise")
    parser.add_argument("--import-ahead-bytes", type=int, default=0, help="how much memory they may take; 0: any")
    parser.add_argument(
        "--at-leisure", action="store_true", help="in a session of its own: import with what others leave"
    )
    arguments = parser.parse_args()
    ahead.libraries = frozenset(filter(None, arguments.import_ahead.split(",")))

    _native.die_with_parent(os.getppid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(arguments.control_fd, False)
    control = Channel(socket.socket(fileno=arguments.control_fd))
    started_in = os.getcwd()
    # matplotlib reads its backend when it is imported, and may be among the modules to preload.
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    # Otherwise debugpy complains about frozen modules when it is imported here.
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    imports = Imports()
    preload = list(filter(None, arguments.preload.split(",")))

    def import_first() -> None:
        _import_all(_LATE_IMPORTS)
        with imports.as_in_a_kernel():
            _import_all(preload)

    if arguments.at_leisure:
        ahead.at_leisure(import_first, own_session=True)
    else:
        import_first()
    if sys.path and sys.path[0] == started_in:
        del sys.path[0]  # `python -m` put it there.
    _be_ready_to_fork()

    zygote = os.getpid()
    spawn = Zygote(control, imports, arguments.at_leisure, arguments.import_ahead_bytes).serve()
    if spawn is not None:
        child.run(spawn, zygote, imports)
