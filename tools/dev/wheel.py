"""./dev wheel: the package for people who have no compiler, as one wheel for each Python of this machine."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from dev import provision, ui
from dev.paths import BUILD, LOGS, ROOT
from dev.pythons import ENVIRONMENTS, Python, build_settings, found, one_of_each

WHEELS = BUILD / "wheels"


def main() -> int:
    with provision.locked("build"):
        provision.apt("apt")
        made = make(found()).values()
    ui.say()
    ui.table([["wheel", "size"], *([str(one.relative_to(ROOT)), f"{one.stat().st_size / 1e6:.1f} MB"] for one in made)])
    return 0


def make(pythons: Sequence[Python]) -> dict[tuple[int, int], Path]:
    """Makes the wheels; returns their files by minor version of Python."""
    WHEELS.mkdir(parents=True, exist_ok=True)
    return {one.version[:2]: _make(one.interpreter, one.name) for one in one_of_each(pythons)}


def _make(interpreter: Path, name: str) -> Path:
    slug = re.sub(r"[^\w.]+", "-", name).lower()
    folder = ENVIRONMENTS / f"wheel-{slug}"
    shutil.rmtree(folder, ignore_errors=True)
    venv = folder / "venv"  # Debian's own Python has no pip
    ui.run(
        f"Creating an environment: Python {name}", [interpreter, "-m", "venv", venv], LOGS / f"wheel-{slug}-venv.log"
    )
    command: list[str | Path] = [venv / "bin" / "python", "-m", "pip", "wheel", "--disable-pip-version-check"]
    command += ["--no-input", "--no-deps", "--wheel-dir", folder, ROOT / "python"]
    settings = build_settings(folder / "build", cached=True)
    ui.run(f"Making a wheel: Python {name}", command, LOGS / f"wheel-{slug}.log", env=settings)
    (wheel,) = folder.glob("banyan-*.whl")
    return Path(shutil.move(wheel, WHEELS / wheel.name))
