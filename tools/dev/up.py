"""./dev up: the platform and a JupyterLab on this machine, until Ctrl-C or ./dev up --stop."""

import argparse
import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

from dev import build, live, provision, ui
from dev.paths import ROOT, STATE, VENV

_LOCK = STATE / "up.lock"
_INFO = STATE / "up.json"
_TOKEN = STATE / "token"
_LOG = STATE / "logs"
_LAB_PORT = 8888
_GATEWAY_PORT = 8890
_START_TIMEOUT_S = 120.0


def main(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.hosts <= 64:
        raise ui.UserError("--hosts wants a number from 1 to 64")
    if not 0 <= arguments.fake_gpus <= 64:
        raise ui.UserError("--fake-gpus wants a number from 0 to 64")
    STATE.mkdir(exist_ok=True)
    if arguments.stop:
        return _stop()
    if running := _running():
        _announce(running)
        return 0
    with provision.locked("build"):
        set_up()
    return _detach(arguments) if arguments.detach else _serve(arguments)


def set_up() -> None:
    """Installs and builds everything that a running platform needs."""
    provision.apt("apt")
    ui.side_by_side([_jupyterlab, _program], 2)


def _program() -> None:
    if not build.has_target("release", "platform"):
        raise ui.UserError("this tree has no target 'platform': nothing to start")
    build.build("release", "platform")


def _jupyterlab() -> None:
    """Installs JupyterLab and builds its extension. This mostly waits for the network, so it runs beside the build."""
    provision.python("requirements")
    provision.lab_extension()


def token() -> str:
    """The secret of this checkout, the same at each start, readable by its owner only."""
    if not _TOKEN.exists():
        with open(os.open(_TOKEN, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(24))
    return _TOKEN.read_text().strip()


def _lock() -> TextIO | None:
    """The lock that a running ./dev up holds; None when it is taken."""
    file = _LOCK.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _running() -> dict[str, str] | None:
    """The file that a running ./dev up has written. Waits for a ./dev up that is still starting."""
    deadline = time.monotonic() + _START_TIMEOUT_S
    while (lock := _lock()) is None:
        try:
            return dict(json.loads(_INFO.read_text()))
        except (OSError, ValueError):
            time.sleep(0.1)
        if time.monotonic() > deadline:
            raise ui.UserError(f"another ./dev up is starting and does not get ready; its logs are in {_LOG}")
    lock.close()
    return None


def _announce(info: dict[str, str]) -> None:
    ui.say()
    ui.say(f"  JupyterLab  {ui.colour('bold', info['lab'])}")
    ui.say(f"  Gateway     {info['gateway']}")
    ui.say(f"  Logs        {_LOG}")
    ui.say()


def _serve(arguments: argparse.Namespace) -> int:
    lock = _lock()
    if lock is None:
        raise ui.UserError("another ./dev up has just started; run it again to see its address")
    _INFO.unlink(missing_ok=True)
    children: list[live.Platform | live.Lab] = []
    try:
        gateway_port = live.free_port(arguments.gateway_port, _GATEWAY_PORT)
        with ui.Step(f"Starting a gateway and {arguments.hosts} hosts"):
            options = ["--respawn"]
            options += ["--fake-gpus", str(arguments.fake_gpus)] if arguments.fake_gpus else []
            platform = live.Platform(STATE, hosts=arguments.hosts, port=gateway_port, token=token(), options=options)
            children.append(platform)
        live.program().write_kernelspec(VENV / "share" / "jupyter", STATE)
        with ui.Step("Starting JupyterLab"):
            lab = live.Lab(
                gateway=platform.url,
                token=token(),
                port=live.free_port(arguments.port, _LAB_PORT),
                notebooks=Path(arguments.notebooks).resolve() if arguments.notebooks else STATE / "notebooks",
                log=_LOG / "lab.log",
            )
            children.append(lab)
        info = {"pid": str(os.getpid()), "lab": lab.url, "gateway": platform.url}
        with open(os.open(_INFO, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(info, file)
        _announce(info)
        ui.say("  Ctrl-C stops it.")
        while all(part.child.running() for part in children):
            time.sleep(0.2)
        raise next(part.child.failure() for part in children if not part.child.running())
    except KeyboardInterrupt:
        return 0
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if children:
            with ui.Step("Stopping"):
                for part in reversed(children):
                    part.stop()
        _INFO.unlink(missing_ok=True)
        lock.close()


def _detach(arguments: argparse.Namespace) -> int:
    command = [sys.executable, "-m", "dev", "up", "--hosts", str(arguments.hosts)]
    numbers = (arguments.port, arguments.gateway_port, arguments.fake_gpus)
    for option, value in zip(("--port", "--gateway-port", "--fake-gpus"), numbers, strict=True):
        command += [option, str(value)] if value else []
    command += ["--notebooks", str(Path(arguments.notebooks).resolve())] if arguments.notebooks else []
    log = _LOG / "dev-up.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out, ui.Step("Starting in the background"):
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd=ROOT
        )
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not _INFO.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise ui.UserError(f"it did not start:\n{log.read_text(errors='replace')}")
            time.sleep(0.05)
    _announce(json.loads(_INFO.read_text()))
    return 0


def _stop() -> int:
    info = _running()
    if info is None:
        ui.say("nothing is running")
        return 0
    with ui.Step("Stopping"):
        os.kill(int(info["pid"]), signal.SIGTERM)
        deadline = time.monotonic() + 2 * _START_TIMEOUT_S
        while (lock := _lock()) is None:
            if time.monotonic() > deadline:
                raise ui.UserError(f"process {info['pid']} does not stop; its logs are in {_LOG}")
            time.sleep(0.05)
        lock.close()
    return 0
