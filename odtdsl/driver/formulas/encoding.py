"""A whole problem as one formula, to be written and solved elsewhere.

All rows are in it. The objective is left out (`cnf`), or is a sum of weights of literals that
are true: of soft clauses (`wcnf`) or of the file's objective (`opb`). Of several stages the
weights of a stage are larger than all of the later stages together, so that the least sum is
that of the best tree in the order of the stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd
from typing import Literal

from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.lowering import MAX_FORMULA_DEPTH, Lowered, Shape, deepest, shape_of
from odtdsl.backends.clauses.names import SpecNames
from odtdsl.backends.clauses.sums import Terms, at_most
from odtdsl.base.back_ends import able
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.driver.choice import choose, refuse_quotients, refused
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core, DepthStage, LinearStage, StageForm
from odtdsl.problem.ir.problem import DiagramSkeleton, TreeSkeleton
from odtdsl.problem.ir.rows import Rows

Format = Literal["cnf", "wcnf", "opb"]
FORMATS: tuple[Format, ...] = ("cnf", "wcnf", "opb")

MAX_FORMULA_SUM = 2**62
"""Sums of weights stay below this, which solvers hold in 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A stage as a part of a weighted sum.

    The stage's value, as the spec speaks of it, is `(constant + grid * part) / denominator`,
    where `part`, a whole number from 0, is what its literals add to the sum, over `weight`.
    """

    constant: int
    grid: int
    denominator: int
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoding:
    """A formula, its tree, and its objective.

    Attributes
    ----------
    terms
        What is to be made least; without literals in a `cnf`.
    goals
        The stages in it.
    """

    to: Format
    rows: Rows
    lowered: Lowered
    terms: Terms
    goals: tuple[Goal, ...]

    @property
    def formula(self) -> Formula:
        """The clauses with their names and bounds."""
        return self.lowered.formula

    def title(self, number: int) -> str:
        """What a group of clauses (from 1) says, with the rule that it is of."""
        group = self.formula.groups[number - 1]
        rules = [f"`{name}`" for name in group.rule.split(", ") if name]
        if not rules or group.rule == "objective" or group.title == f"rule `{group.rule}`":
            return group.title
        return f"{group.title} (rule{'s' if len(rules) > 1 else ''} {', '.join(rules)})"

    def size(self) -> tuple[tuple[str, int], ...]:
        """Counts by name: variables, clauses, literals, sums, soft clauses, depth."""
        found = list(self.formula.size())
        if self.formula.bounds is not None:
            found.append(("sums", len(self.formula.bounds)))
        if self.to == "wcnf":
            found.append(("soft clauses", len(self.terms.positive()[1])))
        return (*found, ("depth", self.lowered.tree.depth))


def encode(
    core: Core, rows: Rows, to: Format, *, depth: int | None = None, bounds: Sequence[Fraction] = ()
) -> Encoding:
    """A problem as a formula.

    Parameters
    ----------
    core, rows
        The problem in both forms.
    to
        What it is for.
    depth
        A bound beside those of the skeleton.
    bounds
        The first stages of the objective are as good as these values, or better.

    Raises
    ------
    OdtError
        B102: clauses do not express the problem. B223: the tree may be deeper than formulas
        are built. B224: the weights of the stages leave 62 bits. U321: more bounds than stages.
    """
    if isinstance(core.skeleton, DiagramSkeleton):
        raise _no_formula(core.skeleton)
    refuse_quotients(core, rows.problem.source, "formulas")
    core = _within(core, depth, bounds)
    writer = able("write formulas")
    choice = choose(core, writer)
    if choice.name is None:
        raise refused(choice, writer, rows.problem.source, solving=False)
    if deepest(core) > MAX_FORMULA_DEPTH:
        raise error(
            "B223",
            (
                f"formulas can be written for trees of depth at most {MAX_FORMULA_DEPTH}, and this"
                f" one may reach {deepest(core)}"
            ),
            helps=("give a depth, as in `--depth 4`; `odt solve --using sat` finds the smallest",),
        )
    names = SpecNames(core, rows)
    lowered = Lowered(
        core,
        deepest(core),
        _shape(core, to, len(bounds)),
        names=names,
        formula=Formula(sums=to == "opb"),
    )
    lowered.add_rows(range(core.n_rows))
    for index, bound in enumerate(bounds):
        _bound(lowered, rows, index, bound)
    terms, goals = (Terms(), ()) if to == "cnf" else _objective(lowered, rows)
    return Encoding(to=to, rows=rows, lowered=lowered, terms=terms, goals=goals)


def _no_formula(skeleton: DiagramSkeleton) -> OdtError:
    """B102 for a diagram, and for hyperplanes, whose weights are no variables that are 0 or 1."""
    if skeleton.splits == "hyperplane":
        what = "splits on one feature, and this spec asks for hyperplanes"
        return error(
            "B102",
            f"formulas can be written only for {what}",
            helps=("write a program: `--to lp` or `--to mps`",),
        )
    return error(
        "B102",
        "formulas can be written only for trees, and this spec asks for a diagram",
        helps=(
            "write a program: `--to lp`, `mps` or `mzn`",
            "or solve it here, by `odt solve --using sat` or `--using cpsat`",
        ),
    )


def _within(core: Core, depth: int | None, bounds: Sequence[Fraction]) -> Core:
    """Bounds on the depth become that of the skeleton."""
    if len(bounds) > len(core.objective):
        raise error(
            "U321",
            f"{len(bounds)} bounds were given for fewer stages of the objective",
            helps=("give one `--bound` per stage, beginning with the first stage",),
        )
    stages = zip(core.objective, bounds, strict=False)
    depths = [bound.__floor__() for stage, bound in stages if isinstance(stage, DepthStage)]
    depths += [] if depth is None else [depth]
    if not depths or not isinstance(core.skeleton, TreeSkeleton):
        return core
    if min(depths) < 0:
        raise error("U321", "no tree has a negative depth", helps=("give 0 or more",))
    if core.skeleton.depth is not None:
        depths.append(core.skeleton.depth)
    return replace(core, skeleton=replace(core.skeleton, depth=min(depths)))


def _shape(core: Core, to: Format, bounded: int) -> Shape:
    """What the rules and the stages that are in the formula ask for."""
    stages = core.objective[:bounded] if to == "cnf" else core.objective
    linear = tuple(stage for stage in stages if isinstance(stage, LinearStage))
    shape = shape_of(replace(core, objective=linear))
    if to != "cnf" and len(linear) < len(stages):
        shape = replace(shape, idle=True)  # the depth is counted by nodes that are no splits
    return shape


def _bound(lowered: Lowered, rows: Rows, index: int, bound: Fraction) -> None:
    stage = lowered.core.objective[index]
    if not isinstance(stage, LinearStage):
        return  # a depth, which bounds the skeleton
    declared = rows.problem.objective[index]
    sign = {"minimize": "<=", "maximize": ">="}[declared.sense]
    measure = declared.text.removeprefix(declared.sense).strip()
    lowered.formula.group(f"bound of the objective: {measure} {sign} {bound}", "objective")
    most = (stage.sign * bound * stage.measure.denominator).__floor__()
    at_most(lowered.formula, lowered.rules.terms(stage.measure, Scope.MODEL, 0), most)


def _objective(lowered: Lowered, rows: Rows) -> tuple[Terms, tuple[Goal, ...]]:
    """The weighted sum of all stages."""
    parts: list[tuple[StageForm, int, int, list[tuple[int, int]]]] = []
    for stage, declared in zip(lowered.core.objective, rows.problem.objective, strict=True):
        lowered.formula.group(f"what counts for: {declared.text}", "objective")
        constant, weighted = _stage_terms(lowered, stage).positive()
        grid = gcd(*(weight for _, weight in weighted)) or 1
        parts.append((stage, constant, grid, weighted))
    total, factor, goals = Terms(), 1, []
    for stage, constant, grid, weighted in reversed(parts):
        denominator = stage.measure.denominator if isinstance(stage, LinearStage) else 1
        goals.append(
            Goal(
                constant=stage.sign * constant,
                grid=stage.sign * grid,
                denominator=denominator,
                weight=factor,
            )
        )
        for literal, weight in weighted:
            total.add(literal, factor * (weight // grid))
        factor *= sum(weight // grid for _, weight in weighted) + 1
    if factor >= MAX_FORMULA_SUM:
        raise error(
            "B224",
            "the weights of the objective's stages have too many digits for solvers",
            helps=("write fewer stages, or round weights and losses to fewer decimals",),
        )
    return total, tuple(reversed(goals))


def _stage_terms(lowered: Lowered, stage: StageForm) -> Terms:
    if isinstance(stage, LinearStage):
        return lowered.rules.terms(stage.measure, Scope.MODEL, 0)
    return lowered.rules.depth()
