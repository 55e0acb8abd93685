"""What C++ files declare and define: classes with their methods and fields, and functions with a body. Names are whole
but for the outermost namespace: node::Link::Frame. What lies in an unnamed namespace has its file as one part of the
name, node::(link.cc)::Frame, since another file may have the like."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from tidy.tree import File, Tree

OUTERMOST = "banyan"
_PARSER = Parser(Language(tree_sitter_cpp.language()))
_CLASSES = ("class_specifier", "struct_specifier", "union_specifier")
_MEMBERS = ("field_declaration", "function_definition", "declaration")
_TRANSPARENT = ("declaration_list", "linkage_specification", "field_declaration_list", "template_declaration")


@dataclass
class Class:
    """A class or struct with its body."""

    name: str
    path: str
    line: int
    methods: list[tuple[str, Node]] = field(
        default_factory=list
    )  # with the declaration, which has the type of the answer
    fields: dict[str, Node] = field(default_factory=dict)  # with their types
    bases: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Function:
    """A function or method with its body; `scope` is the class or the namespaces that it belongs to."""

    scope: str
    name: str
    path: str
    parameters: int
    node: Node


@dataclass
class Declared:
    """What one file declares. An alias has the type that it stands for; `answers` are the declarations of functions
    outside of classes."""

    classes: list[Class] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    aliases: dict[str, Node] = field(default_factory=dict)
    answers: dict[str, Node] = field(default_factory=dict)


def declared(tree: Tree) -> Iterator[tuple[File, Declared]]:
    """The sources and headers below src/, without those of tests."""
    for file in tree.cpp():
        if not file.is_test:
            yield file, _declared(file)


@cache
def _declared(file: File) -> Declared:
    found = Declared()
    _collect(_PARSER.parse(file.text.encode()).root_node, "", file, found)
    return found


def joined(*parts: str) -> str:
    """The name of something within scopes."""
    return "::".join(part for part in parts if part).removeprefix(f"{OUTERMOST}::")


def text(node: Node | None) -> str:
    return node.text.decode() if node and node.text else ""


def children(node: Node, kind: str) -> Iterator[Node]:
    return (child for child in node.named_children if child.type == kind)


def function_declarator(node: Node) -> Node | None:
    """The part of a declaration that has the name and the parameters of a function; None when it declares none, but
    say a pointer to one."""
    for declarator in node.children_by_field_name("declarator"):
        found: Node | None = declarator
        while found is not None and found.type in ("pointer_declarator", "reference_declarator", "init_declarator"):
            found = found.child_by_field_name("declarator") or _last(found)
        if found is not None and found.type == "function_declarator":
            inner = found.child_by_field_name("declarator")
            return None if inner is None or inner.type == "parenthesized_declarator" else found
        if found is not None and found.type == "operator_cast":
            return found
    return None


def names_declared(node: Node) -> Iterator[str]:
    """The names that one declarator brings in: several for a structured binding."""
    if node.type in ("identifier", "field_identifier"):
        yield text(node)
    elif node.type == "structured_binding_declarator":
        yield from (text(child) for child in node.named_children)
    elif node.type == "function_declarator":
        yield from names_declared(node.child_by_field_name("declarator") or node.named_children[0])
    elif node.type.endswith("declarator") and not node.type.startswith("abstract"):
        inner = node.child_by_field_name("declarator") or _last(node)
        if inner is not None:
            yield from names_declared(inner)


def parameters_of(declarator: Node) -> Iterator[Node]:
    listed = declarator.child_by_field_name("parameters")
    return (child for child in (listed.named_children if listed else ()) if child.type.endswith("declaration"))


def _last(node: Node) -> Node | None:
    return node.named_children[-1] if node.named_children else None


def _collect(node: Node, scope: str, file: File, found: Declared) -> None:
    for child in node.named_children:
        if child.type in _CLASSES and (body := child.child_by_field_name("body")):
            _collect_class(child, body, scope, file, found)
        elif child.type == "namespace_definition":
            name = text(child.child_by_field_name("name")) or f"({file.parts[-1]})"
            if body := child.child_by_field_name("body"):
                _collect(body, joined("" if (scope, name) == ("", OUTERMOST) else scope, name), file, found)
        elif child.type == "alias_declaration":
            if aliased := child.child_by_field_name("type"):
                found.aliases[joined(scope, text(child.child_by_field_name("name")))] = aliased
        elif child.type in _MEMBERS:
            _collect(child, scope, file, found)  # the type of a declaration may have a body
            if declarator := function_declarator(child):
                _collect_function(child, declarator, scope, file, found)
        elif child.type in _TRANSPARENT or child.type.startswith("preproc_"):
            _collect(child, scope, file, found)


def _collect_function(node: Node, declarator: Node, scope: str, file: File, found: Declared) -> None:
    named = text(declarator.child_by_field_name("declarator")).removeprefix(f"{OUTERMOST}::")
    owner, _, name = named.rpartition("::")
    whole = joined(scope, owner)
    if node.child_by_field_name("body"):
        found.functions.append(Function(whole, name, file.path, sum(1 for _ in parameters_of(declarator)), node))
    found.answers.setdefault(joined(whole, name), node)


def _collect_class(node: Node, body: Node, scope: str, file: File, found: Declared) -> None:
    name = text(node.child_by_field_name("name"))
    if not name or node.type == "union_specifier":
        _collect(body, scope, file, found)
        return
    this = Class(joined(scope, name), file.path, node.start_point.row + 1)
    for clause in children(node, "base_class_clause"):
        this.bases += [base for base in clause.named_children if base.type != "access_specifier"]
    found.classes.append(this)
    _collect_members(body, this, name)
    _collect(body, this.name, file, found)


def _collect_members(body: Node, this: Class, own: str) -> None:
    for member in body.named_children:
        if member.type.startswith("preproc_") or member.type == "template_declaration":
            _collect_members(member, this, own)
        if member.type not in _MEMBERS:
            continue
        if declarator := function_declarator(member):
            named = declarator.child_by_field_name("declarator")
            is_made = any(child.type in ("default_method_clause", "delete_method_clause") for child in member.children)
            if named and named.type in ("identifier", "field_identifier") and text(named) != own and not is_made:
                this.methods.append((text(named), member))
        elif member.type == "field_declaration" and "static" not in _storage(member):
            kind = member.child_by_field_name("type")
            for each in member.children_by_field_name("declarator"):
                this.fields |= {name: kind for name in names_declared(each) if kind}
            is_unnamed = kind and kind.type in _CLASSES and not kind.child_by_field_name("name")
            if kind and is_unnamed and not member.child_by_field_name("declarator"):
                # The members of an unnamed union are members of the class.
                _collect_members(kind.child_by_field_name("body") or kind, this, own)


def _storage(member: Node) -> set[str]:
    return {text(child) for child in children(member, "storage_class_specifier")}
