"""Behaviours 12 to 22: which changes of a cell its own commit notices.

The undo comes before any other cell names the variable: a change that its own cell did not report is not undone, and
the test sees that.
"""

import time

from notebook import Notebook, names
from story import Story, story


@story
def test_12_augmented_assignment() -> Story:
    """(12) Augmented assignment, in place and not."""
    return Story(
        setup="list12 = [1]; same12 = list12; number12 = 1; text12 = {'k': 'a'}",
        change="list12 += [2]; number12 += 1; text12['k'] += 'b'",
        check="list12 is same12, same12, number12, text12",
        before="(True, [1], 1, {'k': 'a'})",
        after="(True, [1, 2], 2, {'k': 'ab'})",
        changes="list12 same12 number12 text12",
    )


@story
def test_13_reads_by_index_and_attribute() -> Story:
    """(13) Reads by index and attribute reach what is changed then."""
    return Story(
        setup="import types; map13 = {'k': [[1]]}; object13 = types.SimpleNamespace(items=[1]); other13 = [1]",
        change="map13['k'][0].append(2); object13.items.append(2)",
        check="map13, object13.items, other13",
        before="({'k': [[1]]}, [1], [1])",
        after="({'k': [[1, 2]]}, [1, 2], [1])",
        changes="map13 object13",
    )


@story
def test_14_a_cell_that_raises() -> Story:
    """(14) Reads by a cell that then raises: what it changed before is noticed and undone."""
    return Story(
        setup="list14 = [1]; number14 = 1",
        change="list14.append(2); number14 = 2; 1 / 0; number14 = 3",
        check="list14, number14",
        before="([1], 1)",
        after="([1, 2], 2)",
        changes="list14 number14",
        raises="ZeroDivisionError",
    )


@story
def test_15_a_function_that_reads_a_global() -> Story:
    """(15) `global` reads: a function changes an object that the cell does not name."""
    return Story(
        setup="log15 = []; quiet15 = []\ndef helper15(x): log15.append(x)\ndef note15(x): helper15(x)",
        change="note15(1)",
        check="log15, quiet15",
        before="([], [])",
        after="([1], [])",
        changes="log15",
    )


@story
def test_16_a_global_store_in_a_function() -> Story:
    """(16) A `global` store inside a function, of a variable that is there and of a new one."""
    return Story(
        setup="old16 = 1\ndef store16():\n    global old16, new16\n    old16, new16 = 2, 3",
        change="store16()",
        check=f"old16, {names('16')}",
        before="(1, ['old16', 'store16'])",
        after="(2, ['new16', 'old16', 'store16'])",
        changes="old16 new16",
    )


_BINDINGS = """
import contextlib
for loop17 in range(3):
    pass
with contextlib.nullcontext(5) as context17:
    pass
import math as module17
from math import pi as constant17
def function17():
    return 1
class Class17:
    v = 2
match [1, {'k': 2, 'z': 9}, 3]:
    case [first17, {'k': value17, **others17}, *tail17]:
        pass
(walrus17 := 4)
a17, (b17, *rest17) = 1, (2, 3, 4)
c17 = d17 = 5
typed17: int = 6
try:
    1 / 0
except ZeroDivisionError as error17:
    kept17 = str(error17)
"""
_BOUND = sorted(
    "loop17 context17 module17 constant17 function17 Class17 first17 value17 others17 tail17 walrus17 a17 b17 rest17 "
    "c17 d17 typed17 kept17".split()
)


@story
def test_17_every_way_to_bind_a_name() -> Story:
    """(17) Names bound by for, with, except, import, def, class, match, walrus, star and tuple targets."""
    return Story(
        setup="pass",
        change=_BINDINGS,
        check=names("17"),
        before="[]",
        after=repr(_BOUND),
        changes=" ".join([*_BOUND, "contextlib"]),
    )


@story
def test_17_every_way_to_bind_a_name_anew() -> Story:
    """(17) The same names when they are bound already: each gets its new value, and its old one back."""
    return Story(
        setup="import math\nfor again17b in (1,): pass\nwalrus_b17b = e_b17b = f_b17b = g_b17b = m_b17b = 1",
        change=(
            "for again17b in (2,): pass\n(walrus_b17b := 2)\ne_b17b, *f_b17b = 2, 3\n"
            "match 2:\n    case g_b17b: pass\ntry: raise ValueError\nexcept ValueError as m_b17b: pass"
        ),
        check=f"again17b, walrus_b17b, e_b17b, f_b17b, g_b17b, {names('m_b17b')}",
        before="(1, 1, 1, 1, 1, ['m_b17b'])",
        after="(2, 2, 2, [3], 2, [])",
        changes="again17b walrus_b17b e_b17b f_b17b g_b17b -m_b17b",
    )


_LOOKED_AT = """
import os
os.looks18 = 0
class Looked18:
    def __reduce__(self):
        os.looks18 += 1
        return Looked18, ()
looked18 = Looked18()
"""


def test_18_magics_and_commands_access_what_they_name(notebook: Notebook) -> None:
    """(18) Magics and `!` are no accesses of variables they do not name."""
    notebook.ok(_LOOKED_AT)
    for where in ("here", "on another replica"):
        notebook.ok("looked18")
        looks = notebook.value("os.looks18")
        assert looks != "0", "the probe does not count"
        for cell in (
            "!true",
            "%time 1 + 1",
            "%pwd",
            "%timeit -n1 -r1 pass",
            "text = !echo one",
            "%who",
        ):
            notebook.ok(cell)
            assert notebook.value("os.looks18") == looks, f"{cell} looks at a variable that it does not name, {where}"
        if where == "here":
            notebook.fail_over()


def test_18_a_script_magic_leaves_no_suspicion(notebook: Notebook) -> None:
    """(18) Magics are no accesses of variables they do not name: nor are the cells after `%%bash`."""
    notebook.ok(_LOOKED_AT)
    notebook.ok("%%bash\ntrue")
    notebook.ok("looked18")
    looks = notebook.value("os.looks18")
    notebook.ok("1 + 1")
    assert notebook.value("os.looks18") == looks


def test_18_big_output_leaves_no_suspicion(notebook: Notebook) -> None:
    """(18) Cells after one that shows more than 64 kB, an image for example, access no variables they do not name."""
    notebook.ok(_LOOKED_AT)
    notebook.ok("from IPython.display import HTML; HTML('x' * 100_000)")
    notebook.ok("looked18")
    looks = notebook.value("os.looks18")
    notebook.ok("1 + 1")
    assert notebook.value("os.looks18") == looks


def test_18_magics_change_what_they_name(notebook: Notebook) -> None:
    """(18) What a magic or `!` names, binds or runs is noticed."""
    notebook.ok("list18 = [1]; word18 = 'one'")
    notebook.ok("%time list18.append(2)")
    assert notebook.changes() == {"list18"}
    notebook.ok("lines18 = !echo {word18}")
    assert notebook.changes() == {"lines18"}
    notebook.ok("%%time\nlist18.append(3)")
    assert notebook.changes() == {"list18"}
    notebook.ok("%%capture text18\nlist18.append(4); print('x')")
    assert notebook.changes() == {"list18", "text18"}
    notebook.ok("%undo")
    assert notebook.value("list18, list(lines18)") == "([1, 2, 3], ['one'])"
    notebook.fail_over()
    notebook.ok("%redo")
    assert notebook.value("list18, text18.stdout") == "([1, 2, 3, 4], 'x\\n')"


@story
def test_19_a_decorator_that_changes_a_list() -> Story:
    """(19) Decorators: the wrapper of a function changes a variable that nobody names."""
    return Story(
        setup=(
            "import functools\ncalls19 = []\n"
            "def traced19(function):\n"
            "    @functools.wraps(function)\n"
            "    def wrapper(*arguments):\n"
            "        calls19.append(arguments)\n"
            "        return function(*arguments)\n"
            "    return wrapper\n"
            "@traced19\ndef work19(x): return 2 * x"
        ),
        change="work19(3)",
        check="calls19, work19.__name__, work19.__wrapped__(4)",
        before="([], 'work19', 8)",
        after="([(3,)], 'work19', 8)",
        changes="calls19",
    )


@story
def test_19_a_subclass_changes_its_base() -> Story:
    """(19) Subclasses: a method of an instance changes an attribute of the base class."""
    return Story(
        setup=(
            "class Base19:\n    seen = []\n    def note(self, x): self.seen.append(x); return self\n"
            "class Child19(Base19):\n    def note(self, x): return super().note(x)\n"
            "child19 = Child19()",
            "Base19, Child19, child19",
        ),
        change="child19.note(1)",
        check="Base19.seen, Child19.seen is Base19.seen, type(child19) is Child19, Child19.__mro__[1] is Base19",
        before="([], True, True, True)",
        after="([1], True, True, True)",
        changes="Base19",
    )


@story
def test_20_through_globals() -> Story:
    """(20) `globals()[…]` and `globals().get` bind, delete and reach variables."""
    return Story(
        setup="list20, gone20, bound20 = [1], 1, 1",
        change=(
            "g = globals; g()['bound20'] = 2; globals().get('list' + '20').append(2); del globals()['gone20']; del g"
        ),
        check=f"list20, bound20, {names('20')}",
        before="([1], 1, ['bound20', 'gone20', 'list20'])",
        after="([1, 2], 2, ['bound20', 'list20'])",
        changes="list20 bound20 -gone20",
    )


@story
def test_20_through_exec() -> Story:
    """(20) `exec` and `eval` of a text that names what the cell does not."""
    return Story(
        setup="items20x, value20x = [1], 1\ndef run20x(text): exec(text, globals())",
        change="exec('value20x = 2'); eval('items' + '20x.append(2)'); run20x('new20x = 3')",
        check=f"items20x, value20x, {names('20x')}",
        before="([1], 1, ['items20x', 'run20x', 'value20x'])",
        after="([1, 2], 2, ['items20x', 'new20x', 'run20x', 'value20x'])",
        changes="items20x value20x new20x",
    )


@story
def test_21_through_an_attribute_of_a_module() -> Story:
    """(21) Mutation through a module's attribute: the cell names the module only."""
    return Story(
        setup="import json; list21 = [1]; json.banyan21 = list21",
        change="json.banyan21.append(2)",
        check="list21",
        before="[1]",
        after="[1, 2]",
        changes="list21",
    )


@story
def test_21_the_module_still_refers_to_the_variable() -> Story:
    """(21) After a checkout a module's attribute and the variable are one object, as before it."""
    return Story(
        setup="import csv; list21m = [1]; csv.banyan21m = list21m",
        change="list21m.append(2)",
        check="csv.banyan21m is list21m",
        before="True",
        after="True",
        changes="list21m",
    )


@story
def test_21_through_an_object_of_a_library() -> Story:
    """(21) Mutation by a library that was handed an object: the cell names the library only."""
    return Story(
        setup=(
            "import logging; seen21 = []\n"
            "class Keeper21(logging.Handler):\n    def emit(self, record): seen21.append(record.getMessage())\n"
            "logging.getLogger('b21').addHandler(Keeper21()); logging.getLogger('b21').setLevel(10)"
        ),
        change="logging.getLogger('b21').info('hello')",
        check="seen21",
        before="[]",
        after="['hello']",
        changes="seen21",
    )


def test_22_a_thread_that_changes_between_cells(notebook: Notebook) -> None:
    """(22) A thread that mutates between cells: the next cell reports it, though it names nothing."""
    notebook.ok("import threading; list22, other22 = [1], [1]")
    notebook.ok("threading.Timer(0.1, lambda: list22.append(2)).start()")
    time.sleep(0.5)
    notebook.ok("'names no variable'")
    assert notebook.changes() == {"list22"}
    notebook.ok("%undo")
    assert notebook.value("list22") == "[1]"
    notebook.fail_over()
    assert notebook.value("list22") == "[1]"
    notebook.ok("%redo")
    assert notebook.value("list22, other22") == "([1, 2], [1])"


def test_22_a_thread_that_changes_while_cells_run(notebook: Notebook) -> None:
    """(22) A thread that goes on while cells run: every commit shows one moment, and the last one has the last
    value."""
    notebook.ok("import threading, time; list22 = []")
    notebook.ok(
        "def work22():\n    for n in range(40): list22.append(n); time.sleep(0.01)\n"
        "thread22 = threading.Thread(target=work22); thread22.start()"
    )
    for _ in range(3):
        notebook.ok("1 + 1")
    notebook.ok("thread22.join(); del thread22")
    notebook.ok("pass")
    notebook.fail_over()
    assert notebook.value("list22 == list(range(40))") == "True"


@story
def test_22_writes_to_attributes_and_items_of_any_object() -> Story:
    """Attribute and subscript writes on any object: slots, properties, __setitem__, slices, deletions."""
    return Story(
        setup=(
            "class Slots:\n    __slots__ = ('v',)\n"
            "class Own:\n    def __init__(self): self.data = {}\n"
            "    def __setitem__(self, key, value): self.data[key] = value\n"
            "    @property\n    def v(self): return self.data['v']\n"
            "    @v.setter\n    def v(self, value): self.data['v'] = value\n"
            "slots22w, own22w, list22w, dict22w = Slots(), Own(), [1, 2, 3], {'a': 1, 'b': 2}\n"
            "slots22w.v = own22w.v = 1"
        ),
        change="slots22w.v = 2; own22w.v = 2; own22w['k'] = 3; list22w[1:] = [9]; del dict22w['a']",
        check="slots22w.v, own22w.data, list22w, dict22w",
        before="(1, {'v': 1}, [1, 2, 3], {'a': 1, 'b': 2})",
        after="(2, {'v': 2, 'k': 3}, [1, 9], {'b': 2})",
        changes="slots22w own22w list22w dict22w",
    )


@story
def test_22_imports_and_definitions_inside_if_and_try() -> Story:
    """Imports and defs inside if and try."""
    return Story(
        setup="flag22i = True",
        change=(
            "if flag22i:\n    import math as math22i\n    def double22i(x): return 2 * x\nelse:\n    other22i = 1\n"
            "try:\n    import no_such_module\nexcept ImportError:\n    import json as json22i\n"
            "    class Late22i:\n        v = 3"
        ),
        check=names("22i"),
        before="['flag22i']",
        after="['Late22i', 'double22i', 'flag22i', 'json22i', 'math22i']",
        changes="Late22i double22i json22i math22i",
    )


@story
def test_22_del_of_a_name_an_item_and_an_attribute() -> Story:
    """`del`, of a variable, of an item and of an attribute."""
    return Story(
        setup="import types; name22d, map22d, object22d = 1, {'a': 1, 'b': 2}, types.SimpleNamespace(v=1, w=2)",
        change="del name22d, map22d['a'], object22d.v",
        check=f"map22d, object22d.__dict__, {names('22d')}",
        before="({'a': 1, 'b': 2}, {'v': 1, 'w': 2}, ['map22d', 'name22d', 'object22d'])",
        after="({'b': 2}, {'w': 2}, ['map22d', 'object22d'])",
        changes="map22d object22d -name22d",
    )
