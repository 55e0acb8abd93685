"""Which GPUs a cell gets, by its kernel, lines above its code, metadata and tags, and what it sees of them."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform

SEEN = "__import__('os').environ['CUDA_VISIBLE_DEVICES'].split(',')"
NONE = "['']"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Three hosts with two files each that stand for GPUs."""
    platform = Platform(tmp_path_factory.mktemp("gpus") / "platform", hosts=3, options=["--fake-gpus", "2"])
    yield platform
    platform.stop()


def opened(platform: Platform, name: str) -> Connection:
    return Connection(platform.gateway, platform.gateway.start_kernel(name=name))


@pytest.fixture
def plain(platform: Platform) -> Iterator[Connection]:
    with opened(platform, "python3") as session:
        yield session
    platform.gateway.delete_kernel(session.kernel)


@pytest.fixture
def one_gpu(platform: Platform) -> Iterator[Connection]:
    with opened(platform, "python3-gpu1") as session:
        yield session
    platform.gateway.delete_kernel(session.kernel)


def test_there_is_a_kernel_for_each_number_of_gpus_that_a_host_has(platform: Platform) -> None:
    specs = platform.gateway.get("/api/kernelspecs")
    assert specs["default"] == "python3"
    assert {name: spec["spec"]["display_name"] for name, spec in specs["kernelspecs"].items()} == {
        "python3": "Python 3 (Banyan)",
        "python3-gpu1": "Python 3, 1 GPU (Banyan)",
        "python3-gpu2": "Python 3, 2 GPUs (Banyan)",
    }


def test_a_cell_sees_the_gpus_that_it_has_and_no_others(plain: Connection, one_gpu: Connection) -> None:
    assert plain.run(SEEN).result == NONE
    assert one_gpu.run(SEEN).result in ("['0']", "['1']")
    assert one_gpu.run(f"%%cpu\n{SEEN}").result == NONE
    assert plain.run(f"%%gpus 2\n{SEEN}").result == "['0', '1']"
    assert plain.run(SEEN).result == NONE, "the cell after it has none"


@pytest.mark.parametrize(
    ("metadata", "count"),
    [({"banyan": {"gpus": 2}}, 2), ({"tags": ["gpus=1"]}, 1), ({"tags": ["cpu"]}, 0), ({"banyan": "?"}, 0)],
)
def test_metadata_and_tags_say_it_too(plain: Connection, metadata: dict[str, Any], count: int) -> None:
    cell = plain.finish(plain.start(SEEN, more_metadata=metadata))
    assert len(str(cell.result).split(",")) == max(count, 1)
    assert (cell.result == NONE) == (count == 0)


def test_a_session_gets_the_same_gpu_again_while_nobody_else_wants_it(platform: Platform) -> None:
    with opened(platform, "python3-gpu1") as first, opened(platform, "python3-gpu1") as second:
        had = {session: session.run(SEEN).result for session in (first, second)}
        for _ in range(3):
            for session in (second, first):
                assert session.run(SEEN).result == had[session]


def test_what_no_host_has_is_refused_with_what_to_do(plain: Connection) -> None:
    cell = plain.run(f"%%gpus 3\n{SEEN}", timeout=60)
    assert cell.status == "error"
    assert "needs 3 GPUs" in cell.reply["evalue"] and "2 that work" in cell.reply["evalue"]
    assert plain.run("%%gpus two\n1").status == "error"
    assert plain.run("1 + 1").result == "2", "the session goes on"


def test_the_visible_gpus_are_no_state_of_the_session(plain: Connection, gateway: Gateway) -> None:
    plain.run(f"%%gpus 1\nimport os; os.environ['MINE'] = 'x'; seen = {SEEN}")
    commits = gateway.ask_history(plain.kernel, {"do": "log"}).json()["commits"]
    assert set(commits[0]["changed"]) == {"<environ>", "os", "seen"}
    plain.run(f"%%gpus 2\nseen = {SEEN}")
    commits = gateway.ask_history(plain.kernel, {"do": "log"}).json()["commits"]
    assert commits[0]["changed"] == ["seen"]


def test_a_cell_without_gpus_does_not_wait_for_them(platform: Platform, tmp_path: Path) -> None:
    sessions = [opened(platform, "python3-gpu2") for _ in range(3)]
    go = tmp_path / "go"
    wait = f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.02)"
    cells = [session.start(wait) for session in sessions]
    hosts = "/api/banyan/hosts"
    wait_until(lambda: [one["bound_gpus"] for one in platform.gateway.get(hosts)] == [2, 2, 2], "all GPUs are bound")
    assert platform.command("gpus").count("bound") == 6
    with opened(platform, "python3-gpu1") as other:
        assert other.run("%%cpu\n1 + 1").result == "2"
        assert platform.command("queue") == "no cell waits for a GPU\n"
        waiting = other.start(SEEN)
        shown = other.wait_for(lambda message: message.type == "display_data").content["data"]["text/plain"]
        assert shown.startswith("Banyan waits for a GPU: this cell is the next one")
        row = platform.command("queue").splitlines()[1].split()
        assert row[:5] == ["1", other.kernel, "-", "-", "1"]
        assert platform.gateway.session(other.kernel)["waits"]["place"] == 1
        go.touch()
        cell = other.finish(waiting, timeout=30)
        assert cell.result in ("['0']", "['1']")
        assert cell.of_type("clear_output"), "the line is taken away"
    for session, cell in zip(sessions, cells, strict=True):
        assert session.finish(cell).status == "ok"
        session.close()


@pytest.fixture(scope="module")
def one_each(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Four hosts with one such file each; one user may have two of them at once."""
    platform = Platform(tmp_path_factory.mktemp("gpus") / "moves", hosts=4, options=["--fake-gpus", "1"])
    settings = platform.config("gateway").read_text()
    platform.config("gateway").write_text(re.sub(r"(?m)^gpus_per_user.*$", "gpus_per_user = 2", settings))
    platform.kill("gateway")
    platform.repair()
    yield platform
    platform.stop()


@pytest.fixture
def opened_by(one_each: Platform) -> Iterator[Callable[[str], Connection]]:
    """Opens sessions of a user, and ends them."""
    sessions: list[Connection] = []

    def open_one(user: str) -> Connection:
        kernel = one_each.gateway.start_kernel(name="python3-gpu1", env={"KERNEL_USERNAME": user})
        sessions.append(Connection(one_each.gateway, kernel))
        return sessions[-1]

    yield open_one
    for session in sessions:
        one_each.gateway.delete_kernel(session.kernel)
        session.close()


def test_a_session_moves_to_a_host_whose_gpu_is_idle(
    one_each: Platform, opened_by: Callable[[str], Connection], tmp_path: Path
) -> None:
    mover = opened_by("ann")
    mover.run("x = 41")
    its_hosts = {replica["host"] for replica in one_each.gateway.session(mover.kernel)["replicas"]}
    (other,) = {host["host"] for host in one_each.gateway.get("/api/banyan/hosts")} - its_hosts
    go = tmp_path / "go"
    wait = f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.02)"
    busy = []
    for number, host in enumerate(sorted(its_hosts)):
        blocker = opened_by(f"ben-{number}")
        blocker.run("pass")
        one_each.command("migrate", blocker.kernel, host)
        busy.append((blocker, blocker.start(wait)))
        wait_until(lambda: one_each.command("gpus").count("bound") == len(busy), "its cell runs")
    cell = mover.run("x += 1\nx", timeout=30)
    assert cell.result == "42"
    assert one_each.gateway.executor(mover.kernel) == other
    go.touch()
    for blocker, started in busy:
        assert blocker.finish(started).status == "ok"


def test_one_user_has_at_most_so_many_and_holds_nobody_up(
    one_each: Platform, opened_by: Callable[[str], Connection], tmp_path: Path
) -> None:
    go = tmp_path / "go"
    wait = f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.02)"
    greedy = [opened_by("cleo") for _ in range(3)]
    cells = [(session, session.start(wait)) for session in greedy]
    last, _ = cells[-1]
    shown = last.wait_for(lambda message: message.type == "display_data").content["data"]["text/plain"]
    assert "as many as one user may have at once" in shown
    (row,) = one_each.command("queue").splitlines()[1:]
    assert "cleo" in row and "when another of its user's cells has ended" in row
    assert opened_by("dan").run("1 + 1").result == "2"
    cell = opened_by("dan").run("%%gpus 3\n1", timeout=60)
    assert cell.status == "error" and "one user may have 2 at once" in cell.reply["evalue"]
    go.touch()
    for session, started in cells:
        assert session.finish(started, timeout=30).status == "ok"
