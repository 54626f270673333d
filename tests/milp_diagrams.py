"""Tiny problems with diagrams for the tests of `milp`: rules of all kinds, and all diagrams."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
from brute_diagrams import all_diagrams
from milp_trees import clause, path_sum, random_rows
from random_cores import HERE, errors_of, random_filter

from odtdsl.backends.base import Limits
from odtdsl.backends.milp.diagram_search import LoweredDiagram, lower_diagram
from odtdsl.backends.milp.highs import Solver
from odtdsl.backends.milp.pyomo_model import build, standard_form
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.families import build_families
from odtdsl.problem.ir.forms import (
    Additive,
    Clause,
    Core,
    DepthStage,
    Linear,
    LinearStage,
    Order,
    PathTotal,
    SignedAtom,
    StageForm,
)
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram
from odtdsl.problem.ir.rows import Rows

PATHS = ("used_path", "order", "budget")
MODELS = ("used_model", "root", "depth", "linear_model", "path_total")
SPLITS = ("linear_split",)
KINDS = (*PATHS, *MODELS, *SPLITS)

LEAST, MOST = 30, 2_500
"""Problems with fewer or more diagrams are drawn again."""


def _by_splits(rng: random.Random, one: Clause) -> Clause:
    """The clause with prices of splits in its measures of the model."""

    def literal(x: SignedAtom) -> SignedAtom:
        atom = x.atom
        if one.scope == "model" and isinstance(atom, Linear | PathTotal):
            measure = replace(atom.measure, splits=rng.randint(-1, 2))
            return SignedAtom(atom=replace(atom, measure=measure), positive=x.positive)
        return x

    return replace(one, literals=tuple(map(literal, one.literals)))


def random_clause(rng: random.Random, rows: Rows, kinds: tuple[str, ...]) -> Clause:
    while True:
        found = clause(rng, rows, kinds)
        atoms = [literal.atom for literal in found.literals]
        if not any(isinstance(atom, Order) and atom.here == atom.above for atom in atoms):
            return _by_splits(rng, found)
        if len(rows.problem.features) == 1:  # the language has no order of a column with itself
            kinds = tuple("used_path" if kind == "order" else kind for kind in kinds)


def some_kinds(rng: random.Random) -> tuple[str, ...]:
    """Kinds of one scope for the literals of a clause."""
    scope = rng.choice((PATHS, MODELS, SPLITS))
    return tuple(rng.choice(scope) for _ in range(rng.choice([1, 1, 2, 3])))


def objective(rng: random.Random, rows: Rows) -> tuple[StageForm, ...]:
    ints = np.random.default_rng(rng.randrange(2**32))
    errors = LinearStage(measure=errors_of(rows))
    priced = LinearStage(measure=errors_of(rows) + Additive(splits=1, denominator=3))
    anything = Additive(
        output=ints.integers(-3, 4, (rows.n_rows, rows.n_classes)),
        splits=rng.randint(-2, 2),
        columns=ints.integers(-2, 3, len(rows.problem.features)),
        leaves=rng.randint(-2, 2),
        constant=rng.randint(-2, 2),
        denominator=rng.randint(1, 3),
    )
    gap = LinearStage(measure=errors_of(rows), maxima=((Fraction(1, 2), (anything,)),))
    costly = LinearStage(measure=errors_of(rows), path_sum=path_sum(rng, rows))
    splits = LinearStage(measure=Additive(splits=1))
    return rng.choice(
        [
            (errors,),
            (priced,),
            (LinearStage(measure=anything),),
            (gap,),
            (costly,),
            (errors, splits),
            (DepthStage(), errors),
            (errors, DepthStage()),
            (splits, priced),
        ]
    )


def tiny(
    rng: random.Random,
    *,
    clauses: tuple[tuple[str, ...], ...] = (),
    widths: tuple[int, ...],
    most_rows: int = 8,
    stages: bool = False,
) -> tuple[Core, list[RawDiagram]]:
    """A problem with `LEAST` to `MOST` diagrams, and these; `clauses` has the kinds of literals."""
    while True:
        rows = random_rows(rng, n_rows=rng.randint(4, most_rows), n_classes=rng.randint(1, 3))
        core = Core(
            n_rows=rows.n_rows,
            n_classes=rows.n_classes,
            columns=tuple(f.name for f in rows.problem.features),
            families=build_families(rows.problem, rows.data),
            labels=rows.labels,
            skeleton=DiagramSkeleton(widths=widths),
            filters=tuple(random_filter(rng, rows) for _ in range(rng.choice([0, 0, 0, 1]))),
            clauses=tuple(random_clause(rng, rows, kinds) for kinds in clauses),
            objective=(objective(rng, rows) if stages else (LinearStage(measure=errors_of(rows)),)),
        )
        found = list(islice(all_diagrams(core), MOST + 1))
        if LEAST <= len(found) <= MOST:
            return core, found


def best(core: Core, diagrams: list[RawDiagram]) -> tuple[Fraction, ...] | None:
    """The least stage values over the diagrams that satisfy the rules; None where none does."""
    values = []
    for raw in diagrams:
        evaluation = DiagramEvaluation(core, raw)
        if not evaluation.violations():
            values.append(tuple(evaluation.stage_value(s) for s in core.objective))
    return min(values, default=None)


class LoadedProgram:
    """A program in HiGHS that is asked about many diagrams, by bounds on their columns."""

    def __init__(self, core: Core) -> None:
        core = replace(core, objective=core.objective[:1])
        self.lowered: LoweredDiagram = lower_diagram(core)
        program = self.lowered.program
        self.solver = Solver(program, standard_form(program, build(program)))
        self.lower = np.array(program.column_lower, dtype=np.float64)
        self.upper = np.array(program.column_upper, dtype=np.float64)

    def admits(self, raw: RawDiagram) -> bool:
        choices = self.lowered.encoding.choices(raw)  # type: ignore[attr-defined]
        if choices is None:
            return False
        columns = np.array(sorted(choices), dtype=np.int64)
        values = np.array([choices[c] for c in columns.tolist()], dtype=np.float64)
        if (values < self.lower[columns]).any() or (values > self.upper[columns]).any():
            return False
        self.solver.bounds(columns, values, values)
        run = self.solver.run(Limits())
        self.solver.bounds(columns, self.lower[columns], self.upper[columns])
        assert run.verdict != "stopped"
        return run.verdict == "optimal"


__all__ = ["HERE", "KINDS", "LoadedProgram", "best", "some_kinds", "tiny"]
