"""Parameters of an estimator as statements of the language."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from odtdsl.base.back_ends import able
from odtdsl.base.diagnostics.model import error
from odtdsl.base.tasks import task_of_type, timed_targets
from odtdsl.datasets.dataset import Value
from odtdsl.datasets.levels import number_indices, text_index
from odtdsl.estimators.cells import Cells, Kind
from odtdsl.estimators.rules import Rules, add_groups, add_rules, append
from odtdsl.interfaces.api import load, parse
from odtdsl.interfaces.api import statements as say
from odtdsl.interfaces.api.model import Model
from odtdsl.language import ast, constructors
from odtdsl.language.expressions import label_text
from odtdsl.language.printer import statement_to_text
from odtdsl.words import values


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorOptions:
    """The parameters of an estimator, under names that all estimators share.

    Attributes
    ----------
    depth, leaves, widths, splits
        The skeleton; `widths` make it a diagram.
    leaf_size, split_size
        Least rows, as whole numbers or shares.
    leaf_weight
        The least share in a leaf of what all rows weigh by the prices of their classes.
    objective, price
        What to minimize, and the price per leaf (per split of a diagram).
    missing
        The policy, None where missing cells are refused before.
    outputs
        Whether a rule without a scope speaks of leaf outputs where it names a target.
    growth
        How `greedy` scores splits and fills leaves.
    backend, limit, threads, seed
        Of the solve; None for what the spec says.
    """

    rules: Rules = ()
    groups: Mapping[str, Any] = field(default_factory=dict)
    spec: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    depth: int | None = None
    leaves: int | None = None
    widths: tuple[int, ...] | None = None
    splits: Literal["axis", "hyperplane"] = "axis"
    leaf_size: int | float = 1
    split_size: int | float = 2
    leaf_weight: float = 0.0
    objective: Any = None
    price: float = 0.0
    missing: str | None = None
    step: float | None = None
    outputs: bool = False
    growth: tuple[str, str] = ("optimal", "optimal")
    backend: str | None = None
    limit: Any = None
    threads: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target: its column or columns, the classes in order (none for numbers and choices) with
    the rows of each, what an error on each costs (none: 1), and what the columns of choices hold;
    `timed` where they are a time and an event."""

    names: tuple[str, ...]
    labels: tuple[Value, ...] = ()
    counts: tuple[int, ...] = ()
    prices: tuple[Fraction, ...] = ()
    by: Literal["reward", "loss"] | None = None
    timed: bool = False

    @property
    def kind(self) -> str:
        """The type of target that it is."""
        if self.by is not None:
            return "choice"
        if self.timed:
            return timed_targets()[0]
        return "class" if self.labels else "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns beside the target: features, and those of groups only."""

    features: Cells
    sensitive: Cells | None
    masks: tuple[str, ...]


def spec_model(spec: Any) -> Model:
    """The model of `spec=`: a model, the text of a spec, or a path; empty for None.

    Raises
    ------
    OdtError
        What the parser says of it; U401: it is none of these.
    """
    if spec is None:
        return Model()
    if isinstance(spec, Model):
        return spec.copy()
    if isinstance(spec, os.PathLike):
        return load(spec)
    if isinstance(spec, str):
        return load(spec) if re.fullmatch(r"[^\r\n]*\.odt", spec) else parse(spec)
    raise values.wrong("`spec`", spec, "pass the text of a spec, a path, or a Model")


def only(model: Model, kind: type[Any]) -> Any:
    """The first statement of a kind; None without one."""
    return next((one for one in model.spec.statements if isinstance(one, kind)), None)


def problem(options: EstimatorOptions, target: Target, columns: Columns) -> Model:
    """The model that an estimator solves, for the frame of all its columns."""
    for place, said in (("`groups`", options.groups), ("`settings`", options.settings)):
        if not isinstance(said, Mapping):
            raise values.wrong(place, said, "pass a mapping of names, such as a dict")
    base = spec_model(options.spec)
    given = [one for one in base.spec.statements if not isinstance(one, ast.Data)]
    model = Model(base=base.base)
    model.add(_data(only(base, ast.Data)))
    append(model, given)
    _target(model, target, step=options.step)
    _types(model, columns)
    if options.missing not in (None, "refuse") and not _has_policy(model):
        model.missing(options.missing)  # type: ignore[arg-type]
    add_rules(model, options.rules, target.names if options.outputs else ())
    add_groups(model, options.groups, columns.masks)
    _losses(model, target)
    _skeleton(model, options)
    _objective(model, options, target)
    _sizes(model, options)
    _leaf_weight(model, options.leaf_weight, target)
    _settings(model, options.settings)
    _solve(model, options)
    return model


def _put(model: Model, old: ast.Statement, new: ast.Statement) -> None:
    said = tuple(new if one is old else one for one in model.spec.statements)
    say.check_writable(new)
    model._replace(said)


def _data(said: ast.Data | None) -> str:
    """`data frame` with the marks of the spec's own data, and with its id."""
    kept: list[ast.DataOption] = []
    for option in () if said is None else said.options:
        if isinstance(option, ast.NaMarks | ast.IdColumn):
            kept.append(option)
    return statement_to_text(ast.Data(source=ast.FrameSource(), options=tuple(kept)))


def _target(model: Model, target: Target, *, step: float | None) -> None:
    said: ast.Target | None = only(model, ast.Target)
    if said is None:
        if target.by is not None:
            model.target(*target.names, by=target.by)
        elif target.timed:
            model.target(target.names[0], event=target.names[1])
        elif not target.labels:
            model.target(*target.names, type="number", step=step)
        else:
            positive = target.labels[1] if len(target.labels) == 2 else None
            model.target(target.names[0], classes=list(target.labels), positive=positive)
        return
    kind = None if said.type is None else said.type.kind
    asked, own = task_of_type(kind or "class"), task_of_type(target.kind)
    assert asked is not None, "the grammar knows the types of targets"
    assert own is not None, "there are classes, numbers and choices"
    if asked is not own:
        other = f"use a {asked.estimator}, or " if asked.estimator else ""
        raise error(
            "U603",
            f"`spec` predicts {asked.plural}, but this estimator predicts {own.plural}",
            helps=(f"{other}change the target",),
        )
    if target.labels:
        present = tuple(values.label(label) for label in target.labels)
        declared = ast.TypeSpec(kind=kind or "class", values=present)
        last = present[1] if len(present) == 2 else None
        _put(model, said, replace(said, type=declared, positive=said.positive or last))


def declared_order(spec: Any, labels: tuple[Value, ...]) -> tuple[int, ...]:
    """Positions of the labels in the order that a spec declares, those it does not name last."""
    said: ast.Target | None = only(spec_model(spec), ast.Target)
    places = tuple(range(len(labels)))
    if said is None or said.type is None or said.type.values is None:
        return places
    found: list[int] = []
    for value in said.type.values:
        at = _meant(labels, value)
        if at is not None and at not in found:
            found.append(at)
    return (*found, *(place for place in places if place not in found))


def _meant(labels: tuple[Value, ...], literal: ast.Literal) -> int | None:
    """The label of the text of a literal, else the one that reads as its number."""
    if isinstance(literal, ast.Text):
        return text_index(labels, literal.value)
    if not isinstance(literal, ast.Number):
        return None
    exact = text_index(labels, label_text(literal))
    if exact is not None:
        return exact
    same = number_indices(labels, literal.value)
    return same[0] if len(same) == 1 else None


# ---- columns


def _types(model: Model, columns: Columns) -> None:
    """Types that the cells do not say by themselves, where the spec says none."""
    said: set[str] = set()
    for statement in model.spec.statements:
        if isinstance(statement, ast.Feature):
            if isinstance(statement.columns, ast.Star):
                said.update(columns.features.columns)
            else:
                said.update(name.name for name in statement.columns)
        elif isinstance(statement, ast.Drop):
            said.update(name.name for name in statement.columns)
        elif isinstance(statement, ast.Weight):
            said.add(statement.column.name)
        elif isinstance(statement, ast.Data):
            said.update(o.column.name for o in statement.options if isinstance(o, ast.IdColumn))
    for name, kind in columns.features.kinds.items():
        if name in said or kind.word == "number":
            continue
        model.feature((name,), kind.word, levels=kind.levels or None)
    if columns.sensitive is not None:
        model.drop(list(columns.sensitive.columns))


def undeclared_categories(spec: Any, kinds: Mapping[str, Kind]) -> frozenset[str]:
    """The categories whose type neither the spec nor the levels of their column declare."""
    said = {
        name.name
        for one in spec_model(spec).spec.statements
        if isinstance(one, ast.Feature) and not isinstance(one.columns, ast.Star)
        for name in one.columns
    }
    return frozenset(name for name, kind in kinds.items() if kind.word == "category") - said


def classes_from_y(spec: Any) -> bool:
    """Whether the classes are those of `y`, not listed by a spec."""
    target = only(spec_model(spec), ast.Target)
    return target is None or target.type is None or target.type.values is None


def dropped_by(spec: Any) -> frozenset[str]:
    """The columns that a spec drops."""
    drops = [one for one in spec_model(spec).spec.statements if isinstance(one, ast.Drop)]
    return frozenset(name.name for drop in drops for name in drop.columns)


def add_weights(model: Model, name: str) -> None:
    """Rows weigh what a column of the frame says."""
    if only(model, ast.Weight) is not None:
        raise error(
            "U602",
            "weights are given twice: by `sample_weight` and by `weight` in the spec",
            helps=("remove one of them",),
        )
    model.weight(name)


def _has_policy(model: Model) -> bool:
    return any(
        isinstance(one, ast.Missing) and one.columns is None for one in model.spec.statements
    )


# ---- losses, skeleton, objective, sizes


def _losses(model: Model, target: Target) -> None:
    """An error on each class costs what `class_weight` says."""
    if not target.prices:
        return
    for kind, said in ((ast.Loss, "`loss`"), (ast.Objective, "the objective of `spec`")):
        if only(model, kind) is not None:
            raise error(
                "U602",
                f"the price of errors is given twice: by `class_weight` and by {said}",
                helps=("remove one of them",),
            )
    for actual, price in zip(target.labels, target.prices, strict=True):
        for predicted in target.labels:
            if predicted != actual and price != 1:
                model.loss(predict=predicted, when=actual, amount=price)


AUTO = "auto"
LONG, SHORT = 60.0, 5.0
"""Seconds of a fit where none are said: of trees to depth `PROVABLE`, and of deeper ones."""

PROVABLE = 4

DEPTH = 3
"""Of trees where neither the estimator nor the spec says one."""


def _skeleton(model: Model, options: EstimatorOptions) -> None:
    for bound, place in ((options.depth, "`max_depth`"), (options.leaves, "`max_leaf_nodes`")):
        if bound is not None and values.whole(bound, place) < (place != "`max_depth`"):
            raise values.wrong(place, bound, "pass a depth of at least 0, and at least 1 leaf")
    tree: ast.Tree | None = only(model, ast.Tree)
    diagram: ast.Diagram | None = only(model, ast.Diagram)
    if (tree is not None and options.widths is not None) or (
        diagram is not None and options.widths is None
    ):
        asked = "tree" if options.widths is None else "diagram"
        raise error(
            "U603",
            (
                f"`spec` asks for a {'diagram' if tree is None else 'tree'}, but this estimator "
                f"fits a {asked}"
            ),
            helps=("use the other estimator, or change the skeleton",),
        )
    if options.widths is not None:
        if diagram is None:
            model.diagram(
                options.widths, splits=None if options.splits == "axis" else options.splits
            )
        return
    if tree is None:
        model.tree(depth=DEPTH if options.depth is None else options.depth, leaves=options.leaves)
        return
    wanted = {"depth": options.depth, "leaves": options.leaves}
    kept = tuple(bound for bound in tree.bounds if wanted.get(bound.measure) is None)
    new = say.tree(depth=options.depth, leaves=options.leaves, nodes=None, splits=None).bounds
    _put(model, tree, replace(tree, bounds=(*new, *kept)))


def _objective(model: Model, options: EstimatorOptions, target: Target) -> None:
    said: ast.Objective | None = only(model, ast.Objective)
    if options.objective is not None and said is not None:
        raise error(
            "U602",
            "the objective is given twice: by `objective` and by the spec",
            helps=("remove one of them",),
        )
    if options.objective is not None and target.prices:
        raise error(
            "U602",
            "`objective` and `class_weight` both say what is minimized",
            helps=("remove one of them", "or say the prices of errors by `loss` in `rules`"),
        )
    if said is None:
        _minimize(model, options.objective, _model_loss(model, target))
        said = only(model, ast.Objective)
    assert said is not None, "an objective has just been added"
    per_leaf = values.literal_number(options.price, "`cost_complexity`")
    if options.price < 0:
        helps = "give a price of at least 0: a negative one asks for useless splits"
        raise values.wrong("`cost_complexity`", options.price, helps)
    if options.price:
        first = said.stages[0]
        per = "leaves" if options.widths is None else "splits"
        price = ast.Binary(
            op="*",
            left=per_leaf,
            right=ast.Name(name=per),
        )
        measure = ast.Binary(
            op="+" if first.sense == "minimize" else "-", left=first.measure, right=price
        )
        _put(model, said, replace(said, stages=(replace(first, measure=measure), *said.stages[1:])))


def _model_loss(model: Model, target: Target) -> str:
    """The default objective: the declared losses if there are any, else errors; of choices the mean
    of what they hold."""
    if target.by is not None:
        said: ast.Target = only(model, ast.Target)
        by = target.by if said.by is None else said.by.name
        return "minimize expected_loss" if by == "loss" else "maximize expected_reward"
    if target.timed:
        return "survival_loss"
    if not target.labels:
        return "mse"
    return "error_rate" if only(model, ast.Loss) is None else "expected_loss"


def _minimize(model: Model, objective: Any, default: str) -> None:
    if objective is None:
        objective = default
    if isinstance(objective, str) and objective.lstrip().startswith(("minimize ", "maximize ")):
        model.add(objective)
    elif isinstance(objective, tuple | list):
        model.minimize(*objective)
    else:
        model.minimize(objective)


def _sizes(model: Model, options: EstimatorOptions) -> None:
    for size, least, scope, name in (
        (options.leaf_size, 1, "leaf", "min_samples_leaf"),
        (options.split_size, 2, "split", "min_samples_split"),
    ):
        exact = values.exact(size)
        if exact is None or exact <= 0 or (exact > 1 and exact.denominator != 1):
            raise values.wrong(f"`{name}`", size, "pass a number of rows, or a fraction below 1")
        if isinstance(size, float) and exact < 1:
            bound: ast.Expr = ast.Percent(value=exact * 100)
        elif exact > least:
            bound = constructors.number(exact)
        else:
            continue
        taken = {one.name for one in model.spec.statements if isinstance(one, ast.Rule)}
        while name in taken:
            name += "_"
        condition = ast.Compare(operands=(ast.Name(name="size"), bound), ops=(">=",))
        append(model, [ast.Rule(name=name, condition=condition, scope=scope)])


def _leaf_weight(model: Model, share: float, target: Target) -> None:
    """The least weight of a leaf as a rule on how many rows of each class it has."""
    least = values.exact(share)
    if least is None or not 0 <= least <= Fraction(1, 2):
        raise values.wrong("`min_weight_fraction_leaf`", share, "pass a share from 0 to 0.5")
    if least == 0:
        return
    prices = target.prices or (Fraction(1),) * len(target.labels)
    total = sum((p * n for p, n in zip(prices, target.counts, strict=True)), Fraction(0))
    said = model.spec.statements
    taken = {one.name for one in said if isinstance(one, ast.Rule | ast.Group | ast.Let)}
    parts: list[ast.Expr] = []
    for price, label in zip(prices, target.labels, strict=True):
        group = f"{target.names[0]}_is_{label}"
        while group in taken:
            group += "_"
        taken.add(group)
        is_it = ast.Compare(
            operands=(constructors.name(target.names[0]), values.label(label)), ops=("=",)
        )
        append(model, [ast.Group(name=group, condition=is_it)])
        size = ast.Call(function="size", args=(constructors.name(group),))
        parts.append(ast.Binary(op="*", left=constructors.number(price), right=size))
    summed = parts[0]
    for part in parts[1:]:
        summed = ast.Binary(op="+", left=summed, right=part)
    name = "min_weight_fraction_leaf"
    while name in taken:
        name += "_"
    condition = ast.Compare(operands=(summed, constructors.number(least * total)), ops=(">=",))
    append(model, [ast.Rule(name=name, condition=condition, scope="leaf")])


# ---- settings, options of the solve


def _settings(model: Model, settings: Mapping[str, Any]) -> None:
    """Values of `let` names in their places, so that the text says what was solved."""
    lets = {one.name: one for one in model.spec.statements if isinstance(one, ast.Let)}
    for name, value in settings.items():
        if name not in lets:
            known = ", ".join(f"`{one}`" for one in lets) or "none"
            raise error(
                "U601",
                f"`settings` names `{name}`, but the spec has no `let {name}`",
                helps=(f"the spec defines by `let`: {known}",),
            )
        _put(model, lets[name], say.let(name, value))


def _solve(model: Model, options: EstimatorOptions) -> None:
    """One `solve` statement: what the estimator says before what the spec does."""
    said: dict[type[ast.Node], ast.SolveOption] = {}
    for statement in model.spec.statements:
        if isinstance(statement, ast.Solve):
            said |= {type(option): option for option in statement.options}
    limit = options.limit
    if isinstance(limit, str) and limit == AUTO:
        limit = SHORT if only_deep(model) else LONG
    options = replace(options, limit=None if ast.Within in said else limit)
    for option in _solve_options(options):
        said[type(option)] = option
    model._replace(tuple(one for one in model.spec.statements if not isinstance(one, ast.Solve)))
    if said:
        append(model, [ast.Solve(options=tuple(said.values()))])


def only_deep(model: Model) -> bool:
    """Whether trees may be too deep for a proof to be waited for."""
    tree: ast.Tree | None = only(model, ast.Tree)
    if tree is None:
        return False
    bounds = [bound for bound in tree.bounds if bound.measure == "depth"]
    return all(bound.value.value > PROVABLE for bound in bounds)


def _solve_options(options: EstimatorOptions) -> tuple[ast.SolveOption, ...]:
    using, grower = options.backend, able("grow")
    if options.growth != ("optimal", "optimal"):
        if using not in (None, grower):
            raise error(
                "U602",
                f"`split` and `leaf` are options of `{grower}`, but the back end is `{using}`",
                helps=(f'omit `backend`, or write `backend="{grower}"`',),
            )
        using = "{}(split = {}, leaf = {})".format(grower, *options.growth)
    given = {
        "using": using,
        "within": options.limit,
        "threads": options.threads,
        "seed": options.seed,
        "gap": None,
        "memory": None,
        "start": None,
    }
    if all(value is None for value in given.values()):
        return ()
    return say.options(**given).options
