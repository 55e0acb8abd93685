"""numpy's settings."""

from __future__ import annotations

from typing import Any

from banyan.surroundings.part import Moment, Part

# How numpy prints where nobody has set it.
_PRINT: dict[str, Any] = {
    "edgeitems": 3,
    "floatmode": "maxprec",
    "formatter": None,
    "infstr": "inf",
    "legacy": False,
    "linewidth": 75,
    "nanstr": "nan",
    "override_repr": None,
    "precision": 8,
    "sign": "-",
    "suppress": False,
    "threshold": 1000,
}


def _read_print() -> dict[str, Any]:
    import numpy

    return {key: value for key, value in numpy.get_printoptions().items() if _PRINT.get(key) != value}


def _write_print(difference: dict[str, Any]) -> None:
    import numpy

    known = numpy.get_printoptions().keys()
    numpy.set_printoptions(**{key: value for key, value in {**_PRINT, **difference}.items() if key in known})


def parts() -> list[Part]:
    return [
        Part(
            "<numpy.printoptions>",
            "how numpy prints",
            _read_print,
            _write_print,
            needs="numpy",
            moment=Moment.CELL,
            first={},
        ),
    ]
