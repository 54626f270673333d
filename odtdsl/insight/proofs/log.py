"""Refute what would be better than an answer, and write it down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from odtdsl.backends.base import Limits
from odtdsl.base.diagnostics.model import error
from odtdsl.base.version import VERSION
from odtdsl.datasets.digest import digest
from odtdsl.driver.result import Result
from odtdsl.insight.proofs.claims import MADE_BY, Claim, depth_of, formula, in_words, optimum
from odtdsl.insight.proofs.file import Part, Proof, Refutation
from odtdsl.problem.ir.dump import dump_problem
from odtdsl.problem.ir.forms import Core, DepthStage
from odtdsl.problem.ir.problem import Problem
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis

SOLVER = "glucose4"
"""Writes the shortest proofs of those that can be interrupted."""


def prove(
    analysis: Analysis,
    result: Result,
    *,
    deadline: float | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Proof:
    """A proof of all that a result of `sat` says is proven.

    Parameters
    ----------
    analysis
        The spec that was solved.
    result
        Its answer: what is proven of it is refuted once more, on a solver that logs its steps.
    deadline
        `time.monotonic()` value at which to stop.
    interrupted
        Asked often; True stops.

    Raises
    ------
    OdtError
        P201: the result proves nothing. P202: a limit was met.
    """
    core = normalize(analysis.rows)
    found = claims_of(core, result)
    if not found:
        raise error(
            "P201",
            (
                f"there is nothing to prove: the status is {result.status}, and no stage of the "
                "objective is proven"
            ),
            helps=("allow more time: `--within 10min`",),
        )
    limits = Limits(deadline=deadline, interrupted=interrupted)
    texts = tuple(stage.text for stage in analysis.problem.objective)
    parts = tuple(
        Part(statement=in_words(core, texts, one), claim=one, refutation=refute(core, one, limits))
        for one in found
    )
    made = f"odtdsl {VERSION}, {MADE_BY}; python-sat {version('python-sat')}, {SOLVER}"
    return Proof(
        made_by=made,
        data=digest(analysis.rows.data.table),
        spec=spec_lines(analysis.problem),
        parts=parts,
    )


def claims_of(core: Core, result: Result) -> tuple[Claim, ...]:
    """What a result says is proven."""
    if result.status == "infeasible":
        return (Claim(stage=None),)
    values: list[Fraction] = []
    for form, stage in zip(core.objective, result.stages, strict=True):
        if not stage.proven or stage.value is None:
            break
        values.append(stage.value if isinstance(form, DepthStage) else form.sign * stage.value)
    return optimum(values)


def spec_lines(problem: Problem) -> tuple[str, ...]:
    """What a spec requires, line by line: all but the source of the rows and how to search."""
    lines = dump_problem(problem).splitlines()
    return tuple(line for line in lines if line.split(" ")[0] not in ("data", "solve", "growth"))


def refute(core: Core, claim: Claim, limits: Limits) -> Refutation | None:
    """The formula of a claim on the rows that matter, and the steps of a solver on it."""
    from odtdsl.backends.sat.search import DepthSolver
    from odtdsl.backends.staged import Stopped

    if depth_of(core, claim) < 0:
        return None
    lowered = formula(core, claim, ())
    live = DepthSolver(lowered, limits)
    try:
        _must_fail(live)
        rows = None if lowered.shape.every else tuple(sorted(lowered.in_))
        lowered = formula(core, claim, () if rows is None else rows)
        live.close()
        live = DepthSolver(lowered, limits, SOLVER, with_proof=True)
        _must_fail(live)
        steps = _ended(live.solver.get_proof() or [])
    except Stopped:
        raise error(
            "P202",
            "no proof was written: the search was stopped before it was complete",
            helps=("allow more time: `--within 10min`",),
        ) from None
    finally:
        live.close()
    literals = np.fromiter(_flat(lowered.formula.clauses), dtype=np.int32)
    return Refutation(rows=rows, variables=lowered.formula.top, formula=literals, steps=steps)


def _must_fail(live: object) -> None:
    from odtdsl.backends.sat.search import DepthSolver

    assert isinstance(live, DepthSolver)
    if live.tree([]) is not None:
        raise RuntimeError("a tree was found that is better than the one proven optimal")


def _ended(steps: list[str]) -> bytes:
    """Steps up to the empty clause, which a solver may omit if it is trivial."""
    lines = [step.strip() for step in steps]
    end = lines.index("0") if "0" in lines else len(lines)
    return "".join(f"{line}\n" for line in [*lines[:end], "0"]).encode()


def _flat(clauses: list[tuple[int, ...]]) -> Iterator[int]:
    return chain.from_iterable((*clause, 0) for clause in clauses)


def write(proof: Proof, path: Path) -> None:
    """Write a proof to a file, whole or not at all.

    Raises
    ------
    OdtError
        F301: it cannot be written.
    """
    from odtdsl.base.files import write_text
    from odtdsl.insight.proofs.file import to_bytes

    write_text(path, to_bytes(proof).decode())
