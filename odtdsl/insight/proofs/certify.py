"""Results with a certificate: `Result.certify`."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.base.back_ends import AUTO
from odtdsl.base.diagnostics.model import error
from odtdsl.base.limits import parse_seconds
from odtdsl.compiler import Analysis
from odtdsl.driver import pipeline
from odtdsl.driver.overrides import Overrides
from odtdsl.driver.result import Certificate
from odtdsl.insight.proofs import certificate, covered
from odtdsl.insight.proofs.commands import CERTIFIER, ledger_of
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.backends.ledger import Ledger
    from odtdsl.driver.result import Result

NOTHING = "certified: no tree keeps the rules"
"""What `odtcheck` says last of a problem without a tree."""


def _require_proven(result: Result) -> None:
    if result.status not in ("optimal", "infeasible"):
        raise error(
            "P204",
            f"only what is proven can be certified, and the status is {result.status}",
            helps=("allow more time",),
        )


def analysis_of(result: Result) -> Analysis:
    """The problem of a result; P204 without its rows."""
    rows = result.rows
    if rows is None:
        raise error(
            "P204",
            "the result has no training rows, so it cannot be certified",
            helps=("certify it where it was solved, before it is pickled",),
        )
    return Analysis(problem=rows.problem, rows=rows, test=None, warnings=(), table=rows.data.table)


def certify(result: Result, path: Path | None, within: float | str | timedelta | None) -> Result:
    """The result with a certificate that `odtcheck` has checked; errors as of `Result.certify`."""
    seconds = parse_seconds(within) if isinstance(within, str) else within
    seconds = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    analysis = analysis_of(result)
    covered.require_covered(normalize(analysis.rows))
    _require_proven(result)
    ledger = ledger_of(CERTIFIER)
    assert ledger is not None, "of the back end that certifies"
    began = time.monotonic()
    again = pipeline.solve(analysis, backend=CERTIFIER, seconds=seconds, began=began, ledger=ledger)
    return checked(analysis, result, again if result.tree is None else result, ledger, path)


def logged(analysis: Analysis) -> tuple[Ledger | None, Overrides]:
    """Where the search that is to come leaves its certificate, and what is asked of it for that.

    None where the spec names another back end, whose answers `Result.certify` solves again for.
    Raises P203, before any search, for what no certificate covers.
    """
    covered.require_covered(normalize(analysis.rows))
    if analysis.problem.options.backend not in (AUTO, CERTIFIER):
        return None, Overrides()
    return ledger_of(CERTIFIER), Overrides(backend=CERTIFIER)


def checked(
    analysis: Analysis, result: Result, shown: Result, ledger: Ledger, path: Path | None = None
) -> Result:
    """A result with a certificate from what a search has left, after `odtcheck` has checked it.

    `shown`: the answer that the certificate is about. Errors as of `Result.certify`.
    """
    _require_proven(result)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.cert" if path is None else path
        certificate.write(analysis, shown, ledger, file)
        found = certificate.verify(analysis, file)
        size = file.stat().st_size
    if result.tree is not None and not found.optimal:
        raise error(
            "P109",
            "the certificate does not show that the tree of the result is optimal",
            notes=tuple(found.claims),
            helps=("this is a mistake of odtdsl, or the time limit was too short",),
        )
    return replace(
        result,
        certificate=Certificate(
            certified=found.optimal or found.verdict == NOTHING,
            claims=found.claims,
            steps=found.steps,
            rules=tuple(found.rules.split()),
            size=size,
            path=path,
        ),
    )
