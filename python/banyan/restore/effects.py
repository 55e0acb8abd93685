"""Collects what cells do outside of their process, as far as Python's audit events tell: a repetition
would do it twice.

Not seen are files that a library writes without Python's `open` (pyarrow, HDF5), and what C extensions send themselves.
Not counted is what a library does by itself while it is imported or compiles code (caches, `ldconfig`), nor programs
that only tell what the system is. What code of the notebook or of the user's own modules does meanwhile counts.
"""

from __future__ import annotations

import os
import sys
import tempfile
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from banyan import _native
from banyan.state import own

_MOST = 8
_LONGEST = 120
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Files that nobody misses: caches, devices, IPython's own.
_UNNOTICED = ("/dev/", "/proc/", *(os.path.expanduser(f"~/{name}/") for name in (".cache", ".ipython", ".config")))


_IMPORTS = "importlib._bootstrap"
# Libraries, or parts of them, that write caches and run compilers in order to do what they are called for.
_COMPILERS = (
    *("ctypes.util", "platform", "sysconfig", "distutils", "setuptools", "pkg_resources", "uuid", "pycparser"),
    *("torch._inductor", "torch._dynamo", "torch.utils.cpp_extension", "torch._vendor", "triton", "numba", "llvmlite"),
    *("matplotlib.font_manager", "matplotlib.texmanager", "jax._src", "jaxlib", "cupy", "pytensor", "numexpr", "cffi"),
)
_QUERIES = frozenset(
    {"ldconfig", "uname", "nvidia-smi", "rocm-smi", "lscpu", "lsb_release", "sysctl", "getconf", "locale"}
)


_COMPILED = tuple(f"{name}." for name in _COMPILERS)
_RUNNING = frozenset({"subprocess", "os", __name__})
_NOBODY: Mapping[str, Any] = {}


class Effects:
    """Collects the effects of a cell while it runs, from every thread."""

    def __init__(self, beside: Mapping[str, Callable[[types.FrameType], None]] = _NOBODY) -> None:
        """Begin to listen to audit events, for as long as the process lives: an audit hook cannot be removed.

        beside: by event, another function to call, with the frame that raised the event.
        """
        self._beside = beside
        self._found: dict[str, None] = {}
        self._noted: dict[str, None] = {}  # Those among `_found` that no audit event told.
        self._allowed = False
        tempfile.gettempdir()  # Its first call writes files to see whether it can; ipykernel makes that call in a cell.
        self._listener = _native.AuditListener([*{**_EVENTS, **beside}], self._hear)

    def begin(self) -> None:
        self._found.clear()
        self._noted.clear()
        self._allowed = False
        self._listener.listen(True)

    def end(self) -> list[str]:
        """What was done since `begin`, in words for the user: the first few, in order."""
        self._listener.listen(False)
        return list(self._noted if self._allowed else self._found)

    def note(self, effect: str) -> None:
        """Note an effect that no audit event tells."""
        self._found[effect] = self._noted[effect] = None

    @property
    def allowed(self) -> bool:
        """Whether the cell's author allows that the effects happen again."""
        return self._allowed

    def allow(self) -> None:
        """Allow that what audit events have told since `begin` happens again."""
        self._allowed = True

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _EVENTS and len(self._found) < _MOST:
            effect = _EVENTS[event](*arguments)
            if effect and not _is_a_librarys(effect):
                self._found[effect[:_LONGEST]] = None
        if (hears := self._beside.get(event)) is not None:
            hears(sys._getframe(1))


def _is_a_librarys(effect: str) -> bool:
    """Whether an effect is a library's own. It is if, from the top of the stack, the library comes before any
    code of the user.
    """
    words = effect.split()
    asks = words[0] == "ran" and len(words) > 1 and os.path.basename(words[1]) in _QUERIES
    frame = sys._getframe(2)
    passed = False  # Whether a library was passed, other than the modules by which Python runs programs.
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        if module == "__main__" or _is_own(module, frame.f_globals):
            return asks and passed
        if module == _IMPORTS or f"{module}.".startswith(_COMPILED):
            return True
        passed = passed or module not in _RUNNING
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _is_own(module: str, namespace: dict[str, Any]) -> bool:
    """Whether a module is the user's own, also while it is being imported."""
    return module in own.known or type(namespace.get("__loader__")).__module__ == own.__name__


def _opened(path: object, mode: object, flags: object) -> str | None:
    writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(int(str(flags)) & _WRITING)
    return _touched("wrote", path) if writes else None


def _touched(verb: str, path: object) -> str | None:
    if isinstance(path, int):
        return None
    name = os.fsdecode(path)  # type: ignore[arg-type]
    whole = str(Path(name).absolute())
    return None if whole.startswith(_UNNOTICED) or "__pycache__" in whole else f"{verb} {name}"


def _connected(_socket: object, address: object) -> str:
    where = f"{address[0]}:{address[1]}" if isinstance(address, tuple) and len(address) > 1 else str(address)
    return f"connected to {where}"


def _ran(command: object) -> str:
    if isinstance(command, (list, tuple)):
        command = " ".join(map(str, command))
    return f"ran {command if isinstance(command, str) else os.fsdecode(command)}"  # type: ignore[arg-type]


def _database(path: object) -> str | None:
    return None if path in (":memory:", b":memory:") else _touched("opened the database", path)


_EVENTS: dict[str, Callable[..., str | None]] = {
    "open": _opened,
    "os.mkdir": lambda path, *_: _touched("made", path),
    "os.rmdir": lambda path, *_: _touched("removed", path),
    "os.remove": lambda path, *_: _touched("removed", path),
    "os.rename": lambda source, *_: _touched("renamed", source),
    "os.link": lambda _source, target, *_: _touched("linked", target),
    "os.symlink": lambda _source, target, *_: _touched("linked", target),
    "os.truncate": lambda path, *_: _touched("cut", path),
    "os.chmod": lambda path, *_: _touched("changed", path),
    "socket.connect": _connected,
    "socket.sendto": _connected,
    "socket.bind": lambda _socket, address: f"listened on {address}",
    "sqlite3.connect": _database,
    "subprocess.Popen": lambda _executable, arguments, *_: _ran(arguments),
    "os.system": _ran,
    "os.posix_spawn": lambda path, arguments, *_: _ran(arguments or path),
    "os.spawn": lambda _mode, path, arguments, *_: _ran(arguments or path),
    "os.fork": lambda *_: "started a process",
    "os.forkpty": lambda *_: "started a process",
    "os.kill": lambda pid, signal: f"sent signal {signal} to process {pid}",
    "os.killpg": lambda pid, signal: f"sent signal {signal} to processes {pid}",
}
