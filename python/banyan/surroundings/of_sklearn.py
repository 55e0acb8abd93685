"""The configuration of scikit-learn."""

from __future__ import annotations

import sys
from typing import Any

from banyan.surroundings.part import Part

_CONFIG = "sklearn._config"


def _read() -> dict[str, Any]:
    config = sys.modules[_CONFIG]
    defaults = config._global_config
    return {key: value for key, value in config.get_config().items() if defaults.get(key) != value}


def _write(difference: dict[str, Any]) -> None:
    import sklearn

    config = sys.modules[_CONFIG]
    sklearn.set_config(**{**config._global_config, **difference})


def parts() -> list[Part]:
    about = "scikit-learn's configuration"
    return [Part("<sklearn.config>", about, _read, _write, needs=_CONFIG, first={})]
