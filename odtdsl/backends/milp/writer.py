"""LP and MPS files to read: the program that would be solved, with the names of its parts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from odtdsl.backends.milp.diagram_search import lower_diagram
from odtdsl.backends.milp.formulation import PATTERN, Formulation
from odtdsl.backends.milp.highs import Solver
from odtdsl.backends.milp.layers import layers_of
from odtdsl.backends.milp.lowering import MAX_MODEL_DEPTH, deepest
from odtdsl.backends.milp.program import Program
from odtdsl.backends.milp.pyomo_model import build, standard_form
from odtdsl.backends.milp.stages import Goal
from odtdsl.base.diagnostics.model import error
from odtdsl.base.files import write_text
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.problem import DiagramSkeleton

COMMENT = {"lp": "\\", "mps": "*"}

OF_TREE = (
    "a decision tree by mixed-integer programming; rows of rules are named rule_NAME(place)",
    "n0 is the root, the children of n(k) are n(2k+1), left, and n(2k+2), right",
)


def write(
    core: Core, path: Path, to: Literal["lp", "mps"], formulation: Formulation = PATTERN
) -> tuple[tuple[str, int], ...]:
    """Write the program of a problem's first stage.

    Comments at the top say how the objective's value follows from the file's. The file
    appears whole or not at all: it is written beside its place, then renamed.

    Parameters
    ----------
    core
        The problem.
    path
        Where to.
    to
        The format.
    formulation
        That of the program.

    Returns
    -------
    tuple of (str, int)
        The size of the encoding.

    Raises
    ------
    OdtError
        B102, B220, B221, B222: the formulation cannot express the problem. F301: the file
        cannot be written.
    """
    formulation.refuse(core)
    if isinstance(core.skeleton, DiagramSkeleton):
        diagram = lower_diagram(core, formulation=formulation)
        assert diagram.goal is not None, "the first stage is lowered"
        lines = (*_of_diagram(core), _value(diagram.goal))
        write_text(path, _marked(lines, COMMENT[to]) + _text(diagram.program, to))
        return diagram.program.size()
    depth = deepest(core)
    if depth > MAX_MODEL_DEPTH:
        raise error(
            "B222",
            f"`milp` builds trees of depth at most {MAX_MODEL_DEPTH}, and this one may reach"
            f" {depth}",
            helps=(f"write `tree depth <= {MAX_MODEL_DEPTH}` or less",),
        )
    lowered = formulation.lower(core, depth)
    assert lowered.goal is not None, "the first stage is lowered"
    lines = (*OF_TREE, _value(lowered.goal), *formulation.comments(core))
    write_text(path, _marked(lines, COMMENT[to]) + _text(lowered.program, to))
    return lowered.program.size()


def _text(program: Program, to: str) -> str:
    solver = Solver(program, standard_form(program, build(program)), slack=False)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"model.{to}"
        solver.highs.writeModel(str(place))
        return place.read_text(encoding="ascii")


def _of_diagram(core: Core) -> tuple[str, ...]:
    layers = layers_of(core)
    nodes = "; ".join(
        f"layer {level}: " + ", ".join(f"n{node}" for node in layers.at_level(level))
        for level in range(layers.depth)
    )
    return (
        "a decision diagram by mixed-integer programming; rows of rules are named rule_NAME(place)",
        f"n0 is the root, c0 to c{layers.n_leaves - 1} are the classes; {nodes}",
        "arc(n0,left,n1) leads what goes left at n0 to n1; flow(p0,...) is the way of the rows p0",
    )


def _value(goal: Goal) -> str:
    """How the objective's value follows from the file's."""
    file = f"({goal.constant} + {goal.grid} * objective of this file)"
    return f"objective of the spec = {file} / {goal.scale}"


def _marked(lines: Iterable[str], mark: str) -> str:
    return "".join(f"{mark} {line}\n" for line in lines)
