"""How classes that cells define are pickled and loaded, beyond what cloudpickle does.

A class that exists in the process already is changed in place when a pickle of it is loaded, because its instances must
stay instances of it. `serialise.py` calls the first functions, and pickles name the others.
"""

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
    """Whether a class has to be made with its `__slots__`. Enumerations and typing's named tuples have slots of their
    own making, and refuse others.
    """
    named_tuple = typing.NamedTuple in getattr(cls, "__orig_bases__", ())
    return "__slots__" in vars(cls) and not named_tuple and not issubclass(cls, enum.Enum)


def own_attributes(cls: type, attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that cloudpickle stores of a class, and those that it leaves out because a base class holds the
    same object under that name.
    """
    inherited = {
        name: value
        for name, value in vars(cls).items()
        if name not in attributes and any(vars(base).get(name) is value for base in cls.__bases__)
    }
    # `__slots__` is set when the class is made; copyreg sets `__slotnames__` once it has pickled an instance.
    made = ("__slots__", "__slotnames__")
    return {
        name: value
        for name, value in sorted({**attributes, **inherited}.items())
        if name not in made and not isinstance(value, _SLOT_TYPES)
    }


# What follows is called by pickles when they are loaded.

_new_classes: weakref.WeakSet[type] = weakref.WeakSet()


def make_class(make: Callable[..., type], arguments: tuple[Any, ...]) -> type:
    """The class whose tracker id is among the arguments: the one that this process has, or else a new one."""
    known = _cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.get(arguments[-2])
    if known is not None:
        return known  # type: ignore[no-any-return]
    cls = make(*arguments)
    _new_classes.add(cls)
    return cls


def set_class_state(cls: Any, content: tuple[bool, Callable[[type, Any], Any], Any, dict[str, dict[str, Any]]]) -> None:
    """Fill a class that was just made. The attributes of one that existed before are only changed by the pickle of the
    variable that it is bound to (`owner`).
    """
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
    """The attributes that cells have set on the members of an enumeration, by the member's name."""
    if not issubclass(cls, enum.Enum):
        return {}
    own = {member.name: {k: v for k, v in vars(member).items() if k not in _MEMBER_ATTRIBUTES} for member in cls}
    return {name: attributes for name, attributes in own.items() if attributes}


def _set_attributes_of_members(cls: type[enum.Enum], members: dict[str, dict[str, Any]]) -> None:
    for member in cls:
        for name in vars(member).keys() - _MEMBER_ATTRIBUTES:
            delattr(member, name)
        vars(member).update(members.get(member.name, {}))
