"""What workers import is told, and a zygote imports it before it forks."""

import os
import subprocess
import sys
import threading
import wsgiref
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Host, Worker, receive
from processes import run_apart
from pytest import MonkeyPatch

from banyan.process import installed as installers
from banyan.worker import ahead
from banyan.worker.as_in_a_kernel import Imports


def test_a_worker_tells_what_it_has_imported_once(worker: Worker) -> None:
    first = worker.run("import wsgiref.util, mailbox")
    assert first.report is not None
    assert first.report.body["imported"] == ["wsgiref", "wsgiref.util"]
    second = worker.run("import wsgiref.util")
    assert second.report is not None
    assert "imported" not in second.report.body


def test_a_zygote_imports_what_it_is_told_and_what_is_of_its_libraries(host: Host) -> None:
    names = ["wsgiref.headers", "wsgiref.nothing", "mailbox", 3, "json;x"]
    host.control.send({"type": "import", "modules": names})
    done = receive(host.control, "imported").body
    assert done["failed"] == ["wsgiref.nothing"]
    assert any(file["path"] == wsgiref.__file__ and file["mtime_ns"] > 0 for file in done["files"])
    worker = host.spawn()
    seen = worker.run("import sys; print('wsgiref.headers' in sys.modules, 'mailbox' in sys.modules)")
    assert "True False" in seen.stdout
    host.retire(worker)


def test_what_would_end_the_process_is_a_failure(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    (tmp_path / "endsit.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(ahead, "libraries", frozenset({"endsit"}))
    assert ahead.import_ahead(["endsit", "os"]) == {"failed": ["endsit"], "unfit": [], "left": [], "files": []}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages, of which every one may be imported ahead."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(installers, "_folders_of_packages", lambda: (f"{tmp_path}/",))
    monkeypatch.setattr(ahead, "libraries", frozenset({ahead.EVERY}))
    ahead.is_installed.cache_clear()
    yield tmp_path
    ahead.is_installed.cache_clear()


def test_every_installed_library_is_one_and_no_other_module(installed: Path) -> None:
    (installed / "ours.py").write_text("")
    (installed / "many").mkdir()
    (installed / "many" / "__init__.py").write_text("")
    for name in ("ours", "many", "many.part"):
        assert ahead.is_of_library(name), name
    for name in ("json", "wsgiref.util", "sys", "banyan", "nowhere", "__main__", "many._private"):
        assert not ahead.is_of_library(name), name


def test_a_library_that_leaves_a_thread_is_unfit(installed: Path) -> None:
    (installed / "leaves.py").write_text(
        "import threading\nend = threading.Event()\nthreading.Thread(target=end.wait).start()\n"
    )
    (installed / "ends.py").write_text("import threading\nt = threading.Thread(target=int)\nt.start()\nt.join()\n")
    try:
        assert ahead.import_ahead(["ends", "leaves"])["unfit"] == ["leaves"]
    finally:
        sys.modules["leaves"].end.set()


def test_a_library_that_draws_a_random_state_is_unfit(installed: Path) -> None:
    (installed / "draws.py").write_text("import random\nown = random.Random()\n")
    (installed / "borrows.py").write_text("import random\nfrom random import _inst, randint\nrandint(1, 6)\n")
    (installed / "asks.py").write_text("import random\nsystem = random.SystemRandom()\n")
    assert ahead.import_ahead(["draws", "borrows", "asks"])["unfit"] == ["draws"]


def test_a_numpy_generator_of_a_librarys_own_is_a_random_state(installed: Path) -> None:
    pytest.importorskip("numpy")
    (installed / "drawsone.py").write_text("import numpy\nown = numpy.random.default_rng()\n")
    (installed / "usesone.py").write_text(
        "import numpy\nfrom numpy.random import rand\nstate = numpy.random.mtrand._rand"
    )
    assert ahead.import_ahead(["usesone", "drawsone"])["unfit"] == ["drawsone"]


def test_what_there_is_no_memory_for_is_left(installed: Path) -> None:
    (installed / "small.py").write_text("")
    assert ahead.import_ahead(["small"], 1) == {"failed": [], "unfit": [], "left": ["small"], "files": []}
    assert ahead.import_ahead(["small"], 1 << 40)["left"] == []


def test_private_parts_are_left_to_their_libraries(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "libraries", frozenset({"scipy"}))
    assert ahead.is_of_library("scipy") and ahead.is_of_library("scipy.stats")
    for name in ("scipy._lib", "scipy.stats._distn", "scipy.stats.distributions", "numpy", "", "scipy.", 3):
        assert not ahead.is_of_library(name), name


def test_at_leisure_is_in_a_thread_that_stands_back_and_only_there() -> None:
    def work() -> tuple[int, int]:
        return os.sched_getscheduler(0), threading.get_native_id()

    policy, thread = ahead.at_leisure(work)
    assert policy == os.SCHED_IDLE
    assert thread != threading.get_native_id()
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    assert threading.active_count() == 1


def test_workers_have_their_usual_priority_after_an_import(host: Host) -> None:
    host.control.send({"type": "import", "modules": ["wsgiref.headers"]})
    receive(host.control, "imported")
    worker = host.spawn()
    code = "import os; print(os.sched_getscheduler(0), os.nice(0))"
    assert worker.run(code).stdout.split() == [str(os.SCHED_OTHER), str(os.nice(0))]
    host.retire(worker)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="the kernel has no autogroups")
def test_a_session_of_its_own_stands_back_meanwhile_and_no_thread_is_left() -> None:
    code = """
import os, sys, threading
from banyan.worker import ahead
show = lambda: open("/proc/self/autogroup").read().split()[-1]
os.setsid()
for _ in range(2):  # the kernel changes one at a time
    print(ahead.at_leisure(lambda: (__import__("numpy"), show())[1], own_session=True), show())
print(len(os.listdir("/proc/self/task")))
"""
    folder = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["19", "0", "19", "0", "1"]


def test_a_library_that_keeps_the_shell_is_unfit(installed: Path) -> None:
    """It would work on the shell that stood in for a worker's."""
    (installed / "keeps.py").write_text("shell = get_ipython()\n")
    (installed / "calls.py").write_text(
        "shell = get_ipython()\ndef later(ip):\n    def once(*_): ip.kernel\n    return once\n"
        "shell.events.register('post_run_cell', later(shell))\ndel shell\n"
    )
    (installed / "looks.py").write_text("name = type(get_ipython()).__name__\n")
    with Imports().as_in_a_kernel():
        assert ahead.import_ahead(["looks"])["unfit"] == []
        assert ahead.import_ahead(["keeps"])["unfit"] == ["keeps"]
    with Imports().as_in_a_kernel():
        assert ahead.import_ahead(["looks", "calls"])["unfit"] == ["calls"]


def test_matplotlibs_inline_backend_is_unfit_and_matplotlib_is_not() -> None:
    program = (
        "import os; os.environ['MPLBACKEND'] = 'module://matplotlib_inline.backend_inline'\n"
        "from banyan.worker import ahead; from banyan.worker.as_in_a_kernel import Imports\n"
        "ahead.libraries = frozenset({ahead.EVERY})\n"
        "with Imports().as_in_a_kernel():\n"
        "    done = ahead.import_ahead(['matplotlib', 'matplotlib.pyplot', 'matplotlib_inline.backend_inline'])\n"
        "assert done['unfit'] == ['matplotlib_inline'], done\n"
    )
    run_apart(program)
