"""Moves over wires of several speeds: the least-cost plan beside loading all and running all again, on real transfers.

The same notebooks of bench/corpus/, the same hosts in network namespaces, three ways to plan (`plan` in a host's file).
A time runs from the request to the reply of the next cell.
"""

import re
import tempfile
import time
from pathlib import Path
from typing import Any

import _report
from _kernels import Session
from _notebook_files import CORPUS, Notebook, read_all
from harness.client import wait_until
from harness.namespaces import SeparateHosts, available

_PLANS = {"streamed": "least_s", "load_all": "load_all_s", "run_all": "run_all_s"}
_NOTEBOOKS = (
    "cheap_large_arrays",
    "cheap_large_frame",
    "embedding_table",
    "feature_pipeline",
    "prime_sieve",
    "wine_regions",
)

_SEEN_BEFORE = "%rerun never\nimport os; seen = [os.urandom(1_000_000) for _ in range(8)]"

# The most that the least-cost plan may take, divided by the time of the better of the other two.
GOAL_RATIO = 1.05


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="a notebook; may be given again")
    parser.add_argument("--megabits", type=float, nargs="+", default=[50.0, 200.0, 1000.0, 10_000.0])
    options = parser.parse_args()
    if why := available():
        parser.error(why)
    corpus = read_all(CORPUS)
    if unknown := set(options.only or ()) - corpus.keys():
        parser.error(f"no notebook {unknown.pop()!r}; there are: {', '.join(corpus)}")
    chosen = [corpus[name] for name in options.only or _NOTEBOOKS]
    moves: list[dict[str, Any]] = []
    total = len(_PLANS) * len(options.megabits) * len(chosen)
    try:
        for plan in _PLANS:
            for megabits in options.megabits:
                _report.bar(len(moves), total, f"{plan}, {megabits:g} Mb/s")
                with tempfile.TemporaryDirectory(prefix="banyan-wires-", dir="/var/tmp") as folder:
                    moves += [{"plan": plan, **one} for one in moved(Path(folder), plan, megabits, chosen)]
        _report.bar(total, total, "done")
    except KeyboardInterrupt:
        _report.progress("interrupted")
    rows = summed(moves)
    _report.report({"rows": rows, "moves": moves, **_report.machine()}, table(rows), as_json=options.json)


def moved(folder: Path, plan: str, megabits: float, chosen: list[Notebook]) -> list[dict[str, Any]]:
    """All notebooks to one host that has nothing of them, and has seen the wire before."""
    platform = SeparateHosts(folder / "platform")
    target = platform.hosts[-1]
    sessions: list[Session] = []
    try:
        for host in platform.hosts:
            settings = re.sub(r"(?m)^plan = .*$", f"plan = '{plan}'", platform.config(host).read_text())
            platform.config(host).write_text(settings)
            platform.kill(host)
            if host != target:
                platform.restart(host)
        wait_until(lambda: len(platform.gateway.hosts_up()) == len(platform.hosts) - 1, "all but the target are up")
        for _ in range(len(chosen) + 1):
            sessions.append(Session(platform.gateway))
        assert sessions[0].attempt(_SEEN_BEFORE) is None
        for session, notebook in zip(sessions[1:], chosen, strict=True):
            notebook.run(session.attempt)
        platform.repair()
        platform.limit(megabits, [target])
        move(platform, sessions[0], target)
        return [
            {"notebook": notebook.name, "megabits": megabits, **move(platform, session, target)}
            for session, notebook in zip(sessions[1:], chosen, strict=True)
        ]
    finally:
        for session in sessions:
            session.connection.close()
        platform.stop()


def move(platform: SeparateHosts, session: Session, target: str) -> dict[str, Any]:
    begun = time.perf_counter()
    answer = platform.gateway.call(
        "POST", f"/api/banyan/sessions/{session.id}/migrate", json={"host": target, "force": True}, timeout=600
    )
    assert answer.status_code == 200, answer.text
    wait_until(lambda: session.attempt("pass") is None, "the session serves", 120, pause=0.01)
    took = time.perf_counter() - begun
    wait_until(lambda: len(platform.gateway.session(session.id)["replicas"]) == 3, "all of it is copied", 600)
    view = platform.gateway.session(session.id).get("view", {})
    return {
        "took_s": took,
        "predicted_s": view.get("predicted_ms", 0) / 1000,
        "built_s": view.get("took_ms", 0) / 1000,
        "loaded_mb": view.get("bytes", 0) / 1e6,
        "ran": view.get("cells", 0),
    }


def summed(moves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By notebook and bandwidth, those whose moves are all there; then sums."""
    rows: dict[tuple[str, float], dict[str, Any]] = {}
    for one in moves:
        row = rows.setdefault((one["notebook"], one["megabits"]), {})
        row[_PLANS[one["plan"]]] = one["took_s"]
        if one["plan"] == "streamed":
            row |= {key: one[key] for key in ("notebook", "megabits", "predicted_s", "built_s", "loaded_mb", "ran")}
    whole = [row for row in rows.values() if all(key in row for key in _PLANS.values())]
    for row in whole:
        row["ratio"] = row["least_s"] / min(row["load_all_s"], row["run_all_s"])
    found = sorted(whole, key=lambda row: (row["notebook"], row["megabits"]))
    for megabits in sorted({row["megabits"] for row in whole}):
        some = [row for row in whole if row["megabits"] == megabits]
        sums = {key: sum(row[key] for row in some) for key in some[0] if key not in ("notebook", "megabits")}
        sums["ratio"] = sums["least_s"] / min(sums["load_all_s"], sums["run_all_s"])
        found.append({"notebook": "all", "megabits": megabits, **sums})
    return found


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    head = ["notebook", "wire", "least s", "load all s", "re-run all s", "by the better", "MB loaded", "cells run"]
    lines = [[*head, "built s", "predicted s"]]
    for row in rows:
        ratio = f"{'pass' if row['ratio'] <= GOAL_RATIO else 'short'} {row['ratio']:.2f}"
        lines.append(
            [
                row["notebook"],
                f"{row['megabits']:g} Mb/s",
                *(f"{row[key]:.2f}" for key in _PLANS.values()),
                ratio,
                f"{row['loaded_mb']:.1f}",
                str(row["ran"]),
                f"{row['built_s']:.2f}",
                f"{row['predicted_s']:.2f}",
            ]
        )
    return lines


if __name__ == "__main__":
    main()
