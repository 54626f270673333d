"""Random tiny problems for tests: rows with gaps, families of all kinds, clauses of all atoms."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from odtdsl.datasets.cells import build_table, column_from_numbers, column_from_texts
from odtdsl.datasets.dataset import Column, Dataset, Weights
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.typing import declare_type, encode
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import build_families
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
    Monotone,
    Order,
    Origin,
    PathMeasure,
    PathSum,
    PathTotal,
    Root,
    Shared,
    SignedAtom,
    SplitFilter,
    StageForm,
    Used,
)
from odtdsl.problem.ir.intervals import EMPTY, FULL, RealSet
from odtdsl.problem.ir.problem import (
    Candidates,
    Costs,
    FeatureDecl,
    Problem,
    TargetDecl,
    TreeSkeleton,
)
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree
from odtdsl.problem.ir.rows import Rows

HERE = Origin(rule="r")


@dataclass(frozen=True, kw_only=True)
class Sample:
    rows: Rows
    core: Core


def random_rows(rng: random.Random, *, n_rows: int | None = None, n_classes: int = 2) -> Rows:
    """Rows with one to four features of random kinds, missing policies and candidates."""
    n = rng.randint(2, 9) if n_rows is None else n_rows
    raws, columns, features = [], {}, []
    for index in range(rng.randint(1, 4)):
        kind = rng.choice(["number", "number", "ordered", "category", "binary"])
        policy = rng.choice(["refuse", "left", "right", "branch"])
        name = f"f{index}"
        top = 1 if kind == "binary" else rng.randint(0, 4)
        cells = [rng.randint(0, top) for _ in range(n)]
        gaps = [policy != "refuse" and rng.random() < 0.25 for _ in range(n)]
        if kind == "number":
            numbers = [np.nan if gone else x * 1.5 for x, gone in zip(cells, gaps, strict=True)]
            raw = column_from_numbers(name, np.array(numbers))
            type_ = declare_type(raw, "number")
        else:
            texts = [None if gone else "abcde"[x] for x, gone in zip(cells, gaps, strict=True)]
            raw = column_from_texts(name, texts)
            levels = "abcde" if kind == "ordered" else None
            type_ = declare_type(raw, kind, levels=levels and tuple(levels))  # type: ignore[arg-type]
        place = rng.choice(["midpoints", "midpoints", "bins", "quantiles", "values"])
        listed = tuple(Fraction(rng.randint(0, 12), 2) for _ in range(3))
        candidates = Candidates(place=place, count=3, values=listed)  # type: ignore[arg-type]
        raws.append(raw)
        columns[name] = encode(raw, type_)
        features.append(
            FeatureDecl(
                type=type_,
                missing=policy,  # type: ignore[arg-type]
                candidates=candidates if kind == "number" else Candidates(),
            )
        )
    labels = np.array([rng.randrange(n_classes) for _ in range(n)], dtype=np.int64)
    target = column_from_texts("y", [["no", "yes", "maybe"][c] for c in labels])
    columns["y"] = Column(type=declare_type(target, "category"), numbers=None, codes=labels)
    problem = Problem(
        data=DataRequest(kind="frame"),
        features=tuple(features),
        target=TargetDecl(names=("y",), kind="class", classes=("no", "yes", "maybe")[:n_classes]),
        skeleton=TreeSkeleton(depth=2, leaves=None),
        objective=(),
        costs=Costs(features=(Fraction(0),) * len(features)),
    )
    weights = np.array([rng.choice([1, 1, 2]) for _ in range(n)], dtype=np.int64)
    data = Dataset(
        table=build_table("rows", [*raws, target], n),
        columns=columns,
        labels=labels,
        targets=None,
        weights=Weights(numerators=weights, denominator=2),
        row_numbers=np.arange(n),
    )
    return Rows(problem, data)


def errors_of(rows: Rows) -> Additive:
    output = np.repeat(rows.weights[:, None], rows.n_classes, axis=1)
    output[np.arange(rows.n_rows), rows.labels] = 0
    return Additive(output=output, denominator=rows.weight_denominator)


def random_sample(
    rng: random.Random,
    *,
    rules: int | None = None,
    n_rows: int | None = None,
    n_classes: int | None = None,
    monotone: bool = True,
) -> Sample:
    """Random rows, filters, clauses and objective."""
    classes = rng.randint(1, 3) if n_classes is None else n_classes
    rows = random_rows(rng, n_rows=n_rows, n_classes=classes)
    n = rng.randint(0, 3) if rules is None else rules
    core = Core(
        n_rows=rows.n_rows,
        n_classes=classes,
        columns=tuple(f.name for f in rows.problem.features),
        families=build_families(rows.problem, rows.data),
        labels=rows.labels,
        skeleton=TreeSkeleton(depth=rng.randint(0, 3), leaves=rng.choice([None, None, 2, 3])),
        filters=tuple(random_filter(rng, rows) for _ in range(rng.choice([0, 0, 1, 2]))),
        clauses=tuple(random_clause(rng, rows, monotone=monotone) for _ in range(n)),
        objective=random_objective(rng, rows),
    )
    return Sample(rows=rows, core=core)


def random_filter(rng: random.Random, rows: Rows) -> SplitFilter:
    column = rng.randrange(len(rows.problem.features))
    low = rng.randint(0, 10) / 2
    feature = rows.problem.features[column]
    ranked = feature.type.kind in ("number", "ordered") and feature.candidates.place != "bins"
    allowed = rng.choice(
        [EMPTY, FULL]
        if not ranked
        else [
            EMPTY,
            FULL,
            RealSet.between(low, low + rng.randint(0, 4) / 2),
            RealSet.points([rng.randint(0, 12) / 2 for _ in range(2)]),
            RealSet.above(low, closed=False),
        ]
    )
    levels = rng.choice([None, (0,), (0, 2)])
    return SplitFilter(column=column, levels=levels, allowed=allowed, origin=HERE)


def random_additive(rng: random.Random, rows: Rows, *, model: bool) -> Additive:
    n, classes = rows.n_rows, rows.n_classes
    ints = np.random.default_rng(rng.randrange(2**32))
    row_part = rng.choice([None, ints.integers(-2, 3, n), -np.ones(n, dtype=np.int64)])
    return Additive(
        constant=rng.randint(-2, 2),
        rows=row_part,
        output=rng.choice([None, ints.integers(-2, 3, (n, classes)), errors_of(rows).output]),
        columns=rng.choice([None, ints.integers(0, 3, len(rows.problem.features))])
        if model
        else None,
        leaves=rng.randint(-1, 2) if model else 0,
        denominator=rng.randint(1, 3),
    )


def random_path_measure(rng: random.Random, rows: Rows) -> PathMeasure:
    n = len(rows.problem.features)
    shared = (Shared(columns=tuple(rng.sample(range(n), k=min(n, 2))), amount=rng.randint(0, 3)),)
    return PathMeasure(
        per_test=tuple(rng.randint(-1, 2) for _ in range(n)),
        once=tuple(rng.randint(0, 3) for _ in range(n)),
        shared=rng.choice([(), shared]),
        constant=rng.randint(-1, 1),
        denominator=rng.randint(1, 2),
    )


def random_atom(rng: random.Random, rows: Rows, scope: Scope, *, monotone: bool) -> Atom:
    n = len(rows.problem.features)
    column = rng.randrange(n)
    bound = rng.randint(-3, 6)
    if scope in (Scope.LEAF, Scope.SPLIT):
        return Linear(measure=random_additive(rng, rows, model=False), at_most=bound)
    if scope is Scope.PATH:
        return rng.choice(  # type: ignore[return-value]
            [
                Used(column=column),
                Order(here=column, above=rng.randrange(n), absent=rng.random() < 0.5),
                Budget(measure=random_path_measure(rng, rows), at_most=bound),
            ]
        )
    paths = PathSum(weights=rows.weights, measure=random_path_measure(rng, rows))
    atoms: list[Atom] = [
        Used(column=column),
        Root(columns=tuple(rng.sample(range(n), k=rng.randint(0, n)))),
        Linear(measure=random_additive(rng, rows, model=True), at_most=bound),
        Depth(at_most=rng.randint(0, 2)),
        Link(first=rng.randrange(rows.n_rows), second=rng.randrange(rows.n_rows)),
        PathTotal(
            measure=random_additive(rng, rows, model=True), path_sum=paths, at_most=bound * 4
        ),
    ]
    if monotone:
        atoms.append(Monotone(column=column, increasing=rng.random() < 0.5))
    return rng.choice(atoms)


def random_clause(rng: random.Random, rows: Rows, *, monotone: bool = True) -> Clause:
    scope = rng.choice(list(Scope))
    literals = []
    for _ in range(rng.choice([1, 1, 2])):
        atom = random_atom(rng, rows, scope, monotone=monotone)
        positive = isinstance(atom, Linear | Budget | PathTotal) or rng.random() < 0.5
        literals.append(SignedAtom(atom=atom, positive=positive))
    return Clause(scope=scope, literals=tuple(literals), origin=HERE)


def random_objective(rng: random.Random, rows: Rows) -> tuple[StageForm, ...]:
    parts = tuple(random_additive(rng, rows, model=True) for _ in range(2))
    path_sum = PathSum(weights=rows.weights, measure=random_path_measure(rng, rows), denominator=3)
    leaves = LinearStage(measure=Additive(leaves=1))
    return rng.choice(
        [
            (LinearStage(measure=errors_of(rows) + Additive(leaves=rng.randint(0, 1))),),
            (LinearStage(measure=errors_of(rows)), leaves),
            (DepthStage(), leaves),
            (
                LinearStage(
                    measure=random_additive(rng, rows, model=True),
                    maxima=((Fraction(1, 2), parts),),
                    path_sum=rng.choice([None, path_sum]),
                ),
            ),
        ]
    )


def random_tree(rng: random.Random, core: Core, depth: int = 3) -> RawTree:
    """A tree of tests that need not part the rows, nor keep any rule."""
    families = [i for i, family in enumerate(core.families) if family.n_tests]
    if depth == 0 or not families or rng.random() < 0.3:
        return RawLeaf(label=rng.randrange(core.n_classes) if core.n_classes else -1)
    family = rng.choice(families)
    return RawSplit(
        family=family,
        test=rng.randrange(core.families[family].n_tests),
        left=random_tree(rng, core, depth - 1),
        right=random_tree(rng, core, depth - 1),
    )
