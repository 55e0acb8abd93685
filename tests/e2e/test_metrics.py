"""What the gateway tells Prometheus, read as Prometheus would."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from harness.client import Connection, wait_until
from harness.platform import Platform, binary
from harness.terminal import Terminal
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Three hosts with one file each that stands for a GPU."""
    platform = Platform(tmp_path_factory.mktemp("metrics") / "platform", hosts=3, options=["--fake-gpus", "1"])
    yield platform
    platform.stop()


def read(platform: Platform) -> dict[str, Metric]:
    answer = platform.gateway.call("GET", "/metrics")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def value(platform: Platform, family: str, sample: str = "", **labels: str) -> float:
    found = [
        one.value
        for one in read(platform)[family].samples
        if one.name == (sample or family) and labels.items() <= one.labels.items()
    ]
    assert len(found) == 1, f"{family} {labels}: {found}"
    return float(found[0])


def test_cells_are_counted_and_timed(platform: Platform) -> None:
    kernel = platform.gateway.start_kernel(name="python3")
    with Connection(platform.gateway, kernel) as session:
        session.run("import time")
        for _ in range(3):
            session.run("time.sleep(0.3)")
        session.run("1 / 0")
        session.run("%%gpus 1\n1")
    assert value(platform, "banyan_cells", "banyan_cells_total", status="ok") == 5
    assert value(platform, "banyan_cells", "banyan_cells_total", status="error") == 1
    assert value(platform, "banyan_cell_seconds", "banyan_cell_seconds_count", gpus="none") == 5
    assert 0.9 < value(platform, "banyan_cell_seconds", "banyan_cell_seconds_sum", gpus="none") < 30
    assert value(platform, "banyan_cell_seconds", "banyan_cell_seconds_count", gpus="some") == 1
    assert value(platform, "banyan_cell_delay_seconds", "banyan_cell_delay_seconds_count", gpus="none") == 5
    delay = value(platform, "banyan_cell_delay_seconds", "banyan_cell_delay_seconds_sum", gpus="none")
    assert delay < value(platform, "banyan_cell_seconds", "banyan_cell_seconds_sum", gpus="none")
    platform.gateway.delete_kernel(kernel)


def test_hosts_gpus_and_the_queue_are_shown(platform: Platform, tmp_path: Path) -> None:
    go = tmp_path / "go"
    wait = f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.02)"
    sessions = [Connection(platform.gateway, platform.gateway.start_kernel(name="python3-gpu1")) for _ in range(4)]
    cells = [session.start(wait) for session in sessions]
    wait_until(lambda: value(platform, "banyan_queued_cells") == 1, "one cell waits")
    assert value(platform, "banyan_queued_gpus") == 1
    assert value(platform, "banyan_hosts", state="up") == 3
    assert value(platform, "banyan_sessions", state="busy") == 4
    assert value(platform, "banyan_open_cells") == 4
    assert value(platform, "banyan_connections") >= 4
    for host in ("h1", "h2", "h3"):
        assert value(platform, "banyan_host_gpus", host=host, state="bound") == 1
        assert value(platform, "banyan_host_replicas", host=host) == 4
        assert value(platform, "banyan_host_subscription_ratio", host=host) == pytest.approx(4 / 3)
    assert value(platform, "banyan_subscription_ratio") == pytest.approx(4 / 3)
    go.touch()
    for session, cell in zip(sessions, cells, strict=True):
        assert session.finish(cell, timeout=30).status == "ok"
        platform.gateway.delete_kernel(session.kernel)
        session.close()
    assert value(platform, "banyan_host_gpus", host="h1", state="bound") == 0


def test_top_shows_hosts_gpus_and_cells(platform: Platform, tmp_path: Path) -> None:
    go = tmp_path / "go"
    wait = f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.02)"
    sessions = [Connection(platform.gateway, platform.gateway.start_kernel(name="python3-gpu1")) for _ in range(4)]
    cells = [session.start(wait) for session in sessions]
    wait_until(lambda: value(platform, "banyan_queued_cells") == 1, "one cell waits")
    once = platform.command("top")
    assert once.startswith("3 of 3 hosts up   4 of 4 sessions busy, 0 suspended   3 of 3 GPUs in use   1 cell waits\n")
    with Terminal([binary(), "top", "--dir", platform.folder], {"BANYAN_TOKEN": platform.token}) as terminal:
        terminal.wait_for("3 of 3 GPUs in use")
        terminal.wait_for("WAITS FOR GPUS")
        platform.kill("h3")
        terminal.wait_for("silent")
        go.touch()
        terminal.wait_for("0 cells wait")
        terminal.interrupt()
        assert terminal.exit_code() == 0
        assert terminal.text.endswith("\x1b[?7h\x1b[?25h\x1b[?1049l"), "the terminal is as it was"
    platform.repair()
    for session, cell in zip(sessions, cells, strict=True):
        session.finish(cell, timeout=60)
        platform.gateway.delete_kernel(session.kernel)
        session.close()


def test_names_follow_the_conventions_and_each_family_says_what_it_is(platform: Platform) -> None:
    for family in read(platform).values():
        assert re.fullmatch(r"(banyan|process)_[a-z_]+", family.name)
        assert family.documentation.endswith("."), family.name
        assert family.type in ("gauge", "counter", "histogram")
        timed = family.type == "histogram" or "time" in family.name
        assert not timed or family.name.endswith("_seconds"), family.name


def test_who_has_no_token_reads_nothing(platform: Platform) -> None:
    assert requests.get(f"{platform.gateway.url}/metrics", timeout=10).status_code == 403
