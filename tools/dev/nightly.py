"""The tests that take too long for ./dev test: both suites for each Python and both compilers, also for the Pythons of
newer Debian suites; README's lines on a new Debian 12; each wheel; how long a first start takes; what needs large
packages (clusters, torch); every fault of ./dev mutants."""

import functools
import time
from collections.abc import Callable, Sequence

from dev import build, counts, first_start, large_packages, matrix, provision, stages, suites, ui, wheel
from dev.counts import Tally
from dev.pythons import COMPILERS, Environment, Python, found

_OTHERS = ("readme", "wheels", "start", "clusters", "torch", "mutants")


def main(names: Sequence[str], *, sample: bool = False) -> int:
    """Runs the named parts, or all parts when none is named. A name is one of `_OTHERS` or the beginning of a
    Python's version ("3.14"). `sample`: only the part of each suite that CI runs. Raises ui.UserError for a name
    that means no part."""
    start = time.monotonic()
    with provision.locked("build"):
        provision.apt("apt", "apt-nightly")
        provision.python("requirements", "requirements-test")
        build.build("release", "platform")
        machine = found()
        environments, tally = _of_suites(names)
        environments = [*_both_compilers([one for one in machine if _wanted(one.name, names)]), *environments]
        if not tally.failures:
            _check(names, [*machine, *(one.python for one in environments)])
        if _wanted("wheels", names):
            environments += _of_wheels(machine)
        if environments:
            tally += matrix.run(environments, sample=sample)
        if _wanted("start", names):
            tally += first_start.main()
        if _wanted("clusters", names):
            tally += large_packages.clusters()
        if _wanted("torch", names):
            tally += large_packages.torch()
        if _wanted("mutants", names):
            tally += stages.mutants() if sample else stages.mutants(())
    counts.show(tally)
    ui.say(ui.duration(time.monotonic() - start))
    return 1 if tally.failures or tally.passed == 0 else 0


def _of_suites(names: Sequence[str]) -> tuple[list[Environment], Tally]:
    """The environments of newer suites and of README's Debian 12, and a tally of those that could not be made."""
    if reason := suites.unavailable():
        return [], counts.skipped("newer Debian suites, and README's lines on a new Debian 12", reason)
    environments, tally = [], Tally()
    newer = suites.SUITES if not names or any(name[0].isdigit() for name in names) else ()
    for suite in newer:
        pythons, failures = _had(suite, functools.partial(suites.python_of, suite))
        environments += _both_compilers([one for one in pythons if _wanted(one.name, names)])
        tally += failures
    if _wanted("readme", names):
        pythons, failures = _had(suites.DEBIAN_12, suites.of_readme)
        environments += [Environment(one, "g++", brief=True) for one in pythons]
        tally += failures
    return environments, tally


def _had(suite: str, make: Callable[[], Python]) -> tuple[list[Python], Tally]:
    try:
        return [make()], Tally()
    except ui.UserError as error:
        ui.say(str(error))
        return [], counts.failed(f"Debian {suite}", str(error).splitlines()[0])


def _both_compilers(pythons: Sequence[Python]) -> list[Environment]:
    return [Environment(one, compiler) for one in pythons for compiler in COMPILERS]


def _of_wheels(machine: Sequence[Python]) -> list[Environment]:
    """The environments of the wheels: the wheel of each minor version, on every patch level that is here."""
    wheels = wheel.make(machine)
    return [Environment(one, "wheel", wheels[one.version[:2]], brief=True) for one in machine]


def _check(names: Sequence[str], pythons: Sequence[Python]) -> None:
    """Raises ui.UserError for a name that means no part and no Python."""
    for name in names:
        if name not in _OTHERS and not any(one.name.startswith(name) for one in pythons):
            known = ", ".join(dict.fromkeys(one.name for one in pythons))
            raise ui.UserError(f"{name} is none of {', '.join(_OTHERS)}, and no Python that can be had here: {known}")


def _wanted(name: str, names: Sequence[str]) -> bool:
    return not names or any(name.startswith(each) for each in names)
