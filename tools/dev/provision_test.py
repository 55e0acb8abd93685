"""Tests that missing packages are found, and that finished parts are not done again."""

from pathlib import Path

import pytest

from dev import provision
from dev.paths import BUILD, PACKAGES
from dev.provision import Package, Stamp, missing_packages, read_packages


def test_a_package_list_has_comments_and_alternatives(tmp_path: Path) -> None:
    path = tmp_path / "apt.txt"
    path.write_text("# head\n\ncmake  # builds\nnodejs unless=node\n")
    assert read_packages(path) == [Package("cmake"), Package("nodejs", unless="node")]


def test_missing_packages() -> None:
    packages = [Package("dpkg"), Package("no-such-package"), Package("no-such-shell", unless="sh")]
    assert missing_packages(packages) == ["no-such-package"]


def test_a_stamp_is_fresh_for_the_same_inputs_only(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("numpy==1")
    stamp = tmp_path / "stamps" / "python"
    assert not Stamp(stamp, lock).fresh()
    Stamp(stamp, lock).write()
    assert Stamp(stamp, lock).fresh()
    lock.write_text("numpy==2")
    assert not Stamp(stamp, lock).fresh()


def test_each_pin_has_a_hash() -> None:
    for path in PACKAGES.glob("requirements*.txt"):
        pins = path.read_text().replace("\\\n", " ").splitlines()
        assert pins and all("==" in pin and "--hash=sha256:" in pin for pin in pins if pin.strip())


def test_the_lists_are_sorted_and_apart() -> None:
    lists = [
        [package.name for package in read_packages(PACKAGES / f"{name}.txt")]
        for name in ("apt", "apt-test", "apt-compat", "apt-nightly")
    ]
    assert all(names == sorted(names) for names in lists)
    assert len(set().union(*lists)) == sum(map(len, lists))


def test_npm_comes_from_pypi_where_the_machine_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(folder: Path, *locks: str) -> Path:
        made.extend(locks)
        return folder / "bin" / "python"

    monkeypatch.setattr(provision, "venv", make)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/npm")
    monkeypatch.setenv("PATH", "/usr/bin")
    assert provision._npm_path() == "/usr/bin"
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert provision._npm_path() == f"{BUILD / 'node' / 'bin'}:/usr/bin"
    assert made == ["requirements-node"]
