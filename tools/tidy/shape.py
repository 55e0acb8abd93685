"""A file is one idea, and finished: not too long, no reminders to its author, no host of a package registry."""

import re

from tidy.tree import Finding, Tree

LINES_MAX = 600
LINES_NOTED = 400
_CODE = (".cc", ".h", ".py", ".mjs", ".js", ".ts", ".cmake")

# Put together here, so that this file passes its own rule.
_REMINDERS = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")
_HOSTS = re.compile(
    "|".join(
        re.escape(host + dot + domain)
        for host, dot, domain in (
            ("pypi", ".", "org"),
            ("pythonhosted", ".", "org"),
            ("npmjs", ".", "org"),
            ("npmjs", ".", "com"),
            ("yarnpkg", ".", "com"),
            ("crates", ".", "io"),
            ("deb.debian", ".", "org"),
        )
    )
    + r"|--(?:extra-)?index-url\b"
)


def check_size(tree: Tree) -> list[Finding]:
    findings = []
    for file in tree.named(*_CODE):
        count = len(file.lines)
        if count > LINES_MAX:
            findings.append(Finding(file.path, 1, f"{count} lines hide more than one idea (at most {LINES_MAX})"))
        elif count > LINES_NOTED:
            findings.append(Finding(file.path, 1, f"{count} lines; look for a second idea", note=True))
    return findings


def check_words(tree: Tree) -> list[Finding]:
    findings = []
    for file in tree.files:
        for number, line in enumerate(file.lines, 1):
            if found := _REMINDERS.search(line):
                findings.append(Finding(file.path, number, f"{found[0]}: do it, or open an issue"))
            if found := _HOSTS.search(line):
                findings.append(
                    Finding(file.path, number, f"{found[0]}: no package index by name; each machine has its own")
                )
    return findings
