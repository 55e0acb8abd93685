"""The rules that measure C++ classes and folders catch a planted violation, and pass the like that is allowed."""

import pytest

from tidy import calls, ceilings, classes, folders
from tidy.tree import File, Finding, Tree

_MANY = "\n".join(f"  void act_{n}();" for n in range(40))
_WIDE = "\n".join(f"  int field_{n}_ = 0;" for n in range(20))


def tree(files: dict[str, str], record: str = "") -> Tree:
    """A tree of files in namespace banyan::node, with what is recorded in ceilings.toml."""
    texts = {
        path: f"namespace banyan::node {{\n{text}\n}}  // namespace banyan::node\n" for path, text in files.items()
    }
    return Tree([File(path, text) for path, text in (texts | {ceilings.PATH: record}).items()])


def one_class(body: str, record: str = "") -> Tree:
    return tree({"src/node/box.h": f"class Box {{\n{body}\n}};"}, record)


def said(findings: list[Finding]) -> list[tuple[str, int, str]]:
    """Where each finding is, and the first sentence of it."""
    return [(found.path, found.line, found.text.split(". ")[0].rstrip(".")) for found in findings]


@pytest.mark.parametrize(
    "more",
    [
        "  void act();",
        "  static int made();",
        "  [[nodiscard]] const Box* next() const { return next_; }",
        "  virtual void act() = 0;",
        "  template <class T>\n  T as() const;",
        "  auto size() const -> int;",
        "#ifdef NDEBUG\n  void act();\n#endif",
    ],
)
def test_a_method_above_the_ceiling_is_found(more: str) -> None:
    assert said(classes.check(one_class(f"{_MANY}\n{more}"))) == [
        ("src/node/box.h", 2, "node::Box has 41 methods; a class may have 40 at most")
    ]


@pytest.mark.parametrize(
    "more",
    [
        "  explicit Box(int size);",
        "  ~Box();",
        "  Box& operator=(const Box&) = delete;",
        "  bool operator==(const Box& other) const;",
        "  explicit operator bool() const;",
        "  friend void swap(Box& a, Box& b);",
        "  void (*callback_)(int);",
        "  std::function<void()> then_;",
        "  using Handler = void (Box::*)(int);",
        "  struct Inner {\n    void act();\n  };",
    ],
)
def test_what_is_no_method_does_not_count(more: str) -> None:
    assert classes.check(one_class(f"{_MANY}\n{more}")) == []


@pytest.mark.parametrize(
    "more",
    [
        "  std::map<int, std::unique_ptr<Box>> boxes_;",
        "  Box& other_;",
        "  std::function<void(int)> then_;",
        "  void (*then_)(int);",
        "  union {\n    int whole_;\n  };",
        "  int parts_[3];",
    ],
)
def test_a_field_above_the_ceiling_is_found(more: str) -> None:
    assert said(classes.check(one_class(f"  void act();\n{_WIDE}\n{more}"))) == [
        ("src/node/box.h", 2, "node::Box has 21 fields; a class may have 20 at most")
    ]


@pytest.mark.parametrize(
    "body",
    [
        f"  void act();\n{_WIDE}\n  static constexpr int kMax = 3;",
        f"  void act();\n{_WIDE}\n  struct Inner {{\n    int a;\n  }};",
        f"{_WIDE}\n  int one_more;\n  friend bool operator==(const Box&, const Box&) = default;",
    ],
)
def test_constants_and_plain_data_may_be_many(body: str) -> None:
    assert classes.check(one_class(body)) == []


def test_classes_of_a_source_are_measured_and_those_of_tests_are_not() -> None:
    planted = f"namespace {{\nclass Box {{\n{_MANY}\n  void act();\n}};\n}}"
    assert said(classes.check(tree({"src/node/a.cc": planted}))) == [
        ("src/node/a.cc", 3, "node::(a.cc)::Box has 41 methods; a class may have 40 at most")
    ]
    assert classes.check(tree({"src/node/a_test.cc": planted, "src/node/test_a.h": planted})) == []


_BOX = (
    "class Box {\n  Box();\n  void fill();\n  int size() const { return size_; }\n  void clear();\n  int size_ = 0;\n};"
)


@pytest.mark.parametrize(
    "use", ["size_ = 0;", "this->size_ = 0;", "Box other;\n  other.size_ = 0;", "auto set = [this] { size_ = 0; };"]
)
def test_a_field_that_two_sources_use_is_found(use: str) -> None:
    files = {
        "src/node/box.h": _BOX,
        "src/node/box.cc": "void Box::fill() { ++size_; }",
        "src/node/box_clear.cc": f"void Box::clear() {{\n  {use}\n}}",
    }
    assert said(classes.check(tree(files))) == [
        (
            "src/node/box.h",
            2,
            "node::Box has 1 field that more than one of its sources uses; a class may have none",
        )
    ]


@pytest.mark.parametrize(
    "other",
    [
        "Box::Box() : size_(1) {}",
        "void Box::clear() {\n  int size_ = 0;\n  ++size_;\n}",
        "void Box::clear() {\n  Bag bag;\n  bag.size_ = 0;\n}",
        "int full(const Bag& size_) { return size_; }",
    ],
)
def test_another_variable_and_a_first_value_are_no_use_of_the_field(other: str) -> None:
    files = {
        "src/node/box.h": f"{_BOX}\nstruct Bag {{\n  int size_;\n}};",
        "src/node/box.cc": "void Box::fill() { ++size_; }",
        "src/node/box_clear.cc": other,
    }
    assert classes.check(tree(files)) == []


def box_of(methods: int, record: str) -> Tree:
    return one_class("\n".join(f"  void act_{n}();" for n in range(methods)), f'[classes."node::Box"]\n{record}')


def test_a_recorded_figure_is_fine_as_long_as_it_is_the_figure() -> None:
    record = 'methods = 45\nwhy = "It is a box."\n'
    assert classes.check(box_of(45, record)) == []
    assert said(classes.check(box_of(46, record))) == [
        (
            "src/node/box.h",
            2,
            f"node::Box has 46 methods; {ceilings.PATH} allows it 45, a figure that can only fall",
        )
    ]
    assert said(classes.check(box_of(44, record))) == [
        (
            ceilings.PATH,
            1,
            "node::Box has 44 methods now. Lower methods here from 45 to 44, so that it cannot rise again".split(". ")[
                0
            ],
        )
    ]
    assert [found.text for found in classes.check(box_of(40, record))] == [
        "node::Box has 40 methods now, which needs no record. Remove methods = 45 here."
    ]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ('[classes."node::Bag"]\nmethods = 45\nwhy = "It is a bag."\n', "There is no class node::Bag in src/"),
        ('[classes."node::Box"]\n', "The entry of node::Box lacks a reason"),
        ('[classes."node::Box"]\nwhy = "a box"\n', "The entry of node::Box lacks a reason"),
        (
            '[classes."node::Box"]\nwhy = "It is a box."\nlines = 4\n',
            "lines is no figure of a class or is none of its type: methods and fields and shared are",
        ),
        (
            '[classes."node::Box"]\nwhy = "It is a box."\nmethods = "45"\n',
            "methods is no figure of a class or is none of its type: methods and fields and shared are",
        ),
        ('[class."node::Box"]\nwhy = "It is a box."\n', "There is no table class here"),
        ("[classes", "This file cannot be read as TOML"),
    ],
)
def test_a_wrong_record_is_found(record: str, says: str) -> None:
    findings = said(classes.check(one_class("  void act();", record)))
    assert [(path, line) for path, line, _ in findings] == [(ceilings.PATH, 1)]
    assert findings[0][2].startswith(says)


_LID = "class Lid {\n  void shut();\n  Box* box_;\n  std::vector<Box> boxes_;\n};"
_CHEST = "class Box {\n  void fill();\n  void close();\n  Lid lid_;\n};"


def chest(box: str, lid: str, record: str = "", **more: str) -> Tree:
    """A box with a lid that it shuts; the sources of both are given."""
    files = {"src/node/box.h": _CHEST, "src/node/lid.h": _LID, "src/node/box.cc": box, "src/node/lid.cc": lid}
    return tree(files | {f"src/node/{name}.cc": text for name, text in more.items()}, record)


_SHUTS = "void Box::fill() {}\nvoid Box::close() { lid_.shut(); }"


@pytest.mark.parametrize(
    "calls_back",
    [
        "box_->fill();",
        "(*box_).fill();",
        "for (Box& box : boxes_) box.fill();",
        "boxes_.front().fill();",
        "if (auto* box = box_) box->fill();",
        "auto later = [box = box_] { box->fill(); };",
        "auto first = boxes_.begin();\n  first->fill();",
        "auto each = [](Box& box) { box.fill(); };",
        "std::optional<Box> box;\n  box->fill();",
        "std::move(*box_).fill();",
        "auto then = &Box::fill;",
    ],
)
def test_two_files_that_call_each_other_are_found(calls_back: str) -> None:
    assert said(folders.check(chest(_SHUTS, f"void Lid::shut() {{\n  {calls_back}\n}}"))) == [
        (
            "src/node/box.cc",
            3,
            f"box and lid call each other: box.cc:3 calls shut(), and lid.cc:{2 + calls_back.count(chr(10)) + 1} "
            "calls fill()",
        )
    ]


def test_sources_of_one_class_and_functions_of_a_namespace_count_too() -> None:
    one = "void Box::fill() { close(); }"
    two = "void Box::close() { fill(); }"
    assert len(folders.check(tree({"src/node/box.h": _CHEST, "src/node/a.cc": one, "src/node/b.cc": two}))) == 1
    one = "int half(int n) { return whole(n) / 2; }"
    two = "int whole(int n) { return n < 2 ? n : node::half(n); }"
    assert (
        len(folders.check(tree({"src/node/a.h": "int half(int n);", "src/node/a.cc": one, "src/node/b.cc": two}))) == 1
    )


@pytest.mark.parametrize(
    "lid",
    [
        "void Lid::shut() {}",
        "void Lid::shut() { boxes_.clear(); }\nvoid clear() {}",
        "void Lid::shut() {\n  const auto fill = [] {};\n  fill();\n}",
        "namespace {\nvoid fill() {}\n}\nvoid Lid::shut() { fill(); }",
        "void Lid::shut() { box_->unknown(); }",
    ],
)
def test_calls_in_one_direction_are_fine(lid: str) -> None:
    assert folders.check(chest(f"{_SHUTS}\nvoid clear(int);\nvoid fill() {{}}", lid)) == []


def test_a_call_through_an_interface_or_to_another_folder_does_not_come_back() -> None:
    files = {
        "src/node/box.h": "class Owner {\n  virtual void fill() = 0;\n};\nclass Box : public Owner {\n  Lid lid_;\n};",
        "src/node/box.cc": "void Box::fill() { lid_.shut(); }",
        "src/node/lid.h": "class Lid {\n  void shut();\n  Owner* owner_;\n};",
        "src/node/lid.cc": "void Lid::shut() { owner_->fill(); }",
    }
    assert folders.check(tree(files)) == []
    calls_back = "void Lid::shut() { box_->fill(); }"
    apart = {"src/node/box.h": _CHEST, "src/node/box.cc": _SHUTS, "src/port/lid.h": _LID, "src/port/lid.cc": calls_back}
    assert folders.check(tree(apart)) == []


def test_a_recorded_pair_is_fine_until_it_is_gone() -> None:
    record = '[folders."src/node"]\nwhy = "A box has a lid."\npairs = [["lid", "box"]]\n'
    assert folders.check(chest(_SHUTS, "void Lid::shut() { box_->fill(); }", record)) == []
    assert [str(found) for found in folders.check(chest(_SHUTS, "void Lid::shut() {}", record))] == [
        f"{ceilings.PATH}:1: box and lid do not call each other both ways. Remove the pair, so that it stays so."
    ]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ('[folders."src/none"]\nwhy = "It was there."\npairs = []\n', "There is no folder src/none in src/"),
        ('[folders."src/node"]\nwhy = "It is."\npairs = 3\n', "pairs is no figure of a folder"),
        ('[folders."src/node"]\nwhy = "It is."\npairs = ["lid"]\n', "lid do not call each other"),
    ],
)
def test_a_wrong_record_of_a_folder_is_found(record: str, says: str) -> None:
    findings = folders.check(chest(_SHUTS, "void Lid::shut() {}", record))
    assert [finding.text.startswith(says) for finding in findings] == [True]


def test_an_honest_tree_passes_both_rules() -> None:
    honest = chest(_SHUTS, "void Lid::shut() {}")
    assert classes.check(honest) == folders.check(honest) == []
    assert [(call.name, call.defined) for call in calls.uses(honest).calls] == [("shut", "src/node/lid.cc")]
