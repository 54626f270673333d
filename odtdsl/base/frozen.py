"""Frozen dataclasses that are quick to define: the syntax tree and the core forms have 160 of them.

The standard library compiles five functions for every frozen dataclass as its module is imported,
half of what a small solve took to start. Here `__init__` alone is compiled, with the first
instance; what compares, hashes and prints an instance is shared by all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import inspect
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool, eq: bool = True):
        """Make of a class what the decorator of this name in the standard library makes of it.

        It takes `frozen=True, slots=True, kw_only=True` alone. Bases that are dataclasses, and
        classes that derive from the class, have to be made here too.
        """
        if not (frozen and slots and kw_only):
            raise TypeError("a frozen dataclass has slots and takes keywords alone")
        return lambda kind: _made(kind, eq=eq)


_names: dict[type, tuple[str, ...]] = {}


def field_names(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass, in order: `dataclasses.fields` sorts them out at every call."""
    if kind not in _names:
        _names[kind] = tuple(field.name for field in dataclasses.fields(kind))
    return _names[kind]


_assign = object.__setattr__


def _made(kind: type, *, eq: bool) -> type:
    made: Any = dataclasses.dataclass(
        init=False, repr=False, eq=False, match_args=False, slots=True, kw_only=True
    )(kind)
    fields: tuple[Field[Any], ...] = dataclasses.fields(made)
    made.__init__ = _first_init(made, fields)
    made.__signature__ = _Signature()
    made.__setattr__ = _refuse_set
    made.__delattr__ = _refuse_delete
    made.__getstate__ = _state
    made.__setstate__ = _set_state
    if "__repr__" not in kind.__dict__:
        made.__repr__ = _repr
    if eq:
        key = _key([field.name for field in fields if field.compare])

        def __eq__(self: Any, other: Any) -> Any:
            return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

        def __hash__(self: Any) -> int:
            return hash(key(self))

        if "__eq__" not in kind.__dict__:
            made.__eq__ = __eq__
        if kind.__dict__.get("__hash__") is None:  # None too where it has an `__eq__` of its own
            made.__hash__ = __hash__
    return made  # type: ignore[no-any-return]


def _key(names: list[str]) -> Callable[[Any], Any]:
    """What is compared and hashed, always a tuple: those are equal where their parts are one."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _instance: ()
    name = names[0]
    return lambda instance: (getattr(instance, name),)


def _first_init(made: Any, fields: tuple[Field[Any], ...]) -> Callable[..., None]:
    """An `__init__` that compiles the true one and takes its place."""

    def __init__(self: Any, **given: Any) -> None:
        made.__init__ = _compiled_init(made, fields)
        made.__init__(self, **given)

    return __init__


class _Signature:
    """What `help` and the pages of the API show of a class, before its first instance too."""

    def __get__(self, _instance: object, made: Any) -> inspect.Signature:
        import inspect

        init = inspect.signature(_compiled_init(made, dataclasses.fields(made)))
        return init.replace(parameters=list(init.parameters.values())[1:])


def _compiled_init(made: Any, fields: tuple[Field[Any], ...]) -> Callable[..., None]:
    names: dict[str, Any] = {"_assign": _assign, "_MISSING": MISSING}
    parameters, body = [], []
    for field in fields:
        name, value = field.name, field.name
        if field.default_factory is not MISSING:
            names[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}"
            parameters.append(f"{name}=_MISSING")
        elif field.default is not MISSING:
            names[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        body.append(f" _assign(self, {name!r}, {value})")
    if hasattr(made, "__post_init__"):
        body.append(" self.__post_init__()")
    keywords = f", *, {', '.join(parameters)}" if parameters else ""
    exec(f"def __init__(self{keywords}):\n" + "\n".join(body or [" pass"]), names)
    init: Callable[..., None] = names["__init__"]
    init.__annotations__ = {field.name: field.type for field in fields} | {"return": None}
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init


def _refuse_set(self: Any, name: str, _value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        _assign(self, field.name, value)


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (
        f"{field.name}={getattr(self, field.name)!r}"
        for field in dataclasses.fields(self)
        if field.repr
    )
    return f"{self.__class__.__qualname__}({', '.join(shown)})"
