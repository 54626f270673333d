"""What `milp` expresses, form by form, and why not where it does not."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.backends.base import EXACT, Objection, Support
from odtdsl.backends.needs import SKELETON, form_of
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Core,
    DepthStage,
    Form,
    Monotone,
    OutputSet,
)
from odtdsl.problem.ir.intervals import FULL
from odtdsl.problem.ir.problem import DiagramSkeleton, TreeSkeleton


def _costly(reason: str) -> Support:
    return Support(level="costly", reason=reason)


_CHOICE = _costly("a disjunction needs one more binary column per literal and instance")

_MARGIN = "a column per row and layer, and large coefficients; hyperplanes leave a margin of 0.0001"

_PER_ROW = "a column per pattern, split and feature with a cost"

_PER_SET = "a column for every set of rows that a leaf may hold: few candidates or a small depth"

_COSTLY = {
    Form.REGRESSION: _PER_SET,
    Form.MONOTONE: "every pair of leaves is compared, and the columns for thresholds grow with the"
    " square of a feature's values",
    Form.PATH_TOTAL: _PER_ROW,
    Form.OBJECTIVE_PATH_SUM: _PER_ROW,
    Form.TREE_UNBOUNDED: "one program per depth, from 0 upwards, until one has a solution",
    Form.HYPERPLANE: _MARGIN,
    Form.MISSING_BRANCH: "a column with missing cells has every test twice, once per side",
}

_IN_CHOICES = frozenset(
    {
        Form.USED_PATH,
        Form.USED_MODEL,
        Form.ORDER,
        Form.ROOT,
        Form.BUDGET,
        Form.LINEAR_MODEL,
        Form.LINEAR_LEAF,
        Form.LINEAR_SPLIT,
        Form.DEPTH,
        Form.LINK,
        Form.MONOTONE,
        Form.PATH_TOTAL,
        Form.MAXIMA_BOUND,
        Form.LOSS_BOUND,
    }
)
"""The atoms: forms that may stand inside a disjunction."""


def flow_supports(form: Form, *, inside_or: bool) -> Support:
    """Whether the pattern-flow model expresses a form."""
    if inside_or and form in _IN_CHOICES:
        return _CHOICE if form not in _COSTLY else _costly(f"{_COSTLY[form]}; {_CHOICE.reason}")
    if form in _COSTLY:
        return _costly(_COSTLY[form])
    return EXACT


MOST_GAPS = 100_000
"""Columns that the order of thresholds may take in a model, see `backends.milp.monotone`."""


def too_many_gaps(core: Core) -> tuple[Objection, ...]:
    """Rules on the order of predictions that would need more columns than `MOST_GAPS`."""
    rules = [
        clause.origin
        for clause in core.clauses
        if any(isinstance(literal.atom, Monotone) for literal in clause.literals)
    ]
    if not rules or not isinstance(core.skeleton, TreeSkeleton):
        return ()
    counts = {f.column: len(f.values) for f in core.families if f.kind == "threshold"}
    pairs = sum(count * (count - 1) // 2 for count in counts.values())
    bounds = [len(core.columns), core.skeleton.depth, (core.skeleton.leaves or 2**10) - 1]
    depth = min(bound for bound in bounds if bound is not None)
    needed = pairs * max(0, 2**depth - 2)
    if needed <= MOST_GAPS:
        return ()
    reason = (
        f"comparing thresholds needs {needed:,} columns, and at most {MOST_GAPS:,} are built;"
        " write `candidates * at bins 3`, or round the numbers"
    )
    return tuple(
        Objection(form=Form.MONOTONE, origin=origin, reason=reason)
        for origin in dict.fromkeys(rules)
    )


def too_many_paths(core: Core) -> tuple[Objection, ...]:
    """Rules on paths of diagrams with more sequences of nodes than a model has columns for."""
    from odtdsl.backends.milp.layers import MOST_PATHS, layers_of

    rules = [clause for clause in core.clauses if clause.scope is Scope.PATH]
    if not rules or not isinstance(core.skeleton, DiagramSkeleton):
        return ()
    many = layers_of(core).n_paths
    if many <= MOST_PATHS:
        return ()
    reason = (
        f"the diagram has {many:,} paths, and a rule on paths needs a column for each,"
        f" at most {MOST_PATHS:,}; write narrower or fewer layers"
    )
    found = {
        (form_of(literal.atom, clause.scope), clause.origin)
        for clause in rules
        for literal in clause.literals
    }
    return tuple(Objection(form=form, origin=origin, reason=reason) for form, origin in found)


def beyond_planes(core: Core) -> tuple[Objection, ...]:
    """What the model of hyperplanes does not say: which thresholds a feature may be cut at."""
    if core.skeleton.splits != "hyperplane":
        return ()
    if isinstance(core.skeleton, TreeSkeleton):
        reason = "trees with hyperplane splits need a bounded depth; write `tree depth <= 3`"
        return (Objection(form=Form.HYPERPLANE, origin=SKELETON, reason=reason),)
    reason = "a hyperplane has no threshold of a single feature"
    found = [
        Objection(form=Form.SPLIT_FILTER, origin=one.origin, reason=reason)
        for one in core.filters
        if one.allowed and one.allowed != FULL
    ]
    return tuple(dict.fromkeys(found))


def beyond_numbers(core: Core) -> Iterator[Objection]:
    """What the model of trees of numbers does not say, and sets of rows that are too many."""
    if core.targets is None:
        return
    if isinstance(core.skeleton, DiagramSkeleton) or core.skeleton.splits == "hyperplane":
        reason = "number targets are for trees whose splits test one feature"
        yield Objection(form=Form.REGRESSION, origin=SKELETON, reason=reason)
        return
    for clause in core.clauses:
        kinds = {type(literal.atom) for literal in clause.literals}
        if OutputSet in kinds and len(kinds) > 1:
            reason = "outputs cannot depend on rows or columns"
            yield Objection(form=Form.OUTPUT_SET, origin=clause.origin, reason=reason)
    yield from _too_many_sets(core)


def _too_many_sets(core: Core) -> Iterator[Objection]:
    from odtdsl.backends.milp.row_sets import MOST_ROWS

    if core.n_rows > MOST_ROWS:
        reason = f"programs of trees of numbers are for {MOST_ROWS:,} rows at most"
    elif isinstance(core.objective[0], DepthStage) or _sets_fit(core):
        return  # where the least depth is looked for, it may be a small one
    else:
        reason = (
            "leaves of numbers may hold too many sets of rows; write"
            " `candidates * at quantiles 3`, or a smaller depth"
        )
    yield Objection(form=Form.REGRESSION, origin=SKELETON, reason=reason)


def _sets_fit(core: Core) -> bool:
    from odtdsl.backends.milp.lowering import MAX_MODEL_DEPTH, deepest
    from odtdsl.backends.milp.row_sets import fit

    assert isinstance(core.skeleton, TreeSkeleton), "asked before"
    if core.skeleton.depth is not None:
        return fit(core, min(core.skeleton.depth, MAX_MODEL_DEPTH))
    try:
        return fit(core, deepest(core))
    except OdtError:
        return False
