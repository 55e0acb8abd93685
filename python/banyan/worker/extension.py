"""The IPython extension `banyan.worker.extension`: joins the shell of a SessionKernel to its state channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from banyan.notebook import comm, directives, rerun
from banyan.notebook.magics import HistoryMagics
from banyan.notebook.session_magics import SessionMagics
from banyan.process import pages
from banyan.state.detect import DigestDetector
from banyan.state.serialise import bind_namespace
from banyan.surroundings import Capture, Surroundings, statements
from banyan.worker.kernel import SessionKernel
from banyan.worker.replica import Replica
from banyan.worker.transformed import Transformed

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called once by the worker before any user code: whatever is in the namespace then belongs to the shell."""
    kernel = getattr(shell, "kernel", None)
    if not isinstance(kernel, SessionKernel) or kernel.channel is None or kernel.session is None:
        raise UsageError("banyan.worker.extension belongs to the kernels that a Banyan host agent starts")
    bind_namespace(shell.user_ns)
    detector = DigestDetector(shell.user_ns, shell.user_ns_hidden, spools=True)
    capture = Capture(parent=shell)
    shell.configurables.append(capture)  # type: ignore[arg-type]  # %config lists it.
    surroundings = Surroundings(capture, shell.user_ns)
    transformed = Transformed(shell)
    statements.watch(shell, surroundings.between, before=transformed.end)
    replica = kernel.replica = Replica(shell, detector, surroundings, kernel.channel, transformed)
    shell.register_magics(HistoryMagics(shell, replica.ask), SessionMagics(shell, replica.ask, kernel.session.session))
    rerun.register(shell, replica.effects)
    directives.Directives(shell)
    comm.register(shell, replica.ask)
    pages.listen(kernel)

    def note_comm_callbacks() -> None:
        if kernel.get_parent("shell")["header"]["msg_type"] != "execute_request":
            replica.note_unfenced_code()

    shell.events.register("pre_execute", note_comm_callbacks)
