"""Global generators of random numbers."""

from __future__ import annotations

import random
import sys
from typing import Any

from banyan.surroundings.part import Part


def _numpy_random() -> Any:
    """The module, when it is whole; to ask numpy for it would import it."""
    module = sys.modules.get("numpy.random")
    return module if hasattr(module, "get_state") else None


def _read_numpy() -> Any:
    generator = _numpy_random()
    if generator is None:
        return None
    state = generator.get_state(legacy=False)
    return {**state, "state": {key: _plain(value) for key, value in state["state"].items()}}


def _glance_at_numpy() -> Any:
    generator = _numpy_random()
    if generator is None:
        return None
    state = generator.get_state(legacy=False)
    numbers = [value.tobytes() if hasattr(value, "tobytes") else value for value in state.pop("state").values()]
    return state, numbers


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _write_numpy(state: Any) -> None:
    import numpy

    numpy.random.set_state(state)


def _read_torch() -> Any:
    torch = sys.modules["torch"]
    return bytes(torch.get_rng_state().tolist()) if hasattr(torch, "get_rng_state") else None


def _write_torch(state: bytes) -> None:
    import torch  # type: ignore[import-not-found]

    torch.set_rng_state(torch.tensor(list(state), dtype=torch.uint8))


def parts() -> list[Part]:
    return [
        Part(
            "<random>",
            "the state of Python's random module",
            random.getstate,
            random.setstate,
            restless=True,
            drawn=True,
        ),
        Part(
            "<numpy.random>",
            "the state of numpy.random",
            _read_numpy,
            _write_numpy,
            _glance_at_numpy,
            needs="numpy.random",
            drawn=True,
        ),
        Part(
            "<torch.random>",
            "the state of torch's generator on the CPU",
            _read_torch,
            _write_torch,
            needs="torch",
            drawn=True,
        ),
    ]
