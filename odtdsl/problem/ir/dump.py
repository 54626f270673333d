"""Problems and cores as text: stable, readable, without the data of rows.

`odt plan --dump` prints them and the corpus under `grammar/good` holds them. Measures over
rows are told by how many rows weigh in and by their sums, which change when their meaning does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import assert_never

import numpy as np

from odtdsl.base.back_ends import takes
from odtdsl.base.numbers import counted
from odtdsl.datasets.request import DataRequest, TestFile, TestShare
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.expr import (
    Abs,
    AndC,
    Apply,
    Arg,
    Arith,
    CellAnd,
    CellCompare,
    CellCondition,
    CellIn,
    CellMissing,
    CellNot,
    CellOr,
    Compare,
    Condition,
    Const,
    Count,
    Expr,
    GroupArg,
    LabelArg,
    Level,
    Minus,
    MultipleOf,
    NotC,
    OneOf,
    OrC,
    RowArg,
    RowIn,
    RowShare,
)
from odtdsl.problem.ir.families import Family
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Clause,
    Core,
    Depth,
    DepthStage,
    Linear,
    LinearStage,
    Link,
    LossBound,
    MaximaBound,
    Monotone,
    Order,
    OutputSet,
    PathMeasure,
    PathSum,
    PathTotal,
    QuotientStage,
    RegressionStage,
    Root,
    SignedAtom,
    SplitFilter,
    StageForm,
    TargetLoss,
    Used,
)
from odtdsl.problem.ir.intervals import FULL, RealSet
from odtdsl.problem.ir.problem import Candidates, DiagramSkeleton, Problem, TreeSkeleton
from odtdsl.problem.ir.targets import ProblemPart

SHOWN_ROWS = 12


def dump_problem(problem: Problem) -> str:
    """A problem as text, a line for each of its parts."""
    return "\n".join(_problem(problem)) + "\n"


def dump_core(core: Core) -> str:
    """A core as text, a line for each family, filter, clause and stage."""
    return "\n".join(_core(core)) + "\n"


# ---- the problem


def _problem(problem: Problem) -> Iterator[str]:
    yield f"data {_data(problem.data)}"
    target = problem.target
    yield f"target {', '.join(target.names)}: {ProblemPart.of(target.kind).text(target)}"
    for feature in problem.features:
        kind: str = feature.type.kind
        if feature.type.levels:
            kind += " {" + ", ".join(value_text(level) for level in feature.type.levels) + "}"
        elif kind == "number":
            kind += f" at {_candidates(feature.candidates)}"
        yield f"feature {feature.name}: {kind}, missing {feature.missing}"
    if problem.weight is not None:
        yield f"weight {problem.weight}"
    for feature, price in zip(problem.features, problem.costs.features, strict=True):
        if price:
            yield f"cost {feature.name} = {number_text(price)}"
    for shared in problem.costs.shared:
        names = ", ".join(problem.features[index].name for index in shared.features)
        yield f"cost {{{names}}} shared = {number_text(shared.amount)}"
    for actual, row in enumerate(problem.losses):
        if any(amount != (actual != guess) for guess, amount in enumerate(row)):
            yield f"losses of class {actual}: {', '.join(map(number_text, row))}"
    for group in problem.groups:
        yield f"group {group.name}: {_cells(group.condition)}"
    yield _skeleton(problem.skeleton)
    for stage in problem.objective:
        yield f"{stage.sense} {_expr(stage.measure)}"
    for rule in problem.rules:
        yield f"rule {rule.name} of {rule.scope.value}: {_condition(rule.condition)}"
    options = problem.options
    yield (
        f"solve {options.backend}, seconds {options.seconds}, gap {number_text(options.gap)},"
        f" threads {options.threads}, seed {options.seed}, memory {options.memory_bytes}"
    )
    if options.steady is not None or options.steps is not None:
        yield f"ends when steady for {options.steady} s, after {options.steps} steps"
    growth = options.growth
    if takes(options.backend, "split"):
        yield f"growth split {growth.split} {number_text(growth.split_penalty)}, " + (
            f"leaf {growth.leaf} {number_text(growth.leaf_penalty)}"
        )


def _data(request: DataRequest) -> str:
    parts: list[str] = (
        [request.kind] if request.kind == "frame" else [f'{request.kind} "{request.name}"']
    )
    if request.na:
        parts.append("na " + " ".join(f'"{mark}"' for mark in request.na))
    if request.separator is not None:
        parts.append(f"separator {request.separator!r}")
    if request.decimal is not None:
        parts.append(f"decimal {request.decimal!r}")
    if request.thousands is not None:
        parts.append(f"thousands {request.thousands!r}")
    if not request.header:
        parts.append("no header")
    if request.encoding is not None:
        parts.append(f"encoding {request.encoding}")
    if request.sheet is not None:
        parts.append(f"sheet {request.sheet!r}")
    if request.id_column is not None:
        parts.append(f"id {request.id_column}")
    if request.days:
        parts.append("days " + " ".join(request.days))
    if request.parts:
        parts.append("parts " + " ".join(request.parts))
    if request.date_order is not None:
        parts.append(f"dates {request.date_order!r}")
    match request.test:
        case TestFile(path=path):
            parts.append(f'test "{path}"')
        case TestShare() as share:
            kind = "stratified " if share.stratified else ""
            kind = kind if share.by is None else f"by {share.by} {kind}"
            parts.append(f"test {number_text(share.fraction)} {kind}seed {share.seed}")
        case None:
            pass
    return ", ".join(parts)


def _candidates(candidates: Candidates) -> str:
    match candidates.place:
        case "quantiles" | "bins":
            return f"{candidates.place} {candidates.count}"
        case "values":
            return "{" + ", ".join(map(number_text, candidates.values)) + "}"
        case _:
            return candidates.place


def _skeleton(skeleton: TreeSkeleton | DiagramSkeleton) -> str:
    if isinstance(skeleton, DiagramSkeleton) and skeleton.tree:
        leaves = f"leaves {skeleton.leaves}"
        return f"tree depth {len(skeleton.widths)}, {leaves}, {skeleton.splits} splits"
    if isinstance(skeleton, DiagramSkeleton):
        return f"diagram widths {', '.join(map(str, skeleton.widths))}, {skeleton.splits} splits"
    return f"tree depth {skeleton.depth}, leaves {skeleton.leaves}, {skeleton.splits} splits"


# ---- expressions


def _expr(expr: Expr) -> str:
    match expr:
        case Const():
            return number_text(expr.value)
        case RowShare():
            of = "" if expr.group is None else f" of {expr.group.name}"
            return f"[{number_text(expr.share)} of the rows{of}]"
        case Apply():
            shown = [] if expr.of is None else [_expr(expr.of)]
            shown += [_arg(arg) for arg in expr.args]
            return f"{expr.term}({', '.join(shown)})" if shown else expr.term
        case Minus():
            return f"-({_expr(expr.operand)})"
        case Abs():
            return f"abs({_expr(expr.operand)})"
        case Count():
            return f"count({'; '.join(map(_condition, expr.conditions))})"
        case Arith():
            return f"({_expr(expr.left)} {expr.op} {_expr(expr.right)})"
        case _:
            assert_never(expr)


def _arg(arg: Arg) -> str:
    match arg:
        case GroupArg():
            return f"group {arg.name}"
        case LabelArg():
            return f"class {arg.text}"
        case RowArg():
            return f"row {arg.index}"
        case _:
            return arg.name


def _condition(condition: Condition) -> str:
    match condition:
        case Apply():
            return _expr(condition)
        case Compare():
            return f"{_expr(condition.left)} {condition.op} {_expr(condition.right)}"
        case OneOf():
            return f"{_expr(condition.item)} in {{{', '.join(map(number_text, condition.values))}}}"
        case Level():
            return f"{_expr(condition.item)} in {{{', '.join(map(value_text, condition.values))}}}"
        case MultipleOf():
            return f"{_expr(condition.item)} multiple of {number_text(condition.step)}"
        case NotC():
            return f"not ({_condition(condition.operand)})"
        case AndC():
            return "all(" + "; ".join(map(_condition, condition.items)) + ")"
        case OrC():
            return "any(" + "; ".join(map(_condition, condition.items)) + ")"
        case _:
            assert_never(condition)


def _cells(condition: CellCondition) -> str:
    match condition:
        case CellCompare():
            return f"{condition.column} {condition.op} {value_text(condition.value)}"
        case CellIn():
            return f"{condition.column} in {{{', '.join(map(value_text, condition.values))}}}"
        case CellMissing():
            return f"{condition.column} is missing"
        case RowIn():
            return f"row in {{{', '.join(map(str, condition.rows))}}}"
        case CellNot():
            return f"not ({_cells(condition.operand)})"
        case CellAnd():
            return "all(" + "; ".join(map(_cells, condition.items)) + ")"
        case CellOr():
            return "any(" + "; ".join(map(_cells, condition.items)) + ")"
        case _:
            assert_never(condition)


def number_text(value: Fraction | int) -> str:
    """A fraction, as a decimal where it ends."""
    value = Fraction(value)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if value.denominator == 1 or rest != 1 or value.denominator > 10**12:
        return str(value)
    return f"{float(value):.12f}".rstrip("0")


def value_text(value: Fraction | str | float) -> str:
    """A label, level or number as dumps show it."""
    return f'"{value}"' if isinstance(value, str) else number_text(Fraction(str(value)))


# ---- the core


def _core(core: Core) -> Iterator[str]:
    if core.targets is None:
        yield f"rows {core.n_rows}, classes {core.n_classes}"
    else:
        yield f"rows {core.n_rows}, number targets {core.targets.shape[1]}"
    yield _skeleton(core.skeleton)
    for family in core.families:
        yield _family(family, core)
    for each in core.filters:
        yield _filter(each, core)
    for clause in core.clauses:
        yield _clause(clause, core)
    for stage in core.objective:
        yield from _stage(stage, core)


def _family(family: Family, core: Core) -> str:
    missing = "" if family.missing is None else f", missing cells {family.missing}"
    domain = "" if family.domain == FULL else f", at {_set(family.domain)}"
    name = core.columns[family.column]
    return f"tests of {name}: {family.n_tests} by {family.kind}{missing}{domain}"


def _filter(each: SplitFilter, core: Core) -> str:
    levels = "" if each.levels is None else f" at level {_ranges(each.levels)}"
    name = core.columns[each.column]
    return f"filter {each.origin.rule}: {name}{levels} in {_set(each.allowed)}"


def _ranges(levels: tuple[int, ...]) -> str:
    if len(levels) > 2 and levels == tuple(range(levels[0], levels[-1] + 1)):
        return f"{levels[0]} to {levels[-1]}"
    return ", ".join(map(str, levels))


def _set(allowed: RealSet) -> str:
    if not allowed:
        return "nothing"
    shown = [
        f"{{{low[0]:g}}}"
        if low[0] == high[0]
        else f"{'(' if low[1] else '['}{low[0]:g}, {high[0]:g}{']' if high[1] else ')'}"
        for low, high in allowed.pieces
    ]
    more = f" and {len(shown) - SHOWN_ROWS} more" if len(shown) > SHOWN_ROWS else ""
    return " or ".join(shown[:SHOWN_ROWS]) + more


def _clause(clause: Clause, core: Core) -> str:
    literals = " or ".join(_literal(literal, core) for literal in clause.literals)
    return f"clause {clause.origin.rule} of {clause.scope.value}: {literals or 'false'}"


def _literal(literal: SignedAtom, core: Core) -> str:
    shown = _atom(literal.atom, core)
    return shown if literal.positive else f"not {shown}"


def _atom(atom: Atom, core: Core) -> str:
    match atom:
        case Used():
            return f"Used({core.columns[atom.column]})"
        case Order():
            absent = ", absent" if atom.absent else ""
            return f"Order({core.columns[atom.here]} below {core.columns[atom.above]}{absent})"
        case Root():
            return f"Root({', '.join(core.columns[column] for column in atom.columns)})"
        case Budget():
            bound = _bound(atom.at_most, atom.measure.denominator)
            return f"Budget({_path(atom.measure, core)} <= {bound})"
        case Linear():
            bound = _bound(atom.at_most, atom.measure.denominator)
            return f"Linear({_additive(atom.measure, core)} <= {bound})"
        case Depth():
            return f"Depth({atom.at_most})"
        case Link():
            return f"Link({atom.first}, {atom.second})"
        case Monotone():
            word = "increasing" if atom.increasing else "decreasing"
            return f"Monotone({core.columns[atom.column]} {word})"
        case PathTotal():
            bound = _bound(atom.at_most, atom.measure.denominator)
            paths = _path_sum(atom.path_sum, core)
            return f"PathTotal({_additive(atom.measure, core)} + {paths} <= {bound})"
        case OutputSet():
            return f"OutputSet({_condition(atom.condition)})"
        case LossBound():
            return f"LossBound({_loss(atom.loss)} <= {number_text(atom.at_most)})"
        case MaximaBound():
            return f"MaximaBound({_with_maxima(atom, core)} <= {number_text(atom.at_most)})"
        case _:
            assert_never(atom)


def _with_maxima(atom: MaximaBound, core: Core) -> str:
    parts = [f"{_additive(atom.measure, core)} [over {atom.measure.denominator}]"]
    for factor, measures in atom.maxima:
        each = ", ".join(f"{_additive(m, core)} [over {m.denominator}]" for m in measures)
        parts.append(f"{number_text(factor)} times the largest of {each}")
    return " + ".join(parts)


def _loss(loss: TargetLoss) -> str:
    factors = ", ".join(map(number_text, loss.factors))
    by = "" if loss.exposure is None else " by exposure"
    return f"mean {loss.kind} error{by} times {factors}, weight {loss.total}"


def _bound(at_most: int, denominator: int) -> str:
    return str(at_most) if denominator == 1 else f"{at_most} [over {denominator}]"


def _path(measure: PathMeasure, core: Core) -> str:
    parts = [
        *_weighted("{}", measure.per_test, core),
        *_weighted("once {}", measure.once, core),
        *(
            f"{shared.amount} shared by {', '.join(core.columns[c] for c in shared.columns)}"
            for shared in measure.shared
        ),
    ]
    return _plus(parts, measure.constant)


def _path_sum(paths: PathSum, core: Core) -> str:
    return f"weight {int(paths.weights.sum())} times path ({_path(paths.measure, core)})"


def _weighted(shape: str, weights: Iterable[int], core: Core) -> Iterator[str]:
    for name, weight in zip(core.columns, weights, strict=True):
        if weight:
            yield f"{weight} {shape.format(name)}"


def _additive(measure: Additive, core: Core) -> str:
    parts: list[str] = []
    if measure.rows is not None:
        parts.append(f"rows[{_sums(measure.rows[:, None])}]")
    if measure.output is not None:
        parts.append(f"output[{_sums(measure.output)}]")
    if measure.columns is not None:
        parts += _weighted("per split of {}", measure.columns.tolist(), core)
    if measure.leaves:
        parts.append(f"{measure.leaves} per leaf")
    if measure.splits:
        parts.append(f"{measure.splits} per split")
    return _plus(parts, measure.constant)


def _plus(parts: Iterable[str], constant: int) -> str:
    shown = " + ".join(parts) or "0"
    return shown if not constant else f"{shown} {'+' if constant > 0 else '-'} {abs(constant)}"


def _sums(weights: IntArray) -> str:
    """How many rows weigh in, and by class what they add and what they take away."""
    rows = int(np.any(weights != 0, axis=1).sum())
    shown = []
    for column in weights.T:
        added, paths_taken = int(column[column > 0].sum()), int(-column[column < 0].sum())
        shown.append(
            f"{added} - {paths_taken}" if added and paths_taken else str(added - paths_taken)
        )
    return f"{counted(rows, 'row')}: {', '.join(shown)}"


def _stage(stage: StageForm, core: Core) -> Iterator[str]:
    match stage:
        case DepthStage():
            yield "minimize depth"
        case RegressionStage():
            rest = _additive(stage.rest, core)
            yield f"minimize {_loss(stage.loss)} + {rest} [over {stage.rest.denominator}]"
        case LinearStage():
            sign = "" if stage.sign > 0 else ", sign turned"
            denominator = stage.measure.denominator
            yield f"minimize {_additive(stage.measure, core)} [over {denominator}{sign}]"
            for factor, measures in stage.maxima:
                yield f"  + {number_text(factor)} times the largest of"
                for measure in measures:
                    yield f"    {_additive(measure, core)} [over {measure.denominator}]"
            if (paths := stage.path_sum) is not None:
                yield f"  + {_path_sum(paths, core)} [over {paths.whole_denominator}]"
        case QuotientStage():
            yield f"maximize {number_text(stage.factor)} times the quotient of"
            for measure in (stage.over, stage.under):
                yield f"    {_additive(measure, core)} [over {measure.denominator}]"
        case _:
            assert_never(stage)
