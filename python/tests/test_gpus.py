"""Which GPUs count as in use."""

from __future__ import annotations

from pathlib import Path

from banyan import gpus


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
