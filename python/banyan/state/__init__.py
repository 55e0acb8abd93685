"""What a session's variables are: as bytes, as co-variables, and as what a cell has changed of them.

`serialise.py` makes bytes of values and values of bytes. `access.py` reads from a cell's source which names it may
touch, `detect.py` confirms by the serialised form which co-variables it changed, and `changes.py` is the interface
between that and all others. Functions, classes and the user's own modules, which live in the session's namespaces, are
here too. Detection errs on the safe side: a variable too many is reported, never one too few. A value that cannot be
serialised is named, and never stops its neighbours.
Look at `changes.py` first, then at `detect.py`.
"""
