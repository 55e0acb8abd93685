"""Behaviours 23, 24, 30, 32 and 34: what counts as a change of a value, and values that are easily forgotten."""

import random

from notebook import Notebook
from story import Story, story


def test_23_assigning_an_equal_value_is_no_change(notebook: Notebook) -> None:
    """(23) Assigning an equal value is no change."""
    notebook.ok("import numpy as np, pandas as pd; number23, list23, array23 = 5, [1, 'x'], np.arange(5)")
    notebook.ok("frame23 = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})")
    equal = (
        "number23 = 2 + 3; list23 = [1] + ['x']; array23 = np.arange(5)\n"
        "frame23 = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})"
    )
    notebook.ok(equal)
    assert notebook.changes() == set()
    notebook.fail_over()
    notebook.ok(equal)
    assert notebook.changes() == set()
    notebook.ok("list23 = [1, 'y']")
    assert notebook.changes() == {"list23"}


def test_23_an_equal_value_of_another_type_is_a_change(notebook: Notebook) -> None:
    """(23) Values that compare equal and are not the same: 1, 1.0 and True; 0.0 and -0.0."""
    notebook.ok("one, zero, pair = 1, 0.0, (1, 2)")
    for cell, changed in (
        ("one = 1.0", "one"),
        ("one = True", "one"),
        ("zero = -0.0", "zero"),
        ("pair = [1, 2]", "pair"),
    ):
        notebook.ok(cell)
        assert notebook.changes() == {changed}, cell
    notebook.fail_over()
    assert notebook.value("one, zero, pair") == "(True, -0.0, [1, 2])"


def test_24_reverting_restores_the_fingerprint(notebook: Notebook) -> None:
    """(24) Reverting restores the fingerprint: in one cell it is no change, over several no difference."""
    notebook.ok("import numpy as np; list24, array24, map24 = [1], np.zeros(50_000), {'a': 1, 'b': 2}")
    notebook.ok("pass")
    start = notebook.head()
    notebook.ok("list24.append(2); list24.pop(); array24[5] = 1; array24[5] = 0; map24['c'] = 3; del map24['c']")
    assert notebook.changes() == set()
    stored = notebook.stored()
    notebook.ok("list24.append(2); array24[5] = 1")
    notebook.fail_over()
    notebook.ok("list24.pop(); array24[5] = 0")
    assert notebook.changes() == {"list24", "array24"}
    assert notebook.ask(do="diff", **{"from": start, "to": "HEAD"})["changed"] == []
    assert notebook.stored() - stored < 1.5 * 400_000, "the first value is stored once more"


_SEEDED = random.Random(30)
_DRAWS = [round(_SEEDED.random(), 6) for _ in range(2)]


@story
def test_30_random_number_generators() -> Story:
    """(30) RNG objects: an undo takes a draw back, and the next one is the same."""
    return Story(
        setup="import copy, random; random30 = random.Random(30)",
        change="drawn30 = random30.random()",
        check="round(copy.deepcopy(random30).random(), 6)",
        before=repr(_DRAWS[0]),
        after=repr(_DRAWS[1]),
        changes="drawn30 random30",
    )


@story
def test_30_random_number_generators_of_numpy() -> Story:
    """(30) RNG objects of numpy, new and old style; two of them that share a bit generator still share it."""
    return Story(
        setup=(
            "import copy, numpy as np; new30, old30 = np.random.default_rng(30), np.random.RandomState(30)\n"
            "twin30 = np.random.Generator(new30.bit_generator)"
        ),
        change="new30.random(); old30.random_sample()",
        check=(
            "new30.bit_generator is twin30.bit_generator, round(copy.deepcopy(new30).random(), 6), "
            "round(copy.deepcopy(old30).random_sample(), 6)"
        ),
        before="(True, 0.235799, 0.644144)",
        after="(True, 0.429107, 0.380748)",
        changes="new30 old30 twin30",
        groups="new30 twin30, old30",
    )


@story
def test_32_names_that_begin_with_an_underscore() -> Story:
    """(32) Underscore names are variables like others."""
    return Story(
        setup="_one32 = [1]; __two32 = {'k': 1}; _three_32_ = 1; public32 = _one32",
        change="_one32.append(2); __two32['k'] = 2; _three_32_ += 1",
        check="_one32 is public32, public32, __two32, _three_32_",
        before="(True, [1], {'k': 1}, 1)",
        after="(True, [1, 2], {'k': 2}, 2)",
        changes="_one32 __two32 _three_32_ public32",
    )


@story
def test_34_a_cached_function_works() -> Story:
    """(34) lru_cache: the function is restored with its parameters, and sees the current globals."""
    return Story(
        setup=(
            "import functools; factor34 = 2\n"
            "@functools.lru_cache(maxsize=7)\ndef times34(x): return x * factor34\n"
            "@functools.cache\ndef same34(x): return x"
        ),
        change="factor34 = 3; times34.cache_clear()",
        check="times34.__wrapped__(10), times34.cache_parameters()['maxsize'], same34.cache_parameters()['maxsize']",
        before="(20, 7, None)",
        after="(30, 7, None)",
        changes="factor34",
    )


@story
def test_34_what_is_in_the_cache() -> Story:
    """(34) lru_cache: what is in the cache is there again, and shared with the variables that refer to it."""
    return Story(
        setup=("import functools\n@functools.lru_cache\ndef make34(x): return [x]\nresult34 = make34(1)"),
        change="result34.append(2); other34 = make34(2)",
        check="make34.cache_info().currsize, make34.__wrapped__(1), result34",
        before="(1, [1], [1])",
        after="(2, [1], [1, 2])",
        changes="make34 other34 result34",
        groups="make34 other34 result34",
    )
