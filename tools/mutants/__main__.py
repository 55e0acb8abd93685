"""`./dev mutants`: reads the arguments and prints the results."""

import argparse
import json
import os
import sys

from dev import ui

from mutants import study


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev mutants", description="Plants faults one by one: does a test notice each?"
    )
    parser.add_argument("folder", nargs="*", default=list(study.FOLDERS), help=f"({' '.join(study.FOLDERS)})")
    parser.add_argument("--sample", type=int, metavar="N", help="N faults, chosen by the seed; else all of them")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="(1)")
    parser.add_argument(
        "--schedules", type=int, default=40, metavar="N", help="simulated, for what no test notices (40; 0: none)"
    )
    parser.add_argument(
        "--tests",
        nargs="+",
        default=study.TESTS,
        choices=study.TESTS,
        metavar="PROGRAM",
        help=f"that should notice them ({' '.join(study.TESTS)})",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="at a time (one for each core)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    chosen = parser.parse_args()
    if chosen.json:
        ui.talk_on(sys.stderr)
    options = study.Options(
        [one.rstrip("/") for one in chosen.folder],
        chosen.sample,
        chosen.seed,
        chosen.tests,
        chosen.schedules,
        chosen.jobs,
    )
    try:
        figures = study.run(options)
    except ui.UserError as error:
        print(f"./dev mutants: {error}", file=sys.stderr)
        return 2
    print(json.dumps(figures)) if chosen.json else study.show(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
