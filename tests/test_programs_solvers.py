"""Programs that solvers of other projects read, and their solutions read back as models."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from program_solvers import FORMATS, SOLVERS, solved
from scale import scaled
from test_every_term import MIXED, PLAIN, PLAIN_PATHS, Case, case

import odtdsl
from odtdsl.base.diagnostics.model import OdtError

KINDS = (MIXED, PLAIN, PLAIN_PATHS)

STYLES = ("highs_table", "highs_sparse", "gurobi_json", "glpk_raw")
"""Of a solution that another name asks the same solver for."""

SIZED = ("gurobi", "cplex")
"""Their free licences take small programs only."""


def decoded(one: Case, answer: Path, **options: Any) -> tuple[Fraction, ...] | None:
    """The values of the model in an answer; None where it says that there is none."""
    try:
        result = one.spec.decode(answer, frame=one.tiny.frame, **options)
    except OdtError as problem:
        if [d.code for d in problem.diagnostics] != ["U210"]:
            raise
        return None
    assert result.audit is not None
    assert result.audit.holds, str(one)
    return tuple(stage.value for stage in result.stages)


def round_trip(one: Case, folder: Path, name: str, to: str) -> str:
    """The best of all stages at once is that of brute force."""
    path = folder / f"model.{to}"
    try:
        size = one.spec.compile(path, frame=one.tiny.frame, weighted=True)
    except OdtError as problem:
        if not {d.code for d in problem.diagnostics} <= {"B102", "B224"}:
            raise
        return "refused"
    if name in SIZED and (size["variables"] > 900 or size["rows"] > 900):
        return "too large"
    found = decoded(one, solved(name, path), to=to, weighted=True)
    assert found == one.optimum, f"{one}\n{found} {one.optimum}"
    return "infeasible" if found is None else "optimal"


@pytest.mark.parametrize(
    ("name", "to"), [(n, to) for n, tos in FORMATS.items() for to in tos if n not in STYLES]
)
def test_the_best_of_a_file_is_that_of_brute_force(name: str, to: str, tmp_path: Path) -> None:
    """The nightly tests try 300 of each format and solver, by day 3."""
    count = scaled(300) // 10 if scaled(300) < 300 else 300
    found = Counter(
        round_trip(case(KINDS[seed % 3], f"program {seed}"), tmp_path, name, to)
        for seed in range(count)
    )
    assert found["optimal"] >= count // 12


STAGED = (
    'data sklearn "iris" target target candidates * at quantiles 2 tree depth <= 2'
    " minimize errors then leaves rule robust: forall leaf: size >= 5"
)

DIAGRAM = (
    'data sklearn "iris" target target candidates * at quantiles 2 diagram widths 1, 2'
    " minimize errors then leaves"
)


@cache
def best_of(text: str) -> tuple[Fraction, ...]:
    best = odtdsl.solve(text, using="exact" if text == STAGED else "cpsat").objective
    assert isinstance(best, tuple)
    return best


@pytest.mark.parametrize("text", [STAGED, DIAGRAM])
@pytest.mark.parametrize("name", SOLVERS)
def test_stages_follow_each_other_in_a_sequence_of_files(
    name: str, text: str, tmp_path: Path
) -> None:
    """Each file keeps the values that the one before it found."""
    if name == "gecode" and text == DIAGRAM:
        pytest.skip("gecode takes minutes")
    spec, expected = odtdsl.parse(text), best_of(text)
    to = random.Random(name).choice(FORMATS[name])
    path = tmp_path / f"model.{to}"
    bound: list[Fraction] = []
    for stage in range(len(expected)):
        spec.compile(path, bound=bound)
        result = spec.decode(solved(name, path), to=to, bound=bound)  # type: ignore[arg-type]
        assert result.audit is not None
        assert result.audit.holds
        assert isinstance(result.objective, tuple)
        assert result.objective[: stage + 1] == expected[: stage + 1]
        bound.append(expected[stage])
