"""The compiled part of the package, loaded at the first use of one of its names.

Import this module and take the names from it: `engine.solve(...)`. For a type checker they are
those of the stub `_engine.pyi`, which `python -m docs.generate` writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odtdsl.base._engine import *  # noqa: F403
else:
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
            raise _not_built("is not built") from problem
        except KeyError as problem:
            raise _not_built("was built from other sources than these") from problem

    def _not_built(what: str) -> Exception:
        return error(
            "X202",
            f"the native part of odtdsl {what}",
            helps=("run the set-up command of the README: pip install --editable .",),
        )
