"""`./dev tidy [RULE…]`: runs the rules and prints what to change."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tidy import classes, documented, folders, layers, linters, purity, references, rooms, shape
from tidy.tree import Finding, Tree

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Rule:
    """A check with a name. `slow` ones do not run when --fast is given."""

    name: str
    about: str
    check: Callable[[Tree], list[Finding]]
    slow: bool = False


RULES = (
    Rule("layers", "includes point down", layers.check),
    Rule("rooms", "imports of python/banyan point down", rooms.check),
    Rule("purity", "core and node are pure", purity.check),
    Rule("documented", "public headers and folders are documented", documented.check),
    Rule("references", "what texts refer to exists", references.check),
    Rule("classes", "a class is one idea", classes.check),
    Rule("folders", "files of a folder do not call each other both ways", folders.check),
    Rule("size", "a file is one idea", shape.check_size),
    Rule("words", "no reminders, no registry hosts", shape.check_words),
    Rule("format", "C++ is formatted", linters.check_format),
    Rule("ruff", "Python is formatted and lint-free", linters.check_ruff),
    Rule("mypy", "Python's types hold", linters.check_mypy),
    Rule("shell", "shell scripts pass shellcheck", linters.check_shell),
    Rule("typescript", "jupyter/lab passes eslint and prettier", linters.check_typescript),
    Rule("headers", "each header compiles alone", linters.check_headers, slow=True),
    Rule("clang-tidy", "C++ passes .clang-tidy", linters.check_clang_tidy, slow=True),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev tidy", description="Checks the rules of the tree.")
    parser.add_argument("rule", nargs="*", help=", ".join(rule.name for rule in RULES))
    parser.add_argument("--fast", action="store_true", help="without the rules that compile")
    parser.add_argument("--tally", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := set(arguments.rule) - {rule.name for rule in RULES}:
        parser.error(f"no rule {unknown.pop()!r}; there are: {', '.join(rule.name for rule in RULES)}")
    chosen = [
        r for r in RULES if (r.name in arguments.rule) or (not arguments.rule and not (arguments.fast and r.slow))
    ]
    tree = Tree.read(_ROOT)
    tally: dict[str, int | list[str]] = {"passed": 0}
    failures, skips = [], []
    for rule in chosen:
        start = time.monotonic()
        try:
            findings = rule.check(tree)
        except linters.Unavailable as missing:
            print(f"- {rule.name}: {missing}")
            skips.append(f"tidy {rule.name}: {missing}")
            continue
        wrong = [finding for finding in findings if not finding.note]
        print(f"{'✗' if wrong else '✓'} {rule.name}: {rule.about} ({time.monotonic() - start:.1f} s)")
        print("".join(f"    {finding}\n" for finding in findings), end="", flush=True)
        if wrong:
            failures.append(f"tidy {rule.name}: {len(wrong)} to change, first {wrong[0]}")
    tally |= {"passed": len(chosen) - len(failures) - len(skips), "failures": failures, "skips": skips}
    if arguments.tally:
        arguments.tally.write_text(json.dumps(tally))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
