"""The output that a person sees: steps (a spinner or a bar on a terminal, one quiet line elsewhere) and tables."""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TextIO, TypeVar

from banyan_local.processes import UserError as UserError

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_NINJA = re.compile(r"\[(\d+)/(\d+)\]")
_PERCENT = re.compile(r"\[\s*(\d+)%\]")
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}
_TAIL_LINES = 15
_ERROR_LINES = 60

_stream: TextIO = sys.stdout
_painting = threading.Lock()  # one step at a time paints the last line of a terminal
_commands: set["subprocess.Popen[str]"] = set()  # the commands that run now
_stopping = threading.Event()
_Result = TypeVar("_Result")


def talk_on(stream: TextIO) -> None:
    """Sends progress and notes to `stream`: stderr when stdout carries JSON."""
    global _stream
    _stream = stream


def say(text: str = "") -> None:
    print(text, file=_stream, flush=True)


def colour(name: str, text: str, stream: TextIO | None = None) -> str:
    out = stream or _stream
    if not out.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{_COLOURS[name]}m{text}\033[0m"


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 100 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


class Step:
    """Work that takes a while: `with Step("Building"): …`. An exception marks the step as failed and goes on
    upwards."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._detail = ""
        self._fraction: float | None = None
        self._start = time.monotonic()
        self._done = threading.Event()
        self._painter: threading.Thread | None = None

    def progress(self, fraction: float | None = None, detail: str = "") -> None:
        self._fraction, self._detail = fraction, detail

    def watch(self, line: str) -> None:
        """Reads progress off a line of ninja or pytest output."""
        if found := _NINJA.match(line):
            done, total = int(found[1]), int(found[2])
            self.progress(done / max(total, 1), f"{done}/{total}")
        elif found := _PERCENT.search(line):
            self.progress(int(found[1]) / 100)

    def __enter__(self) -> "Step":
        if _stream.isatty():
            self._painter = threading.Thread(target=self._paint, daemon=True)
            self._painter.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._painter:
            self._painter.join()
            _stream.write("\r\033[K")
        mark = colour("green", "✓") if kind is None else colour("red", "✗")
        say(f"{mark} {self._label} {colour('dim', '(' + duration(time.monotonic() - self._start) + ')')}")

    def _paint(self) -> None:
        painting = False
        try:
            while not self._done.wait(0.1):
                painting = painting or _painting.acquire(blocking=False)
                if painting:
                    self._paint_once()
        finally:
            if painting:
                _painting.release()

    def _paint_once(self) -> None:
        seconds = time.monotonic() - self._start
        if seconds < 0.3:
            return
        frame = int(seconds * 10)
        parts = [_SPINNER[frame % len(_SPINNER)], self._label]
        if self._fraction is not None:
            filled = int(self._fraction * 24)
            parts.append("█" * filled + "░" * (24 - filled))
        parts += [self._detail, duration(seconds)]
        line = " ".join(part for part in parts if part)
        _stream.write("\r\033[K" + line[: shutil.get_terminal_size().columns - 1])
        _stream.flush()


class CommandFailed(UserError):
    """A command of a step ended badly. The message has the end of its output and says where the rest is."""

    def __init__(self, label: str, status: int, log: Path) -> None:
        self.status = status
        lines = log.read_text(errors="replace").splitlines()
        last = max(0, len(lines) - _TAIL_LINES)
        first = next((n for n, line in enumerate(lines) if line.startswith("FAILED:")), last)
        tail = "\n".join("  " + line for line in lines[first : first + _ERROR_LINES])
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        super().__init__(f"{label}: {how}; the whole log is {log}\n{tail}")


def run(
    label: str,
    argv: Sequence[str | Path],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    check: bool = True,
) -> int:
    """Runs a command as a step, its output in `log`. Returns the exit status; raises CommandFailed when `check`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if _stopping.is_set():
        raise KeyboardInterrupt
    with Step(label) as step, log.open("w", buffering=1) as out:
        out.write(f"$ {' '.join(map(str, argv))}\n")
        process = subprocess.Popen(
            [str(arg) for arg in argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            text=True,
            errors="replace",
        )
        assert process.stdout is not None
        _commands.add(process)
        try:
            for line in process.stdout:
                out.write(line)
                step.watch(line)
            status = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            _commands.discard(process)
        if _stopping.is_set():
            raise KeyboardInterrupt
        out.flush()
        if status != 0 and check:
            raise CommandFailed(label, status, log)
    return status


def side_by_side(tasks: Sequence[Callable[[], _Result]], at_once: int) -> list[_Result]:
    """Runs the tasks, `at_once` at a time, and returns their results. An interruption ends the commands that run."""
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        try:
            return [done.result() for done in [pool.submit(task) for task in tasks]]
        except BaseException:
            _stopping.set()
            for process in list(_commands):
                process.terminate()
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            _stopping.clear()


def table(rows: Sequence[Sequence[str]], colour_of: Callable[[str], str | None] = lambda _: None) -> None:
    """Prints rows in columns on stdout; the first row is the head. `colour_of` gives the colour of a cell by its
    text."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        cells[-1] = cells[-1].rstrip()
        if number:
            names = [colour_of(cell) for cell in row]
            cells = [colour(name, cell, sys.stdout) if name else cell for name, cell in zip(names, cells, strict=True)]
        line = "  ".join(cells).rstrip()
        print(colour("bold", line, sys.stdout) if number == 0 else line, flush=True)
