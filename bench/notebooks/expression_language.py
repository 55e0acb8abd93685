"""A small language: tokens, trees, types of node, an optimiser, bytecode and a machine to run it."""

# differs

# %%
import operator
import random
import re
import time
from dataclasses import dataclass, field
from typing import ClassVar

random.seed(6)

# %%
TOKEN = re.compile(r"\s*(?:(\d+\.?\d*)|([a-z_]\w*)|(==|<=|>=|[-+*/^()<>=,;{}]))")


def tokens(source):
    at, found = 0, []
    source = source.rstrip()
    while at < len(source):
        match = TOKEN.match(source, at)
        if not match:
            raise SyntaxError(f"at {at}: {source[at : at + 10]!r}")
        found.append(match[1] or match[2] or match[3])
        at = match.end()
    return found


tokens("let x = 3.5 * (y + 2); while x < 10 { x = x + 1; }")


# %%
@dataclass
class Number:
    value: float


@dataclass
class Name:
    name: str


@dataclass
class Binary:
    sign: str
    left: object
    right: object


@dataclass
class Assign:
    name: str
    value: object


@dataclass
class Loop:
    condition: object
    body: list = field(default_factory=list)


# %%
class Parser:
    """Recursive descent with precedence climbing."""

    BINDING: ClassVar = {"==": 1, "<": 1, ">": 1, "<=": 1, ">=": 1, "+": 2, "-": 2, "*": 3, "/": 3, "^": 4}

    def __init__(self, source):
        self.tokens = tokens(source)
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, wanted=None):
        token = self.peek()
        if wanted is not None and token != wanted:
            raise SyntaxError(f"wanted {wanted}, found {token}")
        self.at += 1
        return token

    def program(self, end=None):
        found = []
        while self.peek() != end:
            found.append(self.statement())
        return found

    def statement(self):
        if self.peek() == "while":
            self.take()
            condition = self.expression()
            self.take("{")
            body = self.program("}")
            self.take("}")
            return Loop(condition, body)
        name = self.take()
        self.take("=")
        value = self.expression()
        self.take(";")
        return Assign(name, value)

    def expression(self, lowest=0):
        left = self.atom()
        while (sign := self.peek()) in self.BINDING and self.BINDING[sign] > lowest:
            self.take()
            left = Binary(sign, left, self.expression(self.BINDING[sign]))
        return left

    def atom(self):
        token = self.take()
        if token == "(":
            inner = self.expression()
            self.take(")")
            return inner
        return Number(float(token)) if token[0].isdigit() else Name(token)


program = Parser("x = 0; total = 0; while x < 10 { total = total + x * (2 + 3); x = x + 1; }").program()
program

# %%
SIGNS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
}


def evaluate(node, memory):
    match node:
        case Number(value):
            return value
        case Name(name):
            return memory[name]
        case Binary(sign, left, right):
            return SIGNS[sign](evaluate(left, memory), evaluate(right, memory))
        case Assign(name, value):
            memory[name] = evaluate(value, memory)
        case Loop(condition, body):
            while evaluate(condition, memory):
                for statement in body:
                    evaluate(statement, memory)
    return None


memory = {}
for statement in program:
    evaluate(statement, memory)
memory


# %%
def fold(node):
    """Works out what is constant."""
    match node:
        case Binary(sign, left, right):
            left, right = fold(left), fold(right)
            if isinstance(left, Number) and isinstance(right, Number):
                return Number(float(SIGNS[sign](left.value, right.value)))
            return Binary(sign, left, right)
        case Assign(name, value):
            return Assign(name, fold(value))
        case Loop(condition, body):
            return Loop(fold(condition), [fold(statement) for statement in body])
    return node


fold(Parser("y = x * (2 + 3 * 4) - 6 / 2;").program()[0])


# %%
def compile_node(node, code):
    match node:
        case Number(value):
            code.append(("push", value))
        case Name(name):
            code.append(("load", name))
        case Binary(sign, left, right):
            compile_node(left, code)
            compile_node(right, code)
            code.append(("apply", SIGNS[sign]))
        case Assign(name, value):
            compile_node(value, code)
            code.append(("store", name))
        case Loop(condition, body):
            start = len(code)
            compile_node(condition, code)
            exit_at = len(code)
            code.append(None)
            for statement in body:
                compile_node(statement, code)
            code.append(("jump", start))
            code[exit_at] = ("unless", len(code))
    return code


def run(code):
    stack, memory, at, steps = [], {}, 0, 0
    while at < len(code):
        step, argument = code[at]
        at += 1
        steps += 1
        if step == "push":
            stack.append(argument)
        elif step == "load":
            stack.append(memory[argument])
        elif step == "store":
            memory[argument] = stack.pop()
        elif step == "apply":
            right = stack.pop()
            stack.append(argument(stack.pop(), right))
        elif step == "jump" or not stack.pop():
            at = argument
    return memory, steps


source = """
n = 0; a = 0; b = 1; sum = 0;
while n < 200000 { c = a + b; a = b; b = c - 1000 * (c > 1000) * 1; sum = sum + b * (1 + 1); n = n + 1; }
"""
tree = [fold(statement) for statement in Parser(source).program()]
code = []
for statement in tree:
    compile_node(statement, code)
len(code), code[:6]

# %%
start = time.process_time()
slow = {}
for statement in Parser(source).program():
    evaluate(statement, slow)
by_tree = time.process_time() - start
start = time.process_time()
fast, steps = run(code)
by_machine = time.process_time() - start
slow["sum"] == fast["sum"], steps, by_machine < by_tree


# %%
def random_expression(depth):
    if depth == 0 or random.random() < 0.15:
        return random.choice(["x", "y", str(random.randint(1, 9))])
    sign = random.choice("+-*")
    return f"({random_expression(depth - 1)} {sign} {random_expression(depth - 1)})"


expressions = [random_expression(9) for _ in range(300)]
trees = [Parser(f"r = {expression};").program()[0] for expression in expressions]
sum(map(len, expressions)), len(trees)

# %%
agree = 0
for expression, parsed in zip(expressions, trees, strict=True):
    memory = {"x": 2.0, "y": -3.0}
    evaluate(parsed, memory)
    agree += memory["r"] == eval(expression, {"x": 2.0, "y": -3.0})
agree


# %%
def size(node):
    match node:
        case Binary(_, left, right):
            return 1 + size(left) + size(right)
        case Assign(_, value):
            return 1 + size(value)
    return 1


folded = [fold(parsed) for parsed in trees]
sum(map(size, trees)), sum(map(size, folded))


# %%
def derive(node, by):
    match node:
        case Name(name):
            return Number(float(name == by))
        case Binary("+" | "-" as sign, left, right):
            return Binary(sign, derive(left, by), derive(right, by))
        case Binary("*", left, right):
            return Binary("+", Binary("*", derive(left, by), right), Binary("*", left, derive(right, by)))
    return Number(0.0)


derived = [derive(parsed.value, "x") for parsed in trees[:100]]
slopes = []
for parsed, slope in zip(trees[:100], derived, strict=True):
    step = 1e-6
    ends = [evaluate(parsed.value, {"x": 0.5 + side, "y": 0.3}) for side in (step, -step)]
    slopes.append((evaluate(slope, {"x": 0.5, "y": 0.3}), (ends[0] - ends[1]) / (2 * step)))
sum(abs(a - b) < 1e-3 * (1 + abs(a)) for a, b in slopes)
