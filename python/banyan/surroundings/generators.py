"""The global generators of random numbers.

On the platform they start from a seed that every view of the session knows. So all views agree before a cell has drawn
from a generator, and a cell that is repeated draws what it drew first. The generator of a library that is imported
later is seeded at its import, and the state of that moment is what a cell finds again that imported it and is repeated.
Whatever asks the system (uuid4, os.urandom, secrets) stays unpredictable.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib
import random
import sys
from collections.abc import Callable
from typing import Any

from banyan.process import importing
from banyan.surroundings.part import Part

_seed = ""


def start_from(seed: str) -> None:
    """The text from which `start` seeds the generators. It differs for each session, and for each
    restart of its kernel.
    """
    global _seed
    _seed = seed


def start() -> None:
    """User code is about to run for the first time. Without a seed the generators stay as they are."""
    if _seed:
        random.seed(_seed)
    for name, library in _LIBRARIES.items():
        if name in sys.modules:
            library.begin(sys.modules[name])
        importing.after(name, library.begin)


def _numbers(name: str, count: int) -> list[int]:
    """As many numbers of 32 bits, derived from the seed and a name."""
    digest = hashlib.sha512(f"{_seed}:{name}".encode()).digest()
    return [int.from_bytes(digest[4 * at : 4 * at + 4], "little") for at in range(count)]


def _seed_numpy(module: Any) -> None:
    if hasattr(module, "seed"):
        module.seed(_numbers("numpy", 16))


def _seed_torch(module: Any) -> None:
    """Seed torch's generator directly, because torch.manual_seed would import its compiler."""
    if hasattr(module, "default_generator"):
        low, high = _numbers("torch", 2)
        module.default_generator.manual_seed((high << 32 | low) >> 1)


class _Library:
    """The generator of a library. `first` gives its state when the session first had it, None before its import."""

    def __init__(self, seed: Callable[[Any], None], read: Callable[[], Any]) -> None:
        self._seed = seed
        self._read = read
        self._first: Any = None

    def begin(self, module: Any) -> None:
        if _seed:
            self._seed(module)
        with contextlib.suppress(Exception):  # The import itself must not fail by it.
            self._first = self._read()

    def first(self) -> Any:
        return self._first


def _numpy_random() -> Any:
    """The module if it is fully imported. Asking numpy for it would import it."""
    module = sys.modules.get("numpy.random")
    return module if hasattr(module, "get_state") else None


def _read_numpy() -> Any:
    generator = _numpy_random()
    if generator is None:
        return None
    state = generator.get_state(legacy=False)
    return {**state, "state": {key: _plain(value) for key, value in state["state"].items()}}


class _Random:
    """Python's global generator. Reading its memory is faster than building the 625 numbers of its state."""

    def __init__(self) -> None:
        # None where somebody has patched random.getstate.
        self._generator: Any = getattr(random.getstate, "__self__", None)

    @property
    def can_glance(self) -> bool:
        return sys.implementation.name == "cpython" and isinstance(self._generator, random.Random)

    def glance(self) -> Any:
        kind, header = type(self._generator), object.__basicsize__
        memory = ctypes.string_at(id(self._generator) + header, kind.__basicsize__ - header)
        return memory, self._generator.gauss_next


class _Numpy:
    """numpy's global generator. It takes 50 microseconds to tell its state, and few cells draw from it."""

    _MERSENNE_BYTES = 2500  # 624 words and the index: mt19937_state of numpy/random.

    def __init__(self) -> None:
        self._memory: object = None
        self._glance: Any = None

    def glance(self) -> Any:
        generator = _numpy_random()
        if generator is None:
            return None
        memory = self._memory_of(generator)
        if memory is None or memory != self._memory:
            self._memory = memory
            self._glance = self._whole(generator)
            # Normal numbers are made in pairs. The second one is kept, and drawing it does not change this memory.
            if self._glance[0].get("has_gauss"):
                self._memory = None
        return self._glance

    def _memory_of(self, module: Any) -> object:
        get = getattr(module, "get_bit_generator", None)
        bits: Any = get() if get is not None else None
        if type(bits).__name__ != "MT19937":
            return None
        return bits, ctypes.string_at(bits.ctypes.state_address, self._MERSENNE_BYTES)

    def _whole(self, module: Any) -> Any:
        state = module.get_state(legacy=False)
        numbers = [value.tobytes() if hasattr(value, "tobytes") else value for value in state.pop("state").values()]
        return state, numbers


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _write_numpy(state: Any) -> None:
    random: Any = importlib.import_module("numpy.random")
    kind = state["bit_generator"]
    if random.get_state(legacy=False)["bit_generator"] != kind:
        random.set_bit_generator(getattr(random, kind)())
    random.set_state(state)


def _read_torch() -> Any:
    torch = sys.modules["torch"]
    return bytes(torch.get_rng_state().tolist()) if hasattr(torch, "get_rng_state") else None


def _write_torch(state: bytes) -> None:
    import torch

    torch.set_rng_state(torch.tensor(list(state), dtype=torch.uint8))


_LIBRARIES = {"numpy.random": _Library(_seed_numpy, _read_numpy), "torch": _Library(_seed_torch, _read_torch)}


def parts() -> list[Part]:
    generator = _Random()
    return [
        Part(
            "<random>",
            "the state of Python's random module",
            random.getstate,
            random.setstate,
            generator.glance if generator.can_glance else None,
            restless=True,
            drawn=True,
        ),
        Part(
            "<numpy.random>",
            "the state of numpy.random",
            _read_numpy,
            _write_numpy,
            _Numpy().glance,
            needs="numpy.random",
            at_import=_LIBRARIES["numpy.random"].first,
            drawn=True,
        ),
        Part(
            "<torch.random>",
            "the state of torch's generator on the CPU",
            _read_torch,
            _write_torch,
            needs="torch",
            at_import=_LIBRARIES["torch"].first,
            drawn=True,
        ),
    ]
