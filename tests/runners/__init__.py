"""Exports at work: for each format, a file with the `RUNNER` that runs or reads what it writes."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from runners.base import Runner

RUNNERS: dict[str, Runner] = {
    file.name: import_module(f"runners.{file.name}").RUNNER
    for file in iter_modules(__path__)
    if file.name != "base"
}
"""By the names of formats. The tests of all formats ask each of them."""
