"""What workers import is told, and a zygote imports it before it forks."""

from conftest import Host, Worker, receive
from pytest import MonkeyPatch

from banyan import ahead


def test_a_worker_tells_what_it_has_imported_once(worker: Worker) -> None:
    first = worker.run("import wsgiref.util, mailbox")
    assert first.report is not None
    assert first.report.body["imported"] == ["wsgiref", "wsgiref.util"]
    second = worker.run("import wsgiref.util")
    assert second.report is not None
    assert "imported" not in second.report.body


def test_a_zygote_imports_what_it_is_told_and_what_is_of_its_libraries(host: Host) -> None:
    host.control.send({"type": "import", "modules": ["wsgiref.headers", "wsgiref.nothing", "mailbox", 3, "json;x"]})
    receive(host.control, "imported")
    worker = host.spawn()
    seen = worker.run("import sys; print('wsgiref.headers' in sys.modules, 'mailbox' in sys.modules)")
    assert "True False" in seen.stdout
    host.retire(worker)


def test_private_parts_are_left_to_their_libraries(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "libraries", frozenset({"scipy"}))
    assert ahead.is_of_library("scipy") and ahead.is_of_library("scipy.stats")
    for name in ("scipy._lib", "scipy.stats._distn", "scipy.stats.distributions", "numpy", "", "scipy.", 3):
        assert not ahead.is_of_library(name), name
