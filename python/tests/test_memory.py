"""Memory that several values lie in: they are one co-variable, and lie in it together when they are loaded."""

from __future__ import annotations

from typing import Any

import numpy
import pandas
import pytest

from banyan import _native
from banyan.state import serialise


def loaded(values: dict[str, Any]) -> dict[str, Any]:
    pickled = serialise.dump(values)
    return serialise.load(pickled.pickle, [bytearray(bytes(buffer)) for buffer in pickled.buffers])


def linked(*values: object) -> bool:
    first, second = (serialise.dump({"x": value}).owned for value in values)
    return len(set(_native.components([first], [second]))) == 1


def lie_together(left: Any, right: Any) -> bool:
    return bool(numpy.shares_memory(left, right))


@pytest.mark.parametrize("size", [4, 4000])
def test_a_frame_over_an_array(size: int) -> None:
    array = numpy.zeros(size)
    frame = pandas.DataFrame(array, copy=False)
    assert linked(array, frame)
    values = {"array": array, "frame": frame}
    again = loaded(values)
    assert lie_together(again["array"], again["frame"][0].to_numpy())
    again["array"][1] = 7
    assert again["frame"].iloc[1, 0] == 7
    array[1] = 7
    assert serialise.dump(again).parts == serialise.dump(values).parts, "what is loaded pickles as it did"


def test_frames_that_share_until_one_writes_are_no_link() -> None:
    frame = pandas.DataFrame({"a": [1.0, 2.0]})
    column = frame["a"]
    assert not linked(frame, column)
    again = loaded({"frame": frame, "column": column})
    again["column"].iloc[0] = 9
    assert again["frame"].iloc[0, 0] == 1


@pytest.mark.parametrize("size", [4, 4000])
def test_frames_that_share_until_one_writes_and_an_array_over_them(size: int) -> None:
    column = pandas.Series(numpy.zeros(size))
    values = {"array": column.to_numpy(), "column": column, "copy": column.copy(deep=False)}
    again = loaded(values)
    for each in (again, values):
        assert lie_together(each["array"], each["copy"].to_numpy())
        each["column"].iloc[0] = 7  # has memory of its own from now on
        assert (each["array"][0], each["copy"][0], each["column"][0]) == (0, 0, 7)
        each["copy"].iloc[1] = 8  # the last one writes in place
        assert (each["array"][1], each["copy"][1], each["column"][1]) == (8, 8, 0)
    assert serialise.dump(again).parts == serialise.dump(values).parts, "what is loaded pickles as it did"


@pytest.mark.parametrize("kind", ["index", "beside"])
def test_an_array_over_a_frame_with_a_sharer_that_does_not_come_along(kind: str) -> None:
    column = pandas.Series(numpy.zeros(4))
    sharer: Any = pandas.Index(column) if kind == "index" else column.copy(deep=False)
    values = {"array": column.to_numpy(), "column": column}
    if kind == "index":
        values["index"] = sharer
    again = loaded(values)
    for each in (again, values):
        each["column"].iloc[0] = 7
        assert each["array"][0] == 0, "the frame copies before it writes"


def test_a_group_object_lies_in_what_it_was_grouped_by() -> None:
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0]})
    low = frame["a"] < 2
    again = loaded({"groups": frame.groupby(low), "low": low})
    grouping = again["groups"]._grouper.groupings[0]
    assert lie_together(grouping.grouping_vector, again["low"].to_numpy())


def test_frames_that_have_an_index_in_common_are_no_link() -> None:
    frame = pandas.DataFrame({"a": [1.0, 2.0]}, index=["p", "q"])
    other = pandas.DataFrame({"b": [1.0, 2.0]}, index=frame.index)
    assert not linked(frame, other)
    assert linked([frame.index], [frame.index])


def test_arrays_over_the_memory_of_something_else() -> None:
    class Foreign:
        """Memory that numpy sees as nobody's array."""

        def __init__(self) -> None:
            self.memory = numpy.zeros(1000)
            self.__array_interface__ = self.memory.__array_interface__

    foreign = Foreign()
    whole, part = numpy.asarray(foreign), numpy.asarray(foreign)[500:]
    assert linked(whole, part)
    again = loaded({"whole": whole, "part": part})
    assert serialise.dump(again).parts == serialise.dump({"whole": whole, "part": part}).parts
    again["whole"][500] = 3
    assert (again["part"][0], again["part"].shape) == (3, (500,))


@pytest.mark.parametrize("size", [8, 4000])
def test_an_array_over_a_bytearray_that_does_not_say_so(size: int) -> None:
    data = bytearray(size)

    class Foreign:
        lent = memoryview(data)
        __array_interface__ = numpy.frombuffer(data, "u1").__array_interface__

    array = numpy.asarray(Foreign())
    assert linked(data, array)
    again = loaded({"array": array, "data": data})
    again["data"][3] = 7
    assert again["array"][3] == 7


def test_arrays_beside_each_other_are_no_link() -> None:
    arrays = [numpy.zeros(10) for _ in range(3)]
    assert not linked(arrays[:1], arrays[1:])
    assert linked(arrays[:2], arrays[1:])


def test_memory_that_a_reducer_made_on_the_way_is_no_link() -> None:
    class Makes:
        def __reduce__(self) -> Any:
            return list, ([numpy.zeros(1000)],)

    assert serialise.dump({"x": [Makes(), Makes()]}).owned.shared_memory() == []


def test_a_bytearray_with_a_view_cannot_move_its_bytes_once_it_is_loaded_either() -> None:
    data = bytearray(b"abc")
    values = {"data": data, "view": numpy.frombuffer(data, "u1")}
    with pytest.raises(BufferError):
        data += b"z"
    copy = loaded(values)
    with pytest.raises(BufferError):
        copy["data"] += b"z"
    copy["data"][0] = 7
    assert copy["view"][0] == 7


def test_columns_of_texts_pickle_as_what_they_show() -> None:
    names = numpy.array([f"name {n}" for n in range(4000)], dtype=object)
    frames = [pandas.DataFrame({"a": array, "i": range(2000)}) for array in (names[:2000], names[:2000].copy())]
    columns = [pandas.array(array, dtype="str") for array in (names[:2000], names[:2000].copy())]
    for one, other in (frames, columns, [pandas.Index(column) for column in columns]):
        pickled = serialise.dump({"x": [one]})
        assert pickled.fingerprint == serialise.dump({"x": [other]}).fingerprint
        assert serialise.dump(loaded({"x": [one]})).fingerprint == pickled.fingerprint
