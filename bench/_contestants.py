"""Ways to take a session to another process, behind one interface: store it, restore it elsewhere.

The ways of plain ipykernel work between two processes of this machine. The ways of the platform work on its sessions.
"""

import ast
import json
import os
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from _kernels import CellFailed, Kernel, Plain, Session
from _notebook_files import Notebook
from harness.client import wait_until
from harness.platform import Platform, binary

_MODULES = {
    name: Path(__file__).with_name(f"{name}.py").read_text() for name in ("_in_kernel", "_describe_parts", "_describe")
}
_INSTALL = """(lambda module: (exec({code!r}, vars(module)),
__import__("sys").modules.__setitem__({name!r}, module)))(__import__("types").ModuleType({name!r}))"""


class Unavailable(Exception):
    """The program under test does not have the operation."""


class Failed(Exception):
    """The session could not be stored or could not be restored."""


def install(kernel: Kernel) -> None:
    """Gives a kernel the code that stores and describes, as modules, so that its namespace stays as it is."""
    for name, code in _MODULES.items():
        kernel.evaluate(_INSTALL.format(name=name, code=code))


def call(kernel: Kernel, function: str, *arguments: str) -> str:
    """Calls "_module.function" of the modules that `install` brought, and returns its text. Raises Failed."""
    module, _, name = function.partition(".")
    listed = ", ".join(map(repr, arguments))
    try:
        return str(ast.literal_eval(kernel.evaluate(f"__import__('sys').modules['{module}'].{name}({listed})")))
    except CellFailed as error:
        raise Failed(str(error).partition("\n")[0]) from None


# Bandwidths for which moves are planned, in megabits per second.
SWEEP_MBIT = (50, 200, 1000, 10_000)


class Contestant(ABC):
    """One way to move a session. `original` has run the notebook; the kernel that `restore` returns must hold the
    same."""

    name: ClassVar[str]
    on_platform: ClassVar[bool] = False
    ends_original: ClassVar[bool] = False

    def __init__(self, notebook: Notebook, folder: Path) -> None:
        self.notebook = notebook
        self.folder = folder
        self.notes: dict[str, str] = {}  # names that it could not take along, and why
        self.extra: dict[str, Any] = {}  # further figures for the row of this way
        self.start_s = 0.0  # how long a process took to start, where `restore` does not include that

    @abstractmethod
    def store(self, original: Kernel) -> int:
        """Stores the session and returns how many bytes that needs. Raises Failed, Unavailable."""

    @abstractmethod
    def prepare(self) -> None:
        """Does the work that does not count as part of a restore's time."""

    @abstractmethod
    def restore(self) -> Kernel:
        """Restores the session and returns its kernel, ready for a cell. Raises Failed."""

    def close(self) -> None:  # noqa: B027
        """Cleans up after a restore that failed."""


class _OfPlain(Contestant):
    """A way of plain ipykernel: it restores the session in an ipykernel that runs already."""

    library = ""  # the library that the kernel imports before times are taken

    def prepare(self) -> None:
        begun = time.perf_counter()
        self._kernel = Plain(env=_with_banyan())
        self.start_s = time.perf_counter() - begun
        _settle(self._kernel, self.folder)
        if self.library:
            call(self._kernel, "_in_kernel.ready", self.library)

    def close(self) -> None:
        self._kernel.close()


def plain(folder: Path) -> Plain:
    """A new ipykernel in a folder, with the code of this bench."""
    kernel = Plain(env=_with_banyan())
    _settle(kernel, folder)
    return kernel


def _with_banyan() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1] / "python"), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path}


def _settle(kernel: Kernel, folder: Path) -> None:
    kernel.evaluate(f"__import__('os').chdir({str(folder)!r})")
    install(kernel)


class RerunAll(_OfPlain):
    name = "re-run all"

    def store(self, original: Kernel) -> int:
        return sum(len(cell.code.encode()) for cell in self.notebook.cells)

    def restore(self) -> Kernel:
        self.notebook.run(self._kernel.attempt)
        return self._kernel


class _ByFile(_OfPlain):
    """Functions of _in_kernel that write a file and read it: `function`_store and `function`_load."""

    function: ClassVar[str]

    def store(self, original: Kernel) -> int:
        self._file = self.folder / f"{self.function}.bin"
        if self.library:
            call(original, "_in_kernel.ready", self.library)
        self._note(call(original, f"_in_kernel.{self.function}_store", str(self._file)))
        return self._file.stat().st_size

    def restore(self) -> Kernel:
        self._note(call(self._kernel, f"_in_kernel.{self.function}_load", str(self._file)))
        return self._kernel

    def _note(self, answer: str) -> None:
        found = json.loads(answer or "{}")
        self.notes |= found if isinstance(found, dict) else dict.fromkeys(found, "refused")


class DumpSession(_ByFile):
    name = "dump_session"
    function = "dill"
    library = "dill"


class StoreEach(_ByFile):
    name = "%store"
    function = "each"


class LoadAll(_ByFile):
    name = "load all"
    function = "all"
    library = "banyan.restore.show"


class _OfPlatform(Contestant):
    on_platform = True
    needs = ""  # the subcommand of the program that this way needs

    def __init__(self, notebook: Notebook, folder: Path, platform: Platform) -> None:
        super().__init__(notebook, folder)
        self.platform = platform
        if self.needs and self.needs not in _commands():
            raise Unavailable(f"not available: banyan has no command {self.needs}")

    def prepare(self) -> None: ...

    def _operate(self, session: Session, what: str, body: dict[str, str]) -> None:
        path = f"/api/banyan/sessions/{session.id}/{what}"
        answer = self.platform.gateway.call("POST", path, json=body, timeout=300)
        if answer.status_code in (404, 405):
            raise Unavailable(f"not available: {what} answers {answer.status_code}")
        if answer.status_code != 200:
            raise Failed(f"{what}: {answer.status_code}, {answer.text[:200]}")

    def _command(self, *arguments: str) -> str:
        argv = [str(binary()), *arguments, "--url", self.platform.url]
        env = {**os.environ, "BANYAN_TOKEN": self.platform.token}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0:
            raise Failed(f"banyan {arguments[0]}: {done.stderr.strip()[-200:]}")
        return done.stdout


def _commands() -> set[str]:
    """The subcommands of the program."""
    text = subprocess.run([binary(), "--help"], capture_output=True, text=True, check=False).stdout
    return {line.split()[0] for line in text.partition("Subcommands:")[2].splitlines() if line.strip()}


class Migrate(_OfPlatform):
    """Moves the session to a host that has no replica of it. Storing costs nothing: the log has the values already."""

    name = "banyan migrate"
    needs = "migrate"
    ends_original = True

    def store(self, original: Kernel) -> int:
        assert isinstance(original, Session)
        self._session = original
        return _head_bytes(original)

    def prepare(self) -> None:
        has = {str(row["host"]) for row in self.platform.gateway.session(self._session.id)["replicas"]}
        self._target = next(host for host in reversed(self.platform.hosts) if host not in has)

    def restore(self) -> Kernel:
        self._operate(self._session, "migrate", {"host": self._target})
        _serves(self._session)
        if (there := self.platform.gateway.executor(self._session.id)) != self._target:
            raise Failed(f"the session is on {there}, not on {self._target}")
        return self._session


class SuspendResume(_OfPlatform):
    """Suspends the session, which ends its processes, and resumes it from the values in the log."""

    name = "suspend/resume"
    needs = "suspend"
    ends_original = True

    def store(self, original: Kernel) -> int:
        assert isinstance(original, Session)
        self._session = original
        size = _head_bytes(original)
        self._operate(original, "suspend", {})
        return size

    def restore(self) -> Kernel:
        self._operate(self._session, "resume", {})
        _serves(self._session)
        return self._session


class ExportImport(_OfPlatform):
    """Exports the session into a file and imports the file into a new session."""

    name = "export/import"
    needs = "export"
    options: tuple[str, ...] = ()

    def store(self, original: Kernel) -> int:
        assert isinstance(original, Session)
        self._file = self.folder / "session.banyan"
        self._file.unlink(missing_ok=True)
        self._command("export", original.id, str(self._file), *self.options)
        return self._file.stat().st_size

    def restore(self) -> Kernel:
        answer = json.loads(self._command("import", str(self._file), "--unsigned", "--json"))
        session = Session(self.platform.gateway, str(answer["id"]))
        _serves(session)
        return session


class ExportLeast(ExportImport):
    """Does the same without the values that are quicker to make again than to transfer."""

    name = "export least"
    options = ("--values", "least")

    def prepare(self) -> None:
        rates = ",".join(str(rate) for rate in SWEEP_MBIT)
        argv = [str(binary()), "plan", "move", str(self._file), "--megabits", rates, "--json"]
        planned = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
        self.extra["plans"] = json.loads(planned.stdout)["rows"]


class Restart(_OfPlatform):
    """Kills the worker's process, after which the host agent builds a new view of head."""

    name = "restart"
    ends_original = True

    def store(self, original: Kernel) -> int:
        assert isinstance(original, Session)
        self._session = original
        return _head_bytes(original)

    def restore(self) -> Kernel:
        os.kill(self._session.pid, 9)
        _serves(self._session)
        return self._session


def _head_bytes(session: Session) -> int:
    """The size of the values that the newest commit shows; a co-variable of several names counts once."""
    answer = session.gateway.ask_history(session.id, {"do": "state"})
    answer.raise_for_status()
    rows = answer.json()["variables"]
    return sum({frozenset([row["name"], *row["shares_with"]]): int(row["bytes"]) for row in rows}.values())


def _serves(session: Session) -> None:
    """Waits until a cell runs. On a busy machine the first cell may be refused."""
    wait_until(lambda: session.attempt("pass") is None, "the session serves again", timeout=120, pause=0.01)


OF_PLAIN: tuple[type[_OfPlain], ...] = (RerunAll, DumpSession, StoreEach, LoadAll)
OF_PLATFORM: tuple[type[_OfPlatform], ...] = (ExportImport, ExportLeast, Migrate, SuspendResume, Restart)
NAMES = tuple(contestant.name for contestant in (*OF_PLAIN, *OF_PLATFORM))
