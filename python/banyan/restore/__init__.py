"""How a namespace comes to show a commit: values are loaded, or the cells that made them are repeated.

`show.py` loads all values of a commit before it binds the first one. Where no commit holds a value, `repeat.py` repeats
its cell: nobody hears or sees it (`held_back.py`), and it replaces what its first run left in the process
(`leftovers.py`). `effects.py` notices what a cell does outside of its process, because such a cell is not repeated by
itself. Nothing here knows whether it works for a worker or for a kernel without the platform. Look at `show.py` first.
"""
