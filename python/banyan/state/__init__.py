"""What a session's variables are: as bytes, as co-variables, and as what a cell has changed of them.

`serialise.py` turns values into bytes and back. `access.py` reads from a cell's source which names the cell may touch,
`detect.py` compares the serialised forms of these to tell which co-variables the cell changed, and `changes.py` is the
interface between `detect.py` and everybody else. Functions, classes and the user's own modules, which live in the
session's namespaces, are here too. Detection errs on the safe side: it may report a variable that did not change, but
never misses one that did. A value that cannot be serialised is named, and never stops its neighbours. Look at
`changes.py` first, then at `detect.py`.
"""
