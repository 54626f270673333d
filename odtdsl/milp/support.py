"""What `milp` expresses, form by form, and why not where it does not."""

from __future__ import annotations

from typing import assert_never

from odtdsl.backends.base import EXACT, Support
from odtdsl.ir.expr import Scope
from odtdsl.ir.forms import (
    Budget,
    Core,
    Depth,
    DepthStage,
    Form,
    Linear,
    Link,
    Literal_,
    Monotone,
    Order,
    OutputSet,
    PathTotal,
    Root,
    Used,
)
from odtdsl.ir.problem import DiagramSkeleton


def _costly(reason: str) -> Support:
    return Support(level="costly", reason=reason)


def _no(reason: str) -> Support:
    return Support(level="unsupported", reason=reason)


_CHOICE = _costly("a disjunction takes one more binary column per literal and instance")

_UNSUPPORTED = {
    Form.DIAGRAM: "a diagram needs arcs that choose their nodes; the flow is built on a tree",
    Form.HYPERPLANE: "a hyperplane needs its weights as columns and a margin per row",
    Form.REGRESSION: "a leaf's output would be a number times the flow, not one of a few labels",
    Form.LINK: "two rows share a leaf iff their flows agree: not yet among the lowered rules",
    Form.MONOTONE: "it compares all pairs of leaves over the whole feature space, beyond the rows",
    Form.PATH_TOTAL: "a path's cost times its weight of rows needs a column per row and path",
    Form.OUTPUT_SET: "outputs of leaves are numbers, and the model has labels only",
    Form.OBJECTIVE_PATH_SUM: "a path's cost times its weight of rows needs a column per row and path",
}

_COSTLY = {
    Form.TREE_UNBOUNDED: "one model per depth, from 0 upwards, until one has a tree",
    Form.MISSING_BRANCH: "every column with missing cells has its tests twice, one set per side",
}

_IN_CHOICES = frozenset(
    {
        Form.USED_PATH, Form.USED_MODEL, Form.ORDER, Form.ROOT, Form.BUDGET, Form.LINEAR_MODEL,
        Form.LINEAR_LEAF, Form.LINEAR_SPLIT, Form.DEPTH,
    }
)  # fmt: skip
"""The atoms: forms that may stand inside a disjunction."""


def flow_supports(form: Form, *, inside_or: bool) -> Support:
    """Whether the pattern-flow model expresses a form."""
    if form in _UNSUPPORTED:
        return _no(_UNSUPPORTED[form])
    if inside_or and form in _IN_CHOICES:
        return _CHOICE
    if form in _COSTLY:
        return _costly(_COSTLY[form])
    return EXACT


_PAPER_ONLY = {
    Form.TREE_UNBOUNDED: "the study's branches have a fixed length and number",
    Form.MISSING_BRANCH: "the study routes each row by its values, without missing cells",
    Form.ROOT: "the study has no rule on the root",
    Form.LINEAR_SPLIT: "the study counts rows in leaves only",
    Form.DEPTH: "the study's branches have a fixed length",
    Form.OBJECTIVE_MAX: "the study minimizes errors",
    Form.OBJECTIVE_DEPTH: "the study minimizes errors",
}


def cptree_supports(form: Form, *, inside_or: bool) -> Support:
    """Whether the CPTree study's model expresses a form."""
    if form in _UNSUPPORTED:
        return _no(_UNSUPPORTED[form])
    if form in _PAPER_ONLY:
        return _no(f"{_PAPER_ONLY[form]}; use the default model of `milp`")
    if inside_or and form in _IN_CHOICES:
        return _no("the study has no disjunctions of rules; use the default model of `milp`")
    return EXACT


def form_of(literal: Literal_, scope: Scope) -> Form:
    """The form that an atom counts as."""
    match literal.atom:
        case Used():
            return Form.USED_MODEL if scope is Scope.MODEL else Form.USED_PATH
        case Order():
            return Form.ORDER
        case Root():
            return Form.ROOT
        case Budget():
            return Form.BUDGET
        case Linear():
            places = {Scope.MODEL: Form.LINEAR_MODEL, Scope.LEAF: Form.LINEAR_LEAF}
            return places.get(scope, Form.LINEAR_SPLIT)
        case Depth():
            return Form.DEPTH
        case Link():
            return Form.LINK
        case Monotone():
            return Form.MONOTONE
        case PathTotal():
            return Form.PATH_TOTAL
        case OutputSet():
            return Form.OUTPUT_SET
        case _:
            assert_never(literal.atom)


def forms_of(core: Core) -> list[tuple[Form, bool, str]]:
    """Every form of a problem: whether it stands inside a disjunction, and whose it is."""
    found: list[tuple[Form, bool, str]] = []
    skeleton = core.skeleton
    if isinstance(skeleton, DiagramSkeleton):
        found.append((Form.DIAGRAM, False, "skeleton"))
    else:
        whole = skeleton.depth is not None
        found.append((Form.TREE if whole else Form.TREE_UNBOUNDED, False, "skeleton"))
    if skeleton.splits == "hyperplane":
        found.append((Form.HYPERPLANE, False, "skeleton"))
    if core.labels is None:
        found.append((Form.REGRESSION, False, "target"))
    columns = [family.column for family in core.families]
    if len(set(columns)) < len(columns):
        found.append((Form.MISSING_BRANCH, False, "missing"))
    found.extend((Form.SPLIT_FILTER, False, rule.origin.rule) for rule in core.filters)
    for clause in core.clauses:
        inside = len(clause.literals) > 1
        for literal in clause.literals:
            found.append((form_of(literal, clause.scope), inside, clause.origin.rule))
    for stage in core.objective:
        found.append(
            (Form.OBJECTIVE_DEPTH if isinstance(stage, DepthStage) else Form.OBJECTIVE_LINEAR,
             False, "objective")
        )  # fmt: skip
        if not isinstance(stage, DepthStage) and stage.maxima:
            found.append((Form.OBJECTIVE_MAX, False, "objective"))
        if not isinstance(stage, DepthStage) and stage.path_sum is not None:
            found.append((Form.OBJECTIVE_PATH_SUM, False, "objective"))
    return found
