"""A kernel that dies between two steps of a commit or a checkout: its history has the old commit or the new one."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_standalone import TIMEOUT_S, Kernel, kernel

_LOOK = "small, big[0], big[-1]"
_OLD, _NEW = "(2, 2, 0)", "(3, 3, 3)"


__all__ = ["kernel"]  # the fixture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    points = tmp_path / "points"
    points.mkdir()
    return points


def _dies_at(kernel: Callable[..., Kernel], points: Path, point: str, code: str) -> Kernel:
    """The kernel after it, with the variables of the last commit."""
    first = kernel(BANYAN_FAILPOINTS=str(points))
    first.run("%load_ext banyan")
    first.run("small, big = 1, bytearray(100_000)")
    first.run("small, big[0] = 2, 2")
    (points / point).touch()
    pid = first.pid
    first.start(code)
    end = time.monotonic() + TIMEOUT_S
    while (points / point).exists() or _alive(pid):
        assert time.monotonic() < end, f"{point} is not reached"
        time.sleep(0.01)
    second = kernel()
    greeting = second.run("%load_ext banyan").stdout
    second.run("%checkout " + greeting.partition("%checkout ")[2].split()[0])
    assert "intact" in second.run("%banyan check").stdout
    return second


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("point", "found"), [("local.chunk", _OLD), ("local.before", _OLD), ("local.after", _NEW)])
def test_a_commit(kernel: Callable[..., Kernel], folder: Path, point: str, found: str) -> None:
    after = _dies_at(kernel, folder, point, "small, big[0], big[-1] = 3, 3, 3")
    assert after.value(_LOOK) == found


@pytest.mark.parametrize(
    ("point", "found"), [("local.before", _OLD), ("worker.load", "(1, 0, 0)"), ("worker.bind", "(1, 0, 0)")]
)
def test_a_checkout(kernel: Callable[..., Kernel], folder: Path, point: str, found: str) -> None:
    after = _dies_at(kernel, folder, point, "%undo")
    assert after.value(_LOOK) == found
