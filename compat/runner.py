"""Runs cases, each in two processes of its own, and judges the results."""

from __future__ import annotations

import enum
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from compat.case import Case, Library
from compat.follower import Restored
from compat.session import History

ROOT = Path(__file__).resolve().parents[1]
VENVS = ROOT / "build" / "compat"
TIMEOUT_S = 180


class Verdict(enum.StrEnum):
    """recomputed: the session says that it cannot keep the value. wrong: it would not, and does not. broken: the case
    says nothing, because its own code fails. absent: its library is not here."""

    OK = "ok"
    RECOMPUTED = "recomputed"
    WRONG = "WRONG"
    BROKEN = "broken"
    ABSENT = "absent"


class Reads(enum.StrEnum):
    """Whether cells that only read count as changes: never, the first only (it fills a cache), or each time."""

    CLEAN = "clean"
    FIRST = "first"
    EACH = "each"


@dataclass(frozen=True)
class Row:
    """What is known of one case; None where there was nothing to see."""

    library: str
    kind: str
    form: str
    verdict: Verdict
    reason: str = ""
    version: str = ""
    noticed: bool | None = None
    reads: Reads | None = None
    stored: int | None = None
    restored: bool | None = None
    undone: bool | None = None
    shared: bool | None = None


class _Ended(Exception):
    """A side gave no result; `absent`: because its library is not installed."""

    def __init__(self, reason: str, verdict: Verdict = Verdict.WRONG) -> None:
        super().__init__(reason)
        self.verdict = verdict


def interpreter(library: Library) -> Path:
    """The interpreter of the virtual environment that has the library; without one, the running interpreter."""
    python = VENVS / library.venv / "bin" / "python"
    return python if python.exists() else Path(sys.executable)


def run_case(library: Library, case: Case) -> Row:
    with tempfile.TemporaryDirectory(prefix="compat-") as name:
        folder = Path(name)
        (folder / "case").write_bytes(pickle.dumps((library, case)))
        try:
            _run_side("session", library, folder)
            history: History = pickle.loads((folder / "history").read_bytes())
            _run_side("follower", library, folder)
            restored: Restored = pickle.loads((folder / "restored").read_bytes())
        except _Ended as end:
            return Row(library.name, case.kind, case.form, end.verdict, str(end))
    return judge(library, case, history, restored)


def judge(library: Library, case: Case, history: History, restored: Restored) -> Row:
    first, later = history.made.failed.get("x"), history.changed.failed.get("x")
    refused = first or later
    reported = bool({"x", "alias"} & (history.changed.names() | history.changed.failed.keys()))
    noticed = None if first and not reported else reported
    problems = [*history.problems, *restored.problems]
    if noticed is False:
        problems.insert(0, "the change is not noticed")
    reads = [bool({"x", "alias"} & commit.names()) for commit in history.read]
    return Row(
        library.name,
        case.kind,
        case.form,
        Verdict.WRONG if problems else Verdict.RECOMPUTED if refused else Verdict.OK,
        "; ".join(problems) or refused or "",
        history.version,
        noticed,
        None if first else Reads.EACH if reads[1] else Reads.FIRST if reads[0] else Reads.CLEAN,
        None if first else history.made.size("x"),
        restored.equal,
        restored.undone,
        restored.shared,
    )


def _run_side(side: str, library: Library, folder: Path) -> None:
    """Runs one side in a working folder of its own, because each host has its own files."""
    work = folder / f"{side}-files"
    work.mkdir()
    argv: list[str | Path] = [interpreter(library), "-m", "compat.child", side, folder]
    log = folder / f"{side}.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            argv, cwd=work, env=_environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        try:
            status = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise _Ended(f"{side}: no end after {TIMEOUT_S} s") from None
        finally:
            _kill(process)
    if (folder / "error").exists():
        reason = (folder / "error").read_text()
        raise _Ended(reason, Verdict.ABSENT if "ModuleNotFoundError" in reason else Verdict.BROKEN)
    if status != 0:
        last = (log.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        raise _Ended(f"{side}: {how}: {last[:160]}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and every process that the case has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _environment() -> dict[str, str]:
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "POLARS_MAX", "RAYON")}
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT)])
    return {**os.environ, **one_thread, "POLARS_MAX_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONPATH": path}
