"""How objects are pickled whose own way of pickling loses something, or makes what cannot be loaded."""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import functools
import importlib
import io
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from banyan.reducers import closed, mpmath_numbers
from banyan.reducers.reducer import Pickling, Reducer


def reducer_for(kind: type) -> Reducer | None:
    """The reducer for a type that no other module here knows. None if it needs none."""
    if kind in _REDUCERS:
        return _REDUCERS[kind]
    module, reducer = _LIBRARY_REDUCERS.get(kind.__name__, ("", None))
    if reducer is not None and kind is getattr(sys.modules.get(module), kind.__name__, None):
        return reducer
    if issubclass(kind, (argparse.Action, argparse.ArgumentParser, argparse.Namespace)):
        return _reduce_parser
    transforms: Any = sys.modules.get("matplotlib.transforms")
    if transforms is not None and issubclass(kind, getattr(transforms, "TransformNode", ())):
        return _reduce_transform
    patches: Any = sys.modules.get("matplotlib.patches")
    if patches is not None and issubclass(kind, getattr(patches, "Patch", ())):
        return _reduce_patch
    comm: Any = sys.modules.get("comm.base_comm")
    if comm is not None and issubclass(kind, comm.BaseComm):
        return _refuse_comm
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, getattr(numpy, "ndarray", ())):
        return _reduce_array_subclass
    if (
        issubclass(kind, (list, dict))
        and _inherits(kind, object, "__reduce__", "__reduce_ex__")
        and _fills_itself(kind)
    ):
        return _reduce_container
    return None


def _inherits(kind: type, base: type, *names: str) -> bool:
    return all(getattr(kind, name) is getattr(base, name) for name in names)


def _fills_itself(kind: type) -> bool:
    """Whether a class takes in items by methods of its own: these may need attributes, which pickle
    sets after the items.
    """
    if issubclass(kind, list):
        return not _inherits(kind, list, "append", "extend")
    return not _inherits(kind, dict, "__setitem__")


def _reduce_container(container: Any, _pickling: Pickling) -> Any:
    make, arguments, state, _, _ = container.__reduce_ex__(5)
    items: Any = list(list.__iter__(container)) if isinstance(container, list) else dict(dict.items(container))
    return make, arguments, (state, items), None, None, fill_container


def fill_container(container: Any, content: tuple[Any, Any]) -> None:
    state, items = content
    if isinstance(container, list):
        list.__setitem__(container, slice(None), items)  # The constructor may have put items in already.
    else:
        dict.update(container, items)
    if state is not None:
        set_state(container, state)


def set_state(obj: Any, state: Any) -> None:
    """Set the state of an object as pickle does."""
    if hasattr(obj, "__setstate__"):
        obj.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    vars(obj).update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(obj, name, value)


_sentinels: dict[int, tuple[str, str]] = {}
_modules_searched = 0


def sentinel(obj: object) -> tuple[str, str] | None:
    """Module and name of a plain `object()` that a module made in order to compare with it."""
    global _modules_searched
    if _modules_searched != len(sys.modules):
        _modules_searched = len(sys.modules)
        for module_name, module in list(sys.modules.items()):
            if module_name != "__main__":
                for name, value in list(getattr(module, "__dict__", {}).items()):
                    if type(value) is object:
                        _sentinels.setdefault(id(value), (module_name, name))
    module_name, name = _sentinels.get(id(obj), ("", ""))
    return (module_name, name) if getattr(sys.modules.get(module_name), name, None) is obj else None


def _reduce_object(obj: object, _pickling: Pickling) -> Any:
    found = sentinel(obj)
    return NotImplemented if found is None else found[1]


def _reduce_missing(obj: Any, _pickling: Pickling) -> Any:
    names = [name for name in ("MISSING", "KW_ONLY") if getattr(dataclasses, name) is obj]
    return names[0] if names else NotImplemented


def _reduce_wrapper_of_function(wrapper: Any, _pickling: Pickling) -> Any:
    taken = {*functools.WRAPPER_ASSIGNMENTS, "__wrapped__", "__isabstractmethod__"}
    attributes = {name: value for name, value in vars(wrapper).items() if name not in taken}
    return type(wrapper), (wrapper.__func__,), attributes or None


def _reduce_cached_property(prop: Any, _pickling: Pickling) -> Any:
    """A cached property without its lock."""
    return functools.cached_property, (prop.func,), {"attrname": prop.attrname, "__doc__": prop.__doc__}


def _refuse_folder(folder: Any, _pickling: Pickling) -> Any:
    if not folder._finalizer.alive:
        return closed.removed_folder, (folder.name,)
    raise TypeError("cannot pickle a temporary directory")


def _refuse_comm(_comm: Any, _pickling: Pickling) -> Any:
    raise TypeError("cannot pickle a comm, by which a widget talks with the page that shows it")


def _reduce_stream_of_bar(stream: Any, _pickling: Pickling) -> Any:
    """For the stream of a progress bar of tqdm, which refers to its bar by a weak reference. It works
    without that as well.
    """
    return wrapped_stream, (vars(stream)["_wrapped"],)


def wrapped_stream(wrapped: Any) -> Any:
    return importlib.import_module("tqdm.utils").ObjectWrapper(wrapped)


def _refuse_template(_template: Any, _pickling: Pickling) -> Any:
    raise TypeError("cannot pickle a compiled template")


def _reduce_parser(part: Any, _pickling: Pickling) -> Any:
    """argparse compares with the very object SUPPRESS, so an equal string would not do."""
    reduced = part.__reduce_ex__(5)
    state = reduced[2]
    if not isinstance(state, dict) or all(value is not argparse.SUPPRESS for value in state.values()):
        return reduced
    suppressed = [name for name, value in state.items() if value is argparse.SUPPRESS]
    return *reduced[:2], (state, suppressed), *(reduced[3:5] or (None, None)), set_parser_state


def set_parser_state(part: Any, content: tuple[dict[str, Any], list[str]]) -> None:
    state, suppressed = content
    vars(part).update(state, **dict.fromkeys(suppressed, argparse.SUPPRESS))


def reduce_array_type(kind: Any) -> Any:
    """How to get a type that ctypes has made of an item type and a length, and of which ctypes keeps one each."""
    made_of: Any = (getattr(kind, "_type_", None), getattr(kind, "_length_", 0))
    if type(kind) is not type(ctypes.Array) or made_of[0] is None or array_type(*made_of) is not kind:
        return None
    return array_type, made_of


def array_type(item: Any, length: int) -> Any:
    return item * length


def _reduce_array_subclass(array: Any, _pickling: Pickling) -> Any:
    """Keep the attributes of an instance, which numpy's own way of pickling loses."""
    attributes = getattr(array, "__dict__", None)
    numpy: Any = sys.modules["numpy"]
    plain = _inherits(type(array), numpy.ndarray, "__reduce__", "__reduce_ex__", "__setstate__")
    if not attributes or not plain or isinstance(array, numpy.memmap):
        return NotImplemented
    make, arguments, state = array.__reduce__()
    return make, arguments, (state, attributes), None, None, set_array_state


def set_array_state(array: Any, content: tuple[Any, dict[str, Any]]) -> None:
    state, attributes = content
    array.__setstate__(state)
    vars(array).update(attributes)


def _reduce_settings(settings: Any, pickling: Pickling) -> Any:
    """Pickle the live rcParams by name: what cells have set of them is in the part <rcParams>."""
    matplotlib: Any = sys.modules["matplotlib"]
    return (live_settings, ()) if settings is matplotlib.rcParams else _reduce_container(settings, pickling)


def live_settings() -> Any:
    import matplotlib

    return matplotlib.rcParams


def _reduce_transform(transform: Any, _pickling: Pickling) -> Any:
    """Number the parents, which matplotlib finds by their addresses: these differ in each process and
    after each drawing.
    """
    make, arguments, state = transform.__reduce_ex__(5)[:3]
    if isinstance(state, dict) and isinstance(parents := state.get("_parents"), dict):
        state = {**state, "_parents": dict(enumerate(parents.values()))}
    return make, arguments, state


_COLOURS = ("_facecolor", "_edgecolor", "_original_facecolor", "_original_edgecolor")


def _reduce_patch(patch: Any, _pickling: Pickling) -> Any:
    """Copy the colours: saving a figure sets them to equal tuples that are other objects, which must not
    look like a change.
    """
    make, arguments, state = patch.__reduce_ex__(5)[:3]
    if isinstance(state, dict):
        own = {name: (*state[name],) for name in _COLOURS if type(state.get(name)) is tuple}
        state = {**state, **own}
    return make, arguments, state


def _reduce_tree(tree: Any, _pickling: Pickling) -> Any:
    """Leave out the counts of what queries did. Otherwise each query would be a change."""
    make, arguments, state = tree.__reduce__()
    return make, arguments, (*state[:7], 0, 0, 0, 0, *state[11:]) if len(state) == 13 else state


def _reduce_font(font: Any, _pickling: Pickling) -> Any:
    """Pickle a font that was read from bytes by these bytes, because their reader is at its end."""
    path, *options = font.__getstate__()
    if not isinstance(path, io.BytesIO):
        return NotImplemented
    return load_font, (type(font), path.getvalue(), *options)


def load_font(kind: Callable[..., Any], data: bytes, *options: Any) -> Any:
    return kind(io.BytesIO(data), *options)


_REDUCERS: dict[type, Reducer] = {
    object: _reduce_object,
    type(dataclasses.MISSING): _reduce_missing,
    type(dataclasses.KW_ONLY): _reduce_missing,
    staticmethod: _reduce_wrapper_of_function,
    classmethod: _reduce_wrapper_of_function,
    functools.cached_property: _reduce_cached_property,
    tempfile.TemporaryDirectory: _refuse_folder,
}
# By the name of the type: its module, and the reducer.
_LIBRARY_REDUCERS: dict[str, tuple[str, Reducer]] = {
    "RcParams": ("matplotlib", _reduce_settings),
    "MPContext": ("mpmath.ctx_mp", mpmath_numbers.reduce_context),
    "MPIntervalContext": ("mpmath.ctx_iv", mpmath_numbers.reduce_context),
    "FPContext": ("mpmath.ctx_fp", mpmath_numbers.reduce_context),
    "FreeTypeFont": ("PIL.ImageFont", _reduce_font),
    "KDTree": ("sklearn.neighbors", _reduce_tree),
    "BallTree": ("sklearn.neighbors", _reduce_tree),
    "Template": ("jinja2", _refuse_template),
    "DisableOnWriteError": ("tqdm.utils", _reduce_stream_of_bar),
    "ObjectWrapper": ("tqdm.utils", _reduce_stream_of_bar),
}
