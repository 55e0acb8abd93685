"""The command line of ./dev."""

import argparse
import signal
import sys
from types import FrameType

from dev import ui

_EPILOG = """daily work:
  ./dev test unit python     only these stages
  ./dev up --detach          start in the background; ./dev up --stop ends it
"""


def _up(arguments: argparse.Namespace) -> int:
    from dev import up

    return up.main(arguments)


def _test(arguments: argparse.Namespace) -> int:
    from dev import stages

    return stages.run(arguments.name)


def _tidy(arguments: argparse.Namespace) -> int:
    from dev import tasks

    return tasks.tidy(arguments.rest)


def _fmt(_: argparse.Namespace) -> int:
    from dev import tasks

    return tasks.fmt()


def _bench(arguments: argparse.Namespace) -> int:
    from dev import tasks

    return tasks.bench(arguments.name, arguments.rest)


def _compat(arguments: argparse.Namespace) -> int:
    from dev import tasks

    return tasks.compat(arguments.rest)


def _sim(arguments: argparse.Namespace) -> int:
    from dev import tasks

    return tasks.sim(arguments.rest)


def _nightly(arguments: argparse.Namespace) -> int:
    from dev import nightly

    return nightly.main(arguments.name, sample=arguments.sample)


def _mutants(arguments: argparse.Namespace) -> int:
    from dev import tasks

    return tasks.mutants(arguments.rest)


def _wheel(_: argparse.Namespace) -> int:
    from dev import wheel

    return wheel.main()


def _package(_: argparse.Namespace) -> int:
    from dev import package

    return package.main()


def _doctor(arguments: argparse.Namespace) -> int:
    from dev import doctor

    return doctor.main(as_json=arguments.json)


def _help(_: argparse.Namespace) -> int:
    parser().print_help()
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="./dev",
        description="Builds, runs and tests Banyan. Each command first installs what it needs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    up = commands.add_parser("up", help="start the platform and JupyterLab on this machine")
    mode = up.add_mutually_exclusive_group()
    mode.add_argument("--detach", action="store_true", help="go on in the background")
    mode.add_argument("--stop", action="store_true", help="stop the one in the background")
    up.add_argument("--hosts", type=int, default=4, metavar="N", help="host agents (4)")
    up.add_argument(
        "--fake-gpus",
        type=int,
        default=0,
        metavar="N",
        help="files that stand for N GPUs on each host (0: the machine's)",
    )
    up.add_argument("--port", type=int, metavar="P", help="JupyterLab's port (8888, or the next that is free)")
    up.add_argument("--gateway-port", type=int, metavar="P", help="the gateway's port (8890, or the next that is free)")
    up.add_argument("--notebooks", metavar="DIR", help="folder that JupyterLab shows (.banyan/notebooks)")
    up.set_defaults(run=_up)

    test = commands.add_parser("test", help="run every test, only some stages, or a test by its name")
    test.add_argument(
        "name",
        nargs="*",
        help="a stage (tidy, unit, python, pythons, mutants, sim, e2e, node, browser, sanitize); a file of tests, "
        "also with ::NAME; the name of a test in C++ or Python ('GatewayHosts.*')",
    )
    test.set_defaults(run=_test)

    bench = commands.add_parser("bench", help="run a benchmark: ./dev bench latency [--json] [--against COMMIT]")
    bench.add_argument("name", nargs="?", help="without a name: list them")
    bench.set_defaults(run=_bench)

    tidy = commands.add_parser("tidy", help="check the rules of the tree (layers, purity, documentation, lint)")
    tidy.set_defaults(run=_tidy)

    commands.add_parser("fmt", help="format C++ and Python").set_defaults(run=_fmt)

    sim = commands.add_parser("sim", help="run simulated schedules: ./dev sim --seeds 100 [--json]", add_help=False)
    sim.set_defaults(run=_sim)

    compat = commands.add_parser(
        "compat", help="try which classes a session keeps: ./dev compat pandas", add_help=False
    )
    compat.set_defaults(run=_compat)

    mutants = commands.add_parser(
        "mutants", help="plant faults one by one: does a test notice each? ./dev mutants --sample 100", add_help=False
    )
    mutants.set_defaults(run=_mutants)

    nightly = commands.add_parser(
        "nightly",
        help="what takes long: the package in every Python with each compiler, every planted fault, and such (hours)",
    )
    nightly.add_argument(
        "name", nargs="*", help="only these: 3.12, 3.14 (Pythons), readme, wheels, start, clusters, torch, mutants"
    )
    nightly.add_argument("--sample", action="store_true", help="a part of each suite, as ./dev test does (an hour)")
    nightly.set_defaults(run=_nightly)

    wheel = commands.add_parser("wheel", help="make a wheel of the package for each Python: build/wheels")
    wheel.set_defaults(run=_wheel)

    package = commands.add_parser("package", help="make one wheel with the program inside: build/wheels")
    package.set_defaults(run=_package)

    doctor = commands.add_parser("doctor", help="say what this machine has and lacks")
    doctor.add_argument("--json", action="store_true", help="one JSON object on stdout")
    doctor.set_defaults(run=_doctor)

    commands.add_parser("help", help="this text").set_defaults(run=_help)
    return top


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt  # children are stopped on the way out


def main(argv: list[str]) -> int:
    passes_on = bool(argv) and argv[0] in ("bench", "tidy", "sim", "compat", "mutants")
    if passes_on:
        arguments, rest = parser().parse_known_args(argv)
        arguments.rest = rest
    else:
        arguments = parser().parse_args(argv or ["help"])
    signal.signal(signal.SIGTERM, _terminated)
    try:
        return int(arguments.run(arguments))
    except ui.UserError as error:
        print(f"./dev: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\n./dev: stopped", file=sys.stderr)
        return 130
