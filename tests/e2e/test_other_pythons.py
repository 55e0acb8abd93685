"""Kernels of other minor versions of Python than the platform's own: virtual environments, and a whole Python in a
folder of its own, which is what conda and pyenv make."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dev import paths
from dev.pythons import COMPILERS, Environment, found, install_line, one_of_each
from harness.client import Connection
from harness.platform import Platform

GUIDE = paths.ROOT / "docs" / "guide" / "kernels.md"
WHERE = "import sys; print(sys.version_info[:2], sys.prefix)"
OTHERS = [one for one in one_of_each(found()) if one.version[:2] != sys.version_info[:2] and one.origin == "pyenv"]
# The Python of each kernel. The last Python of the machine has its packages in its own folder, without an environment.
KERNELS = {f"environment-{one.version[0]}.{one.version[1]}": one for one in OTHERS[:-1]}
KERNELS |= dict(zip(["prefix"], OTHERS[-1:], strict=False))

pytestmark = pytest.mark.skipif(not OTHERS, reason="pyenv has no Python of another minor version on this machine")


@pytest.fixture(scope="module")
def interpreters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The interpreter of each kernel."""
    made = {}
    for python in OTHERS:
        environments = [Environment(python, compiler) for compiler in COMPILERS]
        made[python] = next((one for one in environments if one.stamp.exists()), environments[-1])
        made[python].make(sample=True)
    interpreters = {name: made[python].interpreter for name, python in KERNELS.items()}
    return interpreters | {"prefix": in_its_own_folder(made[OTHERS[-1]], tmp_path_factory.mktemp("prefix") / "stats")}


def in_its_own_folder(environment: Environment, prefix: Path) -> Path:
    """Copies the environment's Python and puts the environment's packages into the copy; returns the interpreter."""
    original = environment.python.interpreter.resolve().parent.parent
    no_packages = shutil.ignore_patterns("site-packages")
    shutil.copytree(original, prefix, symlinks=True, copy_function=_link, ignore=no_packages)
    (library,) = prefix.glob("lib/python3.*/")
    (installed,) = environment.folder.glob("venv/lib/python3*/site-packages")
    shutil.copytree(installed, library / "site-packages", symlinks=True, copy_function=_link)
    return prefix / "bin" / "python"


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # the target is on another disk
        shutil.copy2(source, target, follow_symlinks=False)


@pytest.fixture(scope="module")
def platform_of_pythons(tmp_path_factory: pytest.TempPathFactory, interpreters: dict[str, Path]) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("pythons")
    Platform(folder).stop()  # this start and stop writes the gateway's file
    with (folder / "gateway.toml").open("a") as file:
        for name, python in interpreters.items():
            file.write(f'\n[[kernels]]\nname = "{name}"\ndisplay_name = "{name}"\npython = "{python}"\n')
    platform = Platform(folder)
    try:
        yield platform
    finally:
        platform.stop()


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_session_of_another_python_is_undone_moves_is_suspended_and_survives_its_host(
    platform_of_pythons: Platform, interpreters: dict[str, Path], kernel: str
) -> None:
    platform, gateway = platform_of_pythons, platform_of_pythons.gateway
    platform.repair()
    session_id = gateway.start_kernel(name=kernel)
    there = f"{KERNELS[kernel].version[:2]} {interpreters[kernel].parent.parent}\n"
    operations = f"/api/banyan/sessions/{session_id}"
    with Connection(gateway, session_id) as session:
        assert session.run(WHERE).stdout == there
        session.run("class Point:\n    def __init__(self, x): self.x = x\npoint = Point([1])\nsame = point.x")
        session.run("def double(): return [2 * x for x in same]")
        session.run("same.append(2)")
        assert session.run("%undo").status == "ok"
        assert session.run("point.x is same, double()").result == "(True, [2])"
        assert session.run("%redo").status == "ok"
        kept = "point.x is same, point.x, double(), type(point) is Point"
        replicas = {replica["host"] for replica in gateway.session(session_id)["replicas"]}
        to = sorted(set(platform.hosts) - replicas)[0]
        moved = gateway.call("POST", f"{operations}/migrate", json={"host": to}, timeout=120)
        assert moved.status_code == 200, moved.text
        assert gateway.executor(session_id) == to
        assert session.run(kept).result == "(True, [1, 2], [2, 4], True)"
        suspended = gateway.call("POST", f"{operations}/suspend", json={}, timeout=60)
        assert (suspended.status_code, suspended.json()["lost"]) == (200, []), suspended.text
        assert gateway.session(session_id)["state"] == "suspended"
        assert session.run(kept).result == "(True, [1, 2], [2, 4], True)"
        before = gateway.executor(session_id)
        platform.kill(before)
        assert session.run(kept).result == "(True, [1, 2], [2, 4], True)"
        assert gateway.executor(session_id) != before
        assert session.run(WHERE).stdout == there
        session.run("same.append(3)")
        assert session.run("double()").result == "[2, 4, 6]"
    gateway.delete_kernel(session_id)
    platform.repair()


def test_no_session_moves_to_a_host_whose_python_has_another_minor_version(platform_of_pythons: Platform) -> None:
    platform, gateway = platform_of_pythons, platform_of_pythons.gateway
    file = platform.config("h4")
    before = file.read_text()
    own = f"python = '{sys.executable}'\npython_path = '{paths.ROOT / 'python'}'\n"
    after = re.sub(r"(name = ['\"]prefix['\"]\n)python = .*\n", lambda found: found[1] + own, before)
    assert after != before
    try:
        file.write_text(after)
        platform.kill("h4")
        platform.repair()
        session_id = gateway.start_kernel(name="prefix")
        with Connection(gateway, session_id) as session:
            version = KERNELS["prefix"].version[:2]
            assert session.run("import sys; print(sys.version_info[:2])").stdout == f"{version}\n"
            moved = gateway.call("POST", f"/api/banyan/sessions/{session_id}/migrate", json={"host": "h4"}, timeout=120)
            assert moved.status_code == 409, moved.text
            assert "Python" in moved.json()["message"]
            assert session.run("1").result == "1"
        gateway.delete_kernel(session_id)
    finally:
        file.write_text(before)
        platform.kill("h4")
        platform.repair()


def test_the_guide_installs_as_readme_does() -> None:
    """The environments of this file are made with README's line; the guide has the same line for conda and pyenv."""
    lines = re.findall(r"^[^#`\n]* -m (pip install [^#`\n]*[^#`\s])", GUIDE.read_text(), re.MULTILINE)
    assert lines == [install_line()] * 3
