"""Names that cells add to the builtins module, or bind anew there."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from banyan.surroundings.part import Part, Resists

# A shell and its kernel set these, some of them for each cell.
_SHELLS = frozenset({"input", "raw_input", "get_ipython", "exit", "quit", "display", "dreload"})


class _Gone:
    """Stands for a name that a cell has deleted. There is one instance."""

    def __reduce__(self) -> str:
        return "GONE"


GONE = _Gone()


class _Builtins:
    def __init__(self) -> None:
        self._before = vars(builtins).copy()
        self._seen: list[Any] = list(self._before.values())
        self._found: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        now = vars(builtins)
        if len(now) == len(self._seen) and all(map(operator.is_, now.values(), self._seen)):
            return self._found
        self._seen = list(now.values())
        found = {name: value for name, value in now.items() if self._before.get(name, GONE) is not value}
        found |= dict.fromkeys(self._before.keys() - now.keys(), GONE)
        self._found = {name: value for name, value in found.items() if name not in _SHELLS and name[0] != "_"}
        return self._found

    def write(self, wanted: dict[str, Any]) -> None:
        reasons = {}
        for name in self.read().keys() | wanted.keys():
            value = wanted.get(name, self._before.get(name, GONE))
            try:
                if value is not GONE:
                    setattr(builtins, name, value)
                elif hasattr(builtins, name):
                    delattr(builtins, name)
            except Exception as error:
                reasons[name] = str(error)
        if reasons:
            raise Resists(reasons)


def parts() -> list[Part]:
    changed = _Builtins()
    return [Part("<builtins>", "names of builtins that cells change", changed.read, changed.write, holds=True)]
