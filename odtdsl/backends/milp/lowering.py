"""A problem at one depth and stage as a program: what all formulations of trees share."""

from __future__ import annotations

from dataclasses import dataclass

from odtdsl.backends.milp.clauses import Rules
from odtdsl.backends.milp.encoding import Encoding, TreeEncoding
from odtdsl.backends.milp.patterns import find_patterns
from odtdsl.backends.milp.program import Numbers, Program
from odtdsl.backends.milp.stage_choice import StageChoice
from odtdsl.backends.milp.stages import Goal, keep, lower_stage, measures_of
from odtdsl.backends.milp.structure import tests_by_level, usable_tests
from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.forms import Additive, Core, DepthStage, Linear, MaximaBound, PathTotal
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawModel, RawTree

MAX_MODEL_DEPTH = 10
"""The deepest perfect tree that a model is built on: 1,024 leaf slots."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lowered:
    """A problem at one depth and stage as a program, and the way back to trees.

    Attributes
    ----------
    goal
        The stage that is minimized; None where any tree will do.
    hint
        A good tree that may break rules; None where none was met.
    """

    encoding: TreeEncoding
    goal: Goal | None
    hint: RawTree | None

    @property
    def program(self) -> Program:
        """The integer program of the encoding."""
        return self.encoding.program

    def decode(self, point: Numbers) -> RawModel | None:
        """The tree of a solution."""
        return self.encoding.decode(point)

    def full_start(self, tree: RawModel) -> IntArray | None:
        """Every column of a tree; None where it does not fit or breaks a row."""
        assert not isinstance(tree, RawDiagram), "trees only"
        point = self.encoding.assignment(tree)
        if point is None:
            return None
        self.program.complete(point)
        return point if bool(self.program.holds(point).all()) else None


def measures_in(core: Core, choice: StageChoice) -> list[Additive]:
    """All that rules and the stages that matter measure."""
    wanted = [*(index for index, _ in choice.kept), *choice.also]
    wanted += [] if choice.stage is None else [choice.stage]
    measures: list[Additive] = [m for i in wanted for m in measures_of(core.objective[i])]
    for clause in core.clauses:
        atoms = [literal.atom for literal in clause.literals]
        measures += [atom.measure for atom in atoms if isinstance(atom, Linear | PathTotal)]
        measures += [one for a in atoms if isinstance(a, MaximaBound) for one in a.measures]
    return measures


def ruled(core: Core, encoding: TreeEncoding, rules: Rules, choice: StageChoice) -> Lowered:
    """The structure with its rules, earlier stages and objective."""
    goal = add_rules(core, encoding, rules, choice)
    return Lowered(encoding=encoding, goal=goal, hint=None)


def add_rules(core: Core, encoding: Encoding, rules: Rules, choice: StageChoice) -> Goal | None:
    """Add rules, earlier stages and the objective to a structure; the stage that is minimized."""
    for clause in core.clauses:
        rules.add(clause)
    for index, value in choice.kept:
        keep(encoding, lower_stage(encoding, core.objective[index], index), index, value)
    if choice.stage is None:
        return None
    goal = lower_stage(encoding, core.objective[choice.stage], choice.stage)
    encoding.program.objective = goal.cost
    return goal


def deepest(core: Core) -> int:
    """The depth that no reduced tree of the problem exceeds.

    By the skeleton; by the leaves, one more than splits; by the patterns, of which every leaf
    holds one.

    Raises
    ------
    OdtError
        B222 deeper than `MAX_MODEL_DEPTH`, and no objective that would find a shallow tree first.
    """
    skeleton = core.skeleton
    assert isinstance(skeleton, TreeSkeleton)
    levels = len(core.columns) if skeleton.depth is None else skeleton.depth
    probe = max(1, min(levels, MAX_MODEL_DEPTH) + 1)
    tests = usable_tests(core, tests_by_level(core, probe))
    bounds = [find_patterns(core, tests).count - 1]
    if skeleton.depth is not None:
        bounds.append(skeleton.depth)
    if skeleton.leaves is not None:
        bounds.append(skeleton.leaves - 1)
    least = min(bounds)
    if least > MAX_MODEL_DEPTH and not isinstance(core.objective[0], DepthStage):
        raise error(
            "B222",
            f"`milp` builds trees of depth at most {MAX_MODEL_DEPTH}, and this one may reach"
            f" {least}",
            helps=(
                f"write `tree depth <= {MAX_MODEL_DEPTH}` or less, or `minimize depth then ...`",
            ),
        )
    return least
