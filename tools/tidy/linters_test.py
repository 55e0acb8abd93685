"""Each linter is really run and catches a planted violation; what passed is remembered by content."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tidy import linters
from tidy.cache import Cache
from tidy.tree import File, Tree

ROOT = Path(__file__).parents[2]
Plant = Callable[[str, str], Tree]


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Makes a small tree on disk, with this tree's settings and tools."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "tree"
    root.mkdir()
    for name in (".clang-format", ".clang-tidy", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    (root / ".venv").symlink_to(ROOT / ".venv")

    def write(path: str, text: str) -> Tree:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        build = root / "build" / linters.PRESET
        build.mkdir(parents=True, exist_ok=True)
        command = "clang++-19 -std=c++20 -o {0}.o -c {0}"
        entries = [{"file": str(f), "command": command.format(f)} for f in sorted(root.glob("src/**/*.cc"))]
        (build / "compile_commands.json").write_text(json.dumps(entries))
        sources = [f for f in root.glob("src/**/*") if f.is_file()] if path.startswith("src") else [file]
        return Tree([File(str(f.relative_to(root)), f.read_text()) for f in sources], root)

    return write


def test_unformatted_cpp_is_found_and_formatted_cpp_is_remembered(plant: Plant) -> None:
    assert [f.path for f in linters.check_format(plant("src/base/a.cc", "int  x=1 ;\n"))] == ["src/base/a.cc"]
    good = plant("src/base/a.cc", "int x = 1;\n")
    assert linters.check_format(good) == []
    (good.root / "src/base/a.cc").unlink()
    assert linters.check_format(good) == [], "the second check did not need the file"


def test_clang_tidy_finds_a_bug_and_remembers_what_passed(plant: Plant) -> None:
    bad = plant("src/base/a.cc", "#include <string>\nint f(std::string s) { return sizeof(s.c_str()) == 0 ? 1 : 1; }\n")
    assert any("bugprone" in f.text or "performance" in f.text for f in linters.check_clang_tidy(bad))
    good = plant("src/base/a.cc", "int f() { return 1; }\n")
    assert linters.check_clang_tidy(good) == []
    (good.root / "src/base/a.cc").write_text("#error not looked at again\n")
    assert linters.check_clang_tidy(good) == []


def test_sources_are_looked_at_together_and_each_finding_has_its_place(plant: Plant) -> None:
    bug = "#include <string>\nint f(std::string s) { return sizeof(s.c_str()) == 0 ? 1 : 1; }\n"
    plant("src/base/a.cc", "int g() { return 1; }\n")
    plant("src/base/a.h", "struct A { A(int x); };\n")
    found = linters.check_clang_tidy(plant("src/base/b.cc", '#include "a.h"\n' + bug))
    assert {finding.path for finding in found} == {"src/base/a.h", "src/base/b.cc"}
    assert linters.check_clang_tidy(plant("src/base/a.h", "struct A { explicit A(int x); };\n")) != []
    assert linters.check_clang_tidy(plant("src/base/b.cc", "int f() { return 1; }\n")) == []


def test_a_source_that_does_not_compile_is_found(plant: Plant) -> None:
    assert linters.check_clang_tidy(plant("src/base/a.cc", "int f( {\n")) != []


def test_a_changed_header_is_checked_again(plant: Plant) -> None:
    plant("src/base/a.h", "inline int g() { return 1; }\n")
    tree = plant("src/base/a.cc", '#include "base/a.h"\nint f() { return g(); }\n')
    one = {"src/base/a.cc": tree.files[0], "src/base/a.h": File("src/base/a.h", "")}
    assert linters._reached(tree.files[0], one) == {"src/base/a.cc", "src/base/a.h"}


def test_a_header_that_does_not_stand_alone_is_found(plant: Plant) -> None:
    tree = plant("src/base/a.h", "inline std::string f() { return {}; }\n")
    build = tree.root / f"build/{linters.PRESET}"
    build.mkdir(parents=True, exist_ok=True)
    rule = "rule check\n  command = clang++-19 -fsyntax-only -x c++ $in\n"
    target = "build all_verify_interface_header_sets: check"
    (build / "build.ninja").write_text(f"{rule}{target} {tree.root}/src/base/a.h\n")
    assert [(f.path, f.line) for f in linters.check_headers(tree)] == [("src/base/a.h", 1)]


def test_ruff_finds_an_unused_import_and_bad_format(plant: Plant) -> None:
    findings = linters.check_ruff(plant("tools/a.py", "import os\n\nx = {  1:2 }\n"))
    assert any("F401" in f.text for f in findings)
    assert any("not formatted" in f.text for f in findings)


def test_mypy_finds_a_wrong_type(plant: Plant) -> None:
    plant("tools/mypy.ini", (ROOT / "tools/mypy.ini").read_text())
    plant("tools/tidy/__init__.py", "")
    plant("tools/dev/__init__.py", "")
    findings = linters.check_mypy(plant("tools/dev/a.py", 'def f() -> int:\n    return "x"\n'))
    assert [(f.path, f.line) for f in findings] == [("tools/dev/a.py", 2)]


def test_shellcheck_finds_an_unquoted_word(plant: Plant) -> None:
    findings = linters.check_shell(plant("run", "#!/bin/bash\ncd $1\n"))
    assert findings and all(f.path == "run" for f in findings)


def test_a_missing_linter_says_what_brings_it(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = plant("run", "#!/bin/bash\n")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(linters.Unavailable, match=r"\./dev tidy installs it"):
        linters.check_shell(tree)


def test_the_cache_tells_inputs_apart(tmp_path: Path) -> None:
    cache = Cache("x", tmp_path)
    cache.remember(Cache.key("ab", "c"))
    assert cache.passed(Cache.key("ab", "c"))
    assert not cache.passed(Cache.key("a", "bc"))
