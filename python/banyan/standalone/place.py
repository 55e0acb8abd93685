"""Where a notebook's history is kept when nobody says where."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "BANYAN_STORE"
# VS Code binds the notebook's path to this.
VSCODE_NOTEBOOK = "__vsc_ipynb_file__"


def store_path(namespace: Mapping[str, object]) -> Path:
    """BANYAN_STORE, a file or a folder for one file per notebook; else `.banyan/` beside the notebook, or in the
    working directory when the notebook is not known. Absolute."""
    notebook = _notebook(namespace)
    name = "history.db" if notebook is None else f"{notebook.name}.history.db"
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named).expanduser().absolute()
        return path / name if path.is_dir() else path
    folder = Path.cwd() if notebook is None else notebook.parent
    return folder / ".banyan" / name


def _notebook(namespace: Mapping[str, object]) -> Path | None:
    """The notebook's file: VS Code binds a name to it, Jupyter Server tells the kernels that it starts for one."""
    for told in (namespace.get(VSCODE_NOTEBOOK), os.environ.get("JPY_SESSION_NAME")):
        if isinstance(told, str) and told:
            # Some servers say where it is below their own folder; the kernel starts in the notebook's.
            for path in (Path(told), Path(Path(told).name)):
                if path.is_file():
                    return path.absolute()
    return None
