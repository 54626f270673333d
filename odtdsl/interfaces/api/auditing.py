"""Models and proofs, checked by code without solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.files import as_path
from odtdsl.interfaces.api.inputs import FilePath, Inputs
from odtdsl.interfaces.api.reading import ModelLike, model_of, spec_of

if TYPE_CHECKING:
    from odtdsl.auditor.audit import Audit
    from odtdsl.driver.result import Result
    from odtdsl.insight.proofs.check import Verified
    from odtdsl.predictors.predictor import Predictor
    from odtdsl.predictors.tree import Tree


def audit(tree: Predictor | Result | FilePath, model: ModelLike, **inputs: Unpack[Inputs]) -> Audit:
    """Check a tree or diagram against a model and its data, by code without solvers.

    Parameters
    ----------
    tree
        A tree or a diagram, a result that has one, or the path of a saved one.
    model
        A model, a text or a path.
    inputs
        As in `Inputs`.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; F201 to F210: the file holds no tree; U301: the
        tree is not one for this problem; U401: there is no tree.

    Examples
    --------
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "no", "yes", "yes"]}
    >>> model = Model().data(rows).target("sick").tree(depth=1).minimize("errors")
    >>> found = audit(model.solve(), model.rule("big", "forall leaf: size >= 3"))
    >>> [(line.rule, line.holds) for line in found.lines if line.rule == "big"]
    [('big', False)]
    """
    from odtdsl.auditor import audit as checker

    return checker.audit(model_of(tree), spec_of(model).analyse(**inputs).rows)


def check_proof(
    proof: FilePath,
    model: ModelLike,
    tree: Tree | Result | FilePath | None = None,
    **inputs: Unpack[Inputs],
) -> tuple[Verified, ...]:
    """Check a proof that nothing is better, step by step: see `docs/how-to/proofs.md`.

    Parameters
    ----------
    proof
        A file that `solve(..., proof=...)` or `odt solve --proof` has written.
    model
        A model, a text or a path.
    tree
        A tree, a result or a path: the proof must show that it is optimal, too. That it satisfies
        all rules is for `audit` to say.
    inputs
        As in `Inputs`.

    Returns
    -------
    tuple of Verified
        What is proven, part by part.

    Raises
    ------
    OdtError
        P101 to P107: the proof is none, or proves nothing of this model. P108: it does not show
        that the tree is optimal. P202: interrupted.

    Examples
    --------
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "yes", "no", "yes"]}
    >>> spec = Model().data(rows).target("sick").add("tree").minimize("depth")
    >>> spec = spec.rule("exact", "errors <= 0")
    >>> result = spec.solve(proof="/dev/null")
    >>> result.objective, result.backend
    (Fraction(2, 1), 'sat')
    """
    from odtdsl.auditor import audit as checker
    from odtdsl.insight.proofs.commands import shortfalls, verify

    analysis = spec_of(model).analyse(**inputs)
    found = verify(analysis, as_path(proof, "the proof"))
    if tree is not None:
        audited = checker.audit(model_of(tree), analysis.rows)
        if short := shortfalls(analysis, audited, found):
            raise OdtError(short)
    return found


__all__ = ["audit", "check_proof"]
