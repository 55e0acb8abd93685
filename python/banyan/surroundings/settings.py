"""Settings that a function reads and another one sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from banyan.surroundings.part import Moment, Part

# How one is read, and how it is set.
Access = tuple[Callable[[], Any], Callable[[Any], object]]


class Settings:
    """Those of one library. A session has those that are not as they are where nobody sets them."""

    def __init__(self, table: Mapping[str, Access], defaults: Mapping[str, Any] | None = None) -> None:
        """defaults: what they are in a fresh process; None: as they are now. One that cannot be read is left out."""
        self._table = table
        self._defaults = self._now() if defaults is None else defaults

    def read(self) -> dict[str, Any]:
        return {key: value for key, value in self._now().items() if self._defaults.get(key, value) != value}

    def write(self, difference: Mapping[str, Any]) -> None:
        """Raises ValueError with those that resist, when the others are set."""
        now, failed = self._now(), []
        for key, value in {**self._defaults, **difference}.items():
            if key in self._table and now.get(key, self) != value:
                try:
                    self._table[key][1](value)
                except Exception as error:
                    failed.append(f"{key}: {error}")
        if failed:
            raise ValueError("; ".join(failed))

    def _now(self) -> dict[str, Any]:
        found = {}
        for key, (read, _) in self._table.items():
            try:
                found[key] = read()
            except Exception:  # a library of another version
                continue
        return found

    def part(self, name: str, about: str, needs: str = "", moment: Moment = Moment.AFTER) -> Part:
        return Part(name, about, self.read, self.write, needs=needs, moment=moment, first={})
