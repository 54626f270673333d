"""The independent checker: a finished model against its spec, rule by rule, on raw data.

It imports no back end and reads no core form. Rows are routed by the predictor itself;
rules and objective are evaluated by the terms' own meaning, in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from odtdsl.checker_diagrams import reduced, shape, widths
from odtdsl.checker_lines import Audit, Checked
from odtdsl.checker_outputs import audited_outputs, growth_of, on_outputs, softened
from odtdsl.data.candidates import bin_edges, guessed_cuts, quantile_cuts
from odtdsl.diagnostics.model import error
from odtdsl.ir.expr import Compare, Condition, Count, Scope
from odtdsl.ir.problem import DiagramSkeleton, FeatureDecl, RuleDecl, TreeSkeleton
from odtdsl.ir.rows import Rows
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.tree import InBin, Threshold, Tree
from odtdsl.terms.base import Ratio
from odtdsl.terms.evaluate import holds, instances, number
from odtdsl.terms.view import DiagramView, ModelView, SplitView, TreeView, View, model_view


def audit(model: Tree | Diagram, rows: Rows, *, backend: str | None = None) -> Audit:
    """Check a tree or a diagram against a problem on its training rows.

    Parameters
    ----------
    model, rows
        The tree or diagram, and the problem with its rows.
    backend
        What made the tree, where the spec does not say it: the ways of `greedy` are its own.

    Raises
    ------
    OdtError
        U301: the model is not one for this problem (other classes or targets, or a tree for a
        diagram). U201 to U204: the data lack a column that the model tests, or hold cells that
        it cannot read.
    """
    _fits(model, rows)
    view = model_view(model, rows)
    soft = False
    if isinstance(view, DiagramView):
        lines = [*widths(view), *shape(view), reduced(view), _candidates(view)]
    else:
        lines = [*_skeleton(view), _reduced(view), _candidates(view)]
        if rows.problem.target.kind == "number":
            growth = growth_of(rows.problem, backend)
            soft = growth.leaf in ("relaxed", "average")
            lines += audited_outputs(view, growth)
    for rule in rows.problem.rules:
        line = _check(rule, view)
        if soft and isinstance(view, TreeView) and on_outputs(rule):
            line = softened(line, rule, view)
        lines.append(line)
    objective = tuple(_plain(number(stage.measure, view)) for stage in rows.problem.objective)
    errors = None
    if rows.problem.target.kind == "class":
        wrong = rows.weights[view.predicted != rows.labels].sum()
        errors = Fraction(int(wrong), rows.weight_denominator)
    return Audit(lines=tuple(lines), objective=objective, errors=errors)


def _fits(model: Tree | Diagram, rows: Rows) -> None:
    target = rows.problem.target
    if isinstance(model, Diagram) != isinstance(rows.problem.skeleton, DiagramSkeleton):
        one, other = ("diagram", "tree") if isinstance(model, Diagram) else ("tree", "diagram")
        raise error("U301", f"this model is a {one}, and the spec asks for a {other}")
    if model.classes != target.classes or model.targets != target.names:
        raise error(
            "U301",
            "this model predicts something else than the spec asks for",
            notes=(
                f"model: {', '.join(model.targets)} {_shown(model.classes)}",
                f"spec: {', '.join(target.names)} {_shown(target.classes)}",
            ),
        )


def _shown(classes: Sequence[object]) -> str:
    return "{" + ", ".join(map(str, classes)) + "}" if classes else ": number"


def _plain(value: Fraction | Ratio) -> Fraction:
    if isinstance(value, Ratio):
        return Fraction(0) if value.under == 0 else value.over / value.under
    return value


# ---- skeleton


def _skeleton(view: TreeView) -> Iterator[Checked]:
    skeleton = view.rows.problem.skeleton
    assert isinstance(skeleton, TreeSkeleton), "a tree answers a tree skeleton"
    for name, value, bound in (
        ("depth", view.tree.depth, skeleton.depth),
        ("leaves", view.tree.n_leaves, skeleton.leaves),
    ):
        if bound is not None:
            yield Checked(
                rule=f"tree {name}", text=f"{name} <= {bound}", holds=value <= bound,
                value=Fraction(value), bound=Fraction(bound), slack=Fraction(bound - value),
            )  # fmt: skip


def _reduced(view: TreeView) -> Checked:
    """Every split sends a training row each way, so that every leaf holds one."""
    smallest = min(int(leaf.inside.sum()) for leaf in view.leaves)
    return Checked(
        rule="tree reduced", text="every leaf holds a training row", holds=smallest >= 1,
        value=Fraction(smallest), bound=Fraction(1), slack=Fraction(smallest - 1),
        instances=len(view.leaves),
    )  # fmt: skip


def _candidates(view: ModelView) -> Checked:
    """Every split tests a feature of the spec, at a candidate."""
    problem = view.rows.problem
    features = {feature.name: feature for feature in problem.features}
    guessed = _guessed(view.rows)
    planes = problem.skeleton.splits == "hyperplane"
    wrong = {
        name
        for split in view.splits
        for name in split.features
        if name not in features
        or (split.test is None) != planes
        or (not planes and not _is_candidate(split, features[name], guessed))
    }
    note = "not a candidate: " + ", ".join(sorted(wrong)) if wrong else ""
    kind = "diagram" if isinstance(problem.skeleton, DiagramSkeleton) else "tree"
    return Checked(
        rule=f"{kind} candidates", text="every split is a candidate", holds=not wrong,
        instances=len(view.splits), note=note,
    )  # fmt: skip


def _guessed(rows: Rows) -> dict[str, tuple[float, ...]]:
    """The thresholds of `candidates at guessed`, guessed again."""
    columns = {}
    for feature in rows.problem.features:
        numbers = rows.data.columns[feature.name].numbers
        if feature.candidates.place == "guessed" and numbers is not None:
            columns[feature.name] = numbers
    target = rows.labels if rows.data.targets is None else rows.data.targets
    return guessed_cuts(columns, target, seed=rows.problem.options.seed) if columns else {}


def _is_candidate(
    split: SplitView, feature: FeatureDecl, guessed: dict[str, tuple[float, ...]]
) -> bool:
    """Whether a test is one that `candidates` admits."""
    test = split.test
    if isinstance(test, Threshold) and feature.type.kind == "ordered":
        return test.value in feature.type.levels
    numbers = split.rows.data.columns[feature.name].numbers
    if numbers is None:
        return not isinstance(test, Threshold | InBin)
    place = feature.candidates
    if place.place == "bins":
        edges = bin_edges(numbers[numbers == numbers], place.count)
        inner = (float("-inf"), *edges[1:-1], float("inf"))
        return isinstance(test, InBin) and (test.low, test.high) in _pairs(inner, edges)
    if not isinstance(test, Threshold) or isinstance(test.value, str):
        return False
    match place.place:
        case "quantiles":
            return test.value in quantile_cuts(numbers, place.count)
        case "values":
            return test.value in {float(value) for value in place.values}
        case "guessed":
            return test.value in guessed[feature.name]
        case _:
            return _between_rows(split, feature, float(test.value))


def _pairs(inner: Sequence[float], edges: Sequence[float]) -> set[tuple[float, float]]:
    return {*pairwise(inner), *pairwise(edges)}


def _between_rows(split: SplitView, feature: FeatureDecl, threshold: float) -> bool:
    """A threshold lies in a gap: some row's value at most it, some row's value above it."""
    numbers = split.rows.data.columns[feature.name].numbers
    assert numbers is not None
    here = numbers[split.inside]
    return bool((here <= threshold).any() and (here > threshold).any())


# ---- rules


def _check(rule: RuleDecl, view: ModelView) -> Checked:
    """A rule over all it ranges over, with the sides of a comparison where it is tightest."""
    over = instances(rule, view)
    kept = all(holds(rule.condition, instance) for instance in over)
    base = Checked(rule=rule.name, text=rule.text, holds=kept, instances=len(over))
    if not over:
        kind = "diagram" if isinstance(view, DiagramView) else "tree"
        return _with(base, note=f"vacuous: the {kind} has no such {rule.scope.value}")
    sides = [side for instance in over if (side := _sides(rule.condition, instance)) is not None]
    if len(sides) < len(over):
        return base
    value, bound, slack = min(sides, key=lambda side: side[2])
    vacuous = rule.scope is Scope.MODEL and _is_vacuous(rule.condition, view)
    return _with(
        base, value=value, bound=bound, slack=slack,
        note="vacuous: nothing is predicted so" if vacuous else "",
    )  # fmt: skip


def _with(line: Checked, **changes: object) -> Checked:
    from dataclasses import replace

    return replace(line, **changes)  # type: ignore[arg-type]


def _sides(condition: Condition, view: View) -> tuple[Fraction, Fraction, Fraction] | None:
    """Left side, right side and slack of a comparison; None for other conditions."""
    if not isinstance(condition, Compare):
        return None
    if isinstance(condition.left, Count) or isinstance(condition.right, Count):
        return None  # of outputs at their bounds no number is the count
    left, right = _plain(number(condition.left, view)), _plain(number(condition.right, view))
    match condition.op:
        case "<=" | "<":
            return left, right, right - left
        case ">=" | ">":
            return left, right, left - right
        case "=":
            return left, right, -abs(left - right)
        case _:
            return left, right, abs(left - right)


def _is_vacuous(condition: Condition, view: View) -> bool:
    if not isinstance(condition, Compare):
        return False
    sides = (number(condition.left, view), number(condition.right, view))
    return any(isinstance(side, Ratio) and side.under == 0 for side in sides)


__all__ = ["Audit", "Checked", "audit"]
