"""Checkout and restore are all of it or none of it, and the user's objects are never altered."""

import time

from harness.client import wait_until
from notebook import Notebook
from story import Story, story


def _agree(notebook: Notebook) -> None:
    """Checks that the worker has the same names as head."""
    listed = notebook.value("get_ipython().run_line_magic('who_ls', '')")
    variables = {row["name"] for row in notebook.ask(do="state")["variables"]}
    assert set(eval(listed)) == {name for name in variables if not name.startswith("<")}


_FAILS_TO_LOAD = """
def made(v):
    raise RuntimeError("not loaded")
class Fails:
    def __init__(self, v): self.v = v
    def __reduce__(self): return made, (self.v,)
"""


def test_a_checkout_whose_value_does_not_load_makes_it_again(notebook: Notebook) -> None:
    """Checkout is atomic: when one value does not load, its cells run again, and all variables are the target's."""
    notebook.ok(_FAILS_TO_LOAD + "fails, good, gone = Fails(1), [1], 1")
    notebook.ok("del gone; fails = Fails(2); good.append(2)")
    notebook.run("%undo")
    notebook.run("pass")
    assert notebook.value("fails.v, good, gone") == "(1, [1], 1)"
    _agree(notebook)


def test_what_can_neither_be_loaded_nor_made_again_is_named_and_nothing_is_lost(notebook: Notebook) -> None:
    """The other variables have the target's values. Redo goes back, and --repeat runs cells with side effects again."""
    notebook.ok(_FAILS_TO_LOAD + "good, gone = [1], 1")
    notebook.ok("fails = Fails(1); open('/tmp/banyan-effect', 'w').close()")
    notebook.ok("del gone; fails = Fails(2); good.append(2)")
    assert "fails" in notebook.run("%undo").stdout + notebook.run("pass").stderr
    assert notebook.value("good, gone, 'fails' in globals()") == "([1], 1, False)"
    notebook.run("%redo")
    assert "--repeat" in notebook.run("pass").stderr
    notebook.run("%checkout --repeat HEAD")
    notebook.run("pass")
    assert notebook.value("fails.v, good, 'gone' in globals()") == "(2, [1, 2], False)"


def test_a_cell_that_dies_after_it_asked_undoes_nothing(notebook: Notebook) -> None:
    """Checkout is atomic: the cell that asked for it raises, is interrupted, or takes its process with it."""
    notebook.ok("import os, time; left, right = [1], [1]")
    notebook.ok("left.append(2); right.append(2)")
    assert notebook.run("%undo\n1 / 0").status == "error"
    assert notebook.value("left, right") == "([1, 2], [1, 2])"
    assert notebook.run("%undo\nos.kill(os.getpid(), 9)").reply["ename"] == "KernelDied"
    assert notebook.value("left, right") == "([1, 2], [1, 2])"
    cell = notebook.session.start("%undo\nprint('asked', flush=True)\ntime.sleep(60)")
    notebook.session.wait_for(lambda m: m.type == "stream" and "asked" in m.content["text"])
    notebook.platform.gateway.call("POST", f"/api/kernels/{notebook.kernel}/interrupt")
    assert notebook.session.finish(cell).reply["ename"] == "KeyboardInterrupt"
    assert notebook.value("left, right") == "([1, 2], [1, 2])"
    notebook.ok("del left\n%undo")
    assert notebook.value("left, right") == "([1], [1])"
    _agree(notebook)


def test_the_host_dies_during_an_undo(notebook: Notebook) -> None:
    """Checkout is atomic: the host dies while an undo of big values is under way; head and variables agree."""
    notebook.ok("import numpy as np; left, right, big = [1], np.zeros(3_000_000), np.zeros(3_000_000)")
    notebook.ok("left.append(2); right[:] = 2; big[:] = 2")
    both = {"first": "([1], 0.0, 0.0)", "second": "([1, 2], 2.0, 2.0)"}
    for delay in (0.0, 0.02):
        notebook.ok("%checkout main")
        executor = notebook.platform.gateway.executor(notebook.kernel)
        cell = notebook.session.start("%undo")
        time.sleep(delay)
        notebook.platform.kill(executor)
        ended = notebook.session.finish(cell, 60)
        shown = notebook.value("left, float(right[-1]), float(big[0])")
        assert shown in both.values()
        if ended.status == "ok":
            assert shown == both["first"], "the undo was acknowledged"
        rows = notebook.ask(do="log", at="HEAD")["commits"]
        changed = any("left" in row["changed"] and row["code"].startswith("left.append") for row in rows)
        assert shown == both["second" if changed else "first"], "the history and the variables disagree"
        _agree(notebook)
        notebook.platform.repair()
        wait_until(
            lambda: all(row["up"] for row in notebook.platform.gateway.session(notebook.kernel)["replicas"]),
            "all replicas are up",
        )


def test_the_worker_dies_right_after_an_undo(notebook: Notebook) -> None:
    """Restore is atomic: the process dies while it loads what was undone; the next one has all of it."""
    notebook.ok("import numpy as np; left, right = [1], np.zeros(3_000_000)")
    notebook.ok("left.append(2); right[:] = 2; new = 1")
    notebook.ok("%undo")
    notebook.rebuild()
    assert notebook.value("left, float(right[-1])") == "([1], 0.0)"
    _agree(notebook)
    notebook.ok("%redo")
    notebook.fail_over()
    assert notebook.value("left, float(right[-1]), new") == "([1, 2], 2.0, 1)"
    _agree(notebook)


@story
def test_writeable_flags_are_kept() -> Story:
    """The user's objects are never altered: numpy's writeable flags, of arrays, views and broadcasts."""
    return Story(
        setup=(
            "import numpy as np; free, fixed = np.zeros(4), np.zeros(4); "
            "seen, spread = free[:2], np.broadcast_to(free, (2, 4))\n"
            "fixed.flags.writeable = False; seen.flags.writeable = False; held = [free, fixed]"
        ),
        change="free[0] = 5",
        check=(
            "[x.flags.writeable for x in (free, fixed, seen, spread)], free.tolist(), seen.tolist(), "
            "held[0] is free, spread[1].tolist()"
        ),
        before="([True, False, False, False], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0], True, [0.0, 0.0, 0.0, 0.0])",
        after="([True, False, False, False], [5.0, 0.0, 0.0, 0.0], [5.0, 0.0], True, [5.0, 0.0, 0.0, 0.0])",
    )


@story
def test_restored_objects_can_be_written() -> Story:
    """The user's objects are never altered: what was restored is as writeable as it was, of every size."""
    return Story(
        setup=(
            "import numpy as np, pandas as pd, array; large, small = np.zeros(200_000), np.zeros(2)\n"
            "raw, typed = bytearray(200_000), array.array('d', [0.0] * 3); "
            "table = pd.DataFrame({'a': np.zeros(100_000)})"
        ),
        change="large[0] = small[0] = raw[0] = typed[0] = 1; table.iloc[0, 0] = 1; raw.append(1); typed.append(2)",
        check="float(large[0]), float(small[0]), raw[0], len(raw), list(typed), float(table.a[0])",
        before="(0.0, 0.0, 0, 200000, [0.0, 0.0, 0.0], 0.0)",
        after="(1.0, 1.0, 1, 200001, [1.0, 0.0, 0.0, 2.0], 1.0)",
        changes="large small raw typed table",
    )


def test_nothing_is_added_to_functions_classes_and_objects(notebook: Notebook) -> None:
    """The user's objects are never altered: functions, classes and instances get no attribute."""
    notebook.ok(
        "import functools\nclass Plain:\n    pass\ndef function(x): return x\nlocked = functools.partial(function, 1)\n"
        "instance = Plain(); instance.v = 1\nbefore = [sorted(vars(x)) for x in (Plain, function, instance, locked)]"
    )
    for _ in range(2):
        notebook.ok("Plain, function, instance, locked")
    check = "[sorted(vars(x)) for x in (Plain, function, instance, locked)] == before"
    assert notebook.value(check) == "True", notebook.value("sorted(vars(Plain)), before[0]")
    notebook.fail_over()
    assert notebook.value(check) == "True"


def test_objects_stay_the_ones_they_are(notebook: Notebook) -> None:
    """The user's objects are never altered: cells, undo of others and dynamic cells leave an object where it is."""
    notebook.ok("import os; list_a, dict_b = [1], {'k': [2]}; os.kept = (id(list_a), id(dict_b), id(dict_b['k']))")
    notebook.ok("globals(); other = 1")
    notebook.ok("list_a; dict_b")
    notebook.ok("%undo")
    notebook.ok("%redo")
    assert notebook.value("(id(list_a), id(dict_b), id(dict_b['k'])) == os.kept") == "True"


def test_deleted_objects_are_freed(notebook: Notebook) -> None:
    """The user's objects are never altered: nothing keeps alive what its cells have let go."""
    notebook.ok("import os, gc\nclass Freed:\n    def __del__(self): os.freed = getattr(os, 'freed', 0) + 1")
    notebook.ok("one, two = Freed(), [Freed()]; two.append(two)")
    notebook.ok("one; pass")
    notebook.ok("del one, two")
    assert notebook.value("gc.collect() >= 0, os.freed") == "(True, 2)"


def test_the_process_is_left_alone(notebook: Notebook) -> None:
    """The user's objects are never altered: random numbers, garbage collection, limits, hooks and warnings."""
    notebook.ok("import gc, random, signal, sys, warnings; import numpy as np; random.seed(5); np.random.seed(5)")
    notebook.ok(
        "def settings(): return (gc.isenabled(), gc.get_threshold(), sys.getrecursionlimit(), sys.getswitchinterval(), "
        "random.getstate()[1][-1], int(np.random.get_state()[2]), sys.gettrace(), "
        "sys.getprofile(), len(warnings.filters))"
    )
    first = notebook.value("settings()")
    notebook.ok("data = [np.random.default_rng(1).random(10), {'k': [1]}]; globals()")
    notebook.ok("data[1]['k'].append(2)")
    notebook.ok("%undo")
    assert notebook.value("settings()") == first
