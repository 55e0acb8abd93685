"""The platform and JupyterLab of this tree as child processes."""

import os
from collections.abc import Sequence
from pathlib import Path

from banyan_local import parts
from banyan_local.processes import Child, free_port

from dev.paths import COMPANION, LAB_EXTENSION, LOGOS, ROOT, VENV, VENV_PYTHON, binary

__all__ = ["Child", "Lab", "Platform", "companion_environment", "free_port", "program"]


def program() -> parts.Program:
    """The program and the paths of this tree's release build."""
    return parts.Program(binary(), VENV_PYTHON, LOGOS, ROOT / "python")


class Platform(parts.Platform):
    """A gateway and its host agents on this machine."""

    def __init__(self, folder: Path, *, hosts: int, port: int, token: str, options: Sequence[str] = ()) -> None:
        super().__init__(folder, program(), hosts=hosts, port=port, token=token, options=options)


class Lab(parts.Lab):
    """A JupyterLab whose kernels a gateway runs, with the companion and the extension of this tree."""

    def __init__(self, *, gateway: str, token: str, port: int, notebooks: Path, log: Path) -> None:
        env = {"JUPYTER_PATH": _before(LAB_EXTENSION, "JUPYTER_PATH"), **companion_environment(gateway, token)}
        command = [VENV / "bin" / "jupyter-lab"]
        super().__init__(command, gateway=gateway, token=token, port=port, notebooks=notebooks, log=log, env=env)


def companion_environment(gateway: str, token: str) -> dict[str, str]:
    """The environment that makes a Jupyter Server use the kernels of a gateway through the companion of this tree."""
    return {
        **parts.gateway_environment(gateway, token),
        "JUPYTER_CONFIG_PATH": _before(COMPANION / "jupyter-config", "JUPYTER_CONFIG_PATH"),
        "PYTHONPATH": _before(COMPANION, "PYTHONPATH"),
    }


def _before(folder: Path, variable: str) -> str:
    """The folder, followed by the folders that the environment variable holds already."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get(variable)]))
