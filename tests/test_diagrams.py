"""Diagrams: core forms against the checker, decoding, `greedy`, and rules on them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from brute_diagrams import (
    all_diagrams,
    best_priced,
    key,
    random_diagram,
)
from random_specs import Case, case, read, rule
from scale import SCALE, scaled

import odtdsl
from odtdsl.auditor.audit import audit, model_on_data
from odtdsl.auditor.values import holds, instances
from odtdsl.backends.base import Limits
from odtdsl.backends.decode import NoCandidate
from odtdsl.backends.decode_diagram import (
    Routed,
    canonical,
    from_diagram,
    from_routing,
    simplify_diagram,
    to_diagram,
)
from odtdsl.backends.margins import widest_plane
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler import Analysis
from odtdsl.driver.choice import back_end
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Clause, Core, SplitFilter
from odtdsl.problem.ir.planes import planes
from odtdsl.problem.ir.raw import RawDiagram
from odtdsl.problem.terms.normalize import normalize

SKIPPED = {"T221", "T222", "R304", "R207"}
"""No meaning on diagrams, under hyperplanes, or on the data."""


def diagram_case(rng: random.Random, *, hyperplanes: bool = False) -> Case:
    here = case(rng)
    lines = here.head.split("\n")
    widths = rng.choice(("1, 2", "1, 2, 2", "1, 2, 3, 2"))
    head = [line for line in lines if not line.startswith(("tree ", "missing "))]
    if hyperplanes:
        head = [line for line in head if not line.startswith("candidates")]
        head += ["missing drop", f"diagram widths {widths} splits hyperplane"]
        for name in ("a", "b", "c", "o"):
            present = [value for value in here.frame[name] if value is not None]
            filled = [present[0] if value is None else value for value in here.frame[name]]
            here.frame[name][:] = filled
    else:
        head += [line for line in lines if line.startswith("missing ")]
        head.append(f"diagram widths {widths}")
    return replace(here, head="\n".join(head))


def read_or_none(here: Case, text: str, objective: str = "minimize errors") -> Analysis | None:
    try:
        analysis = read(here, text, objective)
        normalize(analysis.rows)
        return analysis
    except OdtError as problem:
        codes = {one.code for one in problem.diagnostics}
        if not codes & SKIPPED:
            raise
        return None


@pytest.mark.parametrize("hyperplanes", [False, True])
@pytest.mark.parametrize("scope", ["model", "path", "split"])
def test_rules_and_core_forms_mean_the_same(scope: str, hyperplanes: bool) -> None:
    seen: Counter[bool] = Counter()
    for seed in range(scaled(150)):
        rng = random.Random(f"diagram {scope} {hyperplanes} {seed}")
        here = diagram_case(rng, hyperplanes=hyperplanes)
        for text in rule(rng, here, "r", scope):
            analysis = read_or_none(here, text)
            if analysis is None:
                continue
            core = normalize(analysis.rows)
            (resolved,) = analysis.problem.rules
            bare = replace(core, filters=())
            for _ in range(6):
                raw = random_diagram(rng, bare)
                broken = DiagramEvaluation(core, raw).violations()
                kept = not any(isinstance(one, Clause | SplitFilter) for one in broken)
                # Thresholds obey the rule where some do, and stand in the middle elsewhere.
                diagram = to_diagram(core if kept else bare, analysis.rows, raw)
                view = model_on_data(diagram, analysis.problem, analysis.rows.data)
                meant = all(holds(resolved.condition, each) for each in instances(resolved, view))
                assert meant == kept, f"{here.head}\n{text}\n{here.frame}\n{raw}"
                seen[meant] += 1
    assert min(seen[True], seen[False]) > 100 * SCALE, "rules that hold and rules that do not"


OBJECTIVES = (
    "errors",
    "error_rate + 0.1 * (splits - 1) / 14",
    "expected_loss + 2 * expected_cost",
    '0.5 * abs(rate("y", g) - rate("y", h)) + errors(h)',
    "loss + 0.25 * nodes",
    "tests(a) + splits",
    "depth",
    "abs(splits - 2) + abs(leaves - 2)",
    "tests(a, c) + errors",
)


@pytest.mark.parametrize("hyperplanes", [False, True])
@pytest.mark.parametrize("text", OBJECTIVES)
def test_objectives_have_one_value(text: str, hyperplanes: bool) -> None:
    different: set[Fraction] = set()
    for seed in range(12):
        rng = random.Random(f"{text} {seed}")
        here = diagram_case(rng, hyperplanes=hyperplanes)
        analysis = read_or_none(here, "", f"minimize {text}")
        if analysis is None:
            assert hyperplanes
            assert "tests(a, c)" in text
            return
        core = normalize(analysis.rows)
        for _ in range(6):
            raw = random_diagram(rng, core)
            evaluation = DiagramEvaluation(core, raw)
            found = audit(to_diagram(core, analysis.rows, raw), analysis.rows)
            assert found.objective == (evaluation.stage_value(core.objective[0]),)
            lines = {line.rule: line.holds for line in found.lines}
            whole = not evaluation.violations()
            names = ("depth", "widths", "reduced", "candidates")
            assert all(lines[f"diagram {name}"] for name in names) == whole
            different.add(found.objective[0])
    assert len(different) > 3


def test_enumeration_holds_what_random_diagrams_are() -> None:
    many = 0
    for seed in range(scaled(40)):
        rng = random.Random(f"enumeration {seed}")
        here = diagram_case(rng)
        here = replace(here, head=here.head.rsplit("diagram", 1)[0] + "diagram widths 1, 2")
        analysis = read_or_none(here, "")
        assert analysis is not None
        core = normalize(analysis.rows)
        every = list(all_diagrams(core))
        found = [key(core, raw) for raw in every]
        assert len(found) == len(set(found)), "each once"
        known = set(found)
        for raw in every:
            assert not DiagramEvaluation(core, raw).violations()
        for _ in range(20):
            raw = canonical(random_diagram(rng, core))
            assert key(core, raw) in known
        many += len(found)
    assert many > 3_000 * SCALE


def test_an_optimum_by_partitions_is_that_of_the_enumeration() -> None:
    price = Fraction(1, 3)
    for seed in range(15):
        rng = random.Random(f"priced {seed}")
        core, _ = _tiny(rng, "1, 2")
        assert core.labels is not None
        values = []
        for raw in all_diagrams(core):
            evaluation = DiagramEvaluation(core, raw)
            errors = int((evaluation.predicted != core.labels).sum())
            values.append(errors + price * len(evaluation.visits))
        assert best_priced(core, price) == min(values)


def _tiny(rng: random.Random, widths: str, rules: str = "") -> tuple[Core, Analysis]:
    """A core of 5 to 8 rows without weights."""
    n = rng.randint(5, 8)
    frame = {
        "a": [float(rng.randint(0, 3)) for _ in range(n)],
        "b": [float(rng.randint(0, 2)) for _ in range(n)],
        "c": [rng.choice("pqr") for _ in range(n)],
        "y": ["n", "y", *(rng.choice("ny") for _ in range(n - 2))],
    }
    head = (
        f"data frame\nfeature a, b: number\nfeature c: category\ntarget y\ndiagram widths {widths}"
    )
    here = Case(frame=frame, head=head, classes=("n", "y"), bins=False)  # type: ignore[arg-type]
    analysis = read(here, rules, "minimize errors + splits / 3")
    return normalize(analysis.rows), analysis


@pytest.mark.parametrize("backend", ["greedy", "milp", "sat"])
def test_a_rule_may_leave_no_room_for_a_split(backend: str) -> None:
    frame = {"a": [0, 0, 1, 1], "y": ["n", "p", "p", "n"]}
    spec = "data frame target y diagram widths 1, 2, 1 minimize errors rule r: depth <= 0"
    result = odtdsl.solve(spec, frame=frame, using=backend)
    assert (result.objective, result.diagram and result.diagram.n_splits) == (2, 0)


def test_greedy_keeps_rules_and_is_never_below_the_optimum() -> None:
    reached = 0
    for seed in range(scaled(25)):
        rng = random.Random(f"greedy {seed}")
        core, analysis = _tiny(rng, "1, 2, 2")
        answer = back_end("greedy").solve(core, Limits(seed=seed), None, None)
        assert answer.diagram is not None
        assert not DiagramEvaluation(core, answer.diagram).violations()
        value = answer.stages[0].value
        assert value is not None
        best = best_priced(core, Fraction(1, 3))
        assert value >= best
        reached += value == best
        found = audit(to_diagram(core, analysis.rows, answer.diagram), analysis.rows)
        assert found.holds
        assert found.objective == (value,)
    assert reached >= 20 * SCALE, "on tiny data it mostly finds the best"


@pytest.mark.parametrize(
    "rules",
    [
        "rule r: forall split: size >= 3",
        "rule r: splits <= 2",
        "rule r: forall path: a before b",
        "rule r: root in {b}",
        'rule r: rate("y") >= 40%',
        "rule r: uses(c)",
        "rule r: forall path: length <= 2",
        "rule r: forall split: threshold(a) in [1, 2]",
    ],
)
def test_greedy_obeys_rules(rules: str) -> None:
    found = 0
    for seed in range(scaled(20)):
        rng = random.Random(f"{rules} {seed}")
        core, analysis = _tiny(rng, "1, 2", rules)
        answer = back_end("greedy").solve(core, Limits(seed=seed), None, None)
        admitted = [r for r in all_diagrams(core) if not DiagramEvaluation(core, r).violations()]
        if answer.diagram is None:
            assert answer.status == "unknown"
            continue
        assert audit(to_diagram(core, analysis.rows, answer.diagram), analysis.rows).holds
        assert key(core, canonical(answer.diagram)) in {key(core, raw) for raw in admitted}
        found += 1
    assert found > scaled(20) // 2


def test_decoding_a_routing_gives_the_diagram_back() -> None:
    for seed in range(scaled(60)):
        rng = random.Random(f"routing {seed}")
        here = diagram_case(rng)
        analysis = read_or_none(here, "")
        assert analysis is not None
        core = normalize(analysis.rows)
        raw = canonical(random_diagram(rng, core))
        evaluation = DiagramEvaluation(core, raw)
        layers: list[list[Routed | None]] = [[] for _ in raw.layers]
        for visit, columns in zip(evaluation.visits, evaluation.tested, strict=True):
            layers[visit.level].append(
                Routed(
                    left_rows=visit.rows[visit.left],
                    right_rows=visit.rows[~visit.left],
                    left=visit.node.left,
                    right=visit.node.right,
                    columns=columns,
                )
            )
        back = from_routing(core, layers, raw.entry)
        assert isinstance(back, RawDiagram)
        again = DiagramEvaluation(core, back)
        assert np.array_equal(again.predicted, evaluation.predicted)
        assert len(again.visits) == len(evaluation.visits)
        diagram = to_diagram(core, analysis.rows, raw)
        other = from_diagram(core, analysis.rows, diagram)
        assert isinstance(other, RawDiagram)
        assert np.array_equal(DiagramEvaluation(core, other).predicted, evaluation.predicted)


def test_a_routing_that_no_split_does_is_none() -> None:
    core, _ = _tiny(random.Random(1), "1, 2")
    codes = core.families[0].codes
    middle = np.flatnonzero(codes == np.unique(codes)[1])
    rest = np.setdiff1d(np.arange(core.n_rows), middle)
    wrong = Routed(left_rows=middle, right_rows=rest, left=~0, right=~1, columns=(0,))
    assert isinstance(from_routing(core, [[wrong]]), NoCandidate)


def test_simplifying_keeps_what_is_said() -> None:
    shorter = 0
    for seed in range(scaled(60)):
        rng = random.Random(f"simplify {seed}")
        core, _ = _tiny(rng, "1, 2, 2")
        raw = random_diagram(rng, core)
        smaller = simplify_diagram(core, raw)
        before, after = DiagramEvaluation(core, raw), DiagramEvaluation(core, smaller)
        assert not after.violations()
        assert after.stage_value(core.objective[0]) <= before.stage_value(core.objective[0])
        shorter += len(after.visits) < len(before.visits)
    assert shorter > 50 * SCALE


def test_the_widest_plane_parts_what_can_be_parted() -> None:
    parted = 0
    for seed in range(scaled(60)):
        rng = random.Random(f"plane {seed}")
        here = diagram_case(rng, hyperplanes=True)
        analysis = read_or_none(here, "")
        assert analysis is not None
        core = normalize(analysis.rows)
        of = planes(core)
        hidden = random_diagram(rng, core)
        for visit in DiagramEvaluation(core, hidden).visits[:1]:
            left, right = visit.rows[visit.left], visit.rows[~visit.left]
            if not left.size or not right.size:
                continue
            plane = widest_plane(core, left, right)
            assert plane is not None
            assert of.goes_left(plane, left).all()
            assert not of.goes_left(plane, right).any()
            parted += 1
    assert parted > 50 * SCALE


def test_no_plane_parts_equal_rows() -> None:
    rng = random.Random(3)
    here = diagram_case(rng, hyperplanes=True)
    for name in ("a", "b", "c", "o"):
        here.frame[name][1] = here.frame[name][0]
    analysis = read_or_none(here, "")
    assert analysis is not None
    core = normalize(analysis.rows)
    assert widest_plane(core, np.array([0]), np.array([1])) is None


def test_what_is_only_for_trees_says_what_to_do_instead(tmp_path: Path) -> None:
    frame = {"a": [1, 2, 3, 4], "y": ["p", "n", "n", "p"]}
    text = "data frame target y diagram widths 1, 2 minimize errors rule r: errors <= 3"
    found = odtdsl.solve(text, frame=frame)
    assert found.diagram is not None
    found.diagram.save(tmp_path / "d.json")
    for ask, told in (
        (lambda: odtdsl.explain(text, frame=frame), "write `tree depth <= 3`"),
        (lambda: odtdsl.curve(text, "r", frame=frame), "write `tree depth <= 3`"),
        (lambda: odtdsl.load_tree(tmp_path / "d.json"), "`load_model` reads them"),
    ):
        with pytest.raises(odtdsl.OdtError) as caught:
            ask()
        assert told in caught.value.diagnostics[0].helps[0]
