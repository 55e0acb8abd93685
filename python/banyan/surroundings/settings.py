"""Settings that one function reads and another one sets: the base of many parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from banyan.surroundings.part import Moment, Part

# How a setting is read, and how it is set.
Access = tuple[Callable[[], Any], Callable[[Any], object]]


class Settings:
    """The settings of one library. Its value is the difference to the defaults."""

    def __init__(self, table: Mapping[str, Access], defaults: Mapping[str, Any] | None = None) -> None:
        """defaults: the settings in a fresh process. None: as they are now. A setting that cannot be
        read is left out.
        """
        self._table = table
        self._defaults = self._now() if defaults is None else defaults

    def read(self) -> dict[str, Any]:
        return {key: value for key, value in self._now().items() if self._defaults.get(key, value) != value}

    def write(self, difference: Mapping[str, Any]) -> None:
        """Set the defaults with this difference. Raises ValueError with the settings that fail, after
        the others are set.
        """
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
            except Exception:  # Another version of the library does not have this setting.
                continue
        return found

    def part(self, name: str, about: str, needs: str = "", moment: Moment = Moment.AFTER) -> Part:
        return Part(name, about, self.read, self.write, needs=needs, moment=moment, first={})
