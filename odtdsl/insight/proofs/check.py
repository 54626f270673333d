"""Check a proof against a spec and its data, and say what it proves.

The formula of each part is made again from the spec, the data and the rows that the part names,
and must be that of the file. A checker in C++, which shares no code with the encoder, then follows
the refutation step by step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.lowering import MAX_FORMULA_DEPTH
from odtdsl.base import engine
from odtdsl.base.back_ends import able
from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.datasets.digest import digest
from odtdsl.driver.choice import choose, refused
from odtdsl.insight.proofs.claims import (
    Claim,
    depth_of,
    formula,
    in_words,
    require_tree,
    user_value,
)
from odtdsl.insight.proofs.file import Literals, Part, Proof, Refutation, clause_at
from odtdsl.insight.proofs.log import spec_lines
from odtdsl.problem.ir.forms import Core, DepthStage, LinearStage
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A part of a proof that holds.

    Attributes
    ----------
    says
        What is proven, in the words of the spec.
    rows
        Training rows whose classes the formula has.
    variables, clauses, lemmas
        Of the formula; and the steps that were checked. 0 where the claim holds by itself.
    certified
        Whether it is of a certificate, which has no formula.
    """

    statement: str
    claim: Claim
    rows: int = 0
    variables: int = 0
    clauses: int = 0
    lemmas: int = 0
    certified: bool = False
    seconds: float = field(default=0.0, compare=False)


def check(
    proof: Proof, analysis: Analysis, *, interrupted: Callable[[], bool] | None = None
) -> tuple[Verified, ...]:
    """Check all parts of a proof.

    Parameters
    ----------
    proof
        As read from a file.
    analysis
        The spec and the data that it should be of.
    interrupted
        Asked now and then; True stops.

    Returns
    -------
    tuple of Verified
        What is proven, part by part.

    Raises
    ------
    OdtError
        P103, P104: of other data or another spec. P105: a formula is not that of the spec. P106:
        a step is not implied. P107: no empty clause. P101: a step is none, or a claim makes no
        sense. P202: stopped.
    """
    _same_problem(proof, analysis)
    core = normalize(analysis.rows)
    require_tree(core)
    prover = able("write proofs")
    choice = choose(core, prover)
    if choice.name is None:
        raise refused(choice, prover, analysis.problem.source)
    texts = tuple(stage.text for stage in analysis.problem.objective)
    found = []
    for number, part in enumerate(proof.parts, 1):
        _sensible(core, part)
        statement = in_words(core, texts, part.claim)
        found.append(_part(core, part, number, statement, interrupted))
    return tuple(found)


def reached(core: Core, values: Sequence[Fraction], found: Sequence[Verified]) -> tuple[bool, ...]:
    """Per stage, whether no tree is better there that is no worse in the stages before.

    `values` are those of a tree in the terms of the spec. All true: the tree is optimal.
    """
    own = [
        value if isinstance(form, DepthStage) else form.sign * value
        for form, value in zip(core.objective, values, strict=True)
    ]
    return tuple(
        any(
            one.claim.stage == stage
            and one.claim.below is not None
            and one.claim.below >= value
            and all(a >= b for a, b in zip(one.claim.earlier, own, strict=False))
            for one in found
        )
        for stage, value in enumerate(own)
    )


# ---- what it is of


def _same_problem(proof: Proof, analysis: Analysis) -> None:
    wrong = []
    if proof.data != digest(analysis.rows.data.table):
        wrong.append(
            Diagnostic(
                code="P103",
                message="the proof was written for other data: the training rows differ",
                helps=("check it with the data it was written for: `--data FILE`",),
            )
        )
    if differing := _differing(proof.spec, spec_lines(analysis.problem)):
        wrong.append(
            Diagnostic(
                code="P104",
                message="the proof was written for another spec",
                notes=differing,
                helps=("check it with the spec it was written for",),
                source=analysis.problem.source,
            )
        )
    if wrong:
        raise OdtError(wrong)


def _differing(proof: Sequence[str], spec: Sequence[str]) -> tuple[str, ...]:
    """Lines that only one of the two has."""
    lines = [" ".join(line.splitlines()) for line in spec]
    here = [f"only in the proof: {line}" for line in proof if line not in lines]
    there = [f"only in the spec: {line}" for line in lines if line not in proof]
    if not here and not there and list(proof) != lines:
        return ("the lines are the same, in another order",)
    return (*here, *there)


def _sensible(core: Core, part: Part) -> None:
    """Check that the claim names existing stages, possible values and existing rows."""
    claim, made = part.claim, part.refutation
    stages = len(core.objective)
    wrong = ""
    if claim.stage is not None and (claim.stage >= stages or len(claim.earlier) != claim.stage):
        wrong = (
            f"it names stage {claim.stage + 1} after {len(claim.earlier)} earlier values; the "
            f"objective has {stages} stages"
        )
    else:
        values = [*claim.earlier, *([] if claim.below is None else [claim.below])]
        for stage, value in enumerate(values):
            if not _can_be(core, stage, value):
                wrong = f"stage {stage + 1} cannot be {value}"
    if not wrong and depth_of(core, claim) > MAX_FORMULA_DEPTH:
        wrong = f"it is about trees deeper than {MAX_FORMULA_DEPTH}"
    if not wrong and made is None and depth_of(core, claim) >= 0:
        wrong = "it does not hold trivially, but the part has no refutation"
    if made is not None and made.rows and max(made.rows) >= core.n_rows:
        wrong = f"row {max(made.rows)} is not one of the {core.n_rows} training rows"
    if made is not None and not wrong and depth_of(core, claim) < 0:
        wrong = "it holds trivially, but the part has a refutation"
    if wrong:
        raise error(
            "P101",
            f"line {part.line + 2} of the proof: the claim is invalid: {wrong}",
            helps=("write the proof again: `odt solve SPEC --proof FILE`",),
        )


def _can_be(core: Core, stage: int, value: Fraction) -> bool:
    """A value between two that a stage can have would be refuted as the lower one."""
    form = core.objective[stage]
    if isinstance(form, DepthStage):
        return value.denominator == 1 and value >= 0
    return isinstance(form, LinearStage) and (value * form.measure.denominator).denominator == 1


# ---- one part


def _part(
    core: Core, part: Part, number: int, statement: str, interrupted: Callable[[], bool] | None
) -> Verified:
    began = time.monotonic()
    made = part.refutation
    if made is None:
        return Verified(statement=statement, claim=part.claim)
    lowered = formula(core, part.claim, () if made.rows is None else made.rows)
    if (made.rows is None) != lowered.shape.every:
        raise _other_formula(
            number, "it uses all rows" if made.rows is None else "it leaves rows out"
        )
    _same_formula(lowered.formula, made, number)
    steps = engine.check_rup(made.formula, made.steps, interrupted)
    _accepted(steps, made, number, statement)
    return Verified(
        statement=statement,
        claim=part.claim,
        rows=len(lowered.in_),
        variables=lowered.formula.top,
        clauses=len(lowered.formula.clauses),
        lemmas=steps.lemmas,
        seconds=time.monotonic() - began,
    )


def _same_formula(own: Formula, made: Refutation, number: int) -> None:
    mine, theirs = _flat(own), made.formula
    both = min(len(mine), len(theirs))
    differing = np.flatnonzero(mine[:both] != theirs[:both])
    if len(differing):
        clause = int((theirs[: differing[0]] == 0).sum())
        raise _other_formula(number, *_difference(own, made, clause))
    if own.top != made.variables or len(mine) != len(theirs):
        raise _other_formula(
            number,
            (
                f"it has {made.variables} variables and {int((theirs == 0).sum())} clauses; the "
                f"formula of the spec has {own.top} and {len(own.clauses)}"
            ),
        )


def _flat(own: Formula) -> Literals:
    return np.fromiter(
        (literal for clause in own.clauses for literal in (*clause, 0)), dtype=np.int32
    )


def _difference(own: Formula, made: Refutation, index: int) -> tuple[str, ...]:
    group = [one for one in own.groups if one.first <= index]
    of = f" (from: {group[-1].title})" if group else ""
    line = made.first_clause + index
    here = " ".join(map(str, (*clause_at(made.formula, index), 0)))
    there = " ".join(map(str, (*own.clauses[index], 0)))
    return (f"line {line} is `{here}`", f"the spec and the data give `{there}`{of}")


def _other_formula(number: int, *notes: str) -> OdtError:
    return error(
        "P105",
        f"part {number} of the proof refutes a formula that is not that of the claim",
        notes=notes,
        helps=(
            (
                "other versions of odtdsl or python-sat may generate other clauses: write the "
                "proof again with `odt solve SPEC --proof FILE`"
            ),
        ),
    )


def _accepted(steps: engine.RupAnswer, made: Refutation, number: int, statement: str) -> None:
    """Raise what the checker reports of the steps."""
    line = made.first_step + steps.line - 1
    unproven = f"not proven: {statement}"
    match steps.status:
        case "verified":
            return
        case "not_implied":
            raise error(
                "P106",
                (
                    f"line {line}: this step of part {number} does not follow by unit "
                    "propagation from the formula and the earlier steps"
                ),
                notes=(f"the step is `{_step(made, steps.line)}`", unproven),
            )
        case "no_empty":
            raise error(
                "P107",
                f"part {number} of the proof never derives the empty clause",
                notes=(unproven,),
                helps=("its last step should be the line `0`",),
            )
        case "malformed":
            raise error(
                "P101",
                f"line {line}: a step of part {number} is not a clause",
                notes=(f"the step is `{_step(made, steps.line)}`", unproven),
            )
        case _:
            raise error(
                "P202",
                "the check of the proof was stopped before it was complete",
                notes=(unproven,),
            )


def _step(made: Refutation, line: int) -> str:
    text = made.steps.split(b"\n", line)[line - 1].decode("utf-8", "replace")
    return text if len(text) <= 60 else f"{text[:57]}..."


__all__ = ["Verified", "check", "reached", "user_value"]
