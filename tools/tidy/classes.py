"""A class is one idea, too. Counted are the methods and the fields that its body declares, and of its fields those that
its methods use in more than one source (.cc): a class whose sources share its fields is one large file in disguise.
Constructors, destructors, operators, what is defaulted, and static data do not count. A struct without methods may have
any number of fields. Figures that are above a ceiling are in ceilings.toml."""

from collections import Counter

from tidy import calls, ceilings, cpp
from tidy.tree import Finding, Tree

# What a class may have at most.
CEILINGS = {"methods": 40, "fields": 20, "shared": 0}
_ADVICE = {
    "methods": "Take out a part that owns its own state.",
    "fields": "Take out a part that owns some of them.",
    "shared": "Give each field to a part that one source implements.",
}


def check(tree: Tree) -> list[Finding]:
    classes = {each.name: each for _, found in cpp.declared(tree) for each in found.classes}
    shared = Counter(owner for (owner, _), sources in calls.uses(tree).touched.items() if len(sources) > 1)
    entries, findings = ceilings.recorded(tree, "classes", dict.fromkeys(CEILINGS, int), classes)
    for name, this in classes.items():
        fields = len(this.fields) if this.methods else 0
        for measure, figure in (("methods", len(this.methods)), ("fields", fields), ("shared", shared[name])):
            entry = entries.get(name)
            value = entry.values.get(measure) if entry else None
            has = f"{name} has {_said(figure, measure)}"
            if figure > max(CEILINGS[measure], value or 0):
                text = f"{has}; {_allowed(measure, value)}. {_ADVICE[measure]}"
                findings.append(Finding(this.path, this.line, text))
            elif entry and value is not None and figure <= CEILINGS[measure]:
                text = f"{has} now, which needs no record. Remove {measure} = {value} here."
                findings.append(Finding(ceilings.PATH, entry.line, text))
            elif entry and value is not None and figure < value:
                text = f"{has} now. Lower {measure} here from {value} to {figure}, so that it cannot rise again."
                findings.append(Finding(ceilings.PATH, entry.line, text))
    return findings


def _said(figure: int, measure: str) -> str:
    nouns = f"{'method' if measure == 'methods' else 'field'}{'' if figure == 1 else 's'}"
    return f"{figure} {nouns}{' that more than one of its sources uses' if measure == 'shared' else ''}"


def _allowed(measure: str, value: int | None) -> str:
    if value is not None:
        return f"{ceilings.PATH} allows it {value}, a figure that can only fall"
    return f"a class may have {CEILINGS[measure] or 'none'}{' at most' if CEILINGS[measure] else ''}"
