"""Undo and branches of a session's history by magics, by REST and by the command line, and what survives a failover."""

import json
from typing import Any

import pytest
from harness.client import Connection, Gateway
from harness.platform import Platform

SETUP = """
import numpy as np, pandas as pd
df = pd.DataFrame({'a': [1, 2, 3], 'b': [4.0, 5.0, 6.0]})
array = np.arange(200_000.0)
window = array[10:20]
alias = [df]
"""


def ask(gateway: Gateway, kernel: str, **question: object) -> dict[str, Any]:
    answer = gateway.ask_history(kernel, question)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


class TestUndo:
    def test_an_inplace_change_is_undone_and_redone(self, session: Connection) -> None:
        session.run(SETUP, timeout=90)
        session.run("df.drop(columns='a', inplace=True)")
        session.run("print(df.columns)")
        cell = session.run("%undo")
        assert "df.drop(columns='a', inplace=True)" in cell.stdout
        assert session.run("list(df.columns), alias[0] is df").result == "(['a', 'b'], True)"
        session.run("%redo")
        assert session.run("list(df.columns), alias[0] is df").result == "(['b'], True)"

    def test_views_share_memory_after_an_undo(self, session: Connection) -> None:
        session.run(SETUP, timeout=90)
        session.run("array[15] = -1")
        session.run("%undo")
        assert session.run("float(window[5]), np.shares_memory(window, array)").result == "(15.0, True)"
        assert session.run("window[0] = 7; float(array[10])").result == "7.0"

    def test_a_cell_that_fails_undoes_nothing(self, session: Connection) -> None:
        session.run("x = 1")
        session.run("x = 2")
        session.run("%undo\n1 / 0")
        assert session.run("x").result == "2"

    def test_deleted_and_new_variables(self, session: Connection) -> None:
        session.run("x = 1")
        session.run("del x; y = 2")
        session.run("%undo")
        assert session.run("x, 'y' in globals()").result == "(1, False)"

    def test_nothing_to_undo_is_a_plain_error(self, session: Connection) -> None:
        cell = session.run("%undo")
        assert cell.reply["status"] == "error"
        assert "nothing to undo" in cell.reply["evalue"]
        assert session.run("1 + 1").result == "2"

    def test_after_a_failover(self, platform: Platform, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run(SETUP, timeout=90)
        session.run("df['c'] = 1; array[0] = 5")
        platform.kill(gateway.executor(kernel))
        session.run("%undo", timeout=60)
        assert session.run("list(df.columns), float(array[0]), np.shares_memory(window, array)").result == (
            "(['a', 'b'], 0.0, True)"
        )
        platform.kill(gateway.executor(kernel))
        platform.repair()
        session.run("%redo", timeout=60)
        assert session.run("list(df.columns), float(array[0])").result == "(['a', 'b', 'c'], 5.0)"

    def test_after_a_restart(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("x = [1, 2]")
        assert gateway.call("POST", f"/api/kernels/{kernel}/restart").status_code == 200
        assert session.run("'x' in globals()").result == "False"
        session.run("%undo")
        assert session.run("x").result == "[1, 2]"


class TestBranches:
    def test_branch_and_return(self, session: Connection) -> None:
        session.run("x = 1")
        session.run("%tag start")
        session.run("x = 2")
        session.run("%checkout start")
        session.run("x += 10")
        assert "branch-2" in session.run("%branch").shown
        session.run("%checkout main")
        assert session.run("x").result == "2"
        session.run("%checkout branch-2")
        assert session.run("x").result == "11"
        assert "tag start" in session.run("%log").shown

    def test_a_word_that_names_nothing(self, session: Connection) -> None:
        assert "names no commit" in session.run("%checkout nowhere").reply["evalue"]

    def test_what_differs(self, session: Connection) -> None:
        session.run("x = 1; y = 2")
        session.run("x = 5; del y; z = 3")
        text = session.run("%diff").shown
        assert [line.split()[:2] for line in text.splitlines()[2:]] == [["+", "z"], ["~", "x"], ["-", "y"]]

    def test_a_variable_that_cannot_be_saved_is_made_again(self, session: Connection) -> None:
        session.run("x = 1; g = (i for i in range(3))")
        session.run("x = 2; del g")
        cell = session.run("%undo")
        assert "made again when a cell reads it: g (by running cells [1] again)" in cell.stdout
        assert session.run("x, list(g)").result == "(1, [0, 1, 2])"

    def test_what_shares_objects_is_said_to_be_made_at_once(self, session: Connection) -> None:
        session.run("rows = [1, 2]; g = (row for row in rows)")
        session.run("del g, rows")
        assert "made again by running cells again: g (cells [1])" in session.run("%undo").stdout


class TestOutside:
    def test_rest_answers_and_changes(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("x = 1")
        session.run("x = 2")
        log = ask(gateway, kernel, do="log")
        assert [row["code"] for row in log["commits"]] == ["x = 2", "x = 1"]
        ask(gateway, kernel, do="checkout", at=log["commits"][1]["id"])
        assert session.run("x").result == "1"

    def test_a_change_while_a_cell_runs_is_refused(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("import time")
        session.run("x = 1")
        cell = session.start("print('go', flush=True); time.sleep(2)")
        session.wait_for(lambda m: m.type == "stream" and m.parent == cell)
        answer = gateway.ask_history(kernel, {"do": "undo"})
        assert answer.status_code == 409
        assert "a cell runs" in answer.json()["message"]
        session.finish(cell)
        ask(gateway, kernel, do="undo")
        assert session.run("'x' in globals()").result == "False"

    @pytest.mark.parametrize("body", ["[", "{}", '{"do": "fly"}', '{"do": "log", "limit": "many"}'])
    def test_bad_questions(self, gateway: Gateway, kernel: str, session: Connection, body: str) -> None:
        session.run("x = 1")
        answer = gateway.ask_history(kernel, body)
        assert answer.status_code == 400
        assert answer.json()["message"]

    def test_the_commands(self, platform: Platform, kernel: str, session: Connection) -> None:
        session.run("x = 1")
        session.run("x = 2")
        short = kernel[:13]
        text = platform.command("log", short)
        assert "x = 2" in text and "COMMIT" in text
        assert "restored: x" in platform.command("undo", short)
        assert session.run("x").result == "1"
        assert "VARIABLE" in platform.command("show", short)
        assert platform.command("diff", short, "HEAD", "main").splitlines()[-1].split()[:2] == ["~", "x"]
        platform.command("describe", short, 'it\'s "quoted"')
        log = json.loads(platform.command("log", short, "--json"))
        assert [row["code"] for row in log["commits"]] == ["x = 2", "x = 1"]
        assert log["commits"][1]["message"] == 'it\'s "quoted"'
        assert "main" in platform.command("branch", short)

    def test_it_says_what_waits_for_a_reader(
        self, gateway: Gateway, platform: Platform, kernel: str, session: Connection
    ) -> None:
        session.run("x = 1; g = (i for i in range(3))")
        session.run("x = 2; del g")
        answer = ask(gateway, kernel, do="undo")
        assert (answer["recomputes"], answer["unread"]) == (["g"], ["g"])
        ask(gateway, kernel, do="redo")
        text = platform.command("undo", kernel[:13])
        assert "made again when a cell reads it: g" in text and "[1] x = 1; g =" in text
        assert "by running cells again" not in text

    @pytest.mark.parametrize(
        ("made", "question"),
        [
            ("kept = {'at': [tempfile.TemporaryDirectory()]}; path = kept['at'][0].name", {"do": "undo"}),
            ("kept = tempfile.NamedTemporaryFile(); path = kept.name", {"do": "checkout", "at": "start"}),
        ],
    )
    def test_rest_does_not_remove_files_unasked(
        self, gateway: Gateway, kernel: str, session: Connection, made: str, question: dict[str, object]
    ) -> None:
        session.run("import tempfile, os")
        session.run("%tag start")
        path = str(session.run(f"{made}; path").result).strip("'")
        session.run("pass")
        refused = gateway.ask_history(kernel, question)
        assert refused.status_code == 409
        assert path in refused.json()["message"] and "kept" in refused.json()["message"]
        assert session.run("os.path.exists(path), 'kept' in globals()").result == "(True, True)"
        done = ask(gateway, kernel, **question, force=True)
        assert done["removes"] == [{"name": "kept", "path": path}]
        assert session.run(f"os.path.exists({path!r}), 'kept' in globals()").result == "(False, False)"

    def test_it_is_the_folder_that_is_there_now(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("import tempfile, os")
        first = session.run("kept = tempfile.TemporaryDirectory(); kept.name").result
        session.run("kept = None")
        assert ask(gateway, kernel, do="undo", repeat=True)["removes"] == [], "that folder is gone already"
        path = session.run("kept.name").result
        assert path != first, "its cell has run again"
        refused = gateway.ask_history(kernel, {"do": "redo"})
        assert refused.status_code == 409 and str(path).strip("'") in refused.json()["message"]

    def test_the_commands_do_not_remove_files_unasked(
        self, platform: Platform, kernel: str, session: Connection
    ) -> None:
        session.run("import tempfile, os")
        path = str(session.run("kept = tempfile.TemporaryDirectory(); kept.name").result).strip("'")
        refused = platform.run_command("undo", kernel[:13])
        assert refused.returncode != 0 and path in refused.stderr and "--force" in refused.stderr
        assert session.run(f"os.path.exists({path!r})").result == "True"
        assert f"removed from the disk: {path}, which goes with kept" in platform.command(
            "undo", kernel[:13], "--force"
        )
        assert session.run(f"os.path.exists({path!r})").result == "False"
