"""Modules that are loaded when they are needed, looked up many times in a small solve."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

_whole: dict[str, ModuleType] = {}


def loaded(name: str) -> ModuleType:
    """The module of a name.

    Raises
    ------
    ImportError
        There is none.
    """
    known = _whole.get(name)
    if known is None or sys.modules.get(name) is not known:
        # Not from `sys.modules`, where a module stands while another thread still loads it.
        known = _whole[name] = import_module(name)
    return known
