"""Finds the faults that a C++ source can have: guards removed, comparisons turned, effects dropped, constants
swapped."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

_PARSER = Parser(Language(tree_sitter_cpp.language()))

# The operator that a faulty comparison or sum has in place of the right one.
TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+"}
_BRANCHES = ("if_statement", "while_statement", "do_statement", "for_statement", "conditional_expression")
# The compiler works out what is inside these nodes, or it is no code: there is nothing to plant at run time.
_FIXED = frozenset(
    "static_assert_declaration template_argument_list template_parameter_list enumerator field_declaration "
    "attribute_declaration noexcept requires_clause concept_definition preproc_def preproc_if using_declaration "
    "alias_declaration bitfield_clause array_declarator linkage_specification".split()
)
_EFFECTS = ("call_expression", "assignment_expression", "update_expression", "delete_expression")
# Texts for people: tests need not check each word of them, so faults in them do not count.
_SAYS = re.compile(r"(?:\b|_)(?:log|say|trace|describe|to_string|print)\w*\(|std::string\(|\"")


@dataclass(frozen=True)
class Fault:
    """A fault of one source: `kind` says how to rewrite the bytes from `start` to `end`."""

    path: str  # relative to the root of the tree
    line: int  # counted from 1
    end_line: int
    start: int
    end: int
    kind: str
    function: str
    code: str  # the text of those bytes, on one line
    nth: int  # its number among the faults of this kind with the same code in this function

    @property
    def key(self) -> str:
        """Names the fault in files that people keep: the key stays the same when lines move."""
        said = "\0".join((self.path, self.function, self.kind, self.code, str(self.nth)))
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        code = self.code if len(self.code) <= 90 else self.code[:87] + "…"
        return f"{self.path}:{self.line}: {self.function}: {KINDS[self.kind]}: {code}"


KINDS = {
    "never": "a condition is never true",
    "always": "a condition is always true",
    "turned": "an operator is another one",
    "without": "one side of a condition does not count",
    "dropped": "a statement does not happen",
    "swapped": "a constant is another one",
}


def parsed(source: bytes) -> Node:
    """The syntax tree of a source."""
    return _PARSER.parse(source).root_node


def faults_of(root: Path, path: str) -> list[Fault]:
    """The faults of a source or header of the tree, in the order of the text."""
    source = (root / path).read_bytes()
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for node, kind, function in _walk(parsed(source), ""):
        code = " ".join(source[node.start_byte : node.end_byte].decode().split())
        seen[function, kind, code] += 1
        nth = seen[function, kind, code]
        lines = node.start_point.row + 1, node.end_point.row + 1
        found.append(Fault(path, *lines, node.start_byte, node.end_byte, kind, function, code, nth))
    return found


def _walk(node: Node, function: str) -> Iterator[tuple[Node, str, str]]:
    if node.type in _FIXED or _is_constant(node):
        return
    if node.type == "function_definition":
        function = _name_of(node) or function
    if function:
        yield from ((at, kind, function) for at, kind in _faults_at(node))
    for child in node.named_children:
        if not _is_for_people(child):
            yield from _walk(child, function)


def _faults_at(node: Node) -> Iterator[tuple[Node, str]]:
    if node.type in _BRANCHES:
        condition = _condition(node)
        if condition is not None and condition.type not in ("true", "false"):
            if node.type in ("if_statement", "conditional_expression"):
                yield condition, "always"
            yield condition, "never"
    operator = node.child_by_field_name("operator") if node.type == "binary_expression" else None
    text = _text(operator)
    if text in TURNED:
        yield node, "turned"
    elif text in ("&&", "||"):
        yield from ((side, "without") for field in ("left", "right") if (side := node.child_by_field_name(field)))
    if node.type == "expression_statement" and node.named_children and node.named_children[0].type in _EFFECTS:
        yield node, "dropped"
    if node.type in ("true", "false") or (node.type == "number_literal" and not _is_part_of_number(node)):
        yield node, "swapped"


def _condition(node: Node) -> Node | None:
    """The condition of a branch or loop; None where the condition declares a variable."""
    condition = node.child_by_field_name("condition")
    if condition is not None and condition.type == "condition_clause":
        condition = condition.child_by_field_name("value")
    if condition is not None and condition.type == "parenthesized_expression":
        condition = condition.named_children[0]
    return None if condition is None or condition.type == "declaration" else condition


def _is_constant(node: Node) -> bool:
    """Whether the compiler works the node out: it declares something constexpr, or a static variable."""
    if node.type in ("declaration", "function_definition"):
        words = {_text(child) for child in node.children if child.type in ("type_qualifier", "storage_class_specifier")}
        return (
            not words.isdisjoint(("constexpr", "consteval", "static"))
            if node.type == "declaration"
            else bool(words & {"constexpr", "consteval"})
        )
    return False


def _is_for_people(node: Node) -> bool:
    return node.type in ("expression_statement", "throw_statement") and bool(_SAYS.search(_text(node)))


def _is_part_of_number(node: Node) -> bool:
    return node.parent is not None and node.parent.type in (
        "user_defined_literal",
        "case_statement",
        "subscript_argument_list",
    )


def _name_of(definition: Node) -> str:
    declarator = definition.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (child for child in declarator.named_children if "declarator" in child.type), None
        )
    return "" if declarator is None else _text(declarator.child_by_field_name("declarator"))


def _text(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode()
