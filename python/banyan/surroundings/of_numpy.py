"""numpy's settings: how it prints, and what it does about errors of floating point."""

from __future__ import annotations

from typing import Any

from banyan.surroundings.part import Moment, Part

# How numpy prints as long as nobody has set it.
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


_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
_BUFFER = 8192


def _read_errors() -> dict[str, Any]:
    import numpy

    now = {**numpy.geterr(), "buffer": numpy.getbufsize()}
    return {key: value for key, value in now.items() if {**_ERRORS, "buffer": _BUFFER}[key] != value}


def _write_errors(difference: dict[str, Any]) -> None:
    import numpy

    wanted = {**_ERRORS, **difference}
    numpy.setbufsize(wanted.pop("buffer", _BUFFER))
    numpy.seterr(**wanted)


def _read_call() -> dict[str, Any]:
    import numpy

    call = numpy.geterrcall()
    return {} if call is None else {"call": call}


def _write_call(wanted: dict[str, Any]) -> None:
    import numpy

    numpy.seterrcall(wanted.get("call"))


def parts() -> list[Part]:
    cell = Moment.CELL
    return [
        Part(
            "<numpy.printoptions>", "how numpy prints", _read_print, _write_print, needs="numpy", moment=cell, first={}
        ),
        Part(
            "<numpy.errors>",
            "what numpy does about errors of floating point",
            _read_errors,
            _write_errors,
            needs="numpy",
            moment=cell,
            first={},
        ),
        Part(
            "<numpy.errcall>",
            "what numpy calls on such errors",
            _read_call,
            _write_call,
            needs="numpy",
            moment=cell,
            holds=True,
        ),
    ]
