"""Certificates of conflicts: no tree keeps some rules of a spec, as `odt explain --proof` shows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.model import error
from odtdsl.driver import pipeline
from odtdsl.insight.proofs import certificate, covered
from odtdsl.insight.proofs.certify import NOTHING
from odtdsl.insight.proofs.commands import CERTIFIER, ledger_of
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis


def certify_conflict(
    analysis: Analysis, names: Iterable[str], path: Path, seconds: float | None = None
) -> Path:
    """Write and check a certificate that no tree within the skeleton keeps these rules.

    The file is about the spec without its other rules. Returns the path of its rows.

    Raises
    ------
    OdtError
        P203: no certificate covers the rules. P201: there is none, as they are refuted without a
        search, or the time was over. P109: `odtcheck` refuses it. F301: a file cannot be written.
    """
    fewer = certificate.of_rules(analysis, frozenset(names))
    covered.require_covered(normalize(fewer.rows))
    ledger = ledger_of(CERTIFIER)
    assert ledger is not None, "of the back end that certifies"
    result = pipeline.solve(fewer, backend=CERTIFIER, seconds=seconds, threads=1, ledger=ledger)
    if result.status != "infeasible":
        raise error(
            "P201",
            f"the conflict is not certified: the status is {result.status}",
            helps=("allow more time: `--within 10min`",),
        )
    beside = certificate.write(fewer, result, ledger, path, only=True)
    found = certificate.verify(analysis, path)
    if found.verdict != NOTHING:
        raise error(
            "P109",
            "the certificate does not show that the rules conflict",
            notes=tuple(found.claims),
            helps=("this is a mistake of odtdsl, or the time limit was too short",),
        )
    return beside
