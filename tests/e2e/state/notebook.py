"""A notebook in a real kernel, its history, and two ways to make another process go on with it."""

import os
import re
import signal
from typing import Any

import requests
from harness.client import Cell, Connection, wait_until
from harness.platform import Platform

_TIMEOUT_S = 90.0


def names(suffix: str) -> str:
    """An expression that lists the variables whose names end with the suffix; it reads none of their values."""
    return f"[name for name in get_ipython().run_line_magic('who_ls', '') if name.endswith('{suffix}')]"


class Notebook:
    """One client of one kernel. A cell waits while a failover is under way."""

    def __init__(self, platform: Platform, kernel: str, session: Connection) -> None:
        self.platform = platform
        self.kernel = kernel
        self.session = session

    def run(self, code: str) -> Cell:
        """Runs a cell. A cell that was lost because its busy host lost the lease runs once more: it has changed
        nothing."""
        cell = self.session.run(code, timeout=_TIMEOUT_S)
        if "cut off from the session's majority" in cell.reply.get("evalue", ""):
            cell = self.session.run(code, timeout=_TIMEOUT_S)
        return cell

    def ok(self, code: str) -> Cell:
        """Runs a cell that must end well."""
        cell = self.run(code)
        assert cell.status == "ok", f"{code}\n{cell.reply.get('ename')}: {cell.reply.get('evalue')}"
        return cell

    def value(self, expression: str) -> str:
        """The repr of an expression on one line, or its error: "NameError: name 'x' is not defined"."""
        cell = self.run(expression)
        if cell.status != "ok":
            return f"{cell.reply['ename']}: {cell.reply['evalue']}"
        return re.sub(r"\n\s*", " ", cell.result or "None")

    def ask(self, **question: object) -> dict[str, Any]:
        """Asks the history and returns its answer. During a failover the answer may take a while."""

        def answered() -> requests.Response | None:
            answer = self.platform.gateway.ask_history(self.kernel, question)
            return None if answer.status_code == 503 else answer

        answer = wait_until(answered, "the session has a leader")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def head(self) -> str:
        return str(self.ask(do="state")["head"])

    def changes(self, at: str = "HEAD") -> set[str]:
        """The names that a commit changed; a deleted name begins with "-"."""
        commit = self.ask(do="show", at=at)["commit"]
        return {*commit.get("changed", []), *(f"-{name}" for name in commit.get("deleted", []))}

    def failed(self, at: str = "HEAD") -> set[str]:
        """The names whose values a commit could not save."""
        return set(self.ask(do="show", at=at)["commit"].get("failed", []))

    def groups(self) -> dict[str, frozenset[str]]:
        """The co-variable of each variable at head."""
        rows = self.ask(do="state")["variables"]
        return {row["name"]: frozenset([row["name"], *row["shares_with"]]) for row in rows}

    def stored(self) -> int:
        """The size in bytes of all values that the session keeps."""
        return int(self.ask(do="state")["bytes"])

    def fail_over(self) -> str:
        """Kills the executor's host once others have all values, waits until another replica runs cells, and returns
        the new executor."""
        gateway = self.platform.gateway
        wait_until(lambda: "pending" not in gateway.session(self.kernel), "all values are copied")
        before = gateway.executor(self.kernel)
        self.platform.kill(before)
        self._serves()
        wait_until(lambda: gateway.executor(self.kernel) != before, "another host is the executor")
        return gateway.executor(self.kernel)

    def rebuild(self) -> None:
        """Kills the worker. The next cell runs in a new process, which is filled from the session's values."""
        os.kill(self.platform.gateway.worker_pid(self.kernel), signal.SIGKILL)
        self._serves()

    def _serves(self) -> None:
        """Waits until a cell runs. On a busy machine a new executor may lose its lease at first."""
        wait_until(lambda: self.run("pass").status == "ok", "the session serves again")
