"""The program of a problem, to be written for other solvers and read back from them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from odtdsl.backends.milp.diagram_search import LoweredDiagram, lower_diagram
from odtdsl.backends.milp.formulation import PATTERN, Formulation
from odtdsl.backends.milp.layers import layers_of
from odtdsl.backends.milp.lowering import MAX_MODEL_DEPTH, Lowered, deepest
from odtdsl.backends.milp.number_flow import NumberFlow
from odtdsl.backends.milp.program import (
    FREE,
    MAX_COEFFICIENT,
    Numbers,
    Program,
    safe_names,
)
from odtdsl.backends.milp.stage_choice import StageChoice
from odtdsl.backends.milp.stages import Goal, lower_stage
from odtdsl.backends.programs import Handover, Part
from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.table import FloatArray
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.problem import DiagramSkeleton


def hand_over(
    core: Core,
    formulation: Formulation = PATTERN,
    *,
    kept: Sequence[Fraction] = (),
    weighted: bool = False,
) -> Handover:
    """The program of a stage of the objective.

    Parameters
    ----------
    core
        The problem.
    formulation
        That of the program.
    kept
        Values that the first stages keep, or better them, less being better. The stage after
        them is minimized; if there is none, any model will do.
    weighted
        All stages that are left are minimized at once: a step of one weighs more than all that
        those after it can add.

    Raises
    ------
    OdtError
        B102, B220, B221, B222: the formulation cannot express the problem. B224: the weights of
        the stages have too many digits.
    """
    formulation.refuse(core)
    stage = len(kept) if len(kept) < len(core.objective) else None
    rest = range(len(kept) + 1, len(core.objective) if weighted else 0)
    choice = StageChoice(stage, tuple(enumerate(kept)), also=tuple(rest))
    lowered = _lowered(core, formulation, choice)
    encoding = lowered.encoding
    goals = [] if lowered.goal is None or stage is None else [(stage, lowered.goal)]
    goals += [(i, lower_stage(encoding, core.objective[i], i)) for i in rest]
    program, matrix = lowered.program, lowered.program.matrix()
    if isinstance(core.skeleton, DiagramSkeleton):
        layers = layers_of(core)
        what = _of_diagram(core)
        levels = [(n, level) for level in range(layers.depth) for n in layers.at_level(level)]
    else:
        depth = deepest(core)
        kind = f"a decision tree of depth {depth} at most, by mixed-integer programming"
        what = (kind, *formulation.places(depth))
        levels = [(n, (n + 1).bit_length() - 1) for n in range(2**MAX_MODEL_DEPTH)]
    return Handover(
        what=(*what, *formulation.comments(core)),
        column_names=program.column_names,
        column_lower=_sides(np.array(program.column_lower)),
        column_upper=_sides(np.array(program.column_upper)),
        integer=np.array(program.integer, dtype=bool),
        starts=matrix.starts,
        columns=matrix.columns,
        values=matrix.values.astype(np.float64),
        row_names=matrix.names,
        row_lower=_sides(matrix.lower),
        row_upper=_sides(matrix.upper),
        origins=matrix.origins,
        parts=_weighed(goals, program),
        kept=choice.kept,
        pattern_of_row=encoding.patterns.of_row,
        levels=tuple(level for _, level in sorted(levels)),
        column_ids=safe_names(core.columns),
        decode=lowered.decode,
        row_sets=encoding.row_sets if isinstance(encoding, NumberFlow) else (),
    )


def _lowered(core: Core, formulation: Formulation, choice: StageChoice) -> Lowered | LoweredDiagram:
    if isinstance(core.skeleton, DiagramSkeleton):
        return lower_diagram(core, choice, formulation=formulation)
    depth = deepest(core)
    if depth > MAX_MODEL_DEPTH:
        raise error(
            "B222",
            f"`milp` builds trees of depth at most {MAX_MODEL_DEPTH}, and this one may reach"
            f" {depth}",
            helps=(f"write `tree depth <= {MAX_MODEL_DEPTH}` or less",),
        )
    return formulation.lower(core, depth, choice)


def _weighed(goals: list[tuple[int, Goal]], program: Program) -> tuple[Part, ...]:
    """The last stage has the weight 1, the one before it more than its range, and so on."""
    found: list[Part] = []
    weight = 1
    for stage, goal in reversed(goals):
        terms = goal.cost.terms
        found.append(
            Part(
                stage=stage,
                cost=terms,
                constant=goal.constant,
                grid=goal.grid,
                scale=goal.scale,
                weight=weight,
                loose=goal.loose,
            )
        )
        if weight * max(map(abs, terms.values()), default=0) > MAX_COEFFICIENT:
            raise error(
                "B224",
                "the weights of the objective's stages have too many digits for one program",
                helps=("write a program per stage: leave `--weighted` out, and see `--bound`",),
            )
        weight *= 1 + sum(
            abs(value) * (program.column_upper[column] - program.column_lower[column])
            for column, value in terms.items()
        )
    return tuple(reversed(found))


def _sides(numbers: Numbers) -> FloatArray:
    """Bounds beyond `FREE` are infinite."""
    sides = numbers.astype(np.float64)
    sides[sides >= FREE] = np.inf
    sides[sides <= -FREE] = -np.inf
    return sides


def _of_diagram(core: Core) -> tuple[str, ...]:
    layers = layers_of(core)
    nodes = "; ".join(
        f"layer {level}: " + ", ".join(f"n{node}" for node in layers.at_level(level))
        for level in range(layers.depth)
    )
    return (
        "a decision diagram by mixed-integer programming",
        f"n0 is the root, c0, c1, ... are where arcs end; {nodes}",
    )
