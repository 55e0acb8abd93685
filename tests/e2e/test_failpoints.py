"""Processes that die between two steps: the session is at the old or at the new commit, never between."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.client import Connection, wait_until
from harness.platform import Platform

_OLD = "(1, [1], 0.0, 2999999.0, 3000000)"
_NEW = "(2, [1, 2], 2.0, 3000001.0, 3000000)"
_LOOK = "small, items, float(big[0]), float(big[-1]), len(big)"
# The failpoints at which a host agent or a worker dies, by what the process was doing.
_COMMIT = ("store.block", "store.before", "store.flushed", "store.after", "worker.report", "worker.reported")
_CHECKOUT = ("store.before", "store.after", "worker.load", "worker.bind")


@pytest.fixture(scope="module")
def armory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder whose files name the failpoints that are armed."""
    return tmp_path_factory.mktemp("failpoints")


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory, armory: Path) -> Iterator[Platform]:
    """A platform whose processes look for failpoints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANYAN_FAILPOINTS", str(armory))
        platform = Platform(tmp_path_factory.mktemp("fragile"), hosts=3)
    yield platform
    platform.stop()


@pytest.fixture
def session(fragile: Platform) -> Iterator[Connection]:
    kernel = fragile.gateway.start_kernel(name="python3")
    with Connection(fragile.gateway, kernel) as connection:
        yield connection
    fragile.gateway.delete_kernel(kernel)


def _look(session: Connection) -> str:
    """The values of the variables, as soon as a cell runs again."""
    return str(
        wait_until(lambda: (cell := session.run(_LOOK, timeout=90)).status == "ok" and cell.result, "a cell runs")
    )


def _prepare(session: Connection, test: str) -> None:
    """Makes the variables. `big` hardly compresses and no other test stores the same value, so writing it fills more
    than the store's write-ahead log."""
    seed = zlib.crc32(test.encode())
    made = session.run(
        "%%durable\n"  # its reply says that a majority has all of it
        "%rerun never\n"  # so that an undo loads the values, however quickly they could be made again
        f"import numpy as np; small, items, big = 1, [1], np.random.default_rng({seed}).random(3_000_000)\n"
        "big[0], big[-1] = 0, 2_999_999",
        timeout=90,
    )
    assert made.status == "ok", made.reply
    assert _look(session) == _OLD


def _die_at(platform: Platform, armory: Path, point: str, session: Connection, code: str) -> str:
    """Runs the cell with the failpoint armed, brings all hosts up again, and returns the cell's status."""
    (armory / point).touch()
    status = session.run(code, timeout=90).status
    wait_until(lambda: not (armory / point).exists(), f"{point} is reached")
    platform.repair()
    return status


@pytest.mark.parametrize("point", _COMMIT)
def test_a_commit(fragile: Platform, armory: Path, session: Connection, point: str) -> None:
    _prepare(session, f"commit {point}")
    status = _die_at(fragile, armory, point, session, "%%durable\nsmall = 2; items.append(2); big += 2")
    assert _look(session) == (_NEW if status == "ok" else _OLD)


@pytest.mark.parametrize("point", _CHECKOUT)
def test_a_checkout(fragile: Platform, armory: Path, session: Connection, point: str) -> None:
    _prepare(session, f"checkout {point}")
    assert session.run("%%durable\nsmall = 2; items.append(2); big += 2", timeout=90).status == "ok"
    status = _die_at(fragile, armory, point, session, "%undo")
    found = _look(session)
    assert found == _OLD if status == "ok" else found in (_OLD, _NEW)


def test_the_stores_are_whole_afterwards(fragile: Platform) -> None:
    """Every host starts with the files that it has, and its log reports no damage."""
    for host in fragile.hosts:
        fragile.kill(host)
    fragile.repair()
    logs = [path.read_text(errors="replace") for path in fragile.folder.rglob("*.log") if "rocksdb" not in str(path)]
    assert not any("damaged" in log or "CHECK failed" in log for log in logs)
