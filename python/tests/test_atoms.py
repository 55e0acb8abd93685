"""Arrays of texts, numbers and None: what was not written is not read again, and what is alive is taken."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from banyan import _native
from banyan.state import serialise

_LARGE = 200_000  # elements: more than a megabyte of pointers
_SPECIAL = ["", "é\0", "\ud800", "𝄞" * 90, None, True, False, 0, -(2**63), 2**63 - 1, 1.5, float("inf"), -0.0]


def _texts(count: int = _LARGE) -> Any:
    return np.array([f"text {i}" for i in range(count)], object)


def _copy(value: object) -> Any:
    pickled = serialise.dump({"x": value})
    return serialise.load(pickled.pickle, [bytearray(bytes(buffer)) for buffer in pickled.buffers])["x"]


def _unremembered(array: Any) -> Any:
    """The blocks of an equal array that nobody has looked at."""
    atoms = _native.atoms(array.copy())
    assert atoms is not None
    return atoms.blocks


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_there_is_comes_back(order: Any) -> None:
    array = np.array([_SPECIAL * 200, _SPECIAL * 200], object, order=order)
    copy = _copy(array)
    assert [(type(x), repr(x)) for x in copy.flat] == [(type(x), repr(x)) for x in array.flat]
    assert copy.flags.fnc == array.flags.fnc and copy.flags.writeable
    array.flags.writeable = False
    assert not _copy(array).flags.writeable


def test_not_a_number_comes_back() -> None:
    array = _texts(2000)
    array[7] = float("nan")
    assert np.isnan(_copy(array)[7])


@pytest.mark.parametrize("other", [2**63, [1], np.float64(1), b"x", ("a",), type("Text", (str,), {})("x")])
def test_other_elements_are_pickled_as_ever(other: Any) -> None:
    array = _texts(2000)
    array[1500] = other
    assert _native.atoms(array) is None
    copy = _copy(array)
    assert type(copy[1500]) is type(other) and copy[1500] == other
    assert list(copy[:1500]) == list(array[:1500])


def test_a_frame_with_texts_is_equal_and_apart() -> None:
    frame = pd.DataFrame({"n": range(_LARGE), "text": _texts()})
    frame["mixed"] = frame["text"].astype(object)
    frame.loc[5, "mixed"] = None
    copy = _copy(frame)
    pd.testing.assert_frame_equal(copy, frame)
    copy.loc[3, "text"] = "other"
    assert frame.loc[3, "text"] == "text 3"
    assert serialise.dump({"x": frame}).fingerprint == serialise.dump({"x": _copy(frame)}).fingerprint


def test_what_is_remembered_is_what_there_is() -> None:
    seed = 7
    chance = random.Random(seed)
    array = _texts()
    for step in range(60):
        blocks = _native.atoms(array)
        assert blocks is not None and blocks.blocks == _unremembered(array), f"seed {seed}, step {step}"
        for _ in range(chance.choice((0, 1, 3))):
            at = chance.randrange(_LARGE)
            width = chance.choice((1, 1, 1000, 40_000))
            array[at : at + width] = chance.choice((f"written in {step}", step, None, array[0]))
        if chance.random() < 0.2:  # another array, often where the old one was
            array = array[::-1].copy()


def test_the_memory_of_an_array_that_is_gone() -> None:
    for number in range(30):
        array = np.full(_LARGE, f"made {number}", object)
        array[number] = f"odd {number}"
        atoms = _native.atoms(array)
        assert atoms is not None
        pickled = serialise.dump({"x": array})
        buffers = [bytearray(bytes(buffer)) for buffer in pickled.buffers]
        del array, atoms
        gc.collect()
        copy = serialise.load(pickled.pickle, buffers)["x"]
        assert copy[number] == f"odd {number}" and copy[number + 1] == f"made {number}" == copy[-1]
        del copy, pickled


def test_loading_takes_the_texts_of_blocks_that_are_alive() -> None:
    array = _texts()
    pickled = serialise.dump({"x": array})
    buffers = [bytearray(bytes(buffer)) for buffer in pickled.buffers]
    array[3] = "written"
    array[_LARGE // 2] = "written, too"
    copy = serialise.load(pickled.pickle, buffers)["x"]
    assert copy[3] == "text 3" and copy[_LARGE // 2] == f"text {_LARGE // 2}"
    assert list(copy) == [f"text {i}" for i in range(_LARGE)]
    assert sum(x is y for x, y in zip(copy, array, strict=True)) > _LARGE // 4
    assert array[3] == "written"


def test_a_column_that_differs_in_one_text_differs_in_one_block() -> None:
    array = _texts()
    before = _native.atoms(array)
    array[_LARGE // 2] = "changed"
    after = _native.atoms(array)
    assert before is not None and after is not None
    assert sum(old != new for old, new in zip(before.blocks, after.blocks, strict=True)) == 1
    assert bytes(after) == b"".join(after.block(i) for i in range(len(after.blocks)))


def _table(rows: int, columns: int) -> Any:
    return _texts(rows * columns).reshape(rows, columns)


@pytest.mark.parametrize("rows", [1024, 16_384, 16_385, 3 * 16_384, _LARGE])
@pytest.mark.parametrize("columns", [2, 3, 7])
def test_a_column_of_a_table_has_the_blocks_of_its_copy(rows: int, columns: int) -> None:
    table = _table(rows, columns)
    for number in range(columns):
        column = table[:, number]
        for _look in range(2):
            atoms = _native.atoms(column)
            assert atoms is not None and atoms.blocks == _unremembered(column)
            assert bytes(atoms) == bytes(_native.atoms(column.copy()))
        series = pd.Series(column, dtype=object, copy=False)
        assert not series.array._ndarray.flags.forc, "or this test shows nothing"
        assert any(isinstance(buffer, _native.Atoms) for buffer in serialise.dump({"x": series}).buffers)
        assert list(_copy(series)) == list(column)


@pytest.mark.parametrize("seed", [1, 2, 11])
def test_what_is_remembered_of_a_column_is_what_there_is(seed: int) -> None:
    chance = random.Random(seed)
    table = _table(60_000, 3)
    columns = [table[:, 0], table[:, 1], table[5::2, 2]]
    for step in range(60):
        for column in columns:
            atoms = _native.atoms(column)
            assert atoms is not None and atoms.blocks == _unremembered(column), f"seed {seed}, step {step}"
            assert bytes(atoms) == bytes(_native.atoms(column.copy()))
        for _ in range(chance.choice((0, 1, 3))):
            at, width = chance.randrange(len(table)), chance.choice((1, 1, 1000, 20_000))
            table[at : at + width, chance.randrange(3)] = chance.choice((f"written in {step}", step, None))


def test_a_column_is_seen_to_change_after_another_one_was_rewritten() -> None:
    table = _table(60_000, 3)
    columns = [table[:, number] for number in range(3)]
    for column in columns:
        _native.atoms(column)
    table[:, 2] = "rewritten"  # its pages are not watched any more then, and they are those of the others
    for column in columns:
        _native.atoms(column)
    table[30_000, 1] = "written"
    for column in columns:
        atoms = _native.atoms(column)
        assert atoms is not None and atoms.blocks == _unremembered(column)


def test_a_frame_made_of_records() -> None:
    frame = pd.DataFrame([{"n": f"{i}", "text": f"text {i}", "odd": i % 7} for i in range(20_000)])
    assert serialise.dump({"x": frame}).fingerprint == serialise.dump({"x": _copy(frame)}).fingerprint
    pd.testing.assert_frame_equal(_copy(frame), frame)
    assert not frame["text"].array._ndarray.flags.forc, "or this test shows nothing"
    assert any(isinstance(buffer, _native.Atoms) for buffer in serialise.dump({"x": frame}).buffers)


@pytest.mark.parametrize(
    "view", [lambda array: array[::-1], lambda array: array[5000::-2], lambda array: np.broadcast_to(array[:1], 6000)]
)
def test_other_views_are_pickled_as_ever(view: Callable[[Any], Any]) -> None:
    array = view(_texts(6000))
    assert _native.atoms(array) is None
    assert list(_copy(pd.Series(array, dtype=object, copy=False))) == list(array)


@pytest.mark.parametrize("damage", [b"", b"\1", b"\xff" * 8, b"\1\0\0\0\xff\xff\xff\1"])
def test_damaged_bytes_are_refused(damage: bytes) -> None:
    with pytest.raises(ValueError):
        _native.fill_atoms(np.empty(3, object), [damage])
    with pytest.raises(ValueError):
        _native.fill_atoms(np.empty(3), [b""])


def test_pieces_of_an_array_that_is_alive() -> None:
    array = _texts()
    atoms = _native.atoms(array)
    assert atoms is not None
    pieces = [(atoms, i) if i % 2 else atoms.block(i) for i in range(len(atoms.blocks))]
    copy = np.empty(_LARGE, object)
    _native.fill_atoms(copy, pieces)
    assert list(copy) == list(array) and copy[40_000] is array[40_000]
    for wrong in (pieces[:-1], [*pieces, (atoms, 0)], [(atoms, 99)]):
        with pytest.raises(ValueError):
            _native.fill_atoms(np.empty(_LARGE, object), wrong)


def test_what_was_loaded_is_known_until_it_is_written() -> None:
    pickled = serialise.dump({"x": _texts()})
    buffers = [bytearray(bytes(buffer)) for buffer in pickled.buffers]
    for at in (None, 0, 70_000, _LARGE - 1):
        copy = serialise.load(pickled.pickle, buffers)["x"]
        if at is not None:
            copy[at] = "written"
        blocks = _native.atoms(copy)
        assert blocks is not None and blocks.blocks == _unremembered(copy)
        assert (tuple(blocks.blocks) == pickled.parts[1]) is (at is None)


def test_few_different_texts_are_few_objects_again() -> None:
    array = np.array([f"category {i % 3}" for i in range(_LARGE)], object)
    pickled = serialise.dump({"x": array})
    buffers = [bytearray(bytes(buffer)) for buffer in pickled.buffers]
    data = bytes(pickled.pickle)
    del array, pickled
    gc.collect()
    assert len({id(text) for text in serialise.load(data, buffers)["x"]}) == 3


def test_documents_are_no_column() -> None:
    array = np.array([f"{i} " * 500 for i in range(20_000)], object)
    assert _native.atoms(array) is None
    assert list(_copy(array)) == list(array)


def test_a_live_array_that_was_written_since_gives_nothing() -> None:
    array = _texts()
    atoms = _native.atoms(array)
    assert atoms is not None
    array[5] = "written"
    with pytest.raises(BufferError):
        _native.fill_atoms(np.empty(_LARGE, object), [(atoms, i) for i in range(len(atoms.blocks))])


def test_bytes_are_those_of_the_digests_or_none() -> None:
    arrays = [np.array([f"{number} {i} ".ljust(200) for i in range(_LARGE)], object) for number in range(2)]
    kept, read_again = (_native.atoms(array) for array in arrays)  # together they have more than is kept
    assert kept is not None and read_again is not None
    before = _native.atoms(arrays[0].copy())
    for array in arrays:
        array[10 * 16_384] = np.float64(1)
    assert before is not None and kept.blocks == before.blocks
    assert kept.block(10) in bytes(before)
    with pytest.raises(BufferError):
        read_again.block(10)


def test_texts_and_numbers_in_the_same_memory_one_after_the_other() -> None:
    for _ in range(10):
        for make in (lambda: np.random.default_rng(1).standard_normal(_LARGE), _texts):
            array = make()
            first = serialise.dump({"x": array}).parts
            assert serialise.dump({"x": array}).parts == first == serialise.dump({"x": array.copy()}).parts
            array[_LARGE // 2] = array[0]
            assert serialise.dump({"x": array}).parts == serialise.dump({"x": array.copy()}).parts != first
            del array
