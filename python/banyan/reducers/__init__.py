"""Reducers: how objects are pickled whose own way of pickling fails, loses something, or breaks what variables share.

Each file has the objects of one library, or of one kind. It has reducers, which take an object and say by which
function and from what the object is made again (`reducer.py` is the contract), and the functions that stored
pickles call when they are loaded. The name of such a function is therefore part of stored data: it stays, or
`state/former_names.py` has an entry for it. A reducer alters no object of the user, and imports no library that the
user has not imported. Look at `arrays.py` for a large example and at `log_handlers.py` for a small one.
`sharing.py` and `memory.py` say which objects link the variables that reach them; `state/serialise.py` decides
which reducer an object gets.
"""
