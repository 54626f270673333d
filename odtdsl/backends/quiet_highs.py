"""HiGHS without its banner."""

from __future__ import annotations

from functools import cache
from typing import Any


def quiet_highs() -> Any:
    """Return a solver that prints nothing, not even while it is made."""
    return _quiet()()


@cache
def _quiet() -> Any:
    """The first solver of a process prints a banner since HiGHS 1.15, once its callbacks are there.

    That is before a caller of `highspy.Highs()` can forbid it, and into what `--json` prints.
    """
    import highspy

    class Quiet(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return Quiet
