"""The companion of Jupyter Server: it serves the kernels, kernelspecs, sessions and channels of a Banyan gateway.

Jupyter Server loads it as an extension; `extension.py` says which paths it takes over.
"""

from __future__ import annotations

from typing import Any

from banyan_server.extension import load

__version__ = "0.1.0"


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": "banyan_server"}]


def _load_jupyter_server_extension(server: Any) -> None:
    load(server)
