"""The command `banyan` of an installation by pip. It starts the program inside the wheel, adds the options that the
program's kernels need there, and has one more subcommand, `banyan lab`."""

import argparse
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from banyan_local.parts import Lab, Platform, Program
from banyan_local.processes import UserError, free_port

_LAB_PORT = 8888
_GATEWAY_PORT = 8890
_LAB_HELP = """
JupyterLab:
  lab                         start a platform and a JupyterLab on this machine (banyan lab --help)
"""


def installed() -> Program:
    """The program, the interpreter and the logos of this installation."""
    here = Path(__file__).resolve().parent
    return Program(here / "bin" / "banyan", Path(sys.executable), here / "logo")


def main() -> int:
    arguments = sys.argv[1:]
    program = installed()
    if not arguments or arguments[0] in ("-h", "--help"):
        status = subprocess.run([program.path, *arguments], check=False).returncode
        print(_LAB_HELP, end="")
        return status
    if arguments[0] == "lab":
        return _lab(program, arguments[1:])
    if arguments[0] == "up":
        arguments += _unsaid(program, arguments)
    os.execv(program.path, ["banyan", *arguments])
    raise AssertionError  # exec does not return


def _unsaid(program: Program, arguments: list[str]) -> list[str]:
    """The options of `banyan up` whose values this installation knows and which the person has not given."""
    known = [str(word) for word in program.options()]
    said = {argument.partition("=")[0] for argument in arguments}
    pairs = zip(known[::2], known[1::2], strict=True)
    return [word for option, value in pairs if option not in said for word in (option, value)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="banyan lab", description="Starts a platform and a JupyterLab on this machine, until Ctrl-C."
    )
    parser.add_argument("--dir", default=".banyan", metavar="DIR", help="the platform's folder (.banyan)")
    parser.add_argument("--hosts", type=int, default=4, metavar="N", help="host agents, 1 to 64 (4)")
    parser.add_argument("--port", type=int, metavar="P", help="JupyterLab's port (8888, or the next that is free)")
    parser.add_argument("--gateway-port", type=int, metavar="P", help="the gateway's (8890, or the next that is free)")
    parser.add_argument("--notebooks", default=".", metavar="DIR", help="the folder that JupyterLab shows (this one)")
    return parser


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt  # children are stopped on the way out


def _lab(program: Program, arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if not 1 <= options.hosts <= 64:
        parser.error("--hosts wants a number from 1 to 64")
    if find_spec("jupyterlab") is None:
        parser.error('JupyterLab is not installed: pip install "jupyterlab>=4,<5"')
    signal.signal(signal.SIGTERM, _terminated)
    children: list[Platform | Lab] = []
    try:
        _serve(program, options, children)
    except UserError as error:
        print(f"banyan lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for child in reversed(children):
            child.stop()
    return 0


def _serve(program: Program, options: argparse.Namespace, children: list[Platform | Lab]) -> None:
    folder = Path(options.dir).absolute()
    print(f"Starting a gateway, {options.hosts} hosts and JupyterLab …", flush=True)
    platform = Platform(
        folder,
        program,
        hosts=options.hosts,
        port=free_port(options.gateway_port, _GATEWAY_PORT),
        options=["--respawn"],
    )
    children.append(platform)
    lab = Lab(
        [sys.executable, "-m", "jupyterlab"],
        gateway=platform.url,
        token=platform.token,
        port=free_port(options.port, _LAB_PORT),
        notebooks=Path(options.notebooks).absolute(),
        log=folder / "logs" / "lab.log",
    )
    children.append(lab)
    print(f"\n  JupyterLab  {lab.url}\n  Gateway     {platform.url}\n  Logs        {folder / 'logs'}\n")
    print("  Ctrl-C stops it; sessions are kept.", flush=True)
    while all(part.child.running() for part in children):
        time.sleep(0.2)
    raise next(part.child.failure() for part in children if not part.child.running())


if __name__ == "__main__":
    sys.exit(main())
