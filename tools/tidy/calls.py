"""Which function calls which, and which fields a method uses, as far as the written types say: those of fields,
parameters, variables and answers. A call is left out when the text does not tell the type of its object, or when the
caller's file has a function of that name and as many parameters: what is found is true, and there may be more."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from tree_sitter import Node

from tidy import cpp
from tidy.cpp import Class, Function, children, function_declarator, joined, names_declared, parameters_of, text
from tidy.tree import Tree


class Call(NamedTuple):
    """A call in one file of a function whose body is in another one."""

    path: str
    line: int
    name: str
    defined: str  # the path of the other file


class Kind(NamedTuple):
    """The classes of src/ that a type names. A holder has them inside, as an optional, a pointer or a list has: then a
    member that is reached by a dot is its own."""

    classes: frozenset[str] = frozenset()
    holder: bool = False

    def inner(self) -> "Kind":
        return Kind(self.classes)


NOTHING = Kind()


@dataclass
class Uses:
    """What the bodies of all functions use."""

    calls: list[Call] = field(default_factory=list)
    # By class and field: the sources (.cc) in which a method of the class, or of one derived from it, uses the field.
    touched: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))


@cache
def uses(tree: Tree) -> Uses:
    return Program(tree).uses()


class Program:
    """All that src/ declares, to look names up."""

    def __init__(self, tree: Tree) -> None:
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self._aliases: dict[str, Node] = {}
        self._answers: dict[str, Node] = {}
        self._kinds: dict[tuple[int, str, str], Kind] = {}
        for _, found in cpp.declared(tree):
            self.classes |= {each.name: each for each in found.classes}
            self._aliases |= found.aliases
            self._answers |= found.answers
            for function in found.functions:
                self.functions[joined(function.scope, function.name)].append(function)

    def uses(self) -> Uses:
        found = Uses()
        for functions in self.functions.values():
            for function in functions:
                _Body(self, function, found).read()
        return found

    def scopes(self, scope: str, path: str) -> Iterator[str]:
        """The scopes in which a name is looked up, innermost first: also the unnamed ones of the file."""
        unnamed = f"({path.rsplit('/', 1)[-1]})"
        while scope:
            if scope not in self.classes and not scope.endswith(unnamed):
                yield joined(scope, unnamed)
            yield scope
            scope = scope.rpartition("::")[0]
        yield ""

    def lineage(self, owner: str) -> Iterator[str]:
        """The class and those that it is derived from."""
        if this := self.classes.get(owner):
            yield owner
            for base in this.bases:
                for name in sorted(self.kind(base, owner, this.path).classes):
                    if name != owner:
                        yield from self.lineage(name)

    def field(self, owner: str, name: str) -> tuple[str, Kind] | None:
        """The class that has the field, with the field's type."""
        for each in self.lineage(owner):
            this = self.classes[each]
            if name in this.fields:
                return each, self.kind(this.fields[name], each, this.path)
        return None

    def answer(self, owner: str, name: str, path: str) -> Kind | None:
        """What a method of the class, or a function of the scope, answers with; None where there is none."""
        for each in [*self.lineage(owner)] or [owner]:
            if node := self._answers.get(joined(each, name)):
                kind = node.child_by_field_name("type")
                declarator = function_declarator(node)
                for trailing in children(declarator, "trailing_return_type") if declarator else ():
                    kind = trailing.named_children[0]
                return self.kind(kind, each, path) if kind else NOTHING
        return None

    def kind(self, node: Node, scope: str, path: str) -> Kind:
        """What a type means where it is written."""
        if node.type in ("template_type", "type_descriptor", "qualified_identifier", "type_identifier"):
            key = (node.id, scope, path)
            if key not in self._kinds:
                self._kinds[key] = NOTHING  # until it is known: the name of an alias may occur in what it stands for
                self._kinds[key] = self._kind(node, scope, path)
            return self._kinds[key]
        if node.type in ("class_specifier", "struct_specifier") and (name := node.child_by_field_name("name")):
            return self.named(text(name), scope, path)
        return NOTHING

    def _kind(self, node: Node, scope: str, path: str) -> Kind:
        if node.type == "type_descriptor":
            inner = node.child_by_field_name("type")
            return self.kind(inner, scope, path) if inner else NOTHING
        last, name = node, text(node)
        while last.type == "qualified_identifier" and (inner := last.child_by_field_name("name")):
            last = inner
        if last.type == "template_type":
            name = name[: len(name) - len(text(last.child_by_field_name("arguments")))]
        if (found := self.named(name, scope, path)).classes or last.type != "template_type":
            return found
        arguments = last.child_by_field_name("arguments")
        inside = [self.kind(each, scope, path).classes for each in (arguments.named_children if arguments else ())]
        return Kind(frozenset().union(*inside), holder=True)

    def named(self, name: str, scope: str, path: str) -> Kind:
        for each in self.scopes(scope, path):
            whole = joined(each, name)
            if whole in self.classes:
                return Kind(frozenset({whole}))
            if whole in self._aliases:
                return self.kind(self._aliases[whole], each, path)
        return NOTHING


class _Body:
    """Reads the body of one function, in the order of the text."""

    def __init__(self, program: Program, function: Function, found: Uses) -> None:
        self._program = program
        self._function = function
        self._found = found
        self._variables: dict[str, Kind] = {}

    def read(self) -> None:
        function = self._function
        if declarator := function_declarator(function.node):
            self._declare_parameters(declarator)
        # What a constructor gives its fields to begin with is not read: to begin with a value is not to share it.
        if body := function.node.child_by_field_name("body"):
            self._visit(body)

    def _visit(self, node: Node) -> None:
        if node.type == "for_range_loop":
            if right := node.child_by_field_name("right"):
                self._declare(node, self._kind_of(right).inner())
        elif node.type == "declaration":
            self._declare(node, NOTHING)
        elif node.type == "lambda_expression":
            if declarator := node.child_by_field_name("declarator"):
                self._declare_parameters(declarator)
        elif node.type == "lambda_capture_initializer":
            self._variables[text(node.child_by_field_name("left"))] = self._kind_of(node.named_children[-1])
        elif node.type == "call_expression":
            self._call(node)
        elif node.type == "identifier":
            self._touch(text(node))
        elif node.type == "field_expression":
            argument, member = node.child_by_field_name("argument"), node.child_by_field_name("field")
            if argument and member and self._function.scope in self._kind_of(argument).classes:
                self._touch(text(member), bare=False)
        elif node.type == "pointer_expression" and text(node).startswith("&"):
            argument = node.child_by_field_name("argument")
            if argument and argument.type == "qualified_identifier":
                self._record(node, self._named(text(argument)), None)
        for child in node.named_children:
            self._visit(child)

    def _declare(self, node: Node, otherwise: Kind) -> None:
        """The variables of a declaration have the written type, or that of their values."""
        written = node.child_by_field_name("type")
        for declarator in node.children_by_field_name("declarator"):
            kind = otherwise
            if written and written.type != "placeholder_type_specifier":
                kind = self._program.kind(written, self._function.scope, self._function.path)
            elif value := declarator.child_by_field_name("value") or node.child_by_field_name("value"):
                kind = self._kind_of(value)
            for name in names_declared(declarator):
                self._variables[name] = kind

    def _declare_parameters(self, declarator: Node) -> None:
        for parameter in parameters_of(declarator):
            self._declare(parameter, NOTHING)

    def _touch(self, name: str, *, bare: bool = True) -> None:
        if not self._function.path.endswith(".cc") or (bare and name in self._variables):
            return
        if found := self._program.field(self._function.scope, name):
            self._found.touched[found[0], name].add(self._function.path)

    def _call(self, node: Node) -> None:
        called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called and arguments:
            count = sum(1 for each in arguments.named_children if each.type != "comment")
            self._record(node, self._targets(called), count)

    def _targets(self, called: Node) -> list[Function]:
        """The functions of that name which the call can mean."""
        if called.type in ("template_function", "template_method"):
            called = called.child_by_field_name("name") or called
        if called.type == "identifier":
            return [] if text(called) in self._variables else self._named(text(called))
        if called.type == "qualified_identifier":
            return self._named(text(called).partition("<")[0])
        if called.type == "field_expression":
            argument, member = called.child_by_field_name("argument"), called.child_by_field_name("field")
            if argument and member:
                name = text(member).partition("<")[0]
                return [found for owner in self._objects(called, argument) for found in self._methods(owner, name)]
        return []

    def _objects(self, access: Node, argument: Node) -> list[str]:
        """The classes whose members the access can reach."""
        kind = self._kind_of(argument)
        own = kind.holder and text(access.child_by_field_name("operator")) == "."
        return [] if own else sorted(kind.classes)

    def _methods(self, owner: str, name: str) -> list[Function]:
        for each in self._program.lineage(owner):
            if found := self._program.functions.get(joined(each, name)):
                return found
            if any(name == method for method, _ in self._program.classes[each].methods):
                return []  # has no body: the call goes through an interface
        return []

    def _named(self, name: str) -> list[Function]:
        """Looks a name up as C++ does: in the class, then in the scopes around."""
        owner, _, last = name.rpartition("::")
        for scope in self._program.scopes(self._function.scope, self._function.path):
            whole = joined(scope, owner)
            if whole in self._program.classes and (found := self._methods(whole, last)):
                return found
            if found := self._program.functions.get(joined(whole, last), []):
                return found
        return []

    def _record(self, node: Node, targets: list[Function], arguments: int | None) -> None:
        """Overloads are told apart by the number of their parameters, which may be more than a call has arguments."""
        fitting = targets
        if arguments is not None:
            exact = [each for each in targets if each.parameters == arguments]
            fitting = exact or [each for each in targets if each.parameters > arguments] or targets
        paths = {each.path: each.name for each in fitting}
        own = self._function.path
        if own not in paths:
            line = node.start_point.row + 1
            self._found.calls += [Call(own, line, name, path) for path, name in paths.items()]

    def _kind_of(self, node: Node) -> Kind:
        """The type of an expression."""
        program, scope, path = self._program, self._function.scope, self._function.path
        if node.type == "this":
            return Kind(frozenset({scope}))
        if node.type == "identifier":
            name = text(node)
            if name in self._variables:
                return self._variables[name]
            member = program.field(scope, name)
            return member[1] if member else NOTHING
        if node.type == "call_expression" and (called := node.child_by_field_name("function")):
            return self._answer_of(node, called)
        if node.type == "field_expression":
            return self._member_kind(node)
        if node.type in ("compound_literal_expression", "new_expression") and (
            kind := node.child_by_field_name("type")
        ):
            return program.kind(kind, scope, path)
        if node.type in ("pointer_expression", "subscript_expression"):
            argument = node.child_by_field_name("argument")
            kind_of = self._kind_of(argument) if argument else NOTHING
            return kind_of if text(node).startswith("&") else kind_of.inner()
        if node.type in ("parenthesized_expression", "co_await_expression", "condition_clause"):
            return self._kind_of(node.named_children[-1]) if node.named_children else NOTHING
        if node.type == "conditional_expression" and (taken := node.child_by_field_name("consequence")):
            return self._kind_of(taken)
        return NOTHING

    def _member_kind(self, node: Node) -> Kind:
        argument, member = node.child_by_field_name("argument"), node.child_by_field_name("field")
        if not argument or not member:
            return NOTHING
        name = text(member).partition("<")[0]
        for owner in self._objects(node, argument):
            if found := self._program.field(owner, name):
                return found[1]
            answer = self._program.answer(owner, name, self._function.path)
            if answer is not None:
                return answer
        return self._kind_of(argument).inner()  # a member of the holder, as value() or second

    def _answer_of(self, node: Node, called: Node) -> Kind:
        program, scope, path = self._program, self._function.scope, self._function.path
        if called.type == "field_expression":
            return self._member_kind(called)
        last = called
        while last.type == "qualified_identifier" and (inner := last.child_by_field_name("name")):
            last = inner
        name = text(called).partition("<")[0]
        for each in program.scopes(scope, path):
            owner, _, short = joined(each, name).rpartition("::")
            answer = program.answer(owner, short, path)
            if answer is not None:
                return answer
        if last.type == "template_function" and (arguments := last.child_by_field_name("arguments")):
            inside = [program.kind(each, scope, path).classes for each in arguments.named_children]
            return Kind(frozenset().union(*inside))  # make_unique<Class>(), get<Class>(), static_cast<Class&>()
        if (made := program.named(name, scope, path)).classes:
            return made
        arguments = node.child_by_field_name("arguments")
        first = arguments.named_children[:1] if arguments else []
        return self._kind_of(first[0]) if name.startswith("std::") and first else NOTHING  # move(), exchange()
