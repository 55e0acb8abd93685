"""Rewrites a source so that it contains each of its faults behind a switch, and every line keeps its number."""

from collections.abc import Mapping

from tree_sitter import Node

from mutants.faults import TURNED, Fault, parsed

HEADER = "mutants_switch.h"

# The header of every rewritten source. BANYAN_FAULT has the number of the fault that is on. BANYAN_FAULTS_REACHED names
# a file with one byte for each fault, which is set when its code runs. The file is mapped as shared memory, so the
# marks of a process that is killed, or that was forked, count too.
SWITCH = """#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>
namespace mutants {
struct Switches {
  Switches() {
    if (const char* number = std::getenv("BANYAN_FAULT")) on = std::strtoul(number, nullptr, 10);
    const char* path = std::getenv("BANYAN_FAULTS_REACHED");
    const int file = path == nullptr ? -1 : ::open(path, O_RDWR);
    struct stat about {};
    if (file < 0 || ::fstat(file, &about) != 0) return;
    void* shared = ::mmap(nullptr, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (shared != MAP_FAILED) reached = static_cast<volatile char*>(shared);
  }
  unsigned long on = 0;
  volatile char* reached = nullptr;
};
inline Switches& switches() {
  static Switches the;
  return the;
}
inline bool on(unsigned long number) {
  Switches& the = switches();
  if (the.reached != nullptr) the.reached[number] = 1;
  return the.on == number;
}
}  // namespace mutants
"""


def rewritten(source: bytes, numbers: Mapping[Fault, int]) -> bytes:
    """The source with the faults of `numbers` in it, each behind the switch with its number."""
    at = {(fault.start, fault.end, fault.kind): number for fault, number in numbers.items()}
    return f'#include "{HEADER}"\n#line 1\n'.encode() + _Rewriting(source, at).of(parsed(source))


class _Rewriting:
    def __init__(self, source: bytes, numbers: dict[tuple[int, int, str], int]) -> None:
        self._source = source
        self._numbers = numbers

    def of(self, node: Node) -> bytes:
        operator = node.child_by_field_name("operator")
        turned = self._take(node, "turned") if node.type == "binary_expression" and operator is not None else None
        others = {kind: self._take(node, kind) for kind in ("without", "always", "never", "dropped", "swapped")}
        text = self._with_children(node)
        if turned is not None and operator is not None and operator.text is not None:
            left, right = node.children[0], node.children[-1]
            original = [self._source[side.start_byte : side.end_byte].replace(b"\n", b" ") for side in (left, right)]
            other = original[0] + b" " + TURNED[operator.text.decode()].encode() + b" " + original[1]
            text = b"(" + _on(turned) + b" ? (" + other + b") : (" + text + b"))"
        for kind, number in others.items():
            if number is not None:
                text = self._changed(node, kind, number, text)
        return text

    def _with_children(self, node: Node) -> bytes:
        text, end = b"", node.start_byte
        for child in node.children:
            text += self._source[end : child.start_byte] + self.of(child)
            end = child.end_byte
        return text + self._source[end : node.end_byte]

    def _changed(self, node: Node, kind: str, number: int, text: bytes) -> bytes:
        switch = _on(number)
        if kind == "always" or (kind == "without" and _operator_above(node) == "&&"):
            return b"(" + switch + b" || (" + text + b"))"
        if kind in ("never", "without"):
            return b"(!" + switch + b" && (" + text + b"))"
        if kind == "dropped":
            return b"{ if (!" + switch + b") " + text + b" }"
        other = {"true": b"false", "false": b"true"}.get(node.type, b"(" + text + b" + 1)")
        return b"(" + switch + b" ? " + other + b" : " + text + b")"

    def _take(self, node: Node, kind: str) -> int | None:
        """The number of the fault at this node, given out once: of nested nodes with one place, the outermost gets
        it."""
        return self._numbers.pop((node.start_byte, node.end_byte, kind), None)


def _on(number: int) -> bytes:
    return f"mutants::on({number})".encode()


def _operator_above(node: Node) -> str:
    operator = node.parent.child_by_field_name("operator") if node.parent is not None else None
    return "" if operator is None or operator.text is None else operator.text.decode()
