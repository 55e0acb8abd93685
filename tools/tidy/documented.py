"""Public headers are contracts: a head comment, and `///` on each type and free function at namespace level. The head
comment speaks for the type that has the file's name; a `///` speaks for the lines that follow it without a gap. Each
folder under src/ has a README of at most a page, which names the folders in it."""

import re
from pathlib import Path

from tidy.tree import File, Finding, Tree

_PAGE_LINES = 80
_NAMESPACE = re.compile(r"^(?:inline\s+)?namespace\b\s*([\w:]*)")
_TYPE = re.compile(r"^(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^\]]*\]\]\s*)?([\w:]+)")
_FUNCTION = re.compile(r"([~\w]+)\s*\(")
_SKIPPED = re.compile(
    r"^(?:using|typedef|friend|static_assert|extern\s+template|template\s+(?:class|struct)|concept)\b"
)
_TEMPLATE = re.compile(r"^template\s*<")


def check(tree: Tree) -> list[Finding]:
    findings = []
    folders = set()
    for file in tree.cpp():
        folders.add(str(Path(file.path).parent))
        if file.suffix == ".h" and not file.is_test:
            findings += _check_header(file)
    readmes = {str(Path(file.path).parent): file for file in tree.files if file.path.endswith("/README.md")}
    for folder in sorted(folders):
        if folder not in readmes:
            findings.append(
                Finding(f"{folder}/README.md", 1, "missing: purpose, invariants, key types, where to look first")
            )
        elif len(readmes[folder].lines) > _PAGE_LINES:
            findings.append(Finding(f"{folder}/README.md", 1, f"longer than a page ({_PAGE_LINES} lines)"))
    return findings + _unnamed_folders(tree, readmes)


def _unnamed_folders(tree: Tree, readmes: dict[str, File]) -> list[Finding]:
    """The folders that the README of the folder around them does not name between backquotes or in a link."""
    inner: dict[str, set[str]] = {}
    for name in tree.names:
        parts = name.split("/")
        for depth in range(2, len(parts) if parts[0] == "src" else 0):
            inner.setdefault("/".join(parts[:depth]), set()).update(parts[depth : len(parts) - 1][:1])
    return [
        Finding(readmes[folder].path, 1, f"does not name its folder {name}")
        for folder in sorted(inner.keys() & readmes.keys())
        for name in sorted(inner[folder])
        if not re.search(rf"[`\[(](?:[\w.-]+/)*{re.escape(name)}/?[`\])]", readmes[folder].text)
    ]


def _check_header(file: File) -> list[Finding]:
    findings = []
    if not file.text.startswith("//"):
        findings.append(Finding(file.path, 1, "say in a comment at the head what this file is"))
    if "#pragma once" not in file.text:
        findings.append(Finding(file.path, 1, "has no #pragma once"))
    title = Path(file.path).stem.replace("_", "")
    group_documented = False
    for line, text, hidden in _declarations(file):
        name = _wants_comment(text)
        starts_group = line < 2 or not file.lines[line - 2].strip()
        group_documented = _has_comment(file, line) or (group_documented and not starts_group)
        if name and not hidden and not group_documented and name.lower() != title:
            findings.append(Finding(file.path, line, f"{name} has no /// comment"))
    return findings


def _has_comment(file: File, line: int) -> bool:
    above = line - 2
    while above >= 0 and file.lines[above].lstrip().startswith("#"):
        above -= 1  # a comment may stand above an #if
    return (above >= 0 and file.lines[above].lstrip().startswith("///")) or "///<" in file.lines[line - 1]


def _wants_comment(text: str) -> str | None:
    """The name of a type or free function that this declaration introduces; None for anything else."""
    text = _without_template(" ".join(text.split()))
    if _SKIPPED.match(text):
        return None
    if found := _TYPE.match(text):
        defines = text.endswith("{") or (text.startswith("enum") and ":" in text and text.endswith("{"))
        specialises = "::" in found[1] or re.match(r"\s*<", text[found.end() :])
        return found[1] if defines and not specialises else None
    head = text.split("(")[0]
    if "=" in head or "operator" in head or "(" not in text or head.isupper():
        return None
    found = _FUNCTION.search(text)
    return found[1] if found and " " in head.strip() and "::" not in head.split()[-1] else None


def _without_template(text: str) -> str:
    while _TEMPLATE.match(text):
        depth = 0
        for at, letter in enumerate(text):
            depth += (letter == "<") - (letter == ">" and text[at - 1] != "-")
            if letter == ">" and depth == 0:
                text = text[at + 1 :].lstrip()
                break
        else:
            return text
        if text.startswith("requires"):
            return re.sub(r"^requires\s*(?:\([^)]*\)|[\w:<>, ]+?)\s+(?=\w)", "", text)
    return text


def _declarations(file: File) -> list[tuple[int, str, bool]]:
    """Line, text and hiddenness (in a detail or unnamed namespace) of each declaration at namespace level. The text
    ends with its `;` or `{`."""
    found = []
    scopes: list[str] = []  # of each open brace: "open", "hidden" (namespaces) or "body"
    text, start, parens = "", 0, 0
    for number, line in enumerate(file.code, 1):
        if line.lstrip().startswith("#"):
            continue
        for letter in line + "\n":
            in_body = "body" in scopes
            if letter == "{":
                if in_body or parens:
                    scopes.append("body")
                    continue
                scopes.append(_scope(text, scopes))
                if scopes[-1] == "body":
                    found.append((start, text.strip() + "{", "hidden" in scopes))
                text, start = "", 0
            elif letter == "}":
                if scopes:
                    scopes.pop()
                if "body" not in scopes and not parens:
                    text, start = "", 0
            elif in_body:
                continue
            elif letter == ";" and not parens:
                if text.strip():
                    found.append((start, text.strip() + ";", "hidden" in scopes))
                text, start = "", 0
            else:
                parens += (letter == "(") - (letter == ")")
                start = start or (number if not letter.isspace() else 0)
                text += letter
    return found


def _scope(text: str, scopes: list[str]) -> str:
    namespace = _NAMESPACE.match(text.strip())
    if namespace:
        name = namespace[1].split("::")[-1]
        return "hidden" if not name or name.endswith("detail") or "hidden" in scopes else "open"
    return "open" if text.strip().startswith("extern") and "(" not in text else "body"
