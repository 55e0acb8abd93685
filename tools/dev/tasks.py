"""The small commands: tidy, fmt, bench, sim, compat."""

import os
import subprocess
import sys
from pathlib import Path

from tidy.linters import PRESET

from dev import against, build, large_packages, provision, ui
from dev.paths import BUILD, COMPAT, ROOT, SIMULATOR, VENV, VENV_PYTHON


def tidy(arguments: list[str]) -> int:
    with provision.locked("build"):
        provision.apt("apt", "apt-test")
        provision.python("requirements", "requirements-test")
        provision.lab_modules()
        build.configure(PRESET)
    return subprocess.run([VENV_PYTHON, "-m", "tidy", *arguments], check=False, cwd=ROOT).returncode


def fmt() -> int:
    provision.apt("apt-test")
    provision.python("requirements", "requirements-test")
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cc", "*.h"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    names = [name for name in names if (ROOT / name).exists()]
    if names:
        subprocess.run(["clang-format-19", "-i", *names], cwd=ROOT, check=True)
    ruff = VENV / "bin" / "ruff"
    subprocess.run([ruff, "format", "--quiet", "."], cwd=ROOT, check=True)
    return subprocess.run([ruff, "check", "--quiet", "--fix", "."], cwd=ROOT, check=False).returncode


def mutants(arguments: list[str]) -> int:
    if "--json" in arguments:
        ui.talk_on(sys.stderr)
    with provision.locked("build"):
        provision.apt("apt", "apt-test")
        provision.python("requirements", "requirements-test")
        return subprocess.run([VENV_PYTHON, "-m", "mutants", *arguments], check=False, cwd=ROOT).returncode


def _benches() -> dict[str, str]:
    """The name of each bench and its file: bench/NAME.py, or bench/NAME.cc, which is built as bench_NAME."""
    files = sorted((ROOT / "bench").glob("*"))
    return {f.stem: f.suffix for f in files if f.suffix in (".py", ".cc") and not f.stem.startswith("_")}


def bench(name: str | None, arguments: list[str]) -> int:
    if "--json" in arguments:
        ui.talk_on(sys.stderr)
    benches = _benches()
    if name is None:
        print("\n".join(benches) or "there are no benches in bench/")
        return 0
    if name not in benches:
        raise ui.UserError(f"no bench {name!r}; there are: {', '.join(benches) or 'none'}")
    if any(word.partition("=")[0] == "--against" for word in arguments):
        return against.main(name, arguments)
    with provision.locked("build"):
        provision.apt("apt")
        if benches[name] == ".py":
            python = _python_of_bench(name)
            build.build("release", "platform")
            command = [python, ROOT / "bench" / f"{name}.py"]
        else:
            build.build("release", f"bench_{name}")
            command = [BUILD / "release" / "bench" / f"bench_{name}"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    return subprocess.run([*command, *arguments], check=False, env=env).returncode


def _python_of_bench(name: str) -> Path:
    if name == "large":
        return large_packages.python_with_torch()
    provision.python("requirements", "requirements-test")
    return VENV_PYTHON


def sim(arguments: list[str]) -> int:
    if "--json" in arguments:
        ui.talk_on(sys.stderr)
    with provision.locked("build"):
        provision.apt("apt")
        build.build("release", SIMULATOR.name)
    os.execv(SIMULATOR, [str(SIMULATOR), *arguments])


def compat(arguments: list[str]) -> int:
    if "--json" in arguments:
        ui.talk_on(sys.stderr)
    with provision.locked("build"):
        provision.apt("apt", "apt-compat")
        python = provision.venv(COMPAT / "venv", "requirements-compat")
        provision.venv(COMPAT / "torch", "requirements-compat-torch", with_debian=True)
        build.build("release", "_native")
    path = os.pathsep.join(str(ROOT / folder) for folder in ("tools", "python", "."))
    return subprocess.run(
        [python, "-m", "compat", *arguments], check=False, env={**os.environ, "PYTHONPATH": path}
    ).returncode
