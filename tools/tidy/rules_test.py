"""Each rule catches a planted violation, and passes the like that is allowed."""

from pathlib import Path

import pytest

from tidy import documented, layers, purity, references, rooms, shape
from tidy.tree import File, Tree


def tree(path: str, text: str, *more: tuple[str, str]) -> Tree:
    return Tree([File(path, text), *(File(*item) for item in more)])


@pytest.mark.parametrize(
    ("path", "include", "why"),
    [
        ("src/base/a.h", "core/raft/raft.h", "above"),
        ("src/core/raft/a.cc", "node/protocol.h", "above"),
        ("src/node/a.h", "port/disk.h", "above"),
        ("src/port/a.h", "runtime/loop/loop.h", "above"),
        ("src/runtime/net/a.cc", "sim/network.h", "must not know"),
        ("src/sim/a.cc", "runtime/net/net.h", "must not know"),
        ("src/daemons/a.cc", "cli/args.h", "above"),
        ("src/core/raft/a.h", "core/session/session.h", "edges"),
        ("src/core/jupyter/a.h", "core/session/session.h", "edges"),
        ("src/node/a.cc", "../base/result.h", "path from src/"),
        ("src/node/a.cc", "protocol.h", "path from src/"),
        ("src/extra/a.cc", "base/result.h", "no layer"),
    ],
)
def test_a_wrong_include_is_found(path: str, include: str, why: str) -> None:
    findings = layers.check(tree(path, f'// Head.\n#include "{include}"\n'))
    assert [finding.line for finding in findings] == [2]
    assert why in findings[0].text


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("src/node/a.h", "core/raft/raft.h"),
        ("src/core/session/a.h", "core/jupyter/message.h"),
        ("src/core/raft/a.h", "core/raft/log.h"),
        ("src/cli/a.cc", "daemons/gateway.h"),
        ("src/cli/a.cc", "sim/sim.h"),
        ("src/core/raft/a.cc", "base/result.h"),
    ],
)
def test_an_include_that_points_down_is_fine(path: str, include: str) -> None:
    assert layers.check(tree(path, f'#include "{include}"\n')) == []


def test_an_include_in_a_comment_is_no_include() -> None:
    assert layers.check(tree("src/base/a.h", '// #include "node/protocol.h"\n')) == []


def room(path: str, line: str) -> Tree:
    described = {name: f"python/banyan/{name}/__init__.py" for name in ("state", "worker", "clusters")}
    others = [(each, '"""A room."""\n') for each in described.values() if each != path]
    return tree(path, f'"""A module."""\n{line}\n', *others)


@pytest.mark.parametrize(
    ("path", "line", "says"),
    [
        ("state/a.py", "from banyan.worker.channel import Channel", "above"),
        ("state/a.py", "from banyan.worker import channel", "above"),
        ("state/a.py", "from banyan import _native, worker", "above"),
        ("state/a.py", "import banyan.surroundings.machine", "above"),
        ("state/a.py", "from ..restore import show", "above"),
        ("clusters/__init__.py", "from ..state.serialise import dump", "above"),
        ("state/a.py", "if TYPE_CHECKING:\n    from banyan.restore.show import Value", "above"),
        ("state/a.py", "def f():\n    from banyan.restore.show import Value", "above"),
        ("worker/a.py", "from banyan.standalone.store import LocalStore", "each other"),
        ("state/a.py", "from banyan.zygote import main", "no room"),
        ("state/a.py", "import banyan", "no room"),
        ("worker/a.py", "from banyan.detect import Detector", "no room"),
        ("elsewhere/a.py", "", "no room"),
        ("detect.py", "", "no room"),
    ],
)
def test_an_import_from_a_room_that_is_not_below_is_found(path: str, line: str, says: str) -> None:
    findings = rooms.check(room(f"python/banyan/{path}", line))
    assert len(findings) == 1
    assert says in findings[0].text


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("worker/a.py", "from banyan.state import serialise"),
        ("worker/a.py", "from banyan import __version__, _native"),
        ("state/a.py", "from banyan.state.access import Accesses"),
        ("state/a.py", "from . import access"),
        ("state/a.py", "from .access import Accesses"),
        ("state/a.py", "from banyan_server import rest"),
        ("zygote.py", "from banyan.worker.zygote import main"),
        ("__init__.py", "from banyan.standalone import extension"),
    ],
)
def test_an_import_from_a_room_below_or_the_same_is_fine(path: str, line: str) -> None:
    assert rooms.check(room(f"python/banyan/{path}", line)) == []


def test_a_room_without_a_docstring_is_found() -> None:
    findings = rooms.check(tree("python/banyan/state/__init__.py", "import os\n"))
    assert [finding.text.split(":")[0] for finding in findings] == ["say in a docstring"]


@pytest.mark.parametrize(
    "line",
    [
        "#include <thread>",
        "#include <mutex>",
        "#include <atomic>",
        "#include <fstream>",
        "#include <iostream>",
        "#include <filesystem>",
        "#include <random>",
        "#include <sys/socket.h>",
        "#include <unistd.h>",
        "#include <boost/asio/post.hpp>",
        "#include <boost/beast.hpp>",
        "#include <rocksdb/db.h>",
        "#include <zmq.hpp>",
        "auto t = std::chrono::steady_clock::now();",
        "auto t = system_clock::now();",
        "auto t = time(nullptr);",
        "int r = rand();",
        "std::random_device seed;",
        'auto home = std::getenv("HOME");',
        'printf("x");',
        'std::cerr << "x";',
        "std::thread worker;",
        "thread_local int x;",
        "co_await reply;",
        "std::unordered_map<int, int> m;",
        "std::unordered_set<int> s;",
    ],
)
@pytest.mark.parametrize("folder", ["src/core/raft", "src/node"])
def test_an_impure_line_is_found(folder: str, line: str) -> None:
    assert [finding.line for finding in purity.check(tree(f"{folder}/a.cc", f"// Head.\n{line}\n"))] == [2]


@pytest.mark.parametrize(
    "line",
    [
        "#include <chrono>",
        "#include <map>",
        "// std::thread would be wrong here",
        'fail("rand() and printf( are words of a message");',
        "std::unordered_map<int, int> m;  // unordered: only looked up, never walked",
        "std::snprintf(text, sizeof text, format, value);",
        "machine.step_time(now);",
        "runtime(0);",
        "const auto operand(1);",
    ],
)
def test_a_pure_line_is_fine(line: str) -> None:
    assert purity.check(tree("src/core/raft/a.cc", line + "\n")) == []


def test_purity_binds_core_and_node_only_and_not_their_tests() -> None:
    for path in ("src/runtime/loop/a.cc", "src/core/raft/a_test.cc", "src/core/raft/test_cluster.h"):
        assert purity.check(tree(path, "#include <thread>\n")) == []


def header(body: str) -> Tree:
    text = f"// Head.\n#pragma once\n\nnamespace banyan {{\n\n{body}\n\n}}  // namespace banyan\n"
    return tree("src/base/a.h", text, ("src/base/README.md", "Base.\n"))


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("struct Point {\n  int x;\n};", "Point"),
        ("class Log final : public Base {\n};", "Log"),
        ("enum class Colour : int { kRed };", "Colour"),
        ("template <class T, class U = std::vector<T>>\nclass Box {\n};", "Box"),
        ("int size_of(const Log& log);", "size_of"),
        ("[[nodiscard]] inline Result<int> parse(std::string_view text) {\n  return 1;\n}", "parse"),
        ("template <class T>\nT largest(T a, T b);", "largest"),
        ("/// Documented.\nstruct A {\n};\n\nstruct B {\n};", "B"),
        ("// An ordinary comment is no contract.\nstruct C {\n};", "C"),
    ],
)
def test_an_undocumented_declaration_is_found(body: str, name: str) -> None:
    assert [finding.text.split()[0] for finding in documented.check(header(body))] == [name]


@pytest.mark.parametrize(
    "body",
    [
        "/// A point.\nstruct Point {\n  int x() const { return 1; }\n  struct Inner {};\n};",
        "struct Forward;\nclass Other;",
        "using Time = int;",
        "inline constexpr int kLimit = limit(3);",
        "/// The larger one.\ntemplate <class T>\nT largest(T a, T b);",
        "/// Both keys of the store.\nint session_key();\nint cell_key();",
        "namespace a_detail {\nstruct Hidden {};\nint hidden();\n}",
        "bool operator==(const A& a, const A& b);",
        "template <>\nstruct Formatter<int> {};",
        "struct Stop {};  ///< no more input",
        "class A {\n  // speaks through the head comment: the file has its name\n};",
    ],
)
def test_a_documented_declaration_is_fine(body: str) -> None:
    assert documented.check(header(body)) == []


def test_a_header_says_at_its_head_what_it_is() -> None:
    findings = documented.check(tree("src/base/a.h", "#pragma once\n", ("src/base/README.md", "Base.\n")))
    assert "comment at the head" in findings[0].text


def test_a_folder_without_readme_or_with_a_long_one_is_found() -> None:
    assert "missing" in documented.check(tree("src/base/a.cc", ""))[0].text
    assert "longer" in documented.check(tree("src/base/a.cc", "", ("src/base/README.md", "line\n" * 81)))[0].text


@pytest.mark.parametrize("named", ["`raft`", "`raft/`", "[the log](raft)", "`core/raft`"])
def test_a_readme_that_leaves_out_a_folder_is_found(named: str) -> None:
    inner = (("src/core/raft/a.cc", ""), ("src/core/raft/README.md", "Raft.\n"))
    findings = documented.check(tree("src/core/README.md", "The rafting of logs.\n", *inner))
    assert [(finding.path, finding.text) for finding in findings] == [
        ("src/core/README.md", "does not name its folder raft")
    ]
    assert documented.check(tree("src/core/README.md", f"Consensus is in {named}.\n", *inner)) == []


_THERE = (
    ("src/node/link.h", ""),
    ("src/node/link_test.cc", "TEST_F(Link, Holds) {}\n"),
    ("src/core/raft/log.h", ""),
    ("docs/adr/0007-small.md", ""),
    ("tests/e2e/test_a.py", "def test_it_holds() -> None:\n"),
)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("docs/a.md", "See `node/lonk.h`."),
        ("docs/a.md", "See `src/node/{link,lonk}.h`."),
        ("docs/a.md", "The folder `core/rift` has the log."),
        ("docs/a.md", "The file `lonk.h` has it."),
        ("docs/a.md", "The module `lonk.py` has it."),
        ("docs/a.md", "[Links](../src/node/lonk.h#part)"),
        ("docs/a.md", "It was decided (ADR 8)."),
        ("docs/a.md", "The order of the world is in DESIGN.md."),
        ("docs/a.md", "The order of the world is in spec/faults.md."),
        ("docs/a.md", "Look at `Link.Breaks`."),
        ("docs/a.md", "Look at `test_it_breaks`."),
        ("src/node/a.h", "// In order, for as long as both live (node/lonk.h)."),
        ("src/node/a.h", "int a;  ///< see lonk.h"),
        ("src/node/a.cc", "/* ADR 8 says why. */"),
        ("tools/a.py", "# As tests/e2e/lonk.py does."),
        ("tools/a.py", '"""As tests/e2e/lonk.py does."""'),
    ],
)
def test_a_reference_to_what_does_not_exist_is_found(path: str, line: str) -> None:
    findings = references.check(tree(path, f"\n{line}\n", *_THERE))
    assert [(finding.path, finding.line) for finding in findings] == [(path, 2)]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("docs/a.md", "See `node/link.h`, `src/node/*.h`, `link.h`; `raft/lo{g,g}.h` (ADR 7)."),
        ("docs/a.md", "[Links](../src/node/link.h#part), [a page](https://example.com/src/node/lonk.h)"),
        (
            "docs/a.md",
            "`bench/NAME.py`, `foo.cc`, `core/raft/my_log.cc` and `<sys/socket.h>` are no files of the tree.",
        ),
        ("docs/a.md", "Look at `Link.Holds`, and at `test_it_holds` in `tests/e2e/test_a.py`."),
        ("src/core/raft/a.h", "// The log (log.h), in core/raft as well as raft/log.h; either/or."),
        ("src/node/a.cc", 'fail("node/lonk.h");  // a text of the program is no reference'),
        ("tools/a.py", 'planted = "tests/e2e/lonk.py"  # a value is no reference'),
    ],
)
def test_a_reference_to_what_exists_is_fine(path: str, line: str) -> None:
    assert references.check(tree(path, line + "\n", *_THERE)) == []


@pytest.mark.parametrize("path", ["src/base/a.cc", "tools/dev/a.py", "tests/node/a.mjs"])
def test_a_long_file_is_an_error_and_a_longish_one_a_note(path: str) -> None:
    assert [f.note for f in shape.check_size(tree(path, "x\n" * 601))] == [False]
    assert [f.note for f in shape.check_size(tree(path, "x\n" * 401))] == [True]
    assert shape.check_size(tree(path, "x\n" * 400)) == []


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "X" * 3])
def test_a_reminder_is_found(word: str) -> None:
    assert len(shape.check_words(tree("src/base/a.cc", f"// {word}: later\n"))) == 1
    assert shape.check_words(tree("src/base/a.cc", f"// {word}Y, {word.lower()}\n")) == []


@pytest.mark.parametrize("host", ["pypi" + ".org", "registry.npmjs" + ".org", "--index" + "-url x"])
def test_a_registry_host_is_found(host: str) -> None:
    assert len(shape.check_words(tree("tools/packages/requirements.txt", f"{host}\n"))) == 1


def test_the_tree_itself_is_read_from_git() -> None:
    names = {file.path for file in Tree.read(Path(__file__).parents[2]).files}
    assert "dev" in names
    assert not any(name.startswith(("build/", ".venv/")) for name in names)
