"""The version of the installed package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    """The version of the installed package; of a bare source folder none is known."""
    try:
        return version("odtdsl")
    except PackageNotFoundError:
        return "0+source"


VERSION = _installed()
