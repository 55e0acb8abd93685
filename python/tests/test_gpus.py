"""Which GPUs count as in use."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from banyan.worker import gpus


def test_a_gpu_is_in_use_while_its_device_file_is_open(tmp_path: Path) -> None:
    files = [tmp_path / f"gpu{number}" for number in range(3)]
    for file in files:
        file.touch()
    names = frozenset(map(str, files))
    assert gpus.in_use(names) == 0
    with files[0].open(), files[0].open(), files[2].open():
        assert gpus.in_use(names) == 2
    assert gpus.in_use(names) == 0
    assert gpus.in_use(frozenset()) == 0


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
        assert gpus.in_use(frozenset({"/dev/absent0", "/dev/absent1"})) == 2
