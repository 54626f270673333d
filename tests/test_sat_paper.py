"""The study's own encoding against brute force, and the choice of encodings and solvers.

`ODTDSL_SCALE=20` is a long run.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from click.testing import CliRunner
from goals import Goal
from pysat.solvers import Solver
from scale import SCALE, scaled
from sentences import no_errors
from test_every_term import MOST_TREES, Case, core_of, solved
from tiny_tables import Model, TooMany, random_world

import odtdsl
from odtdsl.backends.clauses.lowering import shape_of
from odtdsl.backends.sat.replicas.paper import PaperCode
from odtdsl.backends.sat.solvers import MAXSAT, NAMES
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.interfaces.cli.main import app

pytestmark = pytest.mark.usefixtures("few_starts")

DEPTH = Goal(text="depth", sign=1, value=lambda model: Fraction(model.depth))
LEAVES = Goal(text="leaves", sign=1, value=lambda model: Fraction(len(model.leaves)))
NODES = Goal(text="nodes", sign=1, value=lambda model: Fraction(2 * len(model.leaves) - 1))


@cache
def study_case(seed: int) -> Case:
    """No error, least depth, then least size: what the study has."""
    rng = random.Random(f"study {seed}")
    while True:
        tiny = random_world(rng)
        tiny = replace(tiny, weighed=False, weights=[Fraction(1)] * tiny.n, leaves=None)
        tiny = replace(tiny, depth=rng.choice([1, 2, 2, 3]))
        if any(None in column.cells for column in tiny.columns):
            continue
        try:
            models = tiny.models(MOST_TREES, both_sides=False)
        except TooMany:
            continue
        stages = rng.choice([(DEPTH,), (DEPTH, LEAVES), (DEPTH, LEAVES), (DEPTH, NODES)])
        return Case(tiny=tiny, rules=(no_errors(tiny),), stages=stages, models=models)


@pytest.mark.parametrize("encoding", ["paper", "ordered"])
def test_the_optimum(encoding: str) -> None:
    found = Counter[str]()
    for seed in range(scaled(40, least=8)):
        found[solved(study_case(seed), "sat", encoding=encoding)] += 1
    assert found["optimal"] >= 10 * SCALE
    assert found["infeasible"] >= 2 * SCALE
    assert set(found) == {"optimal", "infeasible"}


def test_the_formula_has_a_model_just_where_there_is_a_tree() -> None:
    """Of every depth and every bound on leaves, with all rows in it."""
    seen = Counter[bool]()
    for seed in range(scaled(25, least=13)):
        one = study_case(seed)
        core = core_of(one)
        for depth, leaves in _bounds(one.tiny.depth or 0):
            code = PaperCode(core, depth, shape_of(core), leaves)
            code.add_rows(range(core.n_rows))
            with Solver("cadical153", bootstrap_with=code.formula.clauses) as solver:
                there = bool(solver.solve())
            fits = [m for m in one.kept() if _within(m, depth, leaves)]
            assert there == bool(fits), f"depth {depth}, {leaves} leaves\n{one}"
            seen[there] += 1
    assert min(seen[True], seen[False]) > 20 * SCALE, seen


def _bounds(deepest: int) -> Iterator[tuple[int, int | None]]:
    for depth in range(deepest + 1):
        yield depth, None
        yield from ((depth, leaves) for leaves in range(1, 2**depth + 1))


def _within(model: Model, depth: int, leaves: int | None) -> bool:
    return model.depth <= depth and (leaves is None or len(model.leaves) <= leaves)


XOR = {"a": [0, 0, 1, 1, 2], "b": [0, 1, 0, 1, 2], "y": ["n", "p", "p", "n", "n"]}
SPEC = "data frame target y tree depth <= 3 minimize depth then leaves rule exact: errors <= 0"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (SPEC.replace("depth <= 3", "depth <= 3, leaves <= 5"), "bounds none"),
        (SPEC.replace("rule exact: errors <= 0", ""), "trees make no error"),
        (SPEC.replace("minimize depth then leaves", "minimize leaves"), "`depth then leaves`"),
        (SPEC.replace("then leaves", "then loss"), "`depth then leaves`"),
        (f"{SPEC} rule order: forall path: a before b", "one demand is no error"),
        (f"{SPEC} rule cut: forall split: threshold(a) <= 1", "at every node"),
    ],
)
def test_what_the_study_does_not_have_is_refused(spec: str, said: str) -> None:
    with pytest.raises(OdtError) as failure:
        odtdsl.solve(spec, frame=XOR, encoding="paper")
    assert {one.code for one in failure.value.diagnostics} == {"B102"}
    assert any(said in note for one in failure.value.diagnostics for note in one.notes)
    entry = odtdsl.compare(spec, frame=XOR, backends=["sat (paper)"]).entries[0]
    assert entry.result is None
    assert said in entry.reason


def test_missing_cells_are_refused() -> None:
    frame = XOR | {"a": [None, 0, 1, 1, 2]}
    with pytest.raises(OdtError, match="missing"):
        odtdsl.solve(f"{SPEC} missing left", frame=frame, encoding="paper")


@pytest.mark.parametrize("solver", NAMES)
def test_every_solver_that_is_named_runs(solver: str) -> None:
    for encoding in ("ordered", "paper")[: 1 if solver == MAXSAT else 2]:
        result = odtdsl.solve(SPEC, frame=XOR, encoding=encoding, solver=solver)  # type: ignore[arg-type]
        assert (result.backend, result.status) == ("sat", "optimal")
        assert [stage.value for stage in result.stages] == [2, 4]


def test_encodings_and_solvers_are_checked() -> None:
    for options, code, said in (
        ({"solver": "glucos4"}, "U318", "did you mean `glucose4`?"),
        ({"solver": "glucose4", "using": "exact"}, "U302", "use `sat` (`--using sat`"),
        ({"encoding": "paper", "using": "milp"}, "U302", "use `sat` (`--using sat`"),
        ({"encoding": "paper", "solver": "rc2"}, "U302", "omit the solver `rc2`"),
        ({"encoding": "papre"}, "U302", "did you mean `paper`?"),
        ({"encoding": "paper", "model": "cptree"}, "U302", "the options of one of them only"),
    ):
        with pytest.raises(OdtError) as failure:
            odtdsl.solve(SPEC, frame=XOR, **options)  # type: ignore[arg-type]
        found = failure.value.diagnostics[0]
        assert found.code == code
        assert said in found.helps[0]
    with pytest.raises(OdtError, match="U318"):
        odtdsl.compare(SPEC, frame=XOR, backends=["sat (glucos4)"])


def test_plan_tells_the_size_of_the_encoding() -> None:
    sizes = {
        encoding: dict(odtdsl.plan(SPEC, frame=XOR, encoding=encoding).size)
        for encoding in ("ordered", "paper")
    }
    assert sizes["paper"]["variables"] != sizes["ordered"]["variables"]
    assert sizes["paper"]["depth"] == sizes["ordered"]["depth"] == 3


def test_the_command_line_takes_both(tmp_path) -> None:
    path = tmp_path / "xor.odt"
    (tmp_path / "xor.csv").write_text("a,b,y\n0,0,n\n0,1,p\n1,0,p\n1,1,n\n2,2,n\n")
    path.write_text(SPEC.replace("data frame", 'data "xor.csv"'))
    for words in (["--encoding", "paper"], ["--solver", "glucose4"], ["--encoding", "ordered"]):
        done = CliRunner().invoke(app, ["solve", str(path), *words])
        assert done.exit_code == 0, done.output
        assert "optimal" in done.output
    done = CliRunner().invoke(app, ["plan", str(path), "--encoding", "paper", "--json"])
    assert done.exit_code == 0
    assert '"backend": "sat"' in done.output
    assert CliRunner().invoke(app, ["solve", str(path), "--solver", "nothing"]).exit_code == 2
