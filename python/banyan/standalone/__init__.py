"""Undo and time travel in a stock kernel, without the platform: `%load_ext banyan`.

`extension.py` watches the shell's cells and makes commits of them, `history.py` drives the same session machine as the
platform does, and `store.py` keeps its log and its values in one SQLite file. No error here breaks a cell, and a kernel
that cannot use a store does not change it. Look at `extension.py` first.
"""
