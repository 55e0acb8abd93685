"""How a namespace comes to show a commit: its values are loaded, or the cells that made them run again.

`show.py` loads all values of a commit before it binds the first one. Where no commit holds a value, `repeat.py` runs
its cell again: heard and seen by nobody (`held_back.py`), and in place of what its first run left in the process
(`leftovers.py`). `effects.py` notices what a cell does outside of its process, for such a cell does not run again by
itself. Nothing here knows who asks, a worker or a kernel without the platform.
Look at `show.py` first.
"""
