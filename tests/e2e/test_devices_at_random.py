"""No GPU is ever used by two sessions' processes: cells that start, end, crash, are interrupted and move at random."""

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.client import Connection, wait_until
from harness.platform import Platform

STARTS = 500
SESSIONS = 8
GPUS = 2  # of each of three hosts

# Locks the files that stand for its GPUs, as a library that wants them for itself would, and goes on using them after
# the cell where it is to keep them. What it has is no state of the session.
USE = """
def use(keep, seconds):
    import fcntl, os, sys, time
    had = sys.__dict__.setdefault("gpus_in_use", {{}})
    files = os.environ["BANYAN_GPUS"].split(":")
    seen = 0
    for number in filter(None, os.environ["CUDA_VISIBLE_DEVICES"].split(",")):
        seen += 1
        if number in had or not os.path.exists(files[int(number)]):
            continue  # it has just broken
        had[number] = os.open(files[int(number)], os.O_RDWR)
        try:
            fcntl.flock(had[number], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemError(f"another process uses {{files[int(number)]}}") from None
    time.sleep(seconds)
    if keep == "crash":
        os.kill(os.getpid(), 9)
    if not keep:
        while had:
            os.close(had.popitem()[1])
    return seen
use({keep!r}, {seconds})
"""


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    platform = Platform(tmp_path / "platform", hosts=3, options=["--fake-gpus", str(GPUS)])
    yield platform
    platform.stop()


class Person:
    """Runs cells in a session of its own, and does to it what people and machines do."""

    def __init__(self, platform: Platform, rng: random.Random) -> None:
        self._platform = platform
        self._rng = rng
        kernel = platform.gateway.start_kernel(env={"KERNEL_USERNAME": f"user {rng.randrange(3)}"})
        self.session = Connection(platform.gateway, kernel)
        self.done: Counter[str] = Counter()
        self.trouble: str | None = None

    def run(self, cells: int) -> None:
        actions = (self._cell, self._crash, self._interrupt, self._move, self._restart)
        try:
            for _ in range(cells):
                self._rng.choices(actions, weights=(80, 6, 6, 5, 3))[0]()
        except Exception as error:  # The thread's end has to be told.
            self.trouble = repr(error)

    def _start(self, keep: bool | str, seconds: float) -> tuple[str, int]:
        gpus = self._rng.choice((0, 1, 1, 1, 2))
        self.done["cells"] += 1
        return self.session.start(f"%%gpus {gpus}\n{USE.format(keep=keep, seconds=seconds)}"), gpus

    def _cell(self) -> None:
        cell, gpus = self._start(self._rng.random() < 0.5, self._rng.random() * 0.2)
        ended = self.session.finish(cell, timeout=120)
        assert ended.status == "ok", ended.reply
        assert int(ended.result or -1) >= gpus, "it sees what it asked for"

    def _crash(self) -> None:
        cell, _ = self._start("crash", 0.05)
        ended = self.session.finish(cell, timeout=120)
        assert ended.status == "error" and "killed" in str(ended.reply), ended.reply
        self.done["crashes"] += 1

    def _interrupt(self) -> None:
        cell, _ = self._start(True, 60)
        self.session.wait_for(lambda message: message.type == "execute_input", timeout=120)
        time.sleep(self._rng.random() * 0.2)
        self._platform.gateway.call("POST", f"/api/kernels/{self.session.kernel}/interrupt")
        ended = self.session.finish(cell, timeout=120)
        assert ended.status == "error" and ended.reply["ename"] == "KeyboardInterrupt", ended.reply
        self.done["interrupts"] += 1

    def _move(self) -> None:
        host = self._rng.choice(sorted(self._platform.hosts))
        path = f"/api/banyan/sessions/{self.session.kernel}/migrate"
        answer = self._platform.gateway.call("POST", path, json={"host": host, "force": True}, timeout=120)
        assert answer.status_code in (200, 409), answer.text
        self.done["moves"] += answer.ok

    def _restart(self) -> None:
        answer = self._platform.gateway.call("POST", f"/api/kernels/{self.session.kernel}/restart", timeout=120)
        assert answer.ok, answer.text
        self.done["restarts"] += 1


def break_devices(platform: Platform, rng: random.Random, over: threading.Event) -> None:
    """One device at a time is gone for a while."""
    while not over.wait(rng.random() * 3):
        settings = platform.config(rng.choice(sorted(platform.hosts))).read_text()
        file = Path(rng.choice(re.findall(r"[^\s'\"]+/nvidia\d+", settings)))
        file.rename(file.with_suffix(".gone"))
        over.wait(1.5)
        file.with_suffix(".gone").rename(file)


@pytest.mark.parametrize("seed", [random.SystemRandom().randrange(1 << 32)])
def test_each_gpu_is_used_by_one_session_at_a_time(platform: Platform, seed: int) -> None:
    rng = random.Random(seed)
    people = [Person(platform, random.Random(rng.random())) for _ in range(SESSIONS)]
    over = threading.Event()
    breaks = threading.Thread(target=break_devices, args=(platform, random.Random(rng.random()), over))
    runs = [threading.Thread(target=person.run, args=(STARTS // SESSIONS + 1,)) for person in people]
    for thread in (breaks, *runs):
        thread.start()
    for thread in runs:
        thread.join()
    over.set()
    breaks.join()
    assert [person.trouble for person in people if person.trouble] == [], f"seed {seed}"
    done = sum((person.done for person in people), Counter())
    assert done["cells"] > STARTS * 0.8 and min(done[what] for what in ("crashes", "interrupts", "moves")) > 0, done
    hosts = "/api/banyan/hosts"
    wait_until(lambda: [one["bound_gpus"] for one in platform.gateway.get(hosts)] == [0, 0, 0], "nothing is bound")
    for person in people:
        assert person.session.run("1 + 1", timeout=60).result == "2", "the session goes on"
        person.session.close()
