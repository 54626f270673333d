"""The compiled part of the package, loaded at the first use of one of its names.

Import this module and take the names from it: `engine.solve(...)`. For a type checker they are
those of the stub `_engine.pyi`, which `python -m docs.generate` writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odtdsl.base._engine import *  # noqa: F403
else:
    import sys
    from importlib.machinery import EXTENSION_SUFFIXES
    from pathlib import Path

    from odtdsl.base.diagnostics.model import error
    from odtdsl.base.modules import loaded

    _HOME = "odtdsl.base._engine"

    def __getattr__(name: str) -> object:
        """One of the native names.

        Raises
        ------
        OdtError
            X202: the native part is not built, or from other sources than these.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return loaded(_HOME).__dict__[name]
        except ImportError as problem:
            raise _not_built() from problem
        except KeyError as problem:
            other = "the native part of odtdsl was built from other sources than these"
            raise error("X202", other, helps=(_BUILD,)) from problem

    _BUILD = "run the set-up command of the README: pip install --editable ."

    def _not_built() -> Exception:
        what = "the native part of odtdsl is not built"
        if (installed := _installed()) is None:
            return error("X202", what, helps=(_BUILD,))
        return error(
            "X202",
            f"{what} in this folder, which hides the installed package",
            notes=(
                f"Python took the sources in {_package()}",
                f"odtdsl is installed in {installed}, which comes later on the path",
            ),
            helps=(
                "run Python in another folder, or by `python -P`, which leaves out its own",
                f"or {_BUILD}",
            ),
        )

    def _package() -> Path:
        return Path(__file__).resolve().parents[1]

    def _installed() -> Path | None:
        """Where another copy of the package is on the path that has a native part."""
        for place in sys.path:
            package = Path(place).resolve() / "odtdsl"
            built = (package / "base" / f"_engine{suffix}" for suffix in EXTENSION_SUFFIXES)
            if package != _package() and any(path.is_file() for path in built):
                return package
        return None
