"""What cells change beside their variables: settings of libraries, the working directory, random numbers, …

Each is a value under a name that no variable can have (`<cwd>`); it is reported, loaded and undone as a variable is.
A session that never touched one has no such value: it is then as it was when the worker began.
`part.py` says what one of them is, `machine.py` runs them, and each other file has those of one library.
Look at `part.py` first.
"""

from banyan.surroundings.machine import Capture, Surroundings, is_surrounding
from banyan.surroundings.part import part_of

__all__ = ["Capture", "Surroundings", "is_surrounding", "part_of"]
