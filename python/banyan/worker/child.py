"""Makes a kernel of a process that the zygote has just forked."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import random
import signal
import socket
import sys
import threading
from dataclasses import dataclass
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from tornado.ioloop import IOLoop
from traitlets.config import Config

from banyan import _native
from banyan.surroundings import generators
from banyan.worker.as_in_a_kernel import Imports
from banyan.worker.channel import Channel
from banyan.worker.kernel import SessionKernel

# How long the sockets may take to close at exit, after the functions that user code registered with atexit.
_CLOSE_S_MAX = 0.5
# The host agent adds this variable to the environment, with another text after each restart of the kernel.
_SEED = "BANYAN_SEED"


@dataclass(frozen=True, slots=True)
class Spawn:
    """A spawn request. `env` is added to the zygote's environment. The worker owns the descriptors."""

    worker: int
    session_id: str
    connection_file: str
    cwd: str
    env: dict[str, str]
    log: str
    channel_fd: int
    lease_fd: int


def run(spawn: Spawn, parent: int, imports: Imports) -> None:
    """Serve as a kernel until it is shut down. parent: the zygote's process id; imports: what it has imported."""
    _become_a_process_of_its_own(spawn, parent)
    app = _kernel_app(spawn)
    imports.hand_over(app.kernel.shell)
    app.kernel.channel = Channel(socket.socket(fileno=spawn.channel_fd))
    app.kernel.shell.extension_manager.load_extension("banyan.worker.extension")
    _native.start_lease_watchdog(spawn.lease_fd)
    os.close(spawn.lease_fd)
    IOLoop.current().add_callback(app.kernel.replica.serve)
    app.start()


def _become_a_process_of_its_own(spawn: Spawn, parent: int) -> None:
    os.setsid()
    _native.die_with_parent(parent)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(spawn.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)
    generators.start_from(f"{spawn.session_id}:{spawn.env.pop(_SEED, '')}")
    os.environ.update(spawn.env)
    os.chdir(spawn.cwd)
    sys.argv = [""]
    faulthandler.enable()
    random.seed()  # For numbers that the kernel itself draws. User code gets the session's own seed later.
    asyncio.set_event_loop(asyncio.new_event_loop())


class _NoShellThread:
    """Stands for ipykernel's thread that reads the shell socket for subshells. Without one, requests take no detour.

    ipykernel tests whether the thread exists and, when a cell awaits, which thread created it.
    """

    def __init__(self) -> None:
        self.parent_thread = threading.current_thread()

    def __bool__(self) -> bool:
        return False


class _App(IPKernelApp):
    def parse_command_line(self, argv: Any = None) -> None:
        """Do nothing: there is no command line, and building its parser would take 9 ms."""

    def init_iopub(self, context: Any) -> None:
        """Let output that comes too fast wait in this process, so that none is dropped."""
        context.sndhwm = 0
        super().init_iopub(context)

    def init_control(self, context: Any) -> None:
        """Do without the thread for subshells, which a session does not have."""
        super().init_control(context)
        self.shell_channel_thread = _NoShellThread()

    def close(self) -> None:
        """Close the sockets at exit. ipykernel's threads may block each other here, so the process ends
        after a short time.
        """
        timer = threading.Timer(_CLOSE_S_MAX, os._exit, [0])
        timer.daemon = True
        timer.start()
        super().close()


def _kernel_app(spawn: Spawn) -> _App:
    config = Config()
    config.IPKernelApp.connection_file = spawn.connection_file
    config.IPKernelApp.kernel_class = SessionKernel
    config.IPKernelApp.outstream_class = "banyan.worker.output.Stream"
    config.IPKernelApp.parent_handle = 1  # It prints no hint how to connect, and does not poll for the parent.
    # One database for all kernels of a user would be locked often. The session's own history is in the log.
    config.HistoryManager.hist_file = ":memory:"
    # ipykernel pauses so that output is sent before the execute_reply. That is not needed, as the host agent waits for
    # the end of the output.
    config.SessionKernel._execute_sleep = 0.0
    config.Session.session = spawn.session_id
    config.Session.packer = "banyan.worker.output.pack"
    app: _App = _App.instance(config=config)
    app.initialize([])
    # Otherwise traitlets would let each message be made, and its handler would drop most of them.
    app.log.setLevel(app.log_level)
    return app
