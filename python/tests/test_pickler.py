"""The native pickler: what Python's own unpickler makes of its output, for anything that pickle can do."""

from __future__ import annotations

import collections
import copyreg
import datetime
import decimal
import enum
import functools
import gc
import io
import mmap
import os
import pickle
import weakref
from typing import Any, ClassVar

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import run_apart
from turns import examples

from banyan import _native
from banyan.state import serialise

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.text(alphabet=st.characters(categories=["Cs", "Lu"])),
)
hashables = st.recursive(
    scalars, lambda inner: st.one_of(st.tuples(inner, inner), st.frozensets(inner, max_size=4)), max_leaves=8
)
values = st.recursive(
    hashables,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(hashables, inner),
        st.sets(hashables),
        st.binary().map(bytearray),
    ),
)

# Sets of other things than numbers or texts have no order of their own.
canonical = st.recursive(
    st.one_of(scalars, st.sets(st.integers()), st.frozensets(st.text()), st.sets(st.binary())),
    lambda inner: st.one_of(st.lists(inner), st.tuples(inner, inner), st.dictionaries(scalars, inner)),
)


def again(value: Any) -> Any:
    pickled = serialise.dump({"x": value})
    return serialise.load(bytes(pickled.pickle), [bytes(b) for b in pickled.buffers])["x"]


def parts(value: Any) -> object:
    return serialise.dump({"x": value}).parts


class TestLong:
    """Of a pickle that is longer than what is held of it while it is written."""

    value: ClassVar = {f"key {number}": [number, str(number)] for number in range(400_000)}

    def test_it_lies_in_the_spool_in_the_same_blocks(self) -> None:
        held = serialise.dump({"x": self.value})
        spool = _native.Spool()
        spool.add([b"before"])
        spilled = serialise.dump({"x": self.value}, spool)
        assert len(held.pickle) > 8 << 20
        assert spilled.parts == held.parts
        assert spilled.fingerprint == held.fingerprint
        assert isinstance(spilled.pickle, _native.Spill)
        assert b"".join(source() for _, _, source in serialise.blocks_of(spilled)) == bytes(held.pickle)
        places = [(source.spooled(spool), size) for _, size, source in serialise.blocks_of(spilled)]
        memfd = _native.Mapping(spool.seal())
        found = [bytes(memoryview(memfd.slice(at, size))) for at, size in places if at is not None]
        assert b"".join(found) == bytes(held.pickle)

    def test_what_is_known_is_not_there(self) -> None:
        held = serialise.dump({"x": self.value})
        spool = _native.Spool()
        (first, second, *others), *_ = held.parts
        spilled = serialise.dump({"x": self.value}, spool, {digest for digest, _ in (first, *others)})
        assert spilled.parts == held.parts
        sources = [source for _, _, source in serialise.blocks_of(spilled)]
        assert [source.spooled(spool) for source in sources] == [None, 0, *[None] * len(others)]
        assert sources[1]() == held.pickle[first[1] :][: second[1]]
        with pytest.raises(ValueError, match="known"):
            sources[0]()
        assert sources[1].spooled(_native.Spool()) is None

    def test_what_is_cut_off_is_no_longer_held(self) -> None:
        texts = [str(number) for number in range(1_000_000)]
        few = serialise.dump({"x": texts[:150_000]}, _native.Spool())
        assert isinstance(few.pickle, memoryview)
        more = serialise.dump({"x": texts[:200_000]}, _native.Spool())
        assert isinstance(more.pickle, _native.Spill) and sum(size for _, size in more.parts[0]) < 1.2 * (3 << 19)

    def test_nobody_keeps_the_values(self) -> None:
        class Seen(list[int]):
            pass

        values = Seen(range(1_000_000))
        alive = weakref.ref(values)
        spilled = serialise.dump({"x": values}, _native.Spool(), frozenset(["0" * 32]))
        assert isinstance(spilled.pickle, _native.Spill)
        del values
        assert alive() is None

    def test_a_spool_without_room_refuses_what_is_long_only(self) -> None:
        """In a process of its own, whose files can be 1 MiB long."""
        run_apart("""
import resource, signal
from banyan import _native
from banyan.state import serialise
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
spool = _native.Spool()
try:
    serialise.dump({"x": list(range(1_000_000))}, spool)
except serialise.Unserialisable as refusal:
    assert "too large" in str(refusal), refusal
else:
    raise AssertionError
assert serialise.dump({"x": [1]}, spool).parts
""")

    def test_what_was_pickled_in_vain_takes_no_memory(self) -> None:
        spool = _native.Spool()
        for _ in range(3):
            spilled = serialise.dump({"x": self.value}, spool)
        memfd = spool.seal()
        size = sum(size for _, size in spilled.parts[0])
        assert os.stat(memfd).st_blocks * 512 < 1.1 * size < os.stat(memfd).st_size / 2
        os.close(memfd)

    def test_a_spool_that_is_sealed_takes_nothing(self) -> None:
        spool = _native.Spool()
        os.close(spool.seal())
        with pytest.raises(RuntimeError, match="sealed"):
            spool.add([b"more"])
        with pytest.raises(serialise.Unserialisable, match="sealed"):
            serialise.dump({"x": self.value}, spool)


class Point:
    def __init__(self, x: object) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and vars(self) == vars(other)


class Plain:
    x: Any


class Slotted:
    __slots__ = ("x",)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slotted) and self.x == other.x


class WithState(Point):
    def __getstate__(self) -> object:
        return {"x": ("kept", self.x)}


class WithNew(Point):
    def __new__(cls, x: object, *, y: object = 0) -> WithNew:
        return super().__new__(cls)

    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return (self.x,), {"y": 1}


class Numbers(list[int]):
    pass


class Colour(enum.Enum):
    RED = 1


class SixTuple:
    def __init__(self) -> None:
        self.log: list[object] = []

    def __reduce__(self) -> Any:
        return SixTuple, (), "state", None, None, _set_state


def _set_state(target: SixTuple, state: object) -> None:
    target.log.append(state)


@given(values)
@settings(max_examples=examples(500), deadline=None)
def test_python_reads_it(value: Any) -> None:
    assert again(value) == value


@given(canonical)
@settings(max_examples=examples(300), deadline=None)
def test_equal_values_have_equal_pickles(value: Any) -> None:
    # Through another pickler, which shares and orders things in its own way.
    assert parts(pickle.loads(pickle.dumps(value, 2))) == parts(value)


@pytest.mark.parametrize(
    "value",
    [
        Point([1, Point(2)]),
        WithState(3),
        WithNew(4),
        Numbers([1, 2, 3]),
        Colour.RED,
        collections.OrderedDict(a=1, b=[2]),
        collections.defaultdict(list, {"a": [1]}),
        collections.deque([1, 2], maxlen=3),
        collections.Counter("banyan"),
        datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        decimal.Decimal("1.50"),
        range(3),
        slice(1, None, 2),
        ValueError("text", 3),
        io.BytesIO(b"text" * 1000),
        numpy.arange(6).reshape(2, 3).T,
        numpy.array([{1: 2}, "text", None], dtype=object),
        numpy.float32(1.5),
        len,
        [].append.__self__,
        Point,
        type(None),
        NotImplemented,
        Ellipsis,
        b"x" * 100_000,
        bytearray(b"x" * 100_000),
        2**100_000,
        -(2**63),
        2**63,
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects(value: Any) -> None:
    copy = again(value)
    assert type(copy) is type(value)
    if isinstance(value, numpy.ndarray):
        assert numpy.array_equal(copy, value)
        assert copy.dtype == value.dtype
    elif isinstance(value, BaseException):
        assert copy.args == value.args
    elif isinstance(value, io.BytesIO):
        assert copy.getvalue() == value.getvalue()
    elif isinstance(value, WithState):
        assert copy.x == ("kept", 3)
    else:
        assert copy == value


def test_slots() -> None:
    value = Slotted()
    value.x = [1]
    assert again(value) == value


def test_a_state_setter() -> None:
    assert again(SixTuple()).log == ["state"]


def test_partials_and_registered_types(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = again(functools.partial(int, base=2))
    assert copy("11") == 3
    monkeypatch.setitem(copyreg.dispatch_table, Point, lambda point: (Point, (["reduced", point.x],)))
    assert again(Point(1)).x == ["reduced", 1]


@pytest.mark.parametrize("depth", [5_000, 200_000])
def test_any_depth(depth: int) -> None:
    value: list[Any] = []
    chain = Point(None)
    for _ in range(depth):
        value = [value]
        chain = Point(chain)
    value, chain = again([value]), again(chain)
    seen = 0
    while value:
        value = value[0]
        seen += 1
    assert seen == depth + 1
    while chain.x is not None:
        chain = chain.x
        seen += 1
    assert seen == 2 * depth + 1


def test_cycles() -> None:
    items: list[Any] = [1]
    items.append((items, {"again": items}))
    copy = again(items)
    assert copy[1][0] is copy
    assert copy[1][1]["again"] is copy
    point = Plain()
    point.x = (point, point)
    copy = again(point)
    assert copy.x[0] is copy
    assert copy.x[1] is copy
    point.x = frozenset([point])
    copy = again(point.x)
    assert next(iter(copy)).x is copy


def test_a_cycle_through_constructors_is_refused() -> None:
    class Odd:
        def __reduce__(self) -> Any:
            return list, ((self,),)

    with pytest.raises(serialise.Unserialisable, match="its constructor's arguments contain it"):
        serialise.dump({"x": Odd()})


def test_a_container_that_its_items_change_is_refused() -> None:
    class Grows:
        def __init__(self, target: dict[object, object]) -> None:
            self.target = target

        def __reduce__(self) -> Any:
            self.target[len(self.target)] = 1
            return int, ()

    target: dict[object, object] = {}
    target["a"] = Grows(target)
    target["b"] = 2
    with pytest.raises(serialise.Unserialisable, match="changed while it was pickled"):
        serialise.dump({"x": target})


@pytest.mark.parametrize("answer", ["(int,)", "3", "(3, ())", "(int, [])", "(int, (), 1, 2, 3, 4, 5)"])
def test_nonsense_from_reduce_is_refused(answer: str) -> None:
    class Odd:
        def __reduce__(self) -> Any:
            return eval(answer)

    with pytest.raises(serialise.Unserialisable):
        serialise.dump({"x": Odd()})


def test_no_variable_is_a_pickle_too() -> None:
    assert serialise.load(bytes(serialise.dump({}).pickle), []) == {}


def test_what_was_pickled_is_not_kept_alive() -> None:
    node = Node()
    memory = mmap.mmap(-1, 8192)
    views = [numpy.frombuffer(memory, "u1") for _ in range(2)]
    pickled = serialise.dump({"x": [*views, node, node]})
    reference = weakref.ref(node)
    del node
    gc.collect()
    assert reference() is None
    assert pickled.buffers


def test_what_reducers_make_is_not_owned() -> None:
    apart: dict[str, Any] = {"__builtins__": {}, "base": 1}
    exec("def foreign(x): return base + x", apart)
    owned = len(serialise.dump({"x": apart["foreign"]}).owned)
    assert owned == 2, "the function and its attributes, and not the globals that were made for its copy"


class Node:
    def __init__(self, *items: Any) -> None:
        self.items = [*items]

    def sees(self) -> Any:
        return self.items


class Reaches:
    """Pickles as what another object holds, to which it refers by a table only."""

    table: ClassVar[dict[int, Node]] = {}

    def __init__(self, key: int) -> None:
        self.key = key

    def __reduce__(self) -> Any:
        return _same, (self.table[self.key].items,)


def _same(value: object) -> object:
    return value


def _pickled(value: object, *, remember_all: bool) -> tuple[bytes, int]:
    """And how many objects are owned."""
    pickling = serialise._Pickling(set())
    done = pickling.begin(remember_all=remember_all)
    done.add("x", value, None)
    done.end()
    pickling.forget()
    owned, _ = done.owned(pickling.memory.notes)
    return bytes(done), len(owned)


class TestSole:
    """Containers that one reference leads to are not remembered."""

    @given(st.data())
    def test_it_makes_no_difference(self, data: st.DataObject) -> None:
        kinds: list[Any] = [
            *(lambda x: x, list, tuple, lambda x: {"a": x, "b": [x]}, lambda x: Node(x, Node(x))),
            *(lambda x: collections.Counter(a=x), lambda x: collections.defaultdict(list, a=x)),
            *(lambda x: collections.OrderedDict(a=x), lambda x: collections.deque([x, [x]])),
            *(lambda x: [datetime.date(2026, 1, 1), x], lambda x: numpy.array([x, None], object)),
        ]
        value: Any = [data.draw(values)]
        for kind in data.draw(st.lists(st.sampled_from(kinds), max_size=5)):
            value = kind([value])
        assert _pickled(value, remember_all=False) == _pickled(value, remember_all=True)

    def test_sharing_is_kept_where_a_reducer_reaches_into_another_object(self) -> None:
        node = Reaches.table[1] = Node(1)
        copy, reached = again([node, Reaches(1)])
        assert copy.items is reached

    @pytest.mark.parametrize(
        ("answer", "reached"),
        [
            (lambda node: node.sees, lambda answer: answer()),
            (lambda node: lambda: node.items, lambda answer: answer()),
            (lambda node: collections.deque([node.items]), lambda answer: answer[0]),
            (lambda node: collections.OrderedDict(a=node.items), lambda answer: answer["a"]),
            (lambda node: numpy.array([node.items, 1], object), lambda answer: answer[0]),
        ],
    )
    def test_sharing_is_kept_whatever_the_reducer_makes_of_it(self, answer: Any, reached: Any) -> None:
        node = Node(1)

        class Answers:
            def __reduce__(self) -> Any:
                return _same, (answer(node),)

        copy, its = again([Node(node), Answers()])
        assert reached(its) is copy.items[0].items

    def test_what_a_dict_makes_up_when_it_is_asked_is_not_owned(self) -> None:
        class Config(dict):  # type: ignore[type-arg]
            def items(self) -> Any:
                return [(key, [[value]]) for key, value in dict.items(self)]

        assert len(serialise.dump({"x": Config(a=1, b=2)}).owned) == len(serialise.dump({"x": Config()}).owned)

    @pytest.mark.parametrize("kind", [collections.Counter, lambda: collections.defaultdict(list), dict, list])
    def test_what_contains_itself(self, kind: Any) -> None:
        value = kind()
        if isinstance(value, list):
            value.append((value,))
        else:
            value["a"] = [value]
        copy = again(value)
        inner = copy[0] if isinstance(copy, list) else copy["a"]
        assert inner[0] is copy

    def test_a_factory_may_belong_to_what_has_the_dict(self) -> None:
        node = Node()
        node.items.append(collections.defaultdict(node.sees))
        first, copy = again([node.items[0], node])
        assert copy.items[0] is first

    def test_who_else_refers_to_it_changes_nothing(self) -> None:
        nodes = tuple(Node() for _ in range(3))
        for node in nodes:
            node.items.append(nodes)
        before = parts(nodes)
        kept = [*nodes, nodes[0].items]
        assert parts(nodes) == before
        assert parts(again(nodes)) == before
        del kept

    def test_a_weak_reference_leads_to_an_object_too(self) -> None:
        node = Node([1])
        holder = [{"node": node}, weakref.ref(node)]
        del node
        first, second = again(holder)
        assert second() is first["node"]

    def test_looking_gives_no_object_a_dict_of_its_own(self) -> None:
        node = Node(1, Node(2))
        serialise.dump({"x": node})
        assert not [held for held in gc.get_objects() if type(held) is dict and held.get("items") is node.items]

    def test_attributes_come_in_their_order(self) -> None:
        node = Node()
        node.b, node.a, node.c = 1, 2, 3  # type: ignore[attr-defined]
        del node.a  # type: ignore[attr-defined]
        node.a = 4  # type: ignore[attr-defined]
        assert list(vars(again(node))) == ["items", "b", "c", "a"]


class TestTexts:
    @pytest.mark.parametrize("text", ["x" * 70_000, "é" * 70_000, "\udc00" + "日本" * 40_000, "\0" * 65_536])
    def test_long_ones_are_out_of_band(self, text: str) -> None:
        pickled = serialise.dump({"x": [text, text]})
        assert len(pickled.pickle) < 1000
        first, second = again([text, text])
        assert first == text
        assert first is second

    def test_more_different_ones_than_are_known_at_a_time(self) -> None:
        texts = [f"text {n}" for n in range(100_000)] * 2
        assert again(texts) == texts
        assert parts(texts) == parts([text[:3] + text[3:] for text in texts])

    def test_a_pickle_is_the_same_whatever_the_process_hashes_with(self) -> None:
        program = (
            "from banyan.state import serialise\n"
            "texts = [f'text {n % 40_000}' for n in range(100_000)]\n"
            "print(serialise.dump({'x': texts}).parts)"
        )
        said = {run_apart(program, PYTHONHASHSEED=seed) for seed in ("1", "2")}
        assert len(said) == 1

    def test_texts_and_bytes_are_told_apart(self) -> None:
        assert again(["ab", b"ab", "ab"]) == ["ab", b"ab", "ab"]


class TestBlocks:
    def test_an_insertion_moves_no_other_block(self) -> None:
        numbers = list(range(1_000_000))
        before = dict(serialise.dump({"x": numbers}).parts[0])
        numbers.insert(100, 7)
        after = dict(serialise.dump({"x": numbers}).parts[0])
        assert sum(size for digest, size in after.items() if digest not in before) < 2 << 20
        assert len(after) > 10

    def test_one_element_is_one_block(self) -> None:
        array = numpy.arange(1_000_000.0)
        before = _native.memory_blocks(array)
        assert _native.memory_blocks(array) == before
        array[500_000] = -1
        after = _native.memory_blocks(array)
        assert [i for i, (x, y) in enumerate(zip(before, after, strict=True)) if x != y] == [15]
        assert _native.memory_blocks(array.copy()) == after

    @pytest.mark.parametrize("more", [1, 300, 16_384 * 4 + 1])
    def test_the_last_elements_of_a_text_column(self, more: int) -> None:
        column = numpy.array(["x"] * (16_384 * 4 + more), object)
        for place in (16_384 * 4 - 1, len(column) - 1, 0):
            before = [serialise.dump({"x": column}).fingerprint for _ in range(3)][-1]
            column[place] = f"changed {place}"
            assert serialise.dump({"x": column}).fingerprint != before
            assert serialise.dump({"x": column}).fingerprint == serialise.dump({"x": column.copy()}).fingerprint

    def test_the_last_bytes_of_an_array(self) -> None:
        array = numpy.ones((256 << 10) * 5 + 8, "u1")
        for place in ((256 << 10) * 5 - 1, -1, 0):
            before = [_native.memory_blocks(array) for _ in range(3)][-1]
            array[place] += 1
            assert _native.memory_blocks(array) == _native.memory_blocks(array.copy()) != before

    def test_overlapping_buffers_and_their_ends(self) -> None:
        array = numpy.zeros(2_000_003, dtype=numpy.uint8)
        window = array[77_777:1_900_000]
        for _ in range(3):
            whole, part = _native.memory_blocks(array), _native.memory_blocks(window)
            for at in (0, 77_777, 77_778, 1_000_000, 1_899_999, 2_000_002):
                array[at] += 1
                assert (_native.memory_blocks(window) != part) == (77_777 <= at < 1_900_000), at
                assert _native.memory_blocks(array) != whole, at
                whole, part = _native.memory_blocks(array), _native.memory_blocks(window)

    @given(st.lists(st.tuples(st.integers(0, 3_999_999), st.integers(1, 1_000_000)), max_size=6))
    @settings(max_examples=examples(50), deadline=None)
    def test_any_write_is_seen(self, writes: list[tuple[int, int]]) -> None:
        array = numpy.zeros(4_000_000, dtype=numpy.uint8)
        _native.memory_blocks(array)
        for at, count in writes:
            array[at : at + count] += 1
            assert _native.memory_blocks(array) == _native.memory_blocks(array.copy())

    def test_memory_that_came_back_as_other_memory(self) -> None:
        for fill in range(20):
            array = numpy.full(3_000_000, fill, dtype=numpy.uint8)
            assert _native.memory_blocks(array) == _native.memory_blocks(array.copy())
            del array
            array = numpy.zeros(3_000_000, dtype=numpy.uint8)
            assert _native.memory_blocks(array) == _native.memory_blocks(array.copy())
