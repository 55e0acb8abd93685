"""Large sets of texts: what nobody changed is not read again, and a text more or less writes one part."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from banyan import _native
from banyan.reducers import text_sets
from banyan.state.access import Accesses
from banyan.state.detect import DigestDetector
from banyan.state.serialise import bind_namespace, dump, load

_TEXTS = [f"text {i}" for i in range(50_000)]


def _copy(value: object) -> Any:
    pickled = dump({"o": value})
    buffers = [bytearray(bytes(buffer)) for buffer in pickled.buffers]
    return load(bytes(pickled.pickle), buffers)["o"]  # type: ignore[call-overload]


def _blocks(value: object) -> set[tuple[str, int]]:
    return {block for part in dump({"o": value}).parts for block in part}


@pytest.mark.parametrize("kind", [set, frozenset])
@pytest.mark.parametrize(
    "texts",
    [
        _TEXTS,
        ["", "\0", "\0\0", *_TEXTS],
        [f"https://example.org/a/path/that/all/have/{i}" for i in range(30_000)],
        [f"ä{i}ñ\ud800" for i in range(20_000)],
    ],
)
def test_they_come_back(kind: Any, texts: list[str]) -> None:
    copy = _copy(kind(texts))
    assert type(copy) is kind
    assert copy == kind(texts)


def test_equal_sets_are_equal_bytes_however_they_came_about() -> None:
    shuffled = random.Random(1).sample(_TEXTS, len(_TEXTS))
    grown = set(_TEXTS + [f"more {i}" for i in range(50_000)])
    grown -= {f"more {i}" for i in range(50_000)}
    assert dump({"o": set(_TEXTS)}).fingerprint == dump({"o": set(shuffled)}).fingerprint
    assert dump({"o": set(_TEXTS)}).fingerprint == dump({"o": grown}).fingerprint


def test_they_are_the_same_bytes_in_another_process() -> None:
    program = (
        "from banyan.state.serialise import dump\n"
        "print(dump({'o': {f'text {i}' for i in range(50_000)}}).fingerprint)\n"
    )
    folder = Path(__file__).parent.parent
    ran = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(dump({"o": set(_TEXTS)}).fingerprint)


def test_a_text_more_or_less_changes_one_part() -> None:
    texts = set(_TEXTS)
    before = _blocks(texts)
    texts.add("one more")
    texts.remove("text 7")
    assert len(_blocks(texts) - before) <= 3, "two parts, and the pickle itself"
    assert _copy(texts) == texts


def test_what_is_as_before_is_not_read_again() -> None:
    namespace: dict[str, Any] = {}
    bind_namespace(namespace)
    detector = DigestDetector(namespace, {})
    namespace["o"] = {str(i) for i in range(400_000)}

    def look() -> tuple[float, int]:
        begun = time.perf_counter()
        changes = detector.changes(Accesses(names={"o"}))
        return time.perf_counter() - begun, len(changes.changed)

    first, count = look()
    assert count == 1
    again, count = min(look() for _ in range(3))
    assert count == 0
    assert again < first / 5
    namespace["o"].discard("77")
    assert look()[1] == 1
    namespace["o"].add("77")
    assert look()[1] == 1


def test_sets_with_something_else_are_pickled_as_ever() -> None:
    for other in (1, b"x", None, ("a",)):
        mixed = {*_TEXTS, other}
        assert _copy(mixed) == mixed
    itself: set[Any] = {*_TEXTS}

    class Holder:
        pass

    holder = Holder()
    holder.texts = itself  # type: ignore[attr-defined]
    itself.add(holder)
    copies = _copy([itself, holder])
    assert copies[1].texts is copies[0] and copies[1] in copies[0]


def test_a_text_that_is_more_than_a_text_is_kept() -> None:
    class Name(str):
        pass

    name = Name("special")
    assert type(next(text for text in _copy({*_TEXTS, name}) if text == "special")).__name__ == "Name"


def test_what_is_gone_is_forgotten() -> None:
    texts = set(_TEXTS)
    dump({"o": texts})
    key = id(texts)
    assert key in text_sets._known
    del texts
    gc.collect()
    assert key not in text_sets._known


def test_shared_sets_stay_shared() -> None:
    texts = set(_TEXTS)
    one, other = _copy([texts, texts])
    assert one is other


def test_bytes_that_end_too_early() -> None:
    ((_, part),) = _native.parts_of_set({"a", "b"}, 0, ()) or []
    assert part is not None and _native.texts_of_part(part) == ["a", "b"]
    for end in range(len(part)):
        with pytest.raises(ValueError, match="in the midst"):
            _native.texts_of_part(part[:end])
