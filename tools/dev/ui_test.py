"""Tests tasks side by side: their results, and that nothing goes on after an interruption."""

import functools
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from dev import ui


def test_tasks_side_by_side_return_in_order() -> None:
    meeting = threading.Barrier(2, timeout=20)  # two tasks pass it together, one alone cannot

    def task(number: int) -> int:
        meeting.wait()
        return number

    assert ui.side_by_side([functools.partial(task, n) for n in range(4)], 2) == [0, 1, 2, 3]


def test_an_interruption_ends_all_commands_and_starts_no_other(tmp_path: Path) -> None:
    started, after = [tmp_path / "first", tmp_path / "second"], tmp_path / "after"

    def long(file: Path) -> None:
        code = f"import pathlib, time; pathlib.Path({str(file)!r}).touch(); time.sleep(60)"
        ui.run(f"long {file.name}", [sys.executable, "-c", code], file.with_suffix(".log"), check=False)
        after.touch()

    main = threading.get_ident()

    def interrupt() -> None:
        while not all(file.exists() for file in started):
            time.sleep(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    threading.Thread(target=interrupt, daemon=True).start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            ui.side_by_side([functools.partial(long, file) for file in [*started, tmp_path / "third"]], 2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 30
    assert not after.exists() and not (tmp_path / "third").exists()
    assert ui.run("next", ["true"], tmp_path / "next.log") == 0


def test_one_that_breaks_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ui.CommandFailed, match="ended with status 1"):
        ui.side_by_side([lambda: ui.run("breaks", ["false"], tmp_path / "breaks.log")], 2)
