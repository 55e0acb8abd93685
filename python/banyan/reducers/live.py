"""Containers of which the process has one: `sys.path`, `os.environ`, `warnings.filters`, the registry of a library.

A variable that is one of them is pickled by its place, and is the live container again when it is loaded: a copy of
sys.path would not be the list that imports use. Containers of the interpreter, and those that a part of the
surroundings keeps, have the content that they have anyway. The content of any other is pickled as well, if it can be.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import sys
import types
from collections.abc import Iterator, Mapping, MutableSequence, MutableSet
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython

from banyan import _native
from banyan.reducers import singletons

if TYPE_CHECKING:
    from banyan.reducers.reducer import Pickling

# The content of containers in these packages belongs to the process, or to a part of the surroundings.
_BY_PLACE_ONLY = frozenset(
    """
    IPython _abc _codecs _collections_abc _thread _threading_local _warnings _weakrefset abc asyncio atexit banyan
    builtins cloudpickle codecs comm concurrent copyreg debugpy functools gc importlib inspect io ipykernel
    jupyter_client jupyter_core linecache logging matplotlib matplotlib_inline multiprocessing numpy os pkgutil posix
    pydevd re runpy selectors signal site socket sre_compile subprocess sys sysconfig tempfile threading tornado
    tracemalloc traitlets types typing warnings weakref zipimport zmq
    """.split()
)
# Containers that are attributes of objects in a module, and not of the module itself.
_WITHIN = {
    "os": ("environ._data",),
    "logging": ("root.handlers", "root.filters", "root.manager", "root.manager.loggerDict"),
    "matplotlib": ("colormaps._cmaps",),
}
# Objects of the shell, of whatever type. `begin` adds its formatters.
_OF_THE_SHELL = """
    InteractiveTB Completer alias_manager ast_transformers builtin_trap config configurables display_formatter
    display_formatter.formatters display_formatter.ipython_display_formatter
    display_formatter.mimebundle_formatter display_pub displayhook display_trap events events.callbacks
    extension_manager history_manager history_manager.dir_hist history_manager.input_hist_parsed
    history_manager.input_hist_raw history_manager.output_hist hooks input_transformer_manager
    input_transformer_manager.cleanup_transforms input_transformer_manager.line_transforms
    input_transformer_manager.token_transformers input_transformers_post kernel logger magics_manager
    magics_manager.magics magics_manager.magics.cell magics_manager.magics.line magics_manager.registry
    payload_manager prefilter_manager user_ns_hidden
    """.split()
_SHELL = "IPython.shell"  # Stands for the module of the shell's objects.
_CONTAINERS = frozenset(
    {dict, list, set, collections.deque, collections.OrderedDict, collections.defaultdict, collections.Counter}
)
_NOT_OF = frozenset({"__main__", "__mp_main__"})
_OF_THE_PROCESS = ("builtins", "logging", "os", "sys", "warnings")
_DEPTH_MAX = 3  # How deep dicts within dicts of a module are searched.
_WITHIN_MAX = 200  # A dict with more items is not searched.

identities = _native.Identities()
_places: dict[int, tuple[str, str]] = {}  # By the id of a container: its module, and the path from there.
_kinds: dict[type, bool] = {}
_seen: set[str] = set()
_count = 0
_asked: set[int] = set()  # Ids of containers whose content is being pickled.


def look() -> None:
    """Take in the modules that were imported since the last call. Call it before user code can put its
    own objects there.
    """
    global _count
    if len(sys.modules) == _count:
        return
    _count = len(sys.modules)
    for name in sys.modules.keys() - _seen:
        module = sys.modules.get(name)
        if isinstance(module, types.ModuleType) and name not in _NOT_OF:
            if getattr(getattr(module, "__spec__", None), "_initializing", False):
                continue  # It is being imported.
            if singletons.installed(module):
                _take_in(name, module)
        _seen.add(name)


def begin() -> None:
    """Begin, before user code runs in this process. What a zygote has taken in of some modules may have
    been replaced since.
    """
    global _count
    _count = 0
    _seen.difference_update(_OF_THE_PROCESS)
    look()
    shell: Any = get_ipython()
    if shell is not None:
        formatters = shell.display_formatter.formatters
        for path in (*_OF_THE_SHELL, *(f"display_formatter.formatters.{kind}" for kind in formatters)):
            with contextlib.suppress(Exception):  # A shell of another kind does not have all of them.
                _add(_follow(shell, path), _SHELL, path)


def reduce_live(obj: Any, pickling: Pickling) -> Any:
    found = _places.get(id(obj))
    if found is None:
        return NotImplemented
    module, path = found
    try:
        if _follow(_root(module), path) is not obj:
            return NotImplemented
    except (AttributeError, LookupError):
        return NotImplemented
    content = _content(obj, module, pickling)
    if content is None:
        return live_object, (module, path)
    return live_object, (module, path, type(obj)), content, None, None, fill


def live_object(module: str, path: str, kind: Any = None) -> Any:
    """Pickles call it. kind: the type of container to make if the place does not exist here."""
    try:
        return _follow(get_ipython() if module == _SHELL else importlib.import_module(module), path)
    except (ImportError, AttributeError, LookupError):
        if kind is None:
            raise
        return kind()


def fill(obj: Any, content: Any) -> None:
    """Pickles call it to make the container hold exactly this."""
    if isinstance(content, list):
        if list(obj) != content or any(here is not there for here, there in zip(obj, content, strict=True)):
            obj.clear()
            obj.extend(content)
        return
    obj.clear()
    obj.update(content)


def _take_in(name: str, module: types.ModuleType) -> None:
    content = vars(module)
    _add(content, name, "__dict__")
    for attribute, value in list(content.items()):
        kind = type(value)
        if (kind in _CONTAINERS or _is_container(kind)) and not (
            attribute.startswith("__") and attribute.endswith("__")
        ):
            _add(value, name, attribute)
            if kind is dict and value:
                for path, inner in _within(value, attribute, _DEPTH_MAX):
                    _add(inner, name, path)
    for path in _WITHIN.get(name, ()):
        try:
            _add(_follow(module, path), name, path)
        except (AttributeError, LookupError):
            continue


def _add(value: object, module: str, path: str) -> None:
    found = _places.get(id(value))
    if found is not None:
        try:
            if _follow(_root(found[0]), found[1]) is value:
                return  # It is found at two places; the first one counts.
        except (AttributeError, LookupError):
            pass
    _places[id(value)] = module, path
    identities.add(value)


def _within(value: dict[Any, Any], path: str, depth: int) -> Iterator[tuple[str, dict[Any, Any]]]:
    if len(value) > _WITHIN_MAX:
        return
    for key, inner in list(value.items()):
        if type(inner) is dict and isinstance(key, str) and key.isidentifier():
            yield f"{path}.{key}", inner
            if depth > 1:
                yield from _within(inner, f"{path}.{key}", depth - 1)


def _is_container(kind: type) -> bool:
    """Whether a type is a container that a library has defined. Those have no hash, because they change."""
    known = _kinds.get(kind)
    if known is None:
        known = _kinds[kind] = kind.__hash__ is None and issubclass(kind, (Mapping, MutableSequence, MutableSet))
    return known


def _root(module: str) -> Any:
    return get_ipython() if module == _SHELL else sys.modules[module]


def _follow(root: Any, path: str) -> Any:
    for step in path.split("."):
        root = root[step] if type(root) is dict and step in root else getattr(root, step)
    return root


def _content(obj: Any, module: str, pickling: Pickling) -> Any:
    """A copy of what a container holds, if that is pickled as well; None otherwise."""
    if module.partition(".")[0] in _BY_PLACE_ONLY or module.startswith("pandas._config") or id(obj) in _asked:
        return None
    kind = type(obj)
    if kind not in _CONTAINERS or obj is vars(_root(module)):
        return None
    copy: Any = dict(obj) if issubclass(kind, dict) else set(obj) if kind is set else list(obj)
    _asked.add(id(obj))
    try:
        pickling.apart(copy)
    except Exception:
        return None
    finally:
        _asked.discard(id(obj))
    return copy
