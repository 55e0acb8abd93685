"""What cells have shown: `_`, `Out` and their kin after a move, an undo and a checkout."""

from __future__ import annotations

import pytest
from test_replication import Pair, pair
from test_standalone import Kernel, kernel, loaded, shared

__all__ = ["kernel", "loaded", "pair", "shared"]


def test_outputs_go_along(pair: Pair) -> None:
    pair.run("rows = [1]")
    pair.run("rows")
    pair.run("{'a': [7]}")
    pair.run("'text'")
    assert pair.standby.value("_, __, ___ is rows, Out[2] is rows, _3['a'], sorted(Out)[:3]") == (
        "('text', {'a': [7]}, True, True, [7], [2, 3, 4])"
    )


def test_a_cell_that_shows_what_a_variable_has_changes_no_variable(pair: Pair) -> None:
    pair.run("import numpy as np\nrows = np.zeros(1_000_000)")
    cell = pair.run("rows")
    assert cell.changed == []
    assert sum(block.get("size", 0) for each in cell.body["changed"] for part in each["parts"] for block in part) < 1000
    assert pair.standby.value("_ is rows, _.shape") == "(True, (1000000,))"


def test_an_output_that_its_variable_leaves_goes_along_where_it_is_small(pair: Pair) -> None:
    pair.run("import numpy as np\nfew, many = [1, 2], np.zeros(1_000_000)")
    pair.run("few")
    pair.run("many")
    pair.run("few, many = 3, 4")
    assert pair.executor.value("_2, _3.shape") == "([1, 2], (1000000,))"
    assert pair.standby.value("_2") == "[1, 2]"
    error = pair.standby.run("_3.shape", allow_error=True).error
    assert error is not None and "Out[3] did not come along" in error and "large" in error


@pytest.mark.parametrize("code", ["(each for each in [1])", "open('/dev/null', 'w')"])
def test_one_that_no_bytes_can_hold_is_named_when_it_is_used(pair: Pair, code: str) -> None:
    cell = pair.run(code)
    assert cell.failed == [] and cell.stderr == ""
    error = pair.standby.run("_.name", allow_error=True).error
    assert error is not None and "did not come along" in error and "Run its cell again" in error


def test_an_output_that_a_cell_changes_goes_along_as_it_is(pair: Pair) -> None:
    pair.run("[1]")
    pair.run("_.append(2)")
    assert pair.standby.value("_1") == "[1, 2]"


def test_they_follow_undo_and_redo_and_a_look_is_no_step(loaded: Kernel) -> None:
    loaded.run("rows = [1]")
    loaded.run("rows")
    loaded.run("rows.append(2); rows")
    loaded.run("'a look'")
    assert "rows.append" in loaded.run("%undo").stdout
    assert loaded.value("_, _ is rows") == "([1], True)"
    assert loaded.run("%redo").status == "ok"
    assert loaded.value("Out[max(Out) - 1] if len(Out) > 1 else None, rows") != ""
    loaded.run("%undo")
    undone = loaded.run("%undo")
    assert "rows = [1]" in undone.stdout and "<Out>" not in undone.stdout


def test_old_ones_make_room_for_new_ones_and_say_so(pair: Pair) -> None:
    for number in range(8):
        pair.run(f"'{number}' * 4000")
    assert pair.executor.value("[len(Out[at]) for at in range(1, 9)]") == str([4000] * 8)
    assert pair.standby.value("(_, __, ___) == (Out[8], Out[7], Out[6]), [len(Out[at]) for at in range(4, 9)]") == (
        "(True, [4000, 4000, 4000, 4000, 4000])"
    )
    error = pair.standby.run("len(_1)", allow_error=True).error
    assert error is not None and "Out[1] did not come along" in error and "newer ones" in error


def test_nothing_is_asked_of_an_object_of_the_users(pair: Pair) -> None:
    pair.run(
        "asked = []\nclass Lazy:\n    @property\n    def size(self):\n        asked.append('size')\n        return 1"
    )
    pair.run("Lazy()")
    assert pair.executor.value("asked") == "[]"


def test_an_output_that_a_cell_takes_out_is_held_no_more(loaded: Kernel) -> None:
    """Not its memory, and not as what an undo brings back."""
    loaded.run("import gc, weakref\nclass Big: pass\n[1]")
    number = int(loaded.run("print(max(Out))").stdout)
    loaded.run(f"step = Out.pop({number}).append(2); 5")
    loaded.run("%undo")
    assert loaded.run(f"print(Out[{number}])").stdout == "[1]\n"
    loaded.run("big = Big(); seen = weakref.ref(big); big")
    loaded.run("%xdel big")
    loaded.run("6")
    assert loaded.run("del gc, Big; __import__('gc').collect(); print(seen())").stdout == "None\n"
