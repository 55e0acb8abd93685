"""The options of pandas."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from banyan.surroundings.part import Part

_CONFIG = "pandas._config.config"


def _read() -> dict[str, Any] | None:
    config = sys.modules[_CONFIG]
    if "pandas" not in sys.modules:
        return None
    now = ((key, _at(config._global_config, key)) for key in config._registered_options)
    return {key: value for key, value in now if value != config._registered_options[key].defval}


def _glance() -> Any:
    return _copied(sys.modules[_CONFIG]._global_config)


def _copied(options: Any) -> Any:
    return {name: _copied(value) if type(value) is dict else value for name, value in options.items()}


def _at(options: Any, key: str) -> Any:
    return functools.reduce(lambda part, name: part[name], key.split("."), options)


def _write(difference: Mapping[str, Any]) -> None:
    import pandas  # type: ignore[import-untyped]

    config: Any = sys.modules[_CONFIG]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns of deprecated options.
        for key in _read() or {}:
            if key not in difference:
                pandas.set_option(key, config._registered_options[key].defval)
        for key, value in difference.items():
            if _at(config._global_config, key) != value:
                pandas.set_option(key, value)


def parts() -> list[Part]:
    return [Part("<pandas.options>", "the options of pandas", _read, _write, _glance, needs=_CONFIG, first={})]
