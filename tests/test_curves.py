"""Curves against brute force over all trees of tiny tables, in one process and in several.

The brute force (`tiny_tables`, `sentences`, `meanings`) uses nothing of the package.
`ODTDSL_SCALE=10` draws 400 random specs.
"""

from __future__ import annotations

import csv
import io
import random
import signal
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from goals import goals, row_groups
from meanings import QUOTIENTS, RATES, Goal, Measures, Rule, RuleChecker, gap_of, ratio_of
from scale import scaled
from sentences import MONOTONE, TERMS, Atoms, rule
from tiny_tables import Model, TinyTable, TooMany, random_world

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.pipeline import solve
from odtdsl.driver.result import Result
from odtdsl.insight.explanations import Curve, tracing
from odtdsl.insight.explanations.curves import Ended
from odtdsl.interfaces.cli.main import app
from odtdsl.presentation import explanations

pytestmark = pytest.mark.usefixtures("few_starts")

MOST_TREES = 500
KINDS = [(scope, term) for scope, terms in TERMS.items() for term in terms if term not in MONOTONE]
Tight = Callable[[Model], Fraction | None]
"""The measure of a model where it is tightest; None where it satisfies every bound."""
Front = list[tuple[tuple[Fraction, ...], Fraction | None]]

MEASURES = (
    "share",
    "share",
    "errors",
    "gap",
    "ratio",
    "quotient",
    "quotient",
    "size of the tree",
    "expected_cost",
    "path",
    "path",
    "leaf",
    "leaf",
    "split",
)


def measured(rng: random.Random, tiny: TinyTable) -> tuple[str, str, str, Tight]:
    """A scope (`forall leaf: `), a measure, `<=` or `>=`, and its meaning."""
    draw = Measures(rng, tiny)
    op = rng.choice(["<=", ">="])
    worst = max if op == "<=" else min
    match rng.choice(MEASURES):
        case "share":
            text, value = draw.any_of(*RATES)
            return "", text, op, value
        case "errors":
            text, value = draw.any_of("errors", "loss")
            return "", text, op, value
        case "gap" | "ratio" as term:
            text, values = draw.over_groups(*RATES)
            of = gap_of if term == "gap" else ratio_of
            return "", f"{term}({text})", "<=" if term == "gap" else ">=", lambda m: of(values, m)
        case "quotient":
            text, tight = draw.quotient(rng.choice([*QUOTIENTS]), draw.label(), None)
            return "", text, ">=", tight
        case "size of the tree" | "expected_cost" as term:
            chosen = term if term == "expected_cost" else rng.choice(["leaves", "depth", "tests"])
            text, value = draw.plain(chosen)
            return "", text, op, value
        case "path":
            text, of = rng.choice([("cost", tiny.path_cost), ("length", _length)])  # type: ignore[assignment]
            return "forall path: ", text, op, lambda m: worst(of(leaf.path) for leaf in m.leaves)  # type: ignore[arg-type, call-arg]
        case "leaf":
            if rng.random() < 0.5:
                return (
                    "forall leaf: ",
                    "purity",
                    ">=",
                    lambda m: min(
                        tiny.weight(leaf.rows & tiny.of_class(leaf.label)) / tiny.weight(leaf.rows)
                        if tiny.weight(leaf.rows)
                        else Fraction(0)
                        for leaf in m.leaves
                    ),
                )
            return (
                "forall leaf: ",
                "size",
                op,
                lambda m: worst(Fraction(leaf.rows.bit_count()) for leaf in m.leaves),
            )
        case _:
            return (
                "forall split: ",
                "size",
                op,
                lambda m: worst(
                    (Fraction(split.rows.bit_count()) for split in m.splits), default=None
                ),
            )  # type: ignore[call-overload, no-any-return]


def _length(path: Sequence[int]) -> Fraction:
    return Fraction(len(path))


@dataclass(frozen=True, kw_only=True)
class CurveCase:
    """A random spec with a rule `bent` whose bound is moved, and all trees of its table."""

    tiny: TinyTable
    rules: tuple[Rule, ...]
    stages: tuple[Goal, ...]
    models: list[Model]
    bent: str
    op: str
    tight: Tight

    @cached_property
    def text(self) -> str:
        sense = {1: "minimize", -1: "maximize"}
        stages = " then ".join(f"{sense[goal.sign]} {goal.text}" for goal in self.stages)
        written = [one.written(f"r{i}") for i, one in enumerate(self.rules)]
        rows = row_groups(self.tiny) if any(goal.of_rows for goal in self.stages) else []
        return "\n".join([*self.tiny.head(), *rows, stages, *written, f"rule bent: {self.bent}"])

    @cached_property
    def front(self) -> Front:
        """All trade-offs, from the loosest; the objective with less being better."""
        checker = RuleChecker(self.tiny, self.rules)
        met = [
            (tuple(goal.sign * goal.value(m) for goal in self.stages), self.tight(m))
            for m in self.models
            if checker.admits(m)
        ]
        found: Front = []
        for values, tight in sorted(met, key=lambda one: (one[0], self.looseness(one[1]))):
            if not found or self.looseness(tight) < self.looseness(found[-1][1]):
                found.append((values, tight))
        return found

    def looseness(self, tight: Fraction | None) -> tuple[bool, Fraction]:
        if tight is None:
            return False, Fraction(0)
        return True, tight if self.op == "<=" else -tight


def curved(seed: object, kinds: tuple[str, ...] = ()) -> CurveCase:
    rng = random.Random(f"curved {seed}")
    while True:
        terms = [rng.choice(KINDS) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
        used = {term for _, term in terms}
        tiny = random_world(rng, kinds=["number"] if "threshold" in used else list(kinds))
        if "threshold" in used and not any(c.ranked for c in tiny.columns):
            continue
        if tiny.wide:
            continue
        try:
            models = tiny.models(MOST_TREES)
        except TooMany:
            continue
        atoms = Atoms(rng, tiny, models)
        others = tuple(rule(atoms, scope, term) for scope, term in terms)
        head, text, op, tight = measured(rng, tiny)
        bound = Fraction(rng.randint(0, 8), 4)
        shown = f"{float(bound):g}"
        strict = op if rng.random() < 0.8 else op[0]
        bent = f"{head}{text} {strict} {shown}"
        if rng.random() < 0.2:
            mirrored = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}[strict]
            bent = f"{head}{shown} {mirrored} {text}"
        return CurveCase(
            tiny=tiny,
            rules=others,
            stages=tuple(goals(rng, tiny)),
            models=models,
            bent=bent,
            op=op,
            tight=tight,
        )


def traced(one: CurveCase, using: str, jobs: int = 1) -> Curve | None:
    """None where the back end cannot express it."""
    try:
        return odtdsl.parse(one.text).curve("bent", using=using, frame=one.tiny.frame, jobs=jobs)
    except OdtError as problem:
        if {d.code for d in problem.diagnostics} <= {"B102", "B221"}:
            return None
        raise


def agrees(one: CurveCase, using: str) -> int | None:
    """Whether the curve is the front of brute force; its length."""
    found = traced(one, using)
    if found is None:
        return None
    shown = f"{one.text}\n{one.tiny.frame}\n{one.front}\n{found}"
    if found.ended == "refused":
        return None
    assert found.complete, shown
    assert found.ended == "tightest", shown
    signs = [goal.sign for goal in one.stages]
    met = [
        (tuple(s * v for s, v in zip(signs, p.objective, strict=True)), p.measure)
        for p in found.points
    ]
    assert met == one.front, shown
    for point in found.points:
        assert point.proven, shown
        assert point.efficient, shown
        assert point.result.audit is not None
        assert point.result.audit.holds, shown
        assert tuple(stage.value for stage in point.result.stages) == point.objective
    assert list(explanations.traced(found))
    return len(found.points)


@pytest.mark.parametrize("block", range(scaled(4)))
def test_curves_on_exact(block: int) -> None:
    seeds = count(1000 * block)
    sizes = [agrees(curved(seed), "exact") for seed in islice(seeds, 10)]
    known = [size for size in sizes if size is not None]
    assert len(known) >= len(sizes) * 8 // 10
    later = (agrees(curved(seed), "exact") for seed in islice(seeds, 90))
    assert any((size or 0) >= 3 for size in chain(known, later)), "no curve has three points"


@pytest.mark.parametrize("block", range(scaled(4)))
def test_curves_on_milp(block: int) -> None:
    sizes = [agrees(curved(f"milp {seed}"), "milp") for seed in (2 * block, 2 * block + 1)]
    assert any(size is not None for size in sizes)


@pytest.mark.parametrize("term", ["leaves", "depth"])
def test_curves_of_the_skeleton(term: str) -> None:
    seen = 0
    for seed in range(12):
        one = curved(f"{term} {seed}")
        if one.tiny.depth is None or getattr(one.tiny, term) is None:
            continue
        models = one.models
        if term == "leaves":
            one.tiny.leaves, before = None, one.tiny.leaves
            try:
                models = one.tiny.models(MOST_TREES)
            except TooMany:
                continue
            finally:
                one.tiny.leaves = before
        tight: Tight = (
            (lambda m: Fraction(len(m.leaves))) if term == "leaves" else lambda m: Fraction(m.depth)
        )
        bare = replace(one, models=models, op="<=", tight=tight)
        text = one.text.rpartition("\nrule bent")[0]
        try:
            found = odtdsl.parse(text).curve(term, using="exact", frame=one.tiny.frame)
        except OdtError as problem:
            if {d.code for d in problem.diagnostics} <= {"B102"}:
                continue
            raise
        signs = [goal.sign for goal in one.stages]
        met = [
            (tuple(s * v for s, v in zip(signs, p.objective, strict=True)), p.measure)
            for p in found.points
        ]
        assert found.complete
        assert met == bare.front, f"{text}\n{one.tiny.frame}"
        seen += 1
    assert seen >= 3


# ---- larger: several processes, limits


def rows(n: int = 60, columns: int = 4) -> dict[str, list[Any]]:
    rng = random.Random(1)
    frame: dict[str, list[Any]] = {f"f{i}": [] for i in range(columns)}
    frame["y"] = []
    frame["side"] = []
    for _ in range(n):
        cells = [rng.random() for _ in range(columns)]
        for i, cell in enumerate(cells):
            frame[f"f{i}"].append(cell)
        frame["y"].append("p" if cells[0] + cells[1] + 0.5 * rng.random() > 1.2 else "n")
        frame["side"].append(rng.choice("lr"))
    return frame


SPEC = """data frame target y positive "p" drop side
cost f0 = 3, f1 = 2, f2 = 1
tree depth <= 2 minimize errors then leaves
rule fair: gap(rate("p"), side) <= 10%
rule big: forall leaf: size >= 4
rule cheap: forall path: cost <= 4
"""


@pytest.fixture(scope="module")
def single() -> dict[str, Curve]:
    model = odtdsl.parse(SPEC)
    return {name: model.curve(name, frame=rows()) for name in ("fair", "big", "cheap")}


@pytest.mark.parametrize(("name", "jobs"), [("fair", 2), ("fair", 3), ("big", 2), ("cheap", 2)])
def test_points_do_not_depend_on_the_number_of_jobs(
    name: str, jobs: int, single: dict[str, Curve]
) -> None:
    """Trees and all."""
    found = odtdsl.parse(SPEC).curve(name, frame=rows(), jobs=jobs)
    alone = single[name]
    assert len(alone.points) >= 3
    assert found == replace(alone, seconds=found.seconds)
    assert [p.tree for p in found.points] == [p.tree for p in alone.points]


def test_a_limit_on_points_keeps_the_loosest(single: dict[str, Curve]) -> None:
    whole = single["fair"]
    for jobs in (1, 2):
        found = odtdsl.parse(SPEC).curve("fair", frame=rows(), points=2, jobs=jobs)
        assert found.points == whole.points[:2]
        assert found.ended == "points"
        assert not found.complete
    everything = odtdsl.parse(SPEC).curve("fair", frame=rows(), points=len(whole.points) + 1)
    assert everything.complete


def test_the_spec_s_bound_is_found_on_the_curve(single: dict[str, Curve]) -> None:
    solved = odtdsl.parse(SPEC).solve(frame=rows())
    for name in single:
        point = single[name].at()
        assert point is not None
        assert point.objective == solved.objective, name
    fair = single["fair"]
    assert fair.at(1) == fair.points[0]
    last = fair.points[-1]
    assert last.measure is not None
    assert fair.at(float(last.measure)) == last
    assert fair.at(last.measure - 1) is None


class GivesUp:
    """`solve` that gives up at some search, or stops there as by Ctrl-C."""

    def __init__(self, patience: int, *, interrupted: bool = False, always: bool = True) -> None:
        self.patience, self.interrupted, self.always = patience, interrupted, always
        self.asked, self.real = 0, solve

    def __call__(self, *args: object, **options: Any) -> Result:
        self.asked += 1
        late = self.asked > self.patience and (self.always or self.asked == self.patience + 1)
        if late:
            options["seconds"] = 1e-9
        result: Result = self.real(*args, **options)  # type: ignore[arg-type]
        return replace(result, interrupted=True) if late and self.interrupted else result


@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize("patience", [0, 1, 2, 4])
def test_giving_up_says_only_what_is_proven(
    patience: int, interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = 0
    for seed in range(scaled(30)):
        one = curved(f"giving {seed}")
        monkeypatch.undo()
        monkeypatch.setattr(tracing, "solve", GivesUp(patience, interrupted=interrupted))
        found = traced(one, "exact")
        if found is None:
            continue
        met += 1
        signs = [goal.sign for goal in one.stages]
        for point in found.points:
            values = tuple(s * v for s, v in zip(signs, point.objective, strict=True))
            if point.efficient:
                assert (values, point.measure) in one.front
            if point.proven and point.bound is None:
                assert values == one.front[0][0]
        assert found.status != "infeasible" or not one.front
        assert not found.complete or len(found.points) == len(one.front)
        ends: set[Ended] = {"tightest", "interrupted" if interrupted else "undecided"}
        assert found.ended in ends
        assert list(explanations.traced(found))
        ET.fromstring(found.to_svg())
    assert met > scaled(30) // 2


def hard() -> odtdsl.Model:
    rng = random.Random(0)
    frame = {f"f{i}": [rng.random() for _ in range(400)] for i in range(12)}
    frame["y"] = [rng.choice("pn") for _ in range(400)]  # type: ignore[misc]
    model = odtdsl.Model().data(frame).target("y").tree(depth=5).minimize("errors")
    return model.rule("r", "forall leaf: size >= 3")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_time_limit_is_kept(jobs: int) -> None:
    began = time.monotonic()
    found = hard().curve("r", within=1, jobs=jobs)
    assert time.monotonic() - began < 40
    assert found.ended == "time"
    assert not found.complete
    assert not any(point.efficient for point in found.points if point.tree.depth > 3)
    assert "not all of it proven" in "\n".join(explanations.traced(found))
    assert 'class="open"' in found.to_svg()


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_with_what_is_known(jobs: int) -> None:
    timer = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    began = time.monotonic()
    timer.start()
    found = hard().curve("r", jobs=jobs)
    timer.join()
    assert time.monotonic() - began < 40
    assert found.ended == "interrupted"
    assert found.status in ("feasible", "undecided")


@pytest.mark.parametrize(
    ("goal", "columns"),
    [
        ("errors", ["bound", "errors", "depth", "leaves", "proven"]),
        ("errors then leaves", ["bound", "errors", "leaves", "depth", "proven"]),
        ("depth then leaves", ["bound", "depth", "leaves", "errors", "proven"]),
    ],
)
def test_what_is_an_objective_is_told_once(goal: str, columns: list[str]) -> None:
    text = SPEC.replace("errors then leaves", goal)
    found = odtdsl.parse(text).curve("big", frame=rows())
    lines = list(explanations.traced(found))
    assert lines[2].split() == columns
    assert len(lines[4].split("<-")[0].split()) == len(columns)


def test_without_a_proof_there_is_none() -> None:
    found = odtdsl.parse(SPEC).curve("big", using="greedy", frame=rows())
    assert found.points
    assert not any(point.proven or point.efficient for point in found.points)
    assert found.ended == "undecided"


def test_other_rules_that_conflict_leave_no_point() -> None:
    text = SPEC + "rule never: errors <= 0 rule none: depth <= 0"
    found = odtdsl.parse(text).curve("fair", frame=rows())
    assert (found.status, found.points, found.complete) == ("infeasible", (), True)
    assert "infeasible" in next(iter(explanations.traced(found)))
    assert found.to_csv().count("\n") == 1
    ET.fromstring(found.to_svg())


# ---- what cannot be traced


def said(rules: str, name: str) -> OdtError:
    head = (
        'data frame target y positive "p" drop side tree depth <= 2, leaves <= 3 minimize errors\n'
    )
    with pytest.raises(OdtError) as failure:
        odtdsl.parse(head + rules).curve(name, frame=rows())
    return failure.value


def test_an_unknown_rule_is_told_with_the_one_that_was_meant() -> None:
    (one,) = said("rule robust: forall leaf: size >= 2", "robuts").diagnostics
    assert one.code == "U310"
    assert one.helps == ("did you mean `robust`?",)
    assert "`robust`, `leaves`, `depth`" in one.notes[0]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("uses(f0)", "curves are drawn for rules such as"),
        ("forall path: f0 before f1", "curves are drawn for rules such as"),
        ("forall split: threshold(f0) <= 0.5", "curves are drawn for rules such as"),
        ("0.2 <= accuracy <= 0.9", "write one rule for each"),
        ("errors <= 9 and leaves <= 3", "write one rule for each"),
        ("leaves = 3", "write `<=` or `>=`"),
        ("errors <= 3 * leaves", "bring both to one side"),
    ],
)
def test_a_rule_without_a_bound_is_told_with_what_to_write(text: str, hint: str) -> None:
    (one,) = said(f"rule r: {text}", "r").diagnostics
    assert one.code == "U311"
    assert one.labels
    assert hint in one.helps[0]


# ---- files and the command line


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    frame = rows()
    with open(tmp_path / "rows.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(frame)
        writer.writerows(zip(*frame.values(), strict=True))
    path = tmp_path / "spec.odt"
    path.write_text(SPEC.replace("data frame", 'data "rows.csv"'), encoding="utf-8")
    return path


def test_the_command_line_writes_a_table_csv_and_svg(spec: Path, single: dict[str, Curve]) -> None:
    table, picture = spec.with_name("c.csv"), spec.with_name("c.svg")
    args = ["explain", str(spec), "--curve", "fair", "--csv", str(table), "--svg", str(picture)]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    assert "the complete trade-off, proven" in result.output
    assert "<= 10%, the bound in the spec" in result.output
    points = single["fair"].points
    with open(table, encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [int(row["minimize errors"]) for row in found] == [p.objective[0] for p in points]
    assert {row["efficient"] for row in found} == {"yes"}
    drawn = ET.parse(picture).getroot()
    circles = [e for e in drawn.iter() if e.get("class") == "point"]
    assert len(circles) == len(points)
    texts = [e.text for e in drawn.iter() if e.tag.endswith("text")]
    assert "spec: 10%" in texts
    assert "errors (rows)" in texts
    assert not list(spec.parent.glob(".*"))


def test_json_holds_every_point_with_its_tree(spec: Path) -> None:
    import json

    args = ["explain", str(spec), "--curve", "cheap", "--json", "--jobs", "2"]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["complete"]
    assert (found["op"], found["bound"], found["measure"]) == ("<=", 4, "cost")
    assert all(point["result"]["model"]["format"] == "odtdsl.tree" for point in found["points"])


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--csv", "c.csv"], 2),
        (["--jobs", "2"], 2),
        (["--curve", "fiar"], 2),
        (["--curve", "fair", "--csv", "nowhere/c.csv"], 1),
    ],
)
def test_mistakes_on_the_command_line(args: list[str], code: int, spec: Path) -> None:
    result = CliRunner().invoke(app, ["explain", str(spec), *args])
    assert result.exit_code == code, result.output


def test_the_picture_of_every_kind_of_curve_is_well_formed(single: dict[str, Curve]) -> None:
    for curve in single.values():
        for theme in ("auto", "light", "dark"):
            drawn = ET.fromstring(curve.to_svg(theme=theme, title='a "title" & more'))  # type: ignore[arg-type]
            assert drawn.get("aria-label") == 'a "title" & more'
        reader = csv.reader(io.StringIO(curve.to_csv()))
        assert len(list(reader)) == len(curve.points) + 1
