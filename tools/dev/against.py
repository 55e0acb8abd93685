"""./dev bench NAME --against COMMIT: the same bench on an older commit and on this tree, in turns on one machine,
because figures of different days or machines do not compare."""

import argparse
import json
import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev import ui
from dev.paths import BUILD, LOGS, ROOT

_CLONES = BUILD / "against"


@dataclass(frozen=True)
class Compared:
    """One figure of a bench, once for each round."""

    before: Sequence[float]
    now: Sequence[float]

    def ratio(self) -> float | None:
        """The median of this tree by the median of the commit; None where that is zero."""
        before = statistics.median(self.before)
        return statistics.median(self.now) / before if before else None

    def ratios(self) -> list[float]:
        """The ratio of each round, which tells how far the ratio can be trusted."""
        return [now / before for before, now in zip(self.before, self.now, strict=True) if before]


def main(name: str, arguments: Sequence[str]) -> int:
    """Measures and prints. `arguments` are those of the command line after the bench's name; what is not of the
    comparison goes to the bench of both trees. Raises ui.UserError for a commit that is not there."""
    parser = argparse.ArgumentParser(prog=f"./dev bench {name}", description=__doc__)
    parser.add_argument("--against", required=True, metavar="COMMIT", help="the commit to compare this tree with")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of the bench on each tree (3)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout and nothing else")
    options, rest = parser.parse_known_args(arguments)
    if options.rounds < 1:
        raise ui.UserError("--rounds wants a number from 1 on")
    commit = _commit(options.against)
    other = _clone(commit)
    runs: dict[Path, list[dict[str, float]]] = {other: [], ROOT: []}
    for number in range(options.rounds):
        # The order changes, so that a machine that grows slower or faster does so for both.
        for tree in (other, ROOT) if number % 2 == 0 else (ROOT, other):
            label = f"Round {number + 1} of {options.rounds}: {name} on {'this tree' if tree == ROOT else commit[:12]}"
            runs[tree].append(figures(_run(label, tree, name, rest)))
    compared = compare(runs[other], runs[ROOT])
    if options.json:
        print(json.dumps({"against": commit, "rounds": options.rounds, "figures": as_json(compared)}))
    else:
        ui.say()
        ui.table(table(compared, commit))
    return 0


def _commit(name: str) -> str:
    """The whole hash of a commit."""
    command = ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    found = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if found.returncode != 0:
        raise ui.UserError(f"--against {name}: git has no such commit here; git log shows those that it has")
    return found.stdout.strip()


def _clone(commit: str) -> Path:
    """A checkout of the commit beside this tree's build, which keeps what was built in it for the next comparison."""
    folder = _CLONES / commit[:12]
    if not (folder / "dev").exists():
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, folder], check=True)
        subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=folder, check=True)
    return folder


def _run(label: str, tree: Path, name: str, arguments: Sequence[str]) -> Any:
    """The JSON object that the bench of a tree prints. The tree is built first, where that is needed."""
    log = LOGS / f"against-{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with ui.Step(label), log.open("w") as errors:
        command: list[str | Path] = [tree / "dev", "bench", name, *arguments, "--json"]
        done = subprocess.run(command, cwd=tree, check=False, stdout=subprocess.PIPE, stderr=errors, text=True)
        if done.returncode != 0:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise ui.UserError(f"{' '.join(map(str, command))} ended with status {done.returncode}:\n{tail}")
    return json.loads(done.stdout)


def figures(printed: Any) -> dict[str, float]:
    """The numbers in what a bench prints as JSON, each by the way to it: "cells.int.cpu_ms"."""
    return dict(_numbers("", printed))


def _numbers(way: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = [(str(number), one) for number, one in enumerate(value)]
    else:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield way, float(value)
        return
    for key, one in parts:
        yield from _numbers(f"{way}.{key}" if way else key, one)


def compare(before: Sequence[Mapping[str, float]], now: Sequence[Mapping[str, float]]) -> dict[str, Compared]:
    """The figures that every run of both trees has: benches change, too."""
    names = [name for name in now[0] if all(name in run for run in (*before, *now))]
    return {name: Compared([run[name] for run in before], [run[name] for run in now]) for name in names}


def as_json(compared: Mapping[str, Compared]) -> dict[str, Any]:
    return {
        name: {"before": statistics.median(one.before), "now": statistics.median(one.now), "ratio": one.ratio()}
        | {"ratios": one.ratios()}
        for name, one in compared.items()
    }


def table(compared: Mapping[str, Compared], commit: str) -> list[list[str]]:
    """One row for each figure, the head first. The last two columns are the least and the greatest ratio of a round."""
    rows = [["median of the rounds", *_right(commit[:12], "now"), *_right("ratio", "from", "to", width=6)]]
    for name, one in compared.items():
        medians = [f"{statistics.median(samples):.3f}" for samples in (one.before, one.now)]
        ratio, ratios = one.ratio(), one.ratios()
        spread = (ratio, min(ratios), max(ratios)) if ratio is not None and ratios else ()
        ratios_shown = [f"{each:.2f}" for each in spread] or ["", "", ""]
        rows.append([name, *_right(*medians), *_right(*ratios_shown, width=6)])
    return rows


def _right(*cells: str, width: int = 12) -> list[str]:
    return [cell.rjust(width) for cell in cells]
