"""The table says what happens: what holds is ok, what is refused is named, what fails silently is WRONG."""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from compat.__main__ import chosen
from compat.alike import alike
from compat.case import Case, Library
from compat.cases import LIBRARIES
from compat.runner import ROOT, Reads, Row, Verdict, run_case
from compat.table import markdown, summary


def tried(case: Case, setup: str = "import numpy as np, sys, os, threading") -> Row:
    return run_case(Library("test", None, setup, (case,), venv="none"), case)


@pytest.mark.parametrize(
    "case",
    [
        Case("builtins.list", "x = [1]", "x.append(2)"),
        Case("builtins.int", "x = 1", "x = 2", frozen=True),
        Case("numpy.ndarray", "x = np.zeros(9)", "x[0] = 1"),
        Case("builtins.object", "class C: pass\nx = C()", "x.a = 1", "vars(x)"),
    ],
    ids=lambda case: case.kind,
)
def test_what_a_session_keeps(case: Case) -> None:
    row = tried(case)
    assert (row.verdict, row.reason) == (Verdict.OK, "")
    assert row.noticed and row.restored and row.undone
    assert row.reads is Reads.CLEAN
    assert row.stored is not None and row.stored > 0
    assert row.shared is (None if case.frozen else True)


def test_what_is_refused_by_name() -> None:
    row = tried(Case("threading.Lock", "x = threading.Lock()", "_ = x.acquire()", "x.locked()"))
    assert row.verdict is Verdict.RECOMPUTED
    assert "lock" in row.reason
    assert row.restored is None and row.stored is None


SILENT = Case("builtins.list", "x = []\nsys.flag = 0", "sys.flag = 1", "(x, getattr(sys, 'flag', None))")


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (SILENT, "the change is not noticed"),
        (Case("builtins.list", "x = []", "x.append(os._exit(3))"), "session: ended with status 3"),
        (Case("builtins.list", "x = []", "os.abort()"), "session: killed by SIGABRT"),
        (
            Case(
                "builtins.object",
                "class C:\n    def __reduce__(self): return (int, ('no number',))\nx = C()",
                "x.a = 1",
                "vars(x)",
            ),
            "does not load: ValueError",
        ),
    ],
    ids=["unseen", "exit", "crash", "unloadable"],
)
def test_what_fails_silently(case: Case, reason: str) -> None:
    row = tried(case)
    assert row.verdict is Verdict.WRONG
    assert reason in row.reason


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (Case("builtins.list", "x = 1 / 0", "pass"), "ZeroDivisionError"),
        (Case("builtins.dict", "x = []", "x.append(1)"), "makes a builtins.list"),
        (Case("builtins.nothing", "x = []", "x.append(1)"), "there is no builtins.nothing"),
        (Case("builtins.list", "x = [1]", "x[0] = 1"), "does not show the change"),
        (Case("builtins.object", "x = object()", "x = object()"), "is another each time"),
    ],
)
def test_a_case_that_says_nothing(case: Case, reason: str) -> None:
    row = tried(case)
    assert row.verdict is Verdict.BROKEN
    assert reason in row.reason


def test_a_library_that_is_not_here() -> None:
    row = tried(Case("nowhere.Thing", "x = nowhere.Thing()", "x.a = 1"), "import nowhere")
    assert row.verdict is Verdict.ABSENT


def test_equality_in_depth() -> None:
    numpy = pytest.importorskip("numpy")
    nan = float("nan")
    assert alike([nan, {"a": (1, nan)}], [nan, {"a": (1, nan)}])
    assert alike(numpy.array([1.0, nan]), numpy.array([1.0, nan]))
    assert alike(numpy.array([[1], None], object), numpy.array([[1], None], object))
    assert not alike(1, 1.0)
    assert not alike({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not alike(numpy.zeros(2), numpy.zeros((2, 1)))
    assert not alike(numpy.zeros(2), numpy.zeros(2, "f4"))


def test_the_table_is_large_and_each_row_is_another() -> None:
    titles = Counter((library.name, case.title) for library in LIBRARIES for case in library.cases)
    assert [title for title, count in titles.items() if count > 1] == []
    assert len({case.kind for library in LIBRARIES for case in library.cases}) >= 250


def test_rows_are_chosen_by_library_or_title() -> None:
    assert {library.name for library, _ in chosen(["NumPy"])} == {"numpy"}
    assert all("deque" in case.title for _, case in chosen(["deque"]))
    assert chosen(["no such class"]) == []


def test_the_page_has_a_row_for_each_case() -> None:
    rows = [
        Row("a", "a.B", "", Verdict.OK, "", "1.0", True, Reads.CLEAN, 1200, True, True, True),
        Row("a", "a.C", "x | y", Verdict.WRONG, "why", "1.0", False, Reads.EACH, 5, False, True, None),
    ]
    page = markdown(rows)
    assert "## a 1.0" in page
    assert "| ok | a.B | ✓ | ✓ | 1.2 kB | ✓ | ✓ | ✓ |  |" in page
    assert "| WRONG | a.C (x \\| y) | ✗ | ✗ | 5 B | ✗ | ✓ | – | why |" in page
    assert summary(rows) == "2 cases, 2 classes of 1 libraries: 1 ok, 1 WRONG; 1 seem changed whenever they are read"


def test_json_is_one_object_and_nothing_else() -> None:
    command = [sys.executable, "-m", "compat", "--json", "builtins.complex"]
    path = os.pathsep.join(str(ROOT / folder) for folder in ("tools", "python", "."))
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})
    result = json.loads(done.stdout)
    assert done.returncode == 0
    assert [row["verdict"] for row in result["rows"]] == ["ok"]
    assert result["totals"]["cases"] == 1
