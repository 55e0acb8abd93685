"""How functions with `functools.lru_cache` are pickled, with the content of their caches if it can be pickled; and
weak dictionaries.
"""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable
from typing import Any

from banyan.reducers import sharing
from banyan.reducers.reducer import Pickling

# A call's positional arguments, its keyword arguments, and its result.
Entry = tuple[tuple[Any, ...], dict[str, Any], Any]

_trying: set[int] = set()


def reduce_cached_function(function: Any, pickling: Pickling) -> Any:
    if sharing.importable(function):
        return NotImplemented
    attributes = {name: value for name, value in sorted(vars(function).items()) if name != "cache_parameters"}
    parameters = function.cache_parameters()
    state = function.__wrapped__, attributes, _picklable_entries(function, pickling)
    return make_cached_function, (parameters["maxsize"], parameters["typed"]), state, None, None, fill_cached_function


def _picklable_entries(function: Any, pickling: Pickling) -> list[Entry]:
    """The entries if they can be pickled, otherwise none. Those of a method are left out: by them, each instance in the
    cache would become a part of its class.
    """
    path = getattr(function, "__qualname__", "").split(".")
    if (len(path) > 1 and path[-2] != "<locals>") or id(function) in _trying:
        return []
    entries = _entries(function)
    _trying.add(id(function))
    try:
        pickling.apart(entries)
    except Exception:
        return []
    finally:
        _trying.discard(id(function))
    return entries


def _entries(function: Any) -> list[Entry]:
    """What the cache holds, oldest first. Nothing if it is not laid out as expected."""
    parts = gc.get_referents(function)
    cache: dict[Any, Any] = next((part for part in parts if type(part) is dict), {})
    parameters = function.cache_parameters()
    if parameters["maxsize"] is None:
        pairs = list(cache.items())
    else:  # Each link has a key, a result and a type.
        end = 1 + 3 * len(cache)
        pairs = list(zip(parts[1:end:3], parts[2:end:3], strict=True))
    if len(pairs) != len(cache) or any(key not in cache for key, _ in pairs):
        return []
    return [(*_arguments(key, parameters["typed"]), result) for key, result in pairs]


def _arguments(key: Any, typed: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, from the cache's key. A key is the only argument, or a tuple of all: a mark comes before
    keywords, and the types come last.
    """
    if type(key) is not tuple:
        return (key,), {}
    at = next((at for at, part in enumerate(key) if part is _mark()), None)
    if at is None:
        return key[: len(key) // 2] if typed else key, {}
    rest = key[at + 1 :]
    count = (len(rest) - at) // 3 if typed else len(rest) // 2
    return key[:at], dict(zip(rest[: 2 * count : 2], rest[1 : 2 * count : 2], strict=True))


@functools.cache
def _mark() -> object:
    """The object that stands before the keywords in a key."""

    @functools.cache
    def probe(**_keywords: object) -> None:
        pass

    probe(keyword=None)
    (key,) = next(part for part in gc.get_referents(probe) if type(part) is dict)
    return key[0]


def make_cached_function(maxsize: int | None, typed: bool) -> Any:
    return functools.lru_cache(maxsize, typed)(functools.partial(_answer, None))


def fill_cached_function(cached: Any, state: tuple[Callable[..., Any], dict[str, Any], list[Entry]]) -> None:
    """Fill the cache by calling it with each entry's arguments while it returns the entry's result. Then
    it is `function`.
    """
    function, attributes, entries = state
    source = cached.__wrapped__
    for arguments, keywords, result in entries:
        source.__setstate__((_answer, (result,), {}, None))
        with contextlib.suppress(Exception):  # The hash of a key may need objects that are not loaded yet.
            cached(*arguments, **keywords)
    source.__setstate__((function, (), {}, None))
    vars(cached).update(attributes)


def _answer(result: Any, *_arguments: object, **_keywords: object) -> Any:
    return result


def reduce_weak_dict(mapping: Any, _pickling: Pickling) -> Any:
    return type(mapping), (dict(mapping),)
