"""Where a notebook's history is kept unless its user says otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "BANYAN_STORE"
# VS Code binds this name to the notebook's path.
VSCODE_NOTEBOOK = "__vsc_ipynb_file__"


def store_path(namespace: Mapping[str, object]) -> Path:
    """The absolute path of the store's file.

    BANYAN_STORE names the file, or a folder with one file per notebook. Without it, the file is in `.banyan/` beside
    the notebook, or in the working directory when the notebook is not known.
    """
    notebook = _notebook(namespace)
    name = "history.db" if notebook is None else f"{notebook.name}.history.db"
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named).expanduser().absolute()
        return path / name if path.is_dir() else path
    folder = Path.cwd() if notebook is None else notebook.parent
    return folder / ".banyan" / name


def _notebook(namespace: Mapping[str, object]) -> Path | None:
    """The notebook's file: VS Code binds a name to its path, and Jupyter Server tells it to the
    kernels that it starts.
    """
    for told in (namespace.get(VSCODE_NOTEBOOK), os.environ.get("JPY_SESSION_NAME")):
        if isinstance(told, str) and told:
            # Some servers give a path relative to their own folder, but the kernel starts in the notebook's folder.
            for path in (Path(told), Path(Path(told).name)):
                if path.is_file():
                    return path.absolute()
    return None
