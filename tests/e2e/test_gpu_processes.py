"""What becomes of a process that goes on using a GPU when its cell has ended, and another session's cell gets it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.client import Connection, wait_until
from harness.platform import Platform

SEEN = "__import__('os').environ['CUDA_VISIBLE_DEVICES']"
# As a library does that makes its context: what it has open belongs to no variable.
USE = "import os; os.open(os.environ['BANYAN_GPUS'].split(':')[int(os.environ['CUDA_VISIBLE_DEVICES'])], os.O_RDONLY)"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """One host with two files that stand for GPUs."""
    platform = Platform(tmp_path_factory.mktemp("uses") / "platform", hosts=1, options=["--fake-gpus", "2"])
    yield platform
    platform.stop()


@pytest.fixture
def first(platform: Platform) -> Iterator[Connection]:
    with Connection(platform.gateway, platform.gateway.start_kernel()) as session:
        yield session
    platform.gateway.delete_kernel(session.kernel)


@pytest.fixture
def second(platform: Platform) -> Iterator[Connection]:
    with Connection(platform.gateway, platform.gateway.start_kernel()) as session:
        yield session
    platform.gateway.delete_kernel(session.kernel)


def is_there(pid: str | None) -> bool:
    return os.path.exists(f"/proc/{pid}")


def test_it_keeps_the_gpu_while_nobody_wants_it_and_loses_nothing_when_somebody_does(
    first: Connection, second: Connection
) -> None:
    pid = first.run(f"%%gpus 1\n{USE}\nx = [1, 2]\nos.getpid()").result
    gpu = first.run(f"%%cpu\n{SEEN}")
    assert gpu.result in ("'0'", "'1'"), "its process has it, whatever the cell asks for"
    assert second.run(f"%%gpus 1\n{SEEN}").result != gpu.result, "the other one is as good, and nobody has used it"
    assert first.run("%%gpus 1\nos.getpid()").result == pid, "the same process"
    assert second.run(f"%%gpus 2\n{SEEN}", timeout=20).result == "'0,1'"
    assert not is_there(pid)
    cell = first.run("x, os.getpid()", timeout=20)
    assert cell.result.startswith("([1, 2], ") and pid not in cell.result


def test_one_that_wants_more_than_it_uses_gets_a_new_process(first: Connection) -> None:
    pid = first.run(f"%%gpus 1\n{USE}\nx = 3\nos.getpid()").result
    cell = first.run(f"%%gpus 2\n{SEEN}, x, os.getpid()", timeout=20)
    assert cell.result.startswith("('0,1', 3, ") and pid not in cell.result


def test_a_process_that_a_cell_has_left_behind_is_ended_too(
    first: Connection, second: Connection, tmp_path: Path
) -> None:
    opened = tmp_path / "opened"
    code = f"{USE}; open({str(opened)!r}, 'w'); import time; time.sleep(600)"
    child = first.run(
        f"%%gpus 1\nimport subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {code!r}]).pid"
    ).result
    wait_until(opened.exists, "the child uses the GPU")
    waits = f"import os, time\nwhile os.path.exists('/proc/{child}'): time.sleep(0.02)\n{SEEN}"
    assert second.run(f"%%gpus 2\n{waits}", timeout=20).result == "'0,1'", "it is found within a second"


def test_a_cell_that_takes_a_gpu_that_another_one_has_is_told_and_then_ended(
    first: Connection, second: Connection, tmp_path: Path
) -> None:
    done = tmp_path / "done"
    running = second.start(
        f"%%gpus 2\nimport pathlib, time\nwhile not pathlib.Path({str(done)!r}).exists(): time.sleep(0.02)\n{SEEN}"
    )
    second.wait_for(lambda message: message.type == "execute_input")
    taking = first.start(
        f"import os, time\nx = 4\n{USE.replace('int(os.environ', '0 and (os.environ')}\ntime.sleep(600)"
    )
    told = first.wait_for(lambda message: message.type == "stream", timeout=20).content["text"]
    assert "uses a GPU that another session's cell has now (nvidia0)" in told
    cell = first.finish(taking, timeout=30)
    assert cell.status == "error" and "nvidia0" in cell.reply["evalue"]
    done.touch()
    assert second.finish(running).result == "'0,1'"
    assert first.run("1 + 1", timeout=20).result == "2", "the session goes on"
