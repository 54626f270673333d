"""`odt compare`: a spec on all back ends, side by side."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

from odtdsl.base.back_ends import able
from odtdsl.interfaces.cli.commands import Gap, Json, OnSpec, Option, Seed, Threads
from odtdsl.interfaces.cli.common import STATUS_CODES, WRONG, print_json, print_lines, warn


@dataclass(frozen=True, kw_only=True)
class Compare(OnSpec):
    """Solve a spec on every back end that can, side by side; their proofs must agree."""

    on: Annotated[
        list[str] | None,
        Option(help='A back end, once for each, such as exact or "milp (cptree)"; default: all.'),
    ] = None
    solvers: Annotated[
        str | None, Option(help="Solvers of milp to compare, such as highs,scip.")
    ] = None
    within: Annotated[str | None, Option(help="Time limit of each run.")] = None
    gap: Gap = None
    threads: Threads = None
    seed: Seed = None
    as_json: Json = False

    def run(self) -> int:
        """Solve the spec on every back end that supports it, and print a table."""
        began = time.monotonic()
        from odtdsl.base.interrupts import interruptible
        from odtdsl.base.limits import counting, parse_gap, parse_seconds
        from odtdsl.driver import comparison
        from odtdsl.interfaces.cli.progress import Waiting
        from odtdsl.presentation import console

        seconds = None if self.within is None else parse_seconds(self.within)
        with counting(began, seconds):
            analysis = self.problem().analysis()
        if not self.as_json:
            warn(analysis.warnings)
        with interruptible(), Waiting(quiet=self.as_json):
            found = comparison.compare(
                analysis,
                backends=self._asked(),
                seconds=seconds,
                gap=None if self.gap is None else parse_gap(self.gap),
                threads=self.threads,
                seed=self.seed,
            )
        if self.as_json:
            print_json(found.to_json())
        else:
            print_lines(console.compared(found))
        return STATUS_CODES[found.status] if found.ran else WRONG

    def _asked(self) -> list[str] | None:
        """What `--on` and `--solvers` name; None where they name nothing."""
        names = [] if self.solvers is None else self.solvers.split(",")
        of_solvers = [f"{able('write programs')} ({name.strip()})" for name in names]
        return [*(self.on or ()), *of_solvers] or None


__all__ = ["Compare"]
