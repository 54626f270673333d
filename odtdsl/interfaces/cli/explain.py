"""`odt explain`: conflicts of rules, their prices, and curves over a bound."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.interfaces.cli.commands import Force, Json, OnSpec, Option, Using, Within
from odtdsl.interfaces.cli.common import (
    EXPLAINED_CODES,
    WRONG,
    print_json,
    print_lines,
    warn,
)
from odtdsl.interfaces.cli.outputs import check_outputs, deliver, files_of

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.insight.explanations import Curve, Explanation


@dataclass(frozen=True, kw_only=True)
class Explain(OnSpec):
    """Say which rules conflict and what would do; where none do, what each rule costs."""

    using: Using = None
    within: Within = None
    every: Annotated[bool, Option("--all", help="Find every minimal conflict, up to 20.")] = False
    deeper: Annotated[
        int, Option(least=0, most=30, help="Levels to add when the depth is relaxed.")
    ] = 1
    curve: Annotated[
        str | None, Option(help="Trace the objective over the bound of this rule.")
    ] = None
    points: Annotated[
        int | None, Option(least=1, help="Maximum number of points of the curve; default 200.")
    ] = None
    jobs: Annotated[int | None, Option(least=1, help="Number of processes for the curve.")] = None
    csv: Annotated[Path | None, Option(help="Write the curve as CSV.")] = None
    svg: Annotated[Path | None, Option(help="Draw the curve as SVG.")] = None
    proof: Annotated[
        Path | None, Option(help="Write a certificate that no tree keeps the first conflict.")
    ] = None
    force: Force = False
    as_json: Json = False

    def run(self) -> int:
        """Print why no tree satisfies the rules, what each rule costs, or the curve of a rule."""
        began = time.monotonic()
        from odtdsl.base.interrupts import interruptible
        from odtdsl.base.limits import counting, parse_seconds
        from odtdsl.insight import explanations
        from odtdsl.interfaces.cli.progress import Waiting
        from odtdsl.presentation.explanations import explained

        _check_curve(
            self.curve, {"points": self.points, "jobs": self.jobs, "csv": self.csv, "svg": self.svg}
        )
        problem = self.problem()
        outputs = {"csv": self.csv, "svg": self.svg, "proof": self.proof}
        check_outputs(outputs, files_of(problem), self.force)
        if self.proof is not None:
            from odtdsl.insight.proofs.certificate import rows_of

            beside = {"proof": rows_of(self.proof)}  # nothing says whose they are, but its place
            check_outputs(beside, files_of(problem), self.force or self.proof.exists())
        seconds = None if self.within is None else parse_seconds(self.within)
        with counting(began, seconds):
            analysis = problem.analysis()
        with interruptible():
            if self.curve is not None:
                if not self.as_json:
                    warn(analysis.warnings)
                with Waiting(quiet=self.as_json) as waiting:
                    traced = explanations.trace(
                        analysis,
                        self.curve,
                        backend=self.using,
                        seconds=seconds,
                        tell=waiting.tell,
                        points=self.points or explanations.MAX_CURVE_POINTS,
                        jobs=self.jobs or 1,
                        began=began,
                    )
                return _tell_curve(traced, self.csv, self.svg, self.as_json)
            with Waiting(quiet=self.as_json) as waiting:
                found = explanations.explain(
                    analysis,
                    backend=self.using,
                    seconds=seconds,
                    deeper=self.deeper,
                    tell=waiting.tell,
                    most=explanations.MAX_CONFLICTS if self.every else 1,
                    began=began,
                )
            proven, warnings = self._certified(analysis, found, seconds)
            if self.as_json:
                print_json(found.to_json() | proven)
            else:
                warn((*found.other_warnings, *warnings))
                print_lines(explained(found))
                if proven.get("proof") is not None:
                    within = "no tree within the depth and leaves of the spec keeps the conflict"
                    print_lines(("", f"{within}, certified: {self.proof}"))
                    rows = proven["proof"]["rows"]
                    print_lines((f"  on a machine without odtdsl: odtcheck {self.proof} {rows}",))
        return WRONG if warnings else EXPLAINED_CODES[found.status]

    def _certified(
        self, analysis: Analysis, found: Explanation, seconds: float | None
    ) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
        """The key `proof` of the JSON, if one is asked for; or why there is none, as warnings."""
        if self.proof is None:
            return {}, ()
        from odtdsl.insight.proofs.conflict import certify_conflict

        try:
            if not found.conflicts:
                raise error("P201", f"there is no conflict to certify: the spec is {found.status}")
            rows = certify_conflict(analysis, found.conflicts[0].names, self.proof, seconds)
        except OdtError as failure:
            if not all(one.code in ("P201", "P203", "F301") for one in failure.diagnostics):
                raise
            told = tuple(replace(one, severity="warning") for one in failure.diagnostics)
            return {"proof": None}, told
        return {"proof": {"file": str(self.proof), "rows": str(rows)}}, ()


def _check_curve(curve: str | None, options: dict[str, object]) -> None:
    for name, value in options.items():
        if curve is None and value is not None:
            raise error(
                "U312",
                f"`--{name}` is an option of curves, but there is no `--curve`",
                helps=("add `--curve RULE`",),
            )


def _tell_curve(curve: Curve, csv: Path | None, svg: Path | None, as_json: bool) -> int:
    from odtdsl.base.files import write_text
    from odtdsl.presentation.explanations import traced

    writes = []
    if csv is not None:
        writes.append(lambda: write_text(csv, curve.to_csv()))
    if svg is not None:
        writes.append(lambda: write_text(svg, curve.to_svg()))
    deliver(
        lambda: print_json(curve.to_json()) if as_json else print_lines(traced(curve)),
        *writes,
    )
    return EXPLAINED_CODES[curve.status]


__all__ = ["Explain"]
