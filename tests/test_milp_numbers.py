"""Trees of numbers as programs: a column per set of rows that a leaf may hold."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from directions import monotone
from meanings import Rule
from number_worlds import KINDS, LOSSES, NumberCase, number_case
from program_solvers import FORMATS, SOLVERS, solved
from sat_trees import without_start
from scale import scaled
from survival_worlds import KINDS as SURVIVAL_KINDS
from survival_worlds import survival_case
from test_number_rules import solved as as_brute_force
from test_outputs_trees import RULES, Frame, errors_of, least, random_frame, set_of, spec
from tiny_tables import Leaf, Model

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.formulas.solution import parse
from odtdsl.interfaces.cli.main import app

pytestmark = pytest.mark.usefixtures("few_starts")

RULED = [(kind, loss, targets) for kind, loss, targets in product(KINDS, LOSSES, (1, 2))]
"""Every rule with every loss, of one target and of two."""

STAGEWISE = ("glpk", "gecode")
"""They do not tell sums of all stages apart: differences below 1e-7 of the whole, or numbers
beyond 2^31."""

OUTSIDE = ("scip", "gurobi", "cbc", "glpk")


def kind(seed: int) -> Any:
    """Another rule, loss and number of targets for each seed, in a fixed order."""
    (scope, term), loss, targets = RULED[seed * 37 % len(RULED)]
    return number_case(scope, term, loss, targets, f"program {seed}")


# ---- the search


def test_the_optimum_under_rules_is_that_of_brute_force() -> None:
    """A nightly run has 5 of each rule with each loss."""
    found = Counter(
        as_brute_force(kind(seed), "milp") for seed in range(scaled(5 * len(RULED), part=0.5))
    )
    assert found["optimal"] > found["infeasible"]
    assert found["infeasible"]


def test_survival_is_proven_as_by_brute_force() -> None:
    kinds = list(SURVIVAL_KINDS)
    found = Counter(
        as_brute_force(survival_case(*kinds[seed % len(kinds)], f"program {seed}"), "milp")
        for seed in range(scaled(200))
    )
    assert found["optimal"]


def blurred(one: NumberCase) -> bool:
    """Whether later stages may hang on differences of losses that programs round away."""
    return one.tiny.wide and len(one.stages) > 1


def in_order(seed: int) -> NumberCase | None:
    """A case whose first rule keeps outputs in order, or asks that they are not."""
    rng = random.Random(f"order {seed}")
    one = number_case("leaf", "size", LOSSES[seed % 3], 1 + seed // 3 % 2, f"order {seed}")
    known = [i for i, c in enumerate(one.tiny.columns) if c.kind in ("number", "ordered")]
    if not known:
        return None
    column, rising, kept = rng.choice(known), rng.random() < 0.5, rng.random() < 0.8
    called = f"{'increasing' if rising else 'decreasing'}({one.tiny.columns[column].name})"

    def holds(model: Model) -> bool:
        def ordered(target: int) -> bool:
            def value(leaf: Leaf) -> Fraction:
                return one.outputs.of_leaf(leaf.rows)[target]

            return monotone(one.tiny, model, column, rising, value)

        return kept == all(map(ordered, range(len(one.outputs.targets))))

    rule = Rule(text=called if kept else f"not {called}", scope="model", holds=holds)
    more = one.rules[: rng.choice([0, 1])]
    return replace(one, rules=(rule, *more))


def test_the_optimum_among_trees_in_order_is_that_of_brute_force() -> None:
    found = Counter[str]()
    for seed in range(scaled(300, least=40)):
        one = in_order(seed)
        if one is not None and not blurred(one):
            found[as_brute_force(one, "milp")] += 1
    assert found["optimal"] > found["infeasible"]
    assert found["infeasible"]


def test_growth_keeps_numbers_in_order() -> None:
    frame = {"a": [1.0, 2.0, 3.0, 4.0], "y": [4.0, 3.0, 2.0, 1.0]}
    text = "data frame target y: number tree depth <= 2 minimize mse rule up: increasing(a)"
    for using in ("greedy", "milp"):
        result = odtdsl.solve(text, frame=frame, using=using)
        assert result.tree is not None
        assert result.tree.depth == 0


@pytest.mark.parametrize("mip", OUTSIDE)
def test_other_solvers_find_it_too(mip: str) -> None:
    try:
        for seed in range(scaled(20, part=0.5)):
            one = kind(10_000 + seed)
            as_brute_force(one, "milp", options={"mip": mip})
    except OdtError as problem:
        if errors_of(problem) != ["B104"]:
            raise
        pytest.skip(f"{mip} is not installed")


def under_outputs(turns: int) -> Iterator[tuple[str, Frame, float]]:
    """Specs with rules on outputs, their rows, and the least loss by brute force."""
    rng = random.Random(5)
    for turn in range(turns):
        frame, rules = random_frame(rng), RULES[turn % len(RULES)]
        loss = ("mse", "mse", "mse", "mae", "poisson")[turn % 5]
        depth, size = rng.choice([1, 2, 2, 3]), rng.choice([1, 1, 2])
        text = spec(rules, loss, depth, f"rule size: forall leaf: size >= {size}")
        try:
            admitted = set_of(text, frame)
        except OdtError as problem:  # every output has an infinite deviance
            if loss != "poisson" or errors_of(problem) != ["R114"]:
                raise
            continue
        yield text, frame, least(frame, admitted, loss, depth, size)


def test_the_optimum_under_rules_on_outputs_is_that_of_brute_force() -> None:
    for text, frame, expected in under_outputs(scaled(300)):
        with without_start():
            result = odtdsl.solve(text, frame=frame, using="milp")
        assert result.status == "optimal", text
        assert result.audit is not None
        assert result.audit.holds
        value = float(result.stages[0].value or 0)
        assert value == pytest.approx(expected, rel=1e-8, abs=1e-9), text


@pytest.mark.parametrize("name", ["highs", "scip", "cbc", "glpk"])
def test_files_under_rules_on_outputs_have_that_optimum(name: str, tmp_path: Path) -> None:
    for turn, (text, frame, expected) in enumerate(under_outputs(scaled(100, part=0.5))):
        to: Any = ("lp", "mps")[turn % 2]
        model, path = odtdsl.parse(text), tmp_path / f"model.{to}"
        model.compile(path, frame=frame)
        result = model.decode(solved(name, path), frame=frame, to=to)
        assert result.audit is not None
        assert result.audit.holds
        value = float(result.stages[0].value or 0)
        assert value == pytest.approx(expected, rel=1e-8, abs=1e-9), text


@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_outputs_on_a_grid_are_those_of_exact(loss: str) -> None:
    rng = random.Random(loss)
    for _ in range(scaled(40)):
        frame = random_frame(rng)
        text = (
            "data frame target y0, y1: number step 0.25 tree depth <= 2"
            f" minimize {loss} then leaves"
            " rule r: forall leaf: 0 <= y0 <= 10 rule s: forall leaf: 0 <= y1 <= 10"
        )
        own, other = (odtdsl.solve(text, frame=frame, using=u) for u in ("milp", "exact"))
        assert own.status == other.status == "optimal"
        for one, two in zip(own.stages, other.stages, strict=True):
            assert float(one.value or 0) == pytest.approx(float(two.value or 0), abs=1e-9)


# ---- what it does not take

FRAME: dict[str, list[Any]] = {
    "a": [float(i) for i in range(400)],
    "b": [float(i * 7 % 400) for i in range(400)],
    "y": [float(i * i % 101) for i in range(400)],
    "z": [float(i % 3) for i in range(400)],
}
HEAD = "data frame target y: number feature a, b: number drop z "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HEAD} tree depth <= 3 minimize mse", "too many sets of rows"),
        (f"{HEAD} tree leaves <= 6 minimize mae", "too many sets of rows"),
    ],
)
def test_what_is_not_written_says_why(text: str, said: str, tmp_path: Path) -> None:
    for ask in (
        lambda: odtdsl.solve(text, frame=FRAME, using="milp"),
        lambda: odtdsl.parse(text).compile(tmp_path / "model.lp", frame=FRAME),
    ):
        with pytest.raises(OdtError, match="B102") as caught:
            ask()
        assert said in str(caught.value)
    assert not (tmp_path / "model.lp").exists()


def test_a_search_for_the_least_depth_says_where_it_ends() -> None:
    text = f"{HEAD} tree depth <= 5 minimize depth then mse rule good: mse <= 0.001"
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(text, frame=FRAME, using="milp")
    assert errors_of(caught.value) == ["B222"]


# ---- files


def round_trip(seed: int, folder: Path, name: str, to: Any) -> str:
    """The best of all stages at once is that of brute force; of the first one where their weights
    have too many digits."""
    one, path, weighted = kind(seed), folder / f"model.{to}", name not in STAGEWISE
    text = odtdsl.parse(one.text)
    try:
        size = text.compile(path, frame=one.frame, weighted=weighted)
    except OdtError as problem:
        if errors_of(problem) != ["B224"]:
            raise
        weighted = False
        size = text.compile(path, frame=one.frame)
    if name == "gurobi" and max(size["variables"], size["rows"]) > 1900:
        return "too large"
    try:
        result = text.decode(solved(name, path), frame=one.frame, to=to, weighted=weighted)
    except OdtError as problem:
        if errors_of(problem) != ["U210"] or one.optimum is not None:
            raise
        return "infeasible"
    assert result.audit is not None
    if not result.audit.holds:  # by a millionth, which solvers do not see
        broken = [line for line in result.audit.lines if line.holds is False]
        assert all(any(loss in line.text for loss in LOSSES) for line in broken), str(one)
        return "blurred"
    strict = any(">" in rule.text and loss in rule.text for rule in one.rules for loss in LOSSES)
    if strict and (one.optimum is None or float(result.stages[0].value or 0) < one.optimum[0]):
        return "blurred"  # `mae > 0` of a tree without error
    assert one.optimum is not None, str(one)
    stages = zip(result.stages, one.optimum, strict=True)
    for stage, expected in stages if weighted else [*stages][:1]:
        assert one.near(float(stage.value or 0), expected), f"{stage} {expected}\n{one}"
    return "optimal"


@pytest.mark.parametrize(
    ("name", "to"),
    [
        (name, to)
        for name in ("highs", "scip", "gurobi", "cbc", "glpk", "gecode")
        for to in FORMATS[name]
    ],
)
def test_the_best_of_a_file_is_that_of_brute_force(name: str, to: str, tmp_path: Path) -> None:
    """The nightly tests try 300 of each format and solver, by day 3."""
    count = scaled(300) // 10 if scaled(300) < 300 else 300
    found = Counter(round_trip(seed, tmp_path, name, to) for seed in range(count))
    assert found["optimal"] >= count // 3, found
    assert found["blurred"] <= max(1, count // 50), found


def test_cbc_reads_short_lines_of_mps_as_the_free_format(tmp_path: Path) -> None:
    """It took ` leaf(n3,s10) obj 125` for the fixed one, and read no program."""
    frame: dict[str, list[Any]] = {
        "a": [None, "q", "p", "r", "q", "p", "p"],
        "b": ["p", "q", "r", "r", "q", "q", "q"],
        "w": [999.0, 999.0, 1000.0, 1.0, 1000.0, 1.0, 1.0],
        "y0": [1.0, 2.0, 1.0, 2.0, 0.0, 2.0, 2.0],
        "y1": [0.0, 2.0, 5.0, 0.0, 1.0, 1.0, 0.0],
    }
    text = odtdsl.parse(
        "data frame target y0, y1: number feature a: category missing {a} left"
        " feature b: category weight w tree depth <= 2, leaves <= 4 minimize mse"
    )
    path = tmp_path / "model.mps"
    text.compile(path, frame=frame)
    assert " leaf(n3,s10) obj 125\n" in path.read_text()
    result = text.decode(solved("cbc", path), frame=frame, to="mps")
    best = text.solve(frame=frame, using="exact")
    assert float(result.stages[0].value or 0) == pytest.approx(float(best.stages[0].value or 0))


SPEC = """data frame
target y, z: number
feature a, b: number
candidates * at quantiles 3
tree depth <= 2
minimize mse + 0.01 * leaves then depth
rule robust: forall leaf: size >= 40
rule near: mae <= 20
rule above: forall leaf: y >= 50"""


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("numbers") / "model.lp"
    odtdsl.parse(SPEC).compile(path, frame=FRAME, legend=path.with_suffix(".json"))
    return solved("highs", path)


def test_the_legend_says_what_leaves_hold_and_predict(answer: Path) -> None:
    legend = json.loads(answer.with_name("model.json").read_text())
    text = answer.with_name("model.lp").read_text()
    some = next(name for name in legend["columns"] if name.startswith("leaf(n3,"))
    place = some.removesuffix(")").partition(",")[2]
    assert legend["columns"][some] == (
        f"slot n3 is a leaf that holds the rows of {place}, and no others"
    )
    one = legend["sets"][place]
    rows = [row for pattern in one["patterns"] for row in legend["patterns"][pattern]]
    for output, target in zip(one["output"], "yz", strict=True):
        mean = sum(FRAME[target][row] for row in rows) / len(rows)
        assert output == pytest.approx(max(mean, 50) if target == "y" else mean)
    assert f"\\ {place}: a leaf of p" in text
    assert "minimize mse + 0.01 * leaves: (" in text
    stage = legend["objective"]["stages"][0]
    assert stage["within"] > 0


def test_the_rows_of_a_bound_on_a_loss_are_shown(answer: Path) -> None:
    folder = answer.parent
    columns = [name for name in FRAME if name in "abyz"]
    cells = [",".join(map(str, row)) for row in zip(*FRAME.values(), strict=True)]
    (folder / "rows.csv").write_text("\n".join([",".join(columns), *cells]))
    (folder / "spec.odt").write_text(SPEC.replace("data frame", 'data "rows.csv"'))
    shown = (
        CliRunner().invoke(app, ["compile", str(folder / "spec.odt"), "--show", "rule near"]).stdout
    )
    assert shown.startswith("\\ rule near: mae <= 20\n rule_near: ")
    assert "leaf(n3,s" in shown


def test_a_solution_is_decoded_and_its_value_is_that_of_the_file(answer: Path) -> None:
    result = odtdsl.parse(SPEC).decode(answer, frame=FRAME)
    best = odtdsl.solve(SPEC, frame=FRAME, using="exact")
    assert result.audit is not None
    assert result.audit.holds
    assert float(result.stages[0].value or 0) == pytest.approx(float(best.stages[0].value or 0))


def test_forged_solutions_are_refused(answer: Path) -> None:
    """A leaf of other rows, no leaf, a mixture, a tree that is better than its values say."""
    given = parse(answer.read_text(), answer).values
    on = [name for name, value in given.items() if name.startswith("leaf(") and value > 0.5]
    off = next(name for name in given if name.startswith("leaf(n3") and name not in on)
    moved = next(n for n, v in given.items() if n.startswith("flow(p0,n3") or not v)
    for forged in (
        {**given, on[0]: 0.0},
        {**given, on[0]: 0.0, off: 1.0},
        {**given, on[0]: 0.5, off: 0.5},
        {**given, off: 1.0},
        {**given, moved: 1.0 - given[moved]},
    ):
        with pytest.raises(OdtError) as caught:
            odtdsl.parse(SPEC).decode(forged, frame=FRAME)
        assert errors_of(caught.value) == ["U212"]
    text = answer.read_text()
    head, _, rest = text.partition("Objective ")
    lied = answer.with_name("lied.answer")
    lied.write_text(f"{head}Objective {float(rest.split()[0]) * 0.9}\n{rest.partition(chr(10))[2]}")
    with pytest.raises(OdtError) as caught:
        odtdsl.parse(SPEC).decode(lied, frame=FRAME)
    assert errors_of(caught.value) == ["U230"]


def test_stages_follow_each_other_in_a_sequence_of_files(tmp_path: Path) -> None:
    spec = odtdsl.parse(SPEC)
    best = odtdsl.solve(SPEC, frame=FRAME, using="exact")
    path = tmp_path / "second.mps"
    spec.compile(path, bound=[best.stages[0].value], frame=FRAME)  # type: ignore[list-item]
    result = spec.decode(
        solved("highs", path),
        to="mps",
        bound=[best.stages[0].value],
        frame=FRAME,  # type: ignore[list-item]
    )
    assert [stage.value for stage in result.stages][1] == best.stages[1].value


def test_survival_goes_to_a_file_and_back(tmp_path: Path) -> None:
    rows = {"a": [float(i) for i in range(30)], "m": [float(1 + i * 7 % 11) for i in range(30)]}
    frame: dict[str, list[Any]] = {**rows, "e": [i % 3 > 0 for i in range(30)]}
    spec = odtdsl.parse(
        "data frame target survival m event e candidates a at quantiles 4 tree depth <= 2"
        " minimize survival_loss then leaves"
    )
    path = tmp_path / "model.lp"
    spec.compile(path, frame=frame, weighted=True)
    assert "; it predicts " in path.read_text()
    result = spec.decode(solved("highs", path), frame=frame, weighted=True)
    assert result.audit is not None
    assert result.audit.holds
    for one, best in zip(result.stages, spec.solve(frame=frame).stages, strict=True):
        assert float(one.value or 0) == pytest.approx(float(best.value or 0))


@pytest.mark.usefixtures("pyomo_streams")
def test_the_pyomo_model_is_solved_and_read_back() -> None:
    import pyomo.environ as pyo

    model = odtdsl.parse(SPEC).compile(to="pyomo", frame=FRAME)
    solver = pyo.SolverFactory("appsi_highs")
    solver.highs_options["presolve"] = "off"
    solver.solve(model)
    result = odtdsl.decode(model)
    best = odtdsl.solve(SPEC, frame=FRAME, using="exact")
    assert float(result.stages[0].value or 0) == pytest.approx(float(best.stages[0].value or 0))


assert set(OUTSIDE) <= set(SOLVERS)
