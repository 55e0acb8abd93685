"""How long a new user waits: ./dev up on a Debian 12 that has never seen Banyan, until JupyterLab answers, and the
wheel of ./dev package in one that has Python only. Both systems are made anew, and no cache of this machine is used."""

import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev import counts, package, provision, suites, ui
from dev.counts import Tally
from dev.paths import BUILD, LOGS, ROOT

_UP_GOAL_S = 300.0
_AGAIN_GOAL_S = 20.0
_WHEEL_GOAL_S = 60.0
_CHECKOUT = Path("/srv/banyan")  # in the new system
_INSTALLED = Path("/srv/installed")
# Variables of this machine's Python would reach into the new system; a compiler's or pip's cache would help it.
_NOT_PASSED_ON = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PIP_FIND_LINKS", "CCACHE_DIR")
_NO_CACHES = {"CCACHE_DISABLE": "1", "PIP_NO_CACHE_DIR": "1", "npm_config_cache": "/srv/npm"}


@dataclass(frozen=True)
class Waited:
    """One thing that a new user waits for."""

    what: str
    seconds: float
    goal_s: float

    def row(self) -> list[str]:
        mark = "pass" if self.seconds <= self.goal_s else "short"
        return [self.what, ui.duration(self.seconds), ui.duration(self.goal_s), mark]


def main() -> Tally:
    """Measures and prints a table. A start that works counts as passed, also where it takes longer than its goal, which
    is a figure; one that does not work has failed."""
    if reason := suites.unavailable():
        return counts.skipped("first starts on a new Debian 12", reason)
    waited: list[Waited] = []
    tally = Tally()
    for name, measure in (("./dev up", _from_a_checkout), ("./dev package", _from_the_wheel)):
        try:
            waited += measure()
            tally += Tally(1)
        except ui.UserError as error:
            ui.say(str(error))
            tally += counts.failed(f"first start by {name}", str(error).splitlines()[0])
    if waited:
        ui.say()
        ui.table([["what a new user waits for", "took", "goal", ""], *(one.row() for one in waited)], _colour)
    return tally


def _colour(cell: str) -> str | None:
    return {"pass": "green", "short": "yellow"}.get(cell)


def _from_a_checkout() -> list[Waited]:
    """`./dev up` in a clone of this tree's last commit, and once more after it was stopped."""
    system = suites.anew()
    inside = system.folder / _CHECKOUT.relative_to("/")
    ui.run("Cloning the checkout", ["git", "clone", "--quiet", ROOT, inside], LOGS / "first-start-clone.log")
    waited = []
    for what, goal in (("./dev up on a new Debian 12", _UP_GOAL_S), ("./dev up, the second time", _AGAIN_GOAL_S)):
        with _serving(what, [system.enter, "env", "-C", _CHECKOUT, "./dev", "up"]) as seconds:
            waited.append(Waited(what, seconds, goal))
    shutil.rmtree(system.folder)
    return waited


def _from_the_wheel() -> list[Waited]:
    """The wheel with JupyterLab, installed into an empty environment and started."""
    provision.lab_extension()
    wheel = package.make(provision.venv(BUILD / "package" / "venv", "requirements-package"))
    system = suites.anew("python3", "python3-venv")
    (system.folder / "srv").mkdir(exist_ok=True)
    shutil.copy(wheel, system.folder / "srv")
    start = time.monotonic()
    install = f"python3 -m venv {_INSTALLED} && {_INSTALLED}/bin/pip install '/srv/{wheel.name}[lab]'"
    label = f"pip install '{wheel.name}[lab]'"
    ui.run(label, [system.enter, "sh", "-c", install], LOGS / "first-start-pip.log", env=_NO_CACHES)
    installed = time.monotonic() - start
    lab: list[str | Path] = [system.enter, "env", "-C", "/srv", _INSTALLED / "bin" / "banyan", "lab"]
    with _serving("banyan lab", lab) as seconds:
        served = seconds
    shutil.rmtree(system.folder)
    return [
        Waited("pip install of ./dev package's wheel with JupyterLab", installed, _WHEEL_GOAL_S),
        Waited("banyan lab, after it", served, _WHEEL_GOAL_S - installed),
    ]


def _environment() -> dict[str, str]:
    """What a command in a new system sees of this machine's environment."""
    return {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON} | _NO_CACHES


@contextmanager
def _serving(what: str, command: Sequence[str | Path]) -> Iterator[float]:
    """Runs the command, gives the seconds until the JupyterLab whose address it prints has answered, and stops it.
    Raises ui.UserError when that does not come."""
    log = LOGS / f"first-start-{command[-1]}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as errors:
        start = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, env=_environment()
        )
        try:
            with ui.Step(what):
                address = _address(process)
                _wait_for_page(address)
            yield time.monotonic() - start
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


def _address(process: "subprocess.Popen[str]") -> str:
    """The address of JupyterLab that the process prints."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        words = line.split()
        if words[:1] == ["JupyterLab"] and len(words) == 2:
            return words[1]
    raise ui.UserError(f"it ended before JupyterLab served, and said last:\n{''.join(said[-15:])}")


def _wait_for_page(address: str) -> None:
    """Returns once the page at the address is served."""
    deadline = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(address, timeout=30) as page:
                page.read()
            return
        except (urllib.error.URLError, OSError) as error:
            if time.monotonic() > deadline:
                raise ui.UserError(f"{address} is not served: {error}") from None
            time.sleep(0.1)
