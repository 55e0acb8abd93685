"""Reads from a cell's source which names the cell may touch.

The answer errs on the safe side: a name that merely looks like a variable counts, and a cell that could reach variables
without naming them is `dynamic`. `detect.py` looks at these names only, so that a small cell costs little in a large
namespace.
"""

from __future__ import annotations

import ast
import dis
import re
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

# A cell that uses one of these can reach variables that it does not name.
DYNAMIC_NAMES = frozenset(
    {"exec", "eval", "globals", "locals", "vars", "compile", "get_ipython", "breakpoint", "__builtins__", "__import__"}
)
DYNAMIC_ATTRIBUTES = frozenset(
    {"__globals__", "f_globals", "f_locals", "_getframe", "currentframe", "user_ns", "get_objects", "get_referrers"}
)
DYNAMIC_MODULES = frozenset({"__main__", "ctypes", "gc"})

# Names of IPython and Python: inputs, outputs and their numbered forms, and the record of warnings that were shown.
# Other names that begin with `_` are variables of the user; so is `_exit_code`, which cells read after `!command`.
SHELL_NAME = re.compile(r"_(?:\d+|i\d*|ii|iii|_|__|oh|dh|ih|_warningregistry__)?\Z|In\Z|Out\Z")
_OUTPUT_NAME = re.compile(r"_(?:\d+|_|__|oh)?\Z|Out\Z")

_RUNS_ITS_TEXT = frozenset({"time", "timeit", "capture", "prun"})
# These magics read at most the names in their text, and do nothing to variables but bind names.
_HARMLESS_MAGICS = frozenset(
    """
    HTML SVG autocall automagic banyan bash blame bookmark branch cat cd checkout colors conda config copy describe
    dhist diff dirs env export file hist history html import javascript js latex ll load_ext log ls lsmagic magic mamba
    markdown matplotlib migrate pdef pdoc pfile pinfo pinfo2 pip pprint precision psearch psource pwd pycat redo
    reload_ext rerun sc script set_env sh state suspend svg sx system tag undo unload_ext uv who who_ls whos writefile
    xmode
    """.split()
)
_LISTS = frozenset({"psearch", "who", "who_ls", "whos"})
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


@dataclass(slots=True)
class Accesses:
    """What a cell does to names, as far as its source shows.

    names: those that it may read, bind or delete.
    reads: those whose value from before the cell it may use, because it does not bind them first.
    dynamic: whether it may touch any name.
    imports: the dotted names of the modules that it imports.
    stores: pairs of a name and an attribute of its value that the cell assigns to.
    calls: dotted names of what it calls, as `plotly.io.renderers.set`. An assignment to an attribute or an item counts
        as a call of `__setattr__` or `__setitem__`.
    lists: whether it lists the variables that exist.
    """

    names: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    dynamic: bool = False
    imports: set[str] = field(default_factory=set)
    stores: set[tuple[str, str]] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    lists: bool = False


def analyse(source: str, transform: Callable[[str], str]) -> Accesses:
    """Accesses of a cell as the user wrote it. A cell with a syntax error accesses nothing.

    transform: IPython's, which turns magics into calls.
    """
    accesses = Accesses()
    _analyse(source, transform, accesses)
    return accesses


def _analyse(source: str, transform: Callable[[str], str], accesses: Accesses) -> bool:
    """Add a source's accesses to `accesses`. False when the source does not parse."""
    tree = _parse(source, transform)
    if tree is None:
        return False
    _Visitor(transform, accesses).visit(tree)
    return True


def _binds(statement: ast.stmt) -> frozenset[str]:
    """Variables that are bound for certain once the statement has run to its end."""
    match statement:
        case ast.Assign(targets=targets):
            return frozenset().union(*map(_stored, targets))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return frozenset({name})
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return frozenset({name})
        case ast.Import(names=aliases):
            return frozenset(alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(names=aliases):
            return frozenset(alias.asname or alias.name for alias in aliases)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return frozenset().union(*(_stored(item.optional_vars) for item in items if item.optional_vars))
    return frozenset()


def _stored(target: ast.AST) -> frozenset[str]:
    names = (node for node in ast.walk(target) if isinstance(node, ast.Name))
    return frozenset(name.id for name in names if isinstance(name.ctx, ast.Store))


def _parse(source: str, transform: Callable[[str], str]) -> ast.AST | None:
    try:
        return ast.parse(source)  # IPython does not change what is valid Python already.
    except Exception:
        pass
    try:
        return ast.parse(transform(source))
    except Exception:
        return None


def _dotted(node: ast.AST) -> str:
    """A variable with the attributes that follow it, as `a.b.c`. Where the expression does not begin with a variable,
    the part before the first dot is empty.
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))


class _Visitor(ast.NodeVisitor):
    def __init__(self, transform: Callable[[str], str], accesses: Accesses) -> None:
        self._transform = transform
        self._accesses = accesses
        self._bound: frozenset[str] = frozenset()  # Names that the code before the visited node has bound for certain.

    def visit(self, node: ast.AST) -> None:
        before = self._bound
        super().visit(node)
        if isinstance(node, ast.stmt):
            # Only what the whole statement binds for certain counts after it: a branch may not have run, and what a
            # function binds is local to that function.
            self._bound = before | _binds(node)
            if isinstance(node, ast.Delete):
                self._bound -= {target.id for target in node.targets if isinstance(target, ast.Name)}

    def _read(self, name: str) -> None:
        if name not in self._bound:
            self._accesses.reads.add(name)

    def visit_Name(self, node: ast.Name) -> None:
        self._accesses.names.add(node.id)
        if not isinstance(node.ctx, ast.Store):
            self._read(node.id)
        if isinstance(node.ctx, ast.Load) and (node.id in DYNAMIC_NAMES or _OUTPUT_NAME.match(node.id)):
            self._accesses.dynamic = True

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._read(node.target.id)
        self.generic_visit(node)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        before = self._bound
        self._bound |= _stored(node.target)
        self._visit_each(node.body)
        self._bound = before
        self._visit_each(node.orelse)

    visit_AsyncFor = visit_For

    def visit_If(self, node: ast.If | ast.While) -> None:
        self.visit(node.test)
        before = self._bound
        self._visit_each(node.body)
        self._bound = before
        self._visit_each(node.orelse)

    visit_While = visit_If

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        before = self._bound
        for part in (node.body, node.handlers, node.orelse, node.finalbody):
            self._visit_each(part)
            self._bound = before

    visit_TryStar = visit_Try

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        before = self._bound
        self.generic_visit(node)
        self._bound = before

    def visit_match_case(self, node: ast.match_case) -> None:
        before = self._bound
        self.generic_visit(node)
        self._bound = before

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item)
            if item.optional_vars is not None:
                self._bound |= _stored(item.optional_vars)
        self._visit_each(node.body)

    visit_AsyncWith = visit_With

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._accesses.names.add(node.name)
        self._accesses.calls.update(map(_dotted, node.decorator_list))
        self._visit_each([*node.decorator_list, *node.bases, *node.keywords])
        before = self._bound
        for part in node.body:
            self.visit(part)
            self._bound = before  # The methods do not see the names that the class body binds.

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._accesses.names.add(node.name)
        self._accesses.calls.update(map(_dotted, node.decorator_list))
        self._visit_each([*node.decorator_list, node.args, *filter(None, [node.returns])])
        self._bound |= {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
        self._visit_each(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def _visit_each(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in DYNAMIC_ATTRIBUTES:
            self._accesses.dynamic = True
        if isinstance(node.value, ast.Name) and not isinstance(node.ctx, ast.Load):
            self._accesses.stores.add((node.value.id, node.attr))
        if not isinstance(node.ctx, ast.Load):
            self._accesses.calls.add(f"{_dotted(node.value)}.__setattr__")
        self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._accesses.calls.add(f"{_dotted(node.value)}.__setitem__")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if not self._magic(node):
            self._accesses.calls.add(_dotted(node.func))
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._import(alias.name)
            self._accesses.names.add(alias.asname or alias.name.partition(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module and not node.level:
            self._import(node.module)
        for alias in node.names:
            self._accesses.names.add(alias.asname or alias.name)

    def generic_visit(self, node: ast.AST) -> None:
        # `name`: def, class, except and match; `names`: global and nonlocal; `rest`: match on a mapping.
        for name in ("name", "names", "rest"):
            value = getattr(node, name, None)
            if isinstance(value, str):
                self._accesses.names.add(value)
            elif isinstance(value, list):
                self._accesses.names.update(item for item in value if isinstance(item, str))
        super().generic_visit(node)

    def _import(self, module: str) -> None:
        self._accesses.imports.add(module)
        if module.partition(".")[0] in DYNAMIC_MODULES:
            self._accesses.dynamic = True

    def _magic(self, node: ast.Call) -> bool:
        """Handle `get_ipython().run_line_magic('name', 'text')` and the other calls that IPython makes of magics. False
        for any other call.
        """
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython"), args=[]), attr=method),
                args=arguments,
            ) if all(isinstance(argument, ast.Constant) for argument in arguments):
                texts = [str(argument.value) for argument in arguments if isinstance(argument, ast.Constant)]
            case _:
                return False
        match method, texts:
            case ("system" | "getoutput", [text]):
                self._text(text)
            case ("run_line_magic", [name, text]):
                self._magic_text(name, text, None)
            case ("run_cell_magic", [name, text, body]):
                self._magic_text(name, text, body)
            case _:
                return False
        return True

    def _magic_text(self, name: str, text: str, body: str | None) -> None:
        if name in _HARMLESS_MAGICS:
            self._accesses.lists = self._accesses.lists or name in _LISTS
            self._text(text)
            self._text(body or "")
        elif name in _RUNS_ITS_TEXT:
            self._text(text)
            code = body if body is not None else re.sub(r"^(\s*-\S+(\s+\d+)?)*\s*", "", text)
            if not _analyse(code, self._transform, self._accesses):
                self._accesses.dynamic = True
        else:
            self._accesses.dynamic = True

    def _text(self, text: str) -> None:
        words = _IDENTIFIER.findall(text)
        self._accesses.names.update(words)
        self._accesses.reads.update(words)
        if not DYNAMIC_NAMES.isdisjoint(words):
            self._accesses.dynamic = True


_GLOBAL_OPS = frozenset(
    dis.opmap[name]
    for name in """
    LOAD_GLOBAL STORE_GLOBAL DELETE_GLOBAL LOAD_NAME STORE_NAME DELETE_NAME LOAD_FROM_DICT_OR_GLOBALS
    """.split()
    if name in dis.opmap  # LOAD_FROM_DICT_OR_GLOBALS exists from Python 3.12 on.
)
# The lowest bit of its argument is a flag, and no part of the index of the name.
_FLAGGED_OP = dis.opmap["LOAD_GLOBAL"]
_names_of_code: weakref.WeakKeyDictionary[types.CodeType, frozenset[str]] = weakref.WeakKeyDictionary()


def global_names(code: types.CodeType) -> frozenset[str]:
    """Global names that a code object and the code objects inside it refer to, and those of DYNAMIC_ATTRIBUTES that
    they use.
    """
    known = _names_of_code.get(code)
    if known is not None:
        return known
    names = set(_accessed(code))
    names.update(DYNAMIC_ATTRIBUTES.intersection(code.co_names))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= global_names(constant)
    found = _names_of_code[code] = frozenset(names)
    return found


_SKIPPED_OPS = frozenset(dis.opmap[name] for name in ("CACHE", "EXTENDED_ARG") if name in dis.opmap)
_STORES = frozenset({dis.opmap["STORE_ATTR"], dis.opmap["DELETE_ATTR"]})
_stores_of_code: weakref.WeakKeyDictionary[types.CodeType, bool] = weakref.WeakKeyDictionary()


def sets_attributes(code: types.CodeType) -> bool:
    """Whether the code sets an attribute of something that it reaches by a global name.

    An example is `tqdm.tqdm.monitor_interval = 0`.
    """
    known = _stores_of_code.get(code)
    if known is None:
        is_global, known = False, False
        for operation in code.co_code[::2]:
            if operation in _SKIPPED_OPS:
                continue
            known = known or (is_global and operation in _STORES)
            is_global = operation in _GLOBAL_OPS or (is_global and operation == dis.opmap["LOAD_ATTR"])
        _stores_of_code[code] = known
    return known


def imported_names(code: types.CodeType) -> frozenset[str]:
    """Names that a code object and the code objects inside it mention, among which are the modules that they import."""
    return frozenset(code.co_names).union(
        *(imported_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    )


def _accessed(code: types.CodeType) -> Iterator[str]:
    """Global names in one code object: what `dis.get_instructions` would yield, in a tenth of its time."""
    extended = 0
    for operation, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        argument = extended | low
        extended = argument << 8 if operation == dis.EXTENDED_ARG else 0
        if operation in _GLOBAL_OPS:
            yield code.co_names[argument >> 1 if operation == _FLAGGED_OP else argument]
