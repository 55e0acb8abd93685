"""All Pythons × both compilers × both suites, with the Pythons of newer Debian suites; and each wheel."""

from collections.abc import Sequence

from dev import build, counts, matrix, provision, suites, ui, wheel
from dev.counts import Tally
from dev.pythons import COMPILERS, Environment, Python, found


def main(versions: Sequence[str]) -> int:
    """versions: only Pythons whose version begins so ("3.14"); all when none is named."""
    with provision.locked("build"):
        provision.apt("apt")
        provision.python("requirements", "requirements-test")
        build.build("release", "platform")
        machine = [one for one in found() if _wanted(one.name, versions)]
        newer, tally = _newer(versions)
        environments = [Environment(one, compiler) for one in [*machine, *newer] for compiler in COMPILERS]
        tally += matrix.run([*environments, *_of_wheels(machine)], sample=False)
    counts.show(tally)
    return 1 if tally.failures or tally.passed == 0 else 0


def _newer(versions: Sequence[str]) -> tuple[list[Python], Tally]:
    """The Pythons of newer suites, and which could not be had."""
    if reason := suites.unavailable():
        return [], counts.skipped("newer Debian suites", reason)
    pythons, tally = [], Tally()
    for suite in suites.SUITES:
        try:
            pythons.append(suites.python_of(suite))
        except ui.UserError as error:
            ui.say(str(error))
            tally += counts.failed(f"Debian {suite}", str(error).splitlines()[0])
    return [one for one in pythons if _wanted(one.name, versions)], tally


def _of_wheels(machine: Sequence[Python]) -> list[Environment]:
    """The wheel of each minor version, on all of its patch levels."""
    wheels = wheel.make(machine)
    return [Environment(one, "wheel", wheels[one.version[:2]]) for one in machine]


def _wanted(name: str, versions: Sequence[str]) -> bool:
    return not versions or any(name.startswith(version) for version in versions)
