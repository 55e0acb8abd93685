"""Time travel in a cell: what the magics ask the host agent, and what a person sees."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from conftest import Worker, receive

from banyan.notebook import history

ROW = {
    "id": "3f2a91c",
    "head": True,
    "parent": "77ab012",
    "branches": ["main"],
    "tags": [],
    "message": None,
    "status": "ok",
    "code": "df.drop(columns='a', inplace=True)",
    "count": 5,
    "changed": ["df"],
    "deleted": [],
    "failed": [],
    "runtime_s": 0.01,
    "at": None,
}
TRAVEL: dict[str, Any] = {"head": "77ab012", "branch": None, "commits": [ROW], "bytes": 2048}
TRAVEL |= {
    "restores": ["df"],
    "deletes": ["x"],
    "recomputes": [],
    "unread": [],
    "lost": [],
    "repeats": [],
    "removes": [],
}
LOG = {"head": "3f2a91c", "branch": "main", "commits": [ROW, {**ROW, "id": "77ab012", "head": False}], "more": 3}


def _ask(worker: Worker, code: str, **answer: Any) -> tuple[dict[str, Any], Any]:
    """Run a cell with a magic; the question and the cell."""
    execution = worker.start(code)
    worker.go(execution)
    question = receive(worker.channel, "ask").body["question"]
    worker.channel.send({"type": "answer", **answer})
    return question, worker.finish(execution)


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("%undo", {"do": "undo", "count": 1}),
        ("%undo 3", {"do": "undo", "count": 3}),
        ("%redo", {"do": "redo", "count": 1}),
        ("%checkout main~2", {"do": "checkout", "at": "main~2"}),
    ],
)
def test_what_moves_head_says_what_it_does(worker: Worker, code: str, question: dict[str, Any]) -> None:
    asked, cell = _ask(worker, code, content=TRAVEL)
    assert asked == question
    assert "restored: df (2.05 kB)" in cell.stdout
    assert "deleted:  x" in cell.stdout
    assert cell.changed == []


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("%branch try", {"do": "branch", "name": "try"}),
        ("%branch try main", {"do": "branch", "name": "try", "at": "main"}),
        ("%branch -d old", {"do": "branch", "drop": "old"}),
        ("%branch -m better", {"do": "branch", "rename": "better"}),
        ("%branch", {"do": "branch"}),
    ],
)
def test_branches(worker: Worker, code: str, question: dict[str, Any]) -> None:
    branches = [{"name": "main", "id": "3f2a91c", "current": True}]
    asked, cell = _ask(worker, code, content={"branches": branches})
    assert asked == question
    shown = next(content["data"] for kind, content in cell.output if kind == "display_data")
    assert "main" in shown["text/plain"]
    assert "<table>" in shown["text/html"]


def test_a_message_is_any_text(worker: Worker) -> None:
    text = """it's "quoted" and -d too"""
    asked, _ = _ask(worker, f"%describe {text}", content={"commit": ROW})
    assert asked == {"do": "describe", "message": text}


def test_a_refusal_is_a_plain_error(worker: Worker) -> None:
    execution = worker.start("%undo")
    worker.go(execution)
    receive(worker.channel, "ask")
    worker.channel.send({"type": "answer", "error": "there is nothing to undo"})
    cell = worker.finish(execution)
    assert cell.error == "UsageError: there is nothing to undo"


@pytest.mark.parametrize("code", ["%undo 0", "%undo x", "%checkout", "%state x"])
def test_wrong_use_asks_nothing(worker: Worker, code: str) -> None:
    assert "UsageError" in (worker.run(code, allow_error=True).error or "") + worker.run("1").stderr


def test_a_thread_cannot_ask(worker: Worker) -> None:
    code = (
        "import threading\nfailed = []\n"
        "def ask():\n    try: get_ipython().run_line_magic('undo', '')\n"
        "    except BaseException as error: failed.append(str(error))\n"
        "t = threading.Thread(target=ask); t.start(); t.join(); failed"
    )
    assert "not from a thread" in worker.value(code)


def test_an_interrupt_while_it_asks_comes_after_the_answer(worker: Worker) -> None:
    execution = worker.start("%log\nprint('not reached')")
    worker.go(execution)
    receive(worker.channel, "ask")
    os.kill(worker.pid, signal.SIGINT)
    worker.channel.send({"type": "answer", "content": LOG})
    cell = worker.finish(execution)
    assert cell.error == "KeyboardInterrupt: "
    assert worker.value("1 + 1") == "2"


def test_a_magic_of_history_touches_no_variable(worker: Worker) -> None:
    worker.run("import numpy as np; big = np.zeros(10); x = [1]")
    _, cell = _ask(worker, "%log", content=LOG)
    assert cell.changed == []


def test_part_of_a_co_variable_can_be_bound(worker: Worker, spawn: Any) -> None:
    cell = worker.run("a = b = [1]")
    other = spawn()
    assert cell.report is not None
    cell.report.body["changed"][0]["names"] = ["b"]
    assert other.apply(cell) == []
    assert other.value("'a' in globals(), b") == "(False, [1])"


def test_the_log_as_text_lines_up_and_says_what_is_left_out() -> None:
    text = repr(history.log_table(LOG))
    first, head, newest, older = text.splitlines()
    assert first == "head 3f2a91c, branch main; 3 older commits: %log -n 5"
    assert newest.startswith("*  3f2a91c  [5]   df.drop")
    assert newest.index("df.drop") == older.index("df.drop") == head.index("code")
    assert newest.index("main") == head.index("names")


def test_what_is_lost_or_runs_again_is_said() -> None:
    lost = {"name": "g", "reason": "running its cell again would have side effects (wrote log)"}
    text = history.travel_text({**TRAVEL, "lost": [lost]}, "Undone")
    assert text.splitlines()[-2] == f"  cannot be restored: g, for {lost['reason']}"
    row = {**ROW, "count": 3, "effects": ["wrote log"]}
    text = history.travel_text({**TRAVEL, "recomputes": ["g"], "repeats": [row]}, "Undone")
    assert text.splitlines()[-2:] == [
        "  made again by running cells again: g (cells [3])",
        "  side effects that happen again: wrote log",
    ]
    text = history.travel_text({**TRAVEL, "recomputes": ["g", "h"], "unread": ["h"], "repeats": [row]}, "Undone")
    assert text.splitlines()[-3:-1] == [
        "  made again by running cells again: g (cells [3])",
        "  made again when a cell reads it: h (by running cells [3] again)",
    ]
    text = history.travel_text({**TRAVEL, "recomputes": ["h"], "unread": ["h"], "repeats": [row]}, "Undone")
    assert "made again by running" not in text


def test_what_html_could_misread_is_escaped() -> None:
    table = history.Table(["<b>"], [["</td><script>"]], "a & b")
    assert "<script>" not in table._repr_html_()
    assert "a &amp; b" in table._repr_html_()


def test_the_space_that_versions_take() -> None:
    variables = [{"name": "big", "versions": 3, "bytes": 10**8, "bytes_at_head": 5 * 10**7}]
    text = repr(history.space_table({"variables": variables, "commits": 3, "bytes": 10**8, "limit": 4 << 30}))
    assert text.splitlines()[0] == "3 commits, 100 MB of 4.29 GB"
    assert text.splitlines()[-1].split() == ["big", "3", "100", "MB", "50", "MB"]


def test_a_notebook_is_written_once(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "then.ipynb"
    document = {"notebook": {"cells": [{"source": "x"}], "nbformat": 4}}
    asked, cell = _ask(worker, f"%checkout --notebook {path} 3f2a", content=document)
    assert asked == {"do": "document", "at": "3f2a"}
    assert f"{path}: 1 cells" in cell.stdout and json.loads(path.read_text()) == document["notebook"]
    _, again = _ask(worker, f"%checkout --notebook {path} 3f2a", content=document)
    assert "take a new name" in (again.error or "")


def test_a_diff_and_a_state_with_sizes() -> None:
    diff = {
        "from": "1111111",
        "to": "2222222",
        "added": [{"name": "x", "bytes": 999}],
        "changed": [{"name": "y", "bytes": 10**8, "bytes_before": 1500}],
        "deleted": [],
    }
    assert repr(history.diff_table(diff)).splitlines()[-1].split() == ["~", "y", "1.5", "kB", "100", "MB"]
    variables = [
        {"name": "gen", "bytes": 0, "saved": False, "commit": "1111111", "shares_with": []},
        {"name": "x", "bytes": 5, "saved": True, "commit": "1111111", "shares_with": ["y"]},
    ]
    state = {"head": "1111111", "branch": "main", "variables": variables, "commits": 2, "bytes": 5}
    text = repr(history.state_view(state))
    assert "gen" in text and "cannot be saved: its cells make it again" in text


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (10**11, "100 GB")])
def test_sizes(size: int, text: str) -> None:
    assert history.size_text(size) == text
