"""What `odt audit` finds: the rules that a saved tree satisfies, and what a proof shows of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odtdsl.auditor.audit import Audit, audit
from odtdsl.auditor.results import audit_to_json
from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.base.diagnostics.render import to_json
from odtdsl.base.numbers import as_number, only
from odtdsl.datasets.digest import digest

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.driver.scoring import TestScore
    from odtdsl.insight.proofs.check import Verified


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A tree, a proof, or both, checked.

    Attributes
    ----------
    texts
        The stages of the objective, such as `minimize errors`.
    audit
        Of the tree; None without one.
    proven
        What the proof proves; None without one.
    shortfalls
        Stages where the proof does not show that no tree is better than this one.
    test
        The tree on the test rows of the spec; None without a tree or test rows. Rules are for
        training rows, so that none of them fails there.
    trained
        How many of these rows are training rows of the spec, where they are those of its own file;
        0 for others.
    warnings
        What an audit does not refuse and a reader should know: classes never predicted.
    """

    texts: tuple[str, ...]
    audit: Audit | None
    proven: tuple[Verified, ...] | None
    shortfalls: tuple[Diagnostic, ...]
    test: TestScore | None = None
    trained: int = 0
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every rule holds and every proof is of this tree."""
        return not self.shortfalls and (self.audit is None or self.audit.holds)

    def to_json(self) -> dict[str, Any]:
        """As data."""
        from odtdsl.insight.proofs.commands import verified_json

        told: dict[str, Any] = {"holds": self.holds}
        if self.audit is not None:
            told["objective"] = as_number(only(self.audit.objective))
            told["audit"] = audit_to_json(self.audit)
            told["test"] = None if self.test is None else self.test.to_json()
            told["trained"] = self.trained
            told["warnings"] = [to_json(one) for one in self.warnings]
        if self.proven is not None:
            told["proven"] = verified_json(self.proven)
            told["diagnostics"] = [to_json(one) for one in self.shortfalls]
        return told


def audited(
    analysis: Analysis, model: Path | None, proof: Path | None, sample: str | None = None
) -> Audited:
    """Check a saved tree, a proof, or that the one proves the other optimal.

    Raises
    ------
    OdtError
        As of `auditor.audit.audit`, `insight.proofs.file.read` and `insight.proofs.check.check`.
    """
    from odtdsl.driver.scoring import model_warnings, score
    from odtdsl.insight.saved_results import recounted
    from odtdsl.predictors.saving import load_saved

    found: Audit | None = None
    test: TestScore | None = None
    trained = 0
    warnings: tuple[Diagnostic, ...] = ()
    if model is not None:
        saved, said = load_saved(model)
        found = audit(saved, analysis.rows)
        found = replace(found, lines=found.lines + recounted(said, saved, analysis, found))
        if analysis.test is not None and analysis.test.n_rows:
            test = score(saved, analysis.test, analysis.rows)
            if digest(analysis.table) == digest(analysis.test.table):
                trained = analysis.rows.data.n_rows
        warnings = model_warnings(saved, analysis.rows)
    proven: tuple[Verified, ...] | None = None
    shortfalls: tuple[Diagnostic, ...] = ()
    if proof is not None:
        from odtdsl.insight.proofs import commands

        proven = commands.verify(analysis, proof, sample)
        if found is not None:
            shortfalls = commands.shortfalls(analysis, found, proven)
    return Audited(
        texts=tuple(stage.text for stage in analysis.problem.objective),
        audit=found,
        proven=proven,
        shortfalls=shortfalls,
        test=test,
        trained=trained,
        warnings=warnings,
    )
