"""The user's choice which parts of the surroundings a session keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from traitlets import Bool
from traitlets.config import Configurable

from banyan.surroundings.part import Part


class Keeping(Configurable):
    """What Banyan keeps beside variables: `%config Capture.environ = False` leaves the environment out."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._unwanted = {name for name in self.traits(config=True) if not getattr(self, name)}
        self.observe(self._switched)

    def _switched(self, change: Any) -> None:
        (self._unwanted.discard if change["new"] else self._unwanted.add)(change["name"])

    def wants(self, part: Part) -> bool:
        """Whether a part is kept. It is called for each part after each cell, so it does not ask the
        traits, which are slow.
        """
        return not self._unwanted or part.setting not in self._unwanted


def capture_of(parts: Iterable[Part]) -> type[Keeping]:
    """The class `Capture`, which has a switch for each part."""
    switches: dict[str, Any] = {part.setting: Bool(True, help=part.about).tag(config=True) for part in parts}
    return type("Capture", (Keeping,), {"__doc__": Keeping.__doc__, "__module__": "banyan.surroundings", **switches})
