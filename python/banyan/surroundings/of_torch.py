"""torch's settings, and the number of threads that it computes with."""

from __future__ import annotations

import os
import sys
from typing import Any

from banyan.surroundings.part import Part
from banyan.surroundings.settings import Access, Settings


def _torch() -> Any:
    return sys.modules["torch"]


def _dtype_name() -> str:
    return str(_torch().get_default_dtype()).removeprefix("torch.")


def _set_device(name: str) -> None:
    _torch().set_default_device(None if name == "cpu" else name)


def _deterministic() -> tuple[bool, bool]:
    return _torch().are_deterministic_algorithms_enabled(), _torch().is_deterministic_algorithms_warn_only_enabled()


def _print_options() -> dict[str, Any]:
    return dict(vars(sys.modules["torch._tensor_str"].PRINT_OPTS))


def _attribute(path: str, name: str) -> Access:
    return (
        lambda: getattr(sys.modules[path], name),
        lambda value: setattr(sys.modules[path], name, value),
    )


_TABLE: dict[str, Access] = {
    "default dtype": (_dtype_name, lambda name: _torch().set_default_dtype(getattr(_torch(), name))),
    "default device": (lambda: str(_torch().get_default_device()), _set_device),
    "deterministic": (
        _deterministic,
        lambda wanted: _torch().use_deterministic_algorithms(wanted[0], warn_only=wanted[1]),
    ),
    "precision of float32 products": (
        lambda: _torch().get_float32_matmul_precision(),
        lambda value: _torch().set_float32_matmul_precision(value),
    ),
    "gradients": (lambda: _torch().is_grad_enabled(), lambda on: _torch().set_grad_enabled(on)),
    "anomalies": (lambda: _torch().is_anomaly_enabled(), lambda on: _torch().autograd.set_detect_anomaly(on)),
    "printing": (_print_options, lambda options: vars(sys.modules["torch._tensor_str"].PRINT_OPTS).update(options)),
    "full hooks of backward": _attribute("torch.nn.modules.module", "_global_is_full_backward_hook"),
    "cudnn.benchmark": _attribute("torch.backends.cudnn", "benchmark"),
    "cudnn.deterministic": _attribute("torch.backends.cudnn", "deterministic"),
}
# The settings in a fresh process.
_DEFAULTS: dict[str, Any] = {
    "default dtype": "float32",
    "default device": "cpu",
    "deterministic": (False, False),
    "precision of float32 products": "highest",
    "gradients": True,
    "anomalies": False,
    "printing": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None},
    "full hooks of backward": None,
    "cudnn.benchmark": False,
    "cudnn.deterministic": False,
}


class _Threads:
    """The number of threads that torch computes with. By default that is the host's number of cores, which
    belongs to no session.
    """

    def __init__(self) -> None:
        self._own: int | None = None

    def read(self) -> dict[str, int]:
        now = int(_torch().get_num_threads())
        if self._own is None and now in _cores():
            self._own = now
        return {} if now == self._own else {"threads": now}

    def write(self, wanted: dict[str, int]) -> None:
        import torch

        self.read()
        torch.set_num_threads(wanted.get("threads") or self._own or min(_cores()))


def _cores() -> set[int]:
    """The numbers of threads that torch may choose by itself."""
    import psutil  # It is imported only once somebody uses torch, because a worker should hold no more than it needs.

    asked = os.environ.get("OMP_NUM_THREADS", "")
    counts = {psutil.cpu_count(logical=False), psutil.cpu_count(), len(os.sched_getaffinity(0))}
    return {count for count in counts if count} | ({int(asked)} if asked.isdecimal() else set())


def parts() -> list[Part]:
    threads = _Threads()
    return [
        Settings(_TABLE, _DEFAULTS).part("<torch.settings>", "torch's default dtype, device and modes", "torch"),
        Part(
            "<torch.threads>",
            "the number of threads of torch",
            threads.read,
            threads.write,
            needs="torch",
            first={},
        ),
    ]
