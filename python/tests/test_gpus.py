"""Which GPUs count as in use."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Callable
from pathlib import Path

from conftest import Cell, Worker

from banyan.worker import gpus


def test_a_gpu_is_in_use_while_its_device_file_is_open(tmp_path: Path) -> None:
    files = [tmp_path / f"gpu{number}" for number in range(3)]
    for file in files:
        file.touch()
    names = frozenset(map(str, files))
    assert gpus.in_use(names) == []
    with files[0].open(), files[0].open(), files[2].open():
        assert gpus.in_use(names) == ["gpu0", "gpu2"]
    assert gpus.in_use(names) == []
    assert gpus.in_use(frozenset()) == []


def test_without_a_descriptor_to_look_with_all_count(tmp_path: Path) -> None:
    file = tmp_path / "gpu0"
    file.touch()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        with contextlib.suppress(OSError):
            while True:
                held.callback(os.close, os.open(file, os.O_RDONLY))
        assert gpus.in_use(frozenset({"/dev/absent0", "/dev/absent1"})) == ["absent0", "absent1"]


SEEN = "[__import__('os').environ.get(name) for name in ('CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER')]"


def _run(worker: Worker, code: str, *devices: str) -> Cell:
    execution = worker.start(code)
    worker.go(execution, devices)
    return worker.finish(execution)


def test_a_cell_sees_the_devices_that_it_has_and_no_others(spawn: Callable[..., Worker], tmp_path: Path) -> None:
    worker, standby = spawn(BANYAN_GPUS=f"{tmp_path}/nvidia0"), spawn(BANYAN_GPUS=f"{tmp_path}/nvidia1")
    for devices, seen in ((("nvidia3", "nvidia10"), "3,10"), ((), ""), (("GPU-5c1f",), "GPU-5c1f")):
        cell = _run(worker, SEEN, *devices)
        assert cell.result == f"['{seen}', 'PCI_BUS_ID']"
        assert cell.changed == [], "it is no change of the session"
    other = _run(worker, "import os; os.environ['CUDA_VISIBLE_DEVICES'] = '7'; os.environ['MINE'] = 'x'", "nvidia0")
    assert other.changed == [["<environ>"], ["os"]]
    _run(standby, "1", "nvidia1")
    assert standby.apply(other) == []
    assert standby.value(f"{SEEN}, os.environ['MINE']") == "(['', 'PCI_BUS_ID'], 'x')"


def test_a_device_is_named_by_its_uuid_where_the_driver_tells_it(tmp_path: Path) -> None:
    for number, uuid in ((0, "GPU-aa"), (3, "GPU-bb"), (4, "not yet known")):
        file = tmp_path / f"0000:0{number}:00.0" / "information"
        file.parent.mkdir()
        file.write_text(f"Model: \t\t NVIDIA H200\nGPU UUID: \t {uuid}\nDevice Minor: \t {number}\n")
    assert gpus._uuids(str(tmp_path)) == {"0": "GPU-aa", "3": "GPU-bb"}
    assert gpus._uuids(str(tmp_path / "none")) == {}


def test_a_cell_that_runs_again_sees_all_devices(spawn: Callable[..., Worker], tmp_path: Path) -> None:
    worker = spawn(BANYAN_GPUS=f"{tmp_path}/nvidia0:{tmp_path}/nvidia2")
    _run(worker, "1")
    again = worker.repeat("import os; print(os.environ['CUDA_VISIBLE_DEVICES'])")
    assert again["error"] == ""
    assert _run(worker, "seen = 1").changed == [["seen"]]
    worker.repeat("import os; seen = os.environ['CUDA_VISIBLE_DEVICES']")
    assert _run(worker, "seen", "nvidia2").result == "'0,2'"


def test_a_reply_says_which_devices_its_cell_had(spawn: Callable[..., Worker], tmp_path: Path) -> None:
    worker = spawn(BANYAN_GPUS=f"{tmp_path}/nvidia0")
    assert _run(worker, "1", "nvidia0").metadata["banyan"] == {"devices": ["nvidia0"]}
    assert "banyan" not in _run(worker, "1").metadata
    _run(worker, "1", "nvidia0")
    worker.client.execute("")
    while (reply := worker.client.get_shell_msg(timeout=30))["msg_type"] != "execute_reply":
        pass
    assert "banyan" not in reply["metadata"], "a cell without code has had none"


def test_on_a_host_without_gpus_nothing_is_set(spawn: Callable[..., Worker]) -> None:
    worker = spawn(CUDA_VISIBLE_DEVICES="1")
    assert _run(worker, SEEN).result == "['1', None]"
    assert _run(worker, "os = __import__('os'); os.environ['CUDA_VISIBLE_DEVICES'] = '2'").changed[0] == ["<environ>"]
