"""Which GPUs this process may use, and which ones it uses, with whichever library: those whose device file it has open.

The host agent lists the files in BANYAN_GPUS. A library opens one when it makes its context, and mostly keeps it open
until the process ends: every cell from then on counts as one that needs the GPU.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterable
from pathlib import Path

from banyan.surroundings.process import OF_DEVICES


@functools.cache
def _files() -> frozenset[str]:
    return frozenset(map(os.path.realpath, filter(None, os.environ.get("BANYAN_GPUS", "").split(os.pathsep))))


def show(devices: Iterable[str]) -> None:
    """Let libraries see these devices and no others, on a host that has some. Call it before a cell.

    devices: as the host names them: "nvidia0", as the device file of a GPU, or a UUID. CUDA reads this when a process
    uses it first.
    """
    if _files():
        os.environ.update(zip(OF_DEVICES, (",".join(map(_as_cuda_names, devices)), "PCI_BUS_ID"), strict=True))


def show_all() -> None:
    """Let libraries see all devices of the host."""
    show(map(os.path.basename, sorted(_files())))


def _as_cuda_names(device: str) -> str:
    """The UUID of a device where the driver tells it: CUDA counts only those GPUs that the process can reach, in an
    order of its own, which need not be that of the files.
    """
    number = device.removeprefix("nvidia")
    return _uuids().get(number, number) if number.isdecimal() else device


@functools.cache
def _uuids(folder: str = "/proc/driver/nvidia/gpus") -> dict[str, str]:
    """By the number of its device file: a GPU's UUID. The files are those of NVIDIA's driver."""
    found = {}
    for file in Path(folder).glob("*/information"):
        with contextlib.suppress(OSError):
            lines = (line.partition(":") for line in file.read_text().splitlines())
            told = {name.strip(): value.strip() for name, _, value in lines}
            if "Device Minor" in told and told.get("GPU UUID", "").startswith("GPU-"):
                found[told["Device Minor"]] = told["GPU UUID"]
    return found


def in_use(files: frozenset[str] | None = None) -> list[str]:
    """The GPUs in use, by the names of their device files. If that cannot be found out, all of them."""
    files = _files() if files is None else files
    if not files:
        return []
    try:
        used = files & _open_files()
    except OSError:  # The process may have no descriptor left for reading the folder.
        used = files
    return sorted(map(os.path.basename, used))


def _open_files() -> set[str]:
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # The descriptor of the folder itself, or one that a thread has just closed.
            found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return found
