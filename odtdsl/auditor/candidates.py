"""The audit of splits: each tests a feature of the spec, where `candidates` admits it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from odtdsl.auditor.results import AuditLine
from odtdsl.auditor.routing import ModelOn, SplitOn
from odtdsl.auditor.rows import AuditRows
from odtdsl.auditor.targets import AuditPart
from odtdsl.datasets.candidates import guessed_cuts
from odtdsl.datasets.table import FloatArray
from odtdsl.predictors.nodes import InBin, Threshold
from odtdsl.problem.ir.problem import FeatureDecl

Guessed = dict[str, tuple[float, ...]]


def candidates(model: ModelOn) -> AuditLine:
    """Whether every split tests a feature of the spec, at a candidate."""
    problem = model.rows.problem
    features = {feature.name: feature for feature in problem.features}
    guessed = _guessed(model.rows)
    planes = problem.skeleton.splits == "hyperplane"
    wrong = {
        name
        for split in model.splits
        for name in split.features
        if name not in features
        or (split.test is None) != planes
        or (not planes and not _is_candidate(split, features[name], guessed))
    }
    return AuditLine(
        rule=f"{model.kind} candidates",
        text="every split is a candidate",
        holds=not wrong,
        instances=len(model.splits),
        note="not a candidate: " + ", ".join(sorted(wrong)) if wrong else "",
    )


def _guessed(rows: AuditRows) -> Guessed:
    """The thresholds of `candidates at guessed`, guessed again."""
    columns = {
        feature.name: rows.numbers(feature.name)
        for feature in rows.problem.features
        if feature.candidates.place == "guessed" and feature.type.kind == "number"
    }
    if not columns:
        return {}
    target = AuditPart.of(rows.problem.target.kind).truth(rows)
    return guessed_cuts(columns, target, seed=rows.problem.options.seed)


def _is_candidate(split: SplitOn, feature: FeatureDecl, guessed: Guessed) -> bool:
    """Whether a test is one that `candidates` admits."""
    test, place = split.test, feature.candidates
    if feature.type.kind != "number":
        ranked = isinstance(test, Threshold) and feature.type.kind == "ordered"
        return ranked or not isinstance(test, Threshold | InBin)
    numbers = split.rows.numbers(feature.name)
    there = numbers[~np.isnan(numbers)]
    if not len(there):
        return False
    if place.place == "bins":
        return isinstance(test, InBin) and (test.low, test.high) in _bins(there, place.count)
    if not isinstance(test, Threshold) or isinstance(test.value, str):
        return False
    match place.place:
        case "quantiles":
            cuts = _cuts(there, place.count)
            return test.value in (
                {math.floor(c) for c in cuts} if feature.type.counts_days else cuts
            )
        case "values":
            return test.value in {float(value) for value in place.values}
        case "guessed":
            return test.value in guessed[feature.name]
        case _:
            here = numbers[split.inside]
            return bool((here <= test.value).any() and (here > test.value).any())


def _cuts(there: FloatArray, count: int) -> set[float]:
    """The quantiles of a column, each to 12 digits if as many cells are at most so."""
    found = set()
    for cut in _quantiles(there, np.arange(1, count) / count).tolist():
        short = float(f"{cut:.12g}")
        found.add(short if (there <= short).sum() == (there <= cut).sum() else cut)
    return found


def _bins(there: FloatArray, count: int) -> set[tuple[float, float]]:
    """The quantile bins of a column, as scikit-learn cuts them: edges that fall together, up to
    1e-8, merge. The first and the last may reach beyond the rows."""
    edges = _quantiles(there, np.linspace(0, 100, count + 1) / 100)
    kept = edges[:1].tolist()
    kept += [edge for edge, step in zip(edges[1:], np.diff(edges), strict=True) if step > 1e-8]
    wide = [-np.inf, *kept[1:-1], np.inf]
    return {*pairwise(wide), *pairwise(kept)}


def _quantiles(values: FloatArray, shares: FloatArray) -> FloatArray:
    """`numpy.quantile`, also where the difference of two values is beyond float64."""
    scale = 4.0 if np.abs(values).max() >= 1e300 else 1.0
    found: FloatArray = np.quantile(values / scale, shares) * scale
    return found
