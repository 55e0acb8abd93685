"""Programs that need a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_apart(program: str, **environment: str) -> bytes:
    """What a Python program that can import banyan writes to stdout. Raises CalledProcessError when it fails."""
    path = str(Path(__file__).parents[1])
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run([sys.executable, "-c", program], env=variables, stdout=subprocess.PIPE, check=True).stdout
