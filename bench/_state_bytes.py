"""What cells add to a host's store, to the byte: its host agent is started anew before the store is weighed.

Until then the write-ahead log holds a second copy of up to 64 MiB. Each session has a platform of its own: of a deleted
one the store is rid later.
"""

import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import _state_cells as cells
from _kernels import Session
from harness.client import wait_until
from harness.platform import Platform

_SETTLE_S = 2.0
_BLOCK = 512  # bytes: the unit of st_blocks
_LOG_BYTES_MAX = 1_000_000  # the most that a write-ahead log has which was begun anew


class Store:
    """The store of a platform's first host, which has a replica of the session."""

    def __init__(self, platform: Platform, session: Session) -> None:
        self._platform = platform
        self._session = session
        self._host = platform.hosts[0]

    def weigh(self) -> int:
        """The bytes of the store's tables and files of chunks, without the holes in these."""
        gateway, session = self._session.gateway, self._session.id
        self._settled()
        old = gateway.worker_pid(session, self._host)
        self._platform.kill(self._host, signal.SIGTERM)
        self._platform.restart(self._host)
        wait_until(lambda: gateway.worker_pid(session, self._host) != old, f"{self._host} serves again", 120)
        wait_until(lambda: self._size(".log") < _LOG_BYTES_MAX, "the write-ahead log is in the tables", 120)
        return self._settled()

    def _settled(self) -> int:
        """Waits until nothing moves from the log to the tables any more, and files that are no longer needed are
        gone."""
        size, since = 0, time.monotonic()
        while time.monotonic() - since < _SETTLE_S:
            time.sleep(0.1)
            if (now := self._size(".sst") + self._size(".chunks")) != size:
                size, since = now, time.monotonic()
        return size

    def _size(self, suffix: str) -> int:
        size = 0
        for file in (self._platform.folder / self._host / "log").rglob(f"*{suffix}"):
            with suppress(FileNotFoundError):  # the store has compacted the file away meanwhile
                status = file.stat()
                size += min(status.st_size, status.st_blocks * _BLOCK)
        return size


def first_cells(hosts: int) -> dict[str, float]:
    """The bytes that the store takes for 21 cells, and the bytes of the values as the history counts them."""
    with _store(hosts) as (session, store):
        empty = store.weigh()
        for code in cells.FIRST_CELLS:
            session.run_untimed(code)
        return {"store_mb": (store.weigh() - empty) / 1e6, "store_values_mb": session.value_bytes() / 1e6}


def by_cell(hosts: int, cases: tuple[cells.Case, ...], *, strings: bool) -> dict[str, float]:
    """The bytes that each case's cell adds, with those that describe its commit."""
    added: dict[str, float] = {}
    with _store(hosts) as (session, store):
        for code in cells.setup(1, strings=strings):
            session.run_untimed(code)
        before = store.weigh()
        for case in cases:
            repeat = 4 if case.copy_bytes >= cells.COLUMN_BYTES else 20
            for n in range(10, 10 + repeat):
                session.run_untimed(case.code.format(n=n))
            after = store.weigh()
            added[case.name] = (after - before) / repeat
            before = after
    return added


@contextmanager
def _store(hosts: int) -> Iterator[tuple[Session, Store]]:
    with tempfile.TemporaryDirectory(prefix="banyan-state-", dir="/var/tmp") as folder:
        platform = Platform(Path(folder), hosts=hosts)
        try:
            with Session(platform.gateway) as session:
                yield session, Store(platform, session)
        finally:
            platform.stop()
