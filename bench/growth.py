"""How what a cell costs grows with what its session has: variables, objects, names of one value, commits, output.

Each row has one thing in four amounts, each twice the one before, and the time of a cell there. Where the time grows by
much more than twice, something looks at everything for each of its parts.
"""

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _report
from _kernels import Session
from harness.platform import Platform

GOAL_FACTOR = 3.0  # of the time, where there is twice as much
_NOTHING_MS = 20.0  # below this the time is that of any cell
_ROUNDS = 5
_CELLS_AT_ONCE = 50
_CALM_S = 2.0
_FOLLOW_MAX_S = 30.0


@dataclass(frozen=True)
class Case:
    """`make` prepares a session with `{n}` of something, the last of `amounts`; `cell` is timed there. `once`: only the
    first time of it counts, right after the making."""

    name: str
    amounts: tuple[int, ...]
    make: str
    cell: str
    once: bool = False


_VARIABLES = "for i in range({n}): globals()[f'v{{i}}'] = [i, i + 1]"
_NAMES = "shared = [0]\nfor i in range({n}): globals()[f'w{{i}}'] = [shared, i]"
_OBJECTS = "o = [[i] for i in range({n})]"
_MODULES = """
import importlib, pathlib, sys, tempfile
folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
for i in range({n}):
    uses = f'import own{{i - 1}}' if i else ''
    pathlib.Path(folder, f'own{{i}}.py').write_text(uses + '\\ncfg = {{}}\\n')
    last = importlib.import_module(f'own{{i}}')
"""  # the user's own modules, each of which imports the one before
_MANY = (2_000, 4_000, 8_000, 16_000)
CASES = [
    Case("variables: the cell after the one that made them", _MANY, _VARIABLES, "pass", once=True),
    Case("variables: a cell that does nothing", _MANY, _VARIABLES, "pass"),
    Case("variables: one changes", _MANY, _VARIABLES, "v7.append(1)"),
    Case(
        "variables: one of a hundred changes",
        _MANY,
        _VARIABLES,
        "for i in range(0, {n}, 100): globals()[f'v{{i}}'].append(1)",
    ),
    Case("names that share an object: one changes", (500, 1_000, 2_000, 4_000), _NAMES, "w7.append(1)"),
    Case("modules of one's own: one changes", (50, 100, 200, 400), _MODULES, "last.cfg['a'] = 1"),
    Case("objects of a value: one changes", (50_000, 100_000, 200_000, 400_000), _OBJECTS, "o[7].append(1)"),
    Case("values of 1 MB: a cell that makes them", (25, 50, 100, 200), "import numpy as np", "{megabytes}", once=True),
    Case("printed lines", (5_000, 10_000, 20_000, 40_000), "pass", "for i in range({n}): print(i)"),
]
_MEGABYTES = "for i in range({n}): globals()[f'm{{i}}'] = np.random.default_rng(i).random(131_072)"  # 8 bytes each
COMMITS = (500, 1_000, 2_000, 4_000)


def main() -> None:
    options = _report.arguments(__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="banyan-growth-", dir="/var/tmp") as folder:
        _report.progress("starting a platform of 3 hosts")
        platform = Platform(Path(folder), hosts=3)
        try:
            rows = []
            for done, case in enumerate(CASES):
                _report.bar(done, len(CASES) + 1, case.name)
                rows.append(row(case.name, case.amounts, lambda amount, case=case: timed_ms(platform, case, amount)))
            _report.bar(len(CASES), len(CASES) + 1, "commits")
            rows.append(by_commits(platform))
        finally:
            platform.stop()
    _report.bar(len(CASES) + 1, len(CASES) + 1, "done")
    _report.report({"rows": rows, **_report.machine()}, table(rows), as_json=options.json)


def row(name: str, amounts: tuple[int, ...], time_ms: Callable[[int], float]) -> dict[str, Any]:
    times = [time_ms(amount) for amount in amounts]
    factors = [after / max(before, _NOTHING_MS) for before, after in itertools.pairwise(times)]
    return {"name": name, "amounts": list(amounts), "ms": times, "worst_factor": max(factors)}


def timed_ms(platform: Platform, case: Case, amount: int) -> float:
    with Session(platform.gateway) as session:
        session.run(case.make.format(n=amount))
        if case.once:
            time.sleep(1)  # the others load what it made
        else:
            session.run("pass")
            session.run("pass")
            others_follow(platform, session)
        cell = case.cell.replace("{megabytes}", _MEGABYTES).format(n=amount)
        rounds = 1 if case.once else _ROUNDS
        return statistics.median(session.run(cell).wall_ms for _ in range(rounds))


def others_follow(platform: Platform, session: Session) -> None:
    """Waits until no other host loads what was made: on a machine with few cores that slows cells for a moment, however
    they grow. A host begins when no commit has come for a second."""
    calm_since = time.monotonic()
    deadline = calm_since + _FOLLOW_MAX_S
    while time.monotonic() < min(calm_since + _CALM_S, deadline):
        if "building" in (platform.gateway.session(session.id).get("view") or {}):
            calm_since = time.monotonic()
        time.sleep(0.05)


def by_commits(platform: Platform) -> dict[str, Any]:
    """A session whose history grows: the time of its cells at each length."""
    with Session(platform.gateway) as session:
        session.run("x = 0")
        commits = 0

        def at(amount: int) -> float:
            nonlocal commits
            while commits < amount:
                session.run("x += 1")
                commits += 1
            return statistics.median(session.run("x += 1").wall_ms for _ in range(_CELLS_AT_ONCE))

        return row("commits: a cell that changes a number", COMMITS, at)


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    lines = [["cells in a session of n, 2n, 4n and 8n", "n", "n, ms", "2n, ms", "4n, ms", "8n, ms", "worst step"]]
    for one in rows:
        mark = "" if one["worst_factor"] <= GOAL_FACTOR else " !"
        times = [f"{ms:.0f}" for ms in one["ms"]]
        lines.append([one["name"], str(one["amounts"][0]), *times, f"× {one['worst_factor']:.1f}{mark}"])
    return lines


if __name__ == "__main__":
    main()
