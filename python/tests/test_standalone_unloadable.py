"""Without the platform: values whose bytes do not load any more, and what is loaded beside them."""

from __future__ import annotations

from test_standalone import Kernel, kernel, loaded, shared

__all__ = ["kernel", "loaded", "shared"]


def test_a_value_that_does_not_load_is_missing_and_named(loaded: Kernel) -> None:
    loaded.run("broken = True\ndef make():\n    if broken: raise RuntimeError('no')\n    return 'made'\n")
    loaded.run("class Once:\n    def __reduce__(self): return make, ()")
    loaded.run("x, y = Once(), 1; import os; os.kill(os.getpid(), 0)")
    loaded.run("x = y = None")
    cell = loaded.run("%undo")
    assert "'x' cannot be loaded: RuntimeError: no" in cell.stderr
    assert loaded.value("y, 'x' in globals()") == "(1, False)"


def test_what_loads_beside_such_a_value_is_loaded_once(loaded: Kernel) -> None:
    loaded.run("import logging; log = logging.getLogger('banyan.test'); log.loads = 0")  # which no commit holds
    loaded.run("def fail(): raise RuntimeError('no')\ndef count():\n    log.loads += 1\n    return Counted()")
    loaded.run("class Broken:\n    def __reduce__(self): return fail, ()")
    loaded.run("class Counted:\n    def __reduce__(self): return count, ()")
    loaded.run("x = Broken(); y = Counted(); import os; os.kill(os.getpid(), 0)")
    loaded.run("x = y = None; log.loads = 0")
    assert "'x' cannot be loaded: RuntimeError: no" in loaded.run("%undo").stderr
    assert loaded.value("type(y).__name__, 'x' in globals(), log.loads") == "('Counted', False, 1)"


def test_what_was_not_at_hand_beside_such_a_value_is_loaded_after_it(loaded: Kernel) -> None:
    loaded.run("import logging; log = logging.getLogger('banyan.test'); log.busy = True")  # which no commit holds
    loaded.run("def fail(): raise RuntimeError('no')")
    loaded.run("def late():\n    if log.busy:\n        log.busy = False; raise BufferError\n    return Late()")
    loaded.run("class Broken:\n    def __reduce__(self): return fail, ()")
    loaded.run("class Late:\n    def __reduce__(self): return late, ()")
    loaded.run("x = Broken(); y = Late(); import os; os.kill(os.getpid(), 0)")
    loaded.run("x = y = None; log.busy = True")
    assert "'x' cannot be loaded: RuntimeError: no" in loaded.run("%undo").stderr
    assert loaded.value("type(y).__name__, log.busy") == "('Late', False)"
