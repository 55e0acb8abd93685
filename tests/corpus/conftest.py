"""Lets the tests import the modules of the benches by name: notebooks, kernels, descriptions."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
