"""Behaviours 47 to 59: the tree of commits, its names, and what is kept of it."""

from pathlib import Path

import pytest
from harness.client import wait_until
from harness.platform import Platform, alive
from notebook import Notebook, names


def test_47_undo_of_del_and_of_create(notebook: Notebook) -> None:
    """(47) Undo of del and of create, several at once, and again after a failover."""
    listing = names("47")
    notebook.ok("old47, kept47 = [1], 1")
    notebook.ok("new47 = old47")
    notebook.ok("del old47")
    for where in ("here", "on another replica"):
        assert notebook.value(f"{listing}, new47") == "(['kept47', 'new47'], [1])", where
        notebook.ok("%undo")
        assert notebook.value(f"{listing}, old47 is new47") == "(['kept47', 'new47', 'old47'], True)", where
        notebook.ok("%undo")
        assert notebook.value(f"{listing}, old47") == "(['kept47', 'old47'], [1])", where
        notebook.ok("%redo 2")
        if where == "here":
            notebook.fail_over()


def test_48_what_is_not_changed_is_not_stored_again(notebook: Notebook) -> None:
    """(48) Nothing is stored twice: not what stays as it is, or is only read, also after a failover."""
    notebook.ok("import numpy as np; big48 = np.arange(200_000.0); small48 = 0")
    once = notebook.stored()
    assert 1_600_000 <= once < 1_700_000
    notebook.ok("small48 = 1")
    notebook.ok("big48.sum(), len(big48)")
    notebook.fail_over()
    notebook.ok("small48 = 2; float(big48[0])")
    assert notebook.stored() < once + 100_000
    notebook.ok("big48[0] = 7")
    assert once < notebook.stored() < once + 400_000, "one element stores one block"


def test_48_equal_content_is_stored_once(notebook: Notebook) -> None:
    """(48) Nothing is stored twice: neither the copy of an array, nor a value that comes back."""
    notebook.ok("import numpy as np; big48 = np.arange(200_000.0)")
    once = notebook.stored()
    notebook.ok("copy48 = big48.copy()")
    assert notebook.stored() < once + 100_000, "an equal array is stored again"
    notebook.ok("big48[0] = 7")
    notebook.ok("big48[0] = 0")
    assert notebook.stored() < 2 * once + 200_000, "a value that came back is stored again"


def test_48_an_undo_stores_nothing(notebook: Notebook) -> None:
    """(48) Nothing is stored twice: undo, redo and checkout store nothing; a cell that looks, what it shows."""
    notebook.ok("import os; big48 = os.urandom(1_000_000); small48 = [0]")
    notebook.ok("small48.append(1); big48 = big48[1:]")
    stored = notebook.stored()
    notebook.ok("%undo")
    notebook.ok("%redo")
    notebook.ok("len(big48), small48")
    notebook.fail_over()
    notebook.ok("%undo")
    notebook.ok("len(big48), small48")
    assert stored <= notebook.stored() < stored + 1_000


def test_49_branch_and_return(notebook: Notebook) -> None:
    """(49) Branch and return: both lines are there, with what they share, also on another replica."""
    notebook.ok("base49 = [1]; alias49 = base49")
    notebook.ok("%tag start")
    notebook.ok("base49.append('main')")
    notebook.ok("%checkout start")
    notebook.ok("%branch side")
    notebook.ok("base49.append('side'); only49 = 1")
    for where in ("here", "on another replica"):
        notebook.ok("%checkout main")
        assert notebook.value(f"base49, alias49 is base49, {names('49')}") == (
            "([1, 'main'], True, ['alias49', 'base49'])"
        ), where
        notebook.ok("%checkout side")
        assert notebook.value("base49, alias49 is base49, only49") == "([1, 'side'], True, 1)", where
        if where == "here":
            notebook.fail_over()


def test_50_variables_without_code(notebook: Notebook) -> None:
    """(50) Code and variables can be checked out apart: `--variables` leaves the notebook's cells alone."""
    notebook.ok("value50 = 1")
    first = notebook.head()
    notebook.ok("value50 = 2")
    cell = notebook.ok(f"%checkout --variables {first}")
    assert cell.reply["payload"] == []
    assert notebook.value("value50") == "1"


def test_50_code_without_variables(notebook: Notebook) -> None:
    """(50) Code and variables can be checked out apart: `--code` gives the cell back and changes no variable."""
    notebook.ok("value50 = 1")
    first = notebook.head()
    notebook.ok("value50 = 2")
    cell = notebook.run(f"%checkout --code {first}")
    assert cell.status == "ok"
    assert [item["text"] for item in cell.reply["payload"] if item["source"] == "set_next_input"] == ["value50 = 1"]
    assert notebook.value("value50") == "2"


def test_51_the_execution_count(notebook: Notebook) -> None:
    """(51) Execution count: each cell has a number of its own, whatever was undone and wherever it ran."""
    counts = [notebook.ok(code).reply["execution_count"] for code in ("a = 1", "a = 2", "%undo", "a = 3")]
    notebook.fail_over()
    counts += [notebook.ok(code).reply["execution_count"] for code in ("%undo", "%redo", "a = 4")]
    assert counts == sorted(set(counts))
    log = notebook.ask(do="log")["commits"]
    assert [row["count"] for row in log if row["code"] == "a = 3"] == [counts[3]]
    assert notebook.value(f"In[{counts[3]}], In[{counts[6]}], len(In) - 1 > {counts[6]}") == "('a = 3', 'a = 4', True)"


def test_52_short_unique_commit_ids(notebook: Notebook) -> None:
    """(52) Short unique commit ids; they mean the same on another replica."""
    for number in range(3):
        notebook.ok(f"value52 = {number}")
    ids = [row["id"] for row in notebook.ask(do="log")["commits"]]
    assert len(set(ids)) == 3 and all(7 <= len(commit) <= 9 for commit in ids)
    notebook.fail_over()
    assert [row["id"] for row in notebook.ask(do="log")["commits"] if row["changed"]] == ids
    notebook.ok(f"%checkout {ids[-1][:5]}")
    assert notebook.value("value52") == "0"


def test_52_an_ambiguous_id_is_a_clear_error(notebook: Notebook) -> None:
    """(52) An ambiguous, too short or unknown id gives a clear error, and the variables stay as they are."""
    twins: list[str] = []
    for _ in range(20):
        for cell in [notebook.session.start("pass") for _ in range(100)]:
            notebook.session.finish(cell)
        ids = [row["id"] for row in notebook.ask(do="log", limit=4000)["commits"]]
        seen: dict[str, str] = {}
        twins = next(([seen[i[:4]], i] for i in ids if seen.setdefault(i[:4], i) != i), [])
        if twins:
            break
    assert twins, "no two of 2,000 commits begin alike"
    notebook.ok("value52 = 1")
    refused = notebook.run(f"%checkout {twins[0][:4]}")
    assert refused.status == "error"
    assert all(word in refused.reply["evalue"] for word in ("2 commits begin", *twins, "more digits"))
    assert "first 4 digits" in notebook.run("%checkout abc").reply["evalue"]
    assert "no commit's id begins with" in notebook.run(f"%checkout {'0' * 30}").reply["evalue"]
    assert notebook.value("value52") == "1"


def test_53_work_that_continues_from_an_old_commit_branches(notebook: Notebook) -> None:
    """(53) Work that continues from an old commit becomes a branch: nothing of the old line is lost."""
    notebook.ok("value53 = 1")
    notebook.ok("value53 = 2")
    notebook.ok("%undo")
    notebook.ok("value53")
    assert notebook.ask(do="state")["branch"] in ("main", None), "a cell that changes nothing makes no branch"
    notebook.ok("value53 += 10")
    state = notebook.ask(do="state")
    assert state["branch"] not in ("main", None)
    notebook.fail_over()
    notebook.ok("%checkout main")
    assert notebook.value("value53") == "2"
    notebook.ok(f"%checkout {state['branch']}")
    assert notebook.value("value53") == "11"


@pytest.mark.parametrize(
    "text",
    [
        'it\'s "quoted" and `ticked` \\n \\\\ %s {x} <b>&amp;</b>',
        "naïve 日本語 🌳 \u202e end",
        "-m --help $HOME !ls %undo",
        "line one\nline two\ttab",
        "x" * 4096,
    ],
    ids=["quotes", "unicode", "options", "lines", "long"],
)
def test_54_messages(notebook: Notebook, text: str) -> None:
    """(54) Messages: any text, quotes too."""
    notebook.ok("value54 = 1")
    if "\n" in text:
        notebook.ask(do="describe", message=text)
    else:
        notebook.ok(f"%describe {text}")
    if text.startswith("it's"):
        notebook.fail_over()
    (row,) = [row for row in notebook.ask(do="log")["commits"] if row["code"] == "value54 = 1"]
    assert row["message"] == text
    assert notebook.ok("%log").status == "ok"


def test_55_tags(notebook: Notebook) -> None:
    """(55) Tags name a commit for good: through more work, a failover, and until they are deleted."""
    notebook.ok("value55 = 1")
    notebook.ok("%tag first")
    notebook.ok("value55 = 2")
    notebook.ok("%tag before first~0")
    notebook.fail_over()
    notebook.ok("value55 = 3")
    notebook.ok("%checkout first")
    assert notebook.value("value55") == "1"
    assert {row["name"] for row in notebook.ask(do="tag")["tags"]} == {"first", "before"}
    notebook.ok("%tag -d before")
    assert "before" in notebook.run("%checkout before").reply["evalue"]
    for bad in ("two words here", "HEAD", "-x", "a" * 101):
        assert notebook.run(f"%tag {bad}").status == "error", bad


def test_56_history_survives_a_restart_of_the_kernel(notebook: Notebook) -> None:
    """(56) History survives a restart: of the kernel, which can be undone itself."""
    notebook.ok("value56 = [1]; alias56 = value56")
    notebook.ok("value56.append(2)")
    gateway = notebook.platform.gateway
    assert gateway.call("POST", f"/api/kernels/{notebook.kernel}/restart").status_code == 200
    assert notebook.value(names("56")) == "[]"
    assert [row["code"] for row in notebook.ask(do="log")["commits"] if row.get("changed")][:2] == [
        "value56.append(2)",
        "value56 = [1]; alias56 = value56",
    ]
    notebook.ok("%undo")
    assert notebook.value("value56, alias56 is value56") == "([1, 2], True)"
    notebook.fail_over()
    notebook.ok("%undo")
    assert notebook.value("value56, alias56 is value56") == "([1], True)"


def test_56_history_survives_a_restart_of_the_platform(notebook: Notebook) -> None:
    """(56) History survives a restart: of every daemon, killed at one moment."""
    notebook.ok("import numpy as np; value56 = np.arange(100_000); view56 = value56[:5]")
    notebook.ok("%tag early")
    notebook.ok("value56[0] = 9")
    platform = notebook.platform
    for daemon in ("gateway", *platform.hosts):
        platform.kill(daemon)
    platform.repair()
    notebook.session = wait_until(lambda: _reconnected(notebook), "the gateway takes clients again")
    check = "int(value56[0]), int(view56[0]), np.shares_memory(value56, view56)"
    assert wait_until(lambda: notebook.run(check).result, "the session serves again", pause=0.5) == "(9, 9, True)"
    notebook.ok("%checkout early")
    assert notebook.value(check) == "(0, 0, True)"
    notebook.ok("%checkout main")
    assert notebook.value(check) == "(9, 9, True)"


def test_57_starting_on_a_session_that_has_variables(notebook: Notebook) -> None:
    """(57) Starting on a session that already has variables: later changes are noticed, and nothing else is."""
    notebook.ok("import numpy as np; list57, array57 = [1], np.zeros(20_000); alias57 = list57; other57 = {'k': 1}")
    notebook.ok("def grow57(): list57.append(len(list57) + 1)")
    for start in (notebook.rebuild, notebook.fail_over):
        start()
        notebook.ok("list57, array57, other57, grow57")
        assert notebook.changes() == set(), "what was there counts as changed"
        notebook.ok("grow57(); array57[0] += 1")
        assert notebook.changes() == {"alias57", "array57", "list57"}
    assert notebook.value("alias57 is list57, list57, float(array57[0])") == "(True, [1, 2, 3], 2.0)"
    notebook.ok("%undo 2")
    assert notebook.value("alias57 is list57, list57, float(array57[0])") == "(True, [1], 0.0)"


def test_58_leaving_cleans_up(platform: Platform, notebook: Notebook) -> None:
    """(58) Leaving cleans up: no process, no listing and no history of the session stays."""
    notebook.ok("value58 = 1")
    gateway, kernel = platform.gateway, notebook.kernel
    pids = [gateway.worker_pid(kernel, row["host"]) for row in gateway.session(kernel)["replicas"]]
    gateway.delete_kernel(kernel)
    wait_until(lambda: not any(alive(pid) for pid in pids), "the workers have ended")
    assert kernel not in {row["id"] for row in gateway.get("/api/kernels")}
    assert kernel not in {row["id"] for row in gateway.get("/api/banyan/sessions")}
    assert gateway.ask_history(kernel, {"do": "log"}).status_code == 404


def test_58_leaving_removes_the_files(platform: Platform, notebook: Notebook) -> None:
    """(58) Leaving cleans up: no file of the session stays, and nobody else's is touched."""
    notebook.ok("value58 = 1")
    assert _files_of(platform, notebook.kernel), "the test looks for files by a wrong name"
    platform.gateway.delete_kernel(notebook.kernel)
    wait_until(lambda: not _files_of(platform, notebook.kernel), "the session's files are gone", 5)


def test_59_values_larger_than_any_single_record(notebook: Notebook) -> None:
    """(59) Values larger than any single record: 32 MB out of band, 12 MB in one pickle, both at once."""
    notebook.ok(
        "import numpy as np, os, hashlib; array59 = np.frombuffer(os.urandom(32_000_000), dtype='u1').copy()\n"
        "text59 = os.urandom(6_000_000).hex(); list59 = [os.urandom(100) for _ in range(50_000)]\n"
        "def sums59(): return [hashlib.md5(x).hexdigest()[:8] for x in (array59, text59.encode(), b''.join(list59))]"
    )
    first = notebook.value("sums59()")
    notebook.ok("array59[5] ^= 1; text59 = text59[:-1]; list59.pop()")
    second = notebook.value("sums59()")
    assert first != second
    notebook.ok("%undo")
    assert notebook.value("sums59()") == first
    notebook.fail_over()
    assert notebook.value("sums59()") == first
    notebook.ok("%redo")
    assert notebook.value("sums59()") == second


def test_values_are_compressed_on_disk(platform: Platform, notebook: Notebook) -> None:
    """Compression: 32 MB that say little take little of three hosts' disks."""
    notebook.ok("import numpy as np; pass")
    before = _disk_bytes(platform.folder)
    notebook.ok("even = np.tile(np.arange(1000), 4000)")
    notebook.fail_over()
    assert notebook.value("int(even.sum())") == "1998000000"
    assert _disk_bytes(platform.folder) - before < 32_000_000


def _reconnected(notebook: Notebook) -> object:
    try:
        return notebook.session.reconnect()
    except OSError:
        return None


def _files_of(platform: Platform, kernel: str) -> list[Path]:
    return [path for path in platform.folder.rglob("*") if kernel in path.name or kernel.replace("-", "") in path.name]


def _disk_bytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_blocks * 512
        except FileNotFoundError:
            pass
    return total
