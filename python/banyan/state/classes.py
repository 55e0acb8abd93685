"""Classes that cells define: what of them is pickled beside what cloudpickle says, and how they are loaded in place."""

from __future__ import annotations

import abc
import enum
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any

from cloudpickle import cloudpickle as _cloudpickle

_MEMBER_ATTRIBUTES = {"_value_", "_name_", "__objclass__", "_sort_order_"}
_SLOT_TYPES = (types.MemberDescriptorType, types.GetSetDescriptorType)


def makes_slots(cls: type) -> bool:
    """Whether a class has to be made with its slots. Enumerations and typing's named tuples do not want to be told."""
    named_tuple = typing.NamedTuple in getattr(cls, "__orig_bases__", ())
    return "__slots__" in vars(cls) and not named_tuple and not issubclass(cls, enum.Enum)


def own_attributes(cls: type, attributes: dict[str, Any]) -> dict[str, Any]:
    """What cloudpickle says of a class, with what it leaves out because a base has the very same object just now."""
    inherited = {
        name: value
        for name, value in vars(cls).items()
        if name not in attributes and any(vars(base).get(name) is value for base in cls.__bases__)
    }
    made = ("__slots__", "__slotnames__")  # with the class, and by copyreg when it has seen an instance
    return {
        name: value
        for name, value in sorted({**attributes, **inherited}.items())
        if name not in made and not isinstance(value, _SLOT_TYPES)
    }


# What pickles call when they are loaded.

_new_classes: weakref.WeakSet[type] = weakref.WeakSet()


def make_class(make: Callable[..., type], arguments: tuple[Any, ...]) -> type:
    """The class with the tracker id among the arguments: the one this process has, or a new one."""
    known = _cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.get(arguments[-2])
    if known is not None:
        return known  # type: ignore[no-any-return]
    cls = make(*arguments)
    _new_classes.add(cls)
    return cls


def set_class_state(cls: Any, content: tuple[bool, Callable[[type, Any], Any], Any, dict[str, dict[str, Any]]]) -> None:
    """Fill a new class; of a class that is here already only its own variable (`owner`) changes the attributes."""
    owner, set_state, state, members = content
    if not owner and cls not in _new_classes:
        return
    _new_classes.discard(cls)
    if owner and not issubclass(cls, enum.Enum):
        for name in vars(cls).keys() - state[0].keys():
            if not name.startswith("__") and not isinstance(vars(cls)[name], _SLOT_TYPES):
                delattr(cls, name)
    if isinstance(cls, abc.ABCMeta):
        cls._abc_registry_clear()  # type: ignore[attr-defined]
        cls._abc_caches_clear()  # type: ignore[attr-defined]
    set_state(cls, state)
    if issubclass(cls, enum.Enum):
        _set_attributes_of_members(cls, members)


def attributes_of_members(cls: Any) -> dict[str, dict[str, Any]]:
    """What cells have set on the members of an enum."""
    if not issubclass(cls, enum.Enum):
        return {}
    own = {member.name: {k: v for k, v in vars(member).items() if k not in _MEMBER_ATTRIBUTES} for member in cls}
    return {name: attributes for name, attributes in own.items() if attributes}


def _set_attributes_of_members(cls: type[enum.Enum], members: dict[str, dict[str, Any]]) -> None:
    for member in cls:
        for name in vars(member).keys() - _MEMBER_ATTRIBUTES:
            delattr(member, name)
        vars(member).update(members.get(member.name, {}))
