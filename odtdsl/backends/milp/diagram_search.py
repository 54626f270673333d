"""One problem on a diagram, stage by stage, within its limits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from odtdsl.backends.base import Status
from odtdsl.backends.milp.diagram_rules import DiagramRules
from odtdsl.backends.milp.flows import Flows
from odtdsl.backends.milp.formulation import PATTERN, Formulation
from odtdsl.backends.milp.highs import Run
from odtdsl.backends.milp.layers import layers_of
from odtdsl.backends.milp.lowering import add_rules
from odtdsl.backends.milp.patterns import Patterns, find_patterns, gains_of
from odtdsl.backends.milp.program import Numbers, Program
from odtdsl.backends.milp.search import Model, Search
from odtdsl.backends.milp.stage_choice import FIRST, StageChoice
from odtdsl.backends.milp.stages import Goal, bound_by_parts
from odtdsl.backends.milp.structure import Tick, tests_by_level, usable_tests
from odtdsl.problem.ir.forms import Additive, Core, StageForm
from odtdsl.problem.ir.raw import RawDiagram, RawModel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoweredDiagram:
    """A problem at a stage as a program, and the way back to diagrams."""

    encoding: Flows
    goal: Goal | None
    hint: RawDiagram | None = None

    @property
    def program(self) -> Program:
        """The integer program of the encoding."""
        return self.encoding.program

    def decode(self, point: Numbers) -> RawModel | None:
        """The diagram of a solution."""
        return self.encoding.decode(point)

    def full_start(self, tree: RawModel) -> Numbers | None:
        """Every column of a diagram; None where it does not fit or breaks a row."""
        assert isinstance(tree, RawDiagram), "diagrams only"
        point = self.encoding.assignment(tree)
        if point is None:
            return None
        self.program.complete(point)
        return point if bool(self.program.holds(point).all()) else None


def lower_diagram(
    core: Core,
    choice: StageChoice = FIRST,
    tick: Tick = lambda: None,
    formulation: Formulation = PATTERN,
) -> LoweredDiagram:
    """The program of a problem with a diagram.

    Parameters
    ----------
    core
        The problem.
    choice
        The stage to minimize.
    tick
        Called often; may raise to stop.
    formulation
        That of the structure.

    Raises
    ------
    OdtError
        B220, B221 numbers that spread too far for a solver with floats.
    """
    encoding = formulation.flows(core, tick)
    rules = DiagramRules(encoding, core.n_classes, tick)
    goal = add_rules(core, encoding, rules, choice)
    return LoweredDiagram(encoding=encoding, goal=goal)


class DiagramSearch(Search):
    """The state of one solve; the depth is a stage like others."""

    def _course(self) -> Status | None:
        return self._stages(0)

    def _deepest(self) -> int:
        return layers_of(self.core).depth

    @property
    def of_margin(self) -> bool:
        """Whether the model is one of the splits that leave a margin only."""
        return self.formulation.has_margins(self.core)

    def _lower(self, depth: int, choice: StageChoice) -> Model:
        return lower_diagram(self.core, choice, self.tick, self.formulation)

    def _solve(self, depth: int, choice: StageChoice) -> Run:
        run = super()._solve(depth, choice)
        if self.of_margin and run.verdict == "infeasible" and self.best is not None:
            assert choice.stage is not None, "every stage is a model of its own"
            self.raise_bound(choice.stage, self.values[choice.stage])  # its margins are smaller
            return Run(verdict="optimal", point=None, bound=np.inf)
        return run

    def _admitted(self, tree: RawModel | None, stage: int, *, claimed: bool) -> None:
        """Splits found from rows may not be there: then a solution is none, and proves nothing."""
        super()._admitted(tree, stage, claimed=claimed and not self.of_margin)

    def keep(self, model: RawModel) -> bool:
        """Also below bounds that are of the model alone."""
        better = super().keep(model)
        if self.of_margin:
            for index, bound in self.lower.items():
                self.lower[index] = min(bound, self.values[index])
        return better

    def raise_bound(self, stage: int, bound: Fraction) -> bool:
        """A diagram whose margins are smaller than the model's may be below its bound."""
        if self.of_margin and self.best is not None:
            bound = min(bound, self.values[stage])
        return super().raise_bound(stage, bound)

    def _options(self, program: Program) -> dict[str, object]:
        """As for trees; but simplex takes minutes at the root, interior points seconds."""
        return {**super()._options(program), "mip_lp_solver": "ipm"}

    def _note_trivial(self, stage: int, depth: int) -> None:
        """The bound of rows that no test tells apart."""
        patterns = find_patterns(
            self.core, usable_tests(self.core, tests_by_level(self.core, depth))
        )
        form = self.core.objective[stage]
        self.raise_bound(stage, _least_of_diagrams(form, patterns, self.core))


def _least_of_diagrams(stage: StageForm, patterns: Patterns, core: Core) -> Fraction:
    """A bound that needs no solver: every pattern has its best label."""
    n_classes, most_splits = core.n_classes, layers_of(core).n_branches
    several = core.skeleton.splits == "hyperplane"

    def least(part: Additive) -> Fraction:
        costs = np.zeros(0, dtype=np.int64) if part.columns is None else part.columns
        cheapest = int(np.minimum(costs, 0).sum() if several else costs.min(initial=0))
        total = part.constant + most_splits * min(0, cheapest + part.splits)
        total += part.leaves if part.leaves > 0 else part.leaves * n_classes
        total += int(gains_of(part, patterns, n_classes).by_label.min(axis=1).sum())
        return Fraction(total, part.denominator)

    return bound_by_parts(stage, least, patterns, most_splits, several=several)
