"""`./dev compat [--json] [--write] [NAME...]`: makes the table; tools/dev starts it with the packages it needs."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from dev import ui

from compat.case import Case, Library
from compat.cases import LIBRARIES
from compat.runner import ROOT, Row, run_case
from compat.table import BAD, markdown, show, summary, totals


def main(argv: list[str]) -> int:
    arguments = _parser().parse_args(argv)
    todo = chosen(arguments.name)
    if not todo:
        print(f"./dev compat: nothing has {' or '.join(arguments.name)} in its name", file=sys.stderr)
        return 2
    if arguments.write and arguments.name:
        print("./dev compat: --write wants the whole table", file=sys.stderr)
        return 2
    if arguments.json:
        ui.talk_on(sys.stderr)
    start = time.monotonic()
    rows = run(todo, arguments.jobs)
    if arguments.write:
        page = ROOT / "docs" / "compatibility.md"
        page.write_text(markdown(rows))
        ui.say(f"{page.relative_to(ROOT)}: {summary(rows)}")
    if arguments.json:
        seconds = round(time.monotonic() - start, 1)
        print(json.dumps({"rows": [asdict(row) for row in rows], "totals": totals(rows), "seconds": seconds}))
    elif not arguments.write:
        show(rows)
    return 1 if any(row.verdict in BAD for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev compat", description="Try which classes a session keeps.")
    parser.add_argument("name", nargs="*", metavar="NAME", help="a library, or part of a class's name")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout and nothing else")
    parser.add_argument("--write", action="store_true", help="write docs/compatibility.md")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, metavar="N", help="cases at once (cores)")
    return parser


def chosen(names: list[str]) -> list[tuple[Library, Case]]:
    """The cases of the libraries with these names, or the cases with a name in their title; without names, all
    cases."""
    known = {part for library in LIBRARIES for part in library.name.lower().split(", ")}

    def named(name: str, library: Library, case: Case) -> bool:
        return name in library.name.lower().split(", ") if name in known else name in case.title.lower()

    return [
        (library, case)
        for library in LIBRARIES
        for case in library.cases
        if not names or any(named(name.lower(), library, case) for name in names)
    ]


def run(todo: list[tuple[Library, Case]], jobs: int) -> list[Row]:
    done = 0

    def one(item: tuple[Library, Case]) -> Row:
        nonlocal done
        row = run_case(*item)
        done += 1
        step.progress(done / len(todo), f"{done}/{len(todo)} {row.kind}")
        return row

    with ui.Step(f"Trying {len(todo)} cases") as step, ThreadPoolExecutor(max(1, jobs)) as pool:
        return list(pool.map(one, todo))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
