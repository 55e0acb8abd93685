"""The figures that are above a ceiling today, in ceilings.toml. They can only fall: one that has grown is a finding,
and so is one that is lower than recorded, until the record says so."""

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tidy.tree import Finding, Tree

PATH = "tools/tidy/ceilings.toml"
_NOUNS = {"classes": "class", "folders": "folder"}


@dataclass(frozen=True)
class Entry:
    """What is recorded of one class or folder, and where."""

    line: int
    values: dict[str, Any]


def recorded(
    tree: Tree, table: str, values: dict[str, type], there: Collection[str]
) -> tuple[dict[str, Entry], list[Finding]]:
    """The entries of a table, and what is wrong with them whatever the figures are. `values` are the types of what an
    entry may have besides its reason; `there` are the names that exist."""
    text = next((file.text for file in tree.files if file.path == PATH), "")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as broken:
        return {}, [Finding(PATH, 1, f"This file cannot be read as TOML: {broken}.")]
    findings = [
        Finding(PATH, 1, f"There is no table {name} here. The tables are {' and '.join(_NOUNS)}.")
        for name in tables.keys() - _NOUNS
    ]
    entries, noun = {}, _NOUNS[table]
    for name, entry in tables.get(table, {}).items():
        head = f'[{table}."{name}"]'
        line = next((number for number, each in enumerate(text.splitlines(), 1) if each.startswith(head)), 1)
        if name not in there:
            findings.append(Finding(PATH, line, f"There is no {noun} {name} in src/. Remove its entry."))
            continue
        if not str(entry.get("why", "")).endswith("."):
            findings.append(Finding(PATH, line, f"The entry of {name} lacks a reason. Give it a sentence, as why."))
        wrong = [key for key in entry.keys() - {"why"} if type(entry[key]) is not values.get(key)]
        for key in sorted(wrong):
            known = " and ".join(values)
            findings.append(Finding(PATH, line, f"{key} is no figure of a {noun} or is none of its type: {known} are."))
        entries[name] = Entry(line, {key: value for key, value in entry.items() if key not in wrong})
    return entries, findings
