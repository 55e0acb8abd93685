"""Surroundings: what cells change beside their variables, such as settings of libraries and the working directory.

Each kind of surroundings is a `Part`. Its value is kept under a name that no variable can have (`<cwd>`), and is
reported, loaded and undone as a variable is. A session in which no cell changed it has no such value, and each process
keeps its own. `machine.py` runs the parts for the worker and for the standalone extension; the other files have the
parts, grouped by library or by where Python keeps such things. Look at `part.py` first: it says what a part is.
"""

from banyan.surroundings.machine import Capture, Surroundings, is_surrounding
from banyan.surroundings.part import part_of

__all__ = ["Capture", "Surroundings", "is_surrounding", "part_of"]
