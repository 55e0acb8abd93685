"""Which of them a session keeps, as its user wants it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from traitlets import Bool
from traitlets.config import Configurable

from banyan.surroundings.part import Part


class Keeping(Configurable):
    """What Banyan keeps beside variables: `%config Capture.environ = False` leaves the environment out."""

    def wants(self, part: Part) -> bool:
        return bool(getattr(self, part.setting))


def capture_of(parts: Iterable[Part]) -> type[Keeping]:
    """The class `Capture`, with a switch for each part."""
    switches: dict[str, Any] = {part.setting: Bool(True, help=part.about).tag(config=True) for part in parts}
    return type("Capture", (Keeping,), {"__doc__": Keeping.__doc__, "__module__": "banyan.surroundings", **switches})
