"""Methods of values that are written on a floor above the value.

A tree, a result and a curve are values: they know of no picture, no report and no export. Users
write `tree.to_svg()` and `print(result)` all the same. Such a method looks up here what does it;
`odtdsl.presentation` enters what there is, by name, so that nothing is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_HOMES: dict[str, str] = {}


def register(homes: Mapping[str, str]) -> None:
    """Enter functions as `module:function`, by the methods that they do, as `Tree.export`."""
    _HOMES.update(homes)


def registered() -> dict[str, str]:
    """All methods with the functions that do them."""
    return dict(_HOMES)


def method(name: str) -> Any:
    """The function that does a method."""
    module, function = _HOMES[name].split(":")
    return getattr(import_module(module), function)
