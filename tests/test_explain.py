"""Conflicts, what to drop and nearest bounds, against brute force over all sets of all rules.

The brute force (`tiny_tables`, `sentences`, `meanings`) uses nothing of the package.
`ODTDSL_SCALE=40` draws a thousand random specs;
`python tests/test_explain.py 1000` counts them by the size of their smallest conflict; a back end
may follow (`exact` if not said).
"""

from __future__ import annotations

import itertools
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import pytest
from meanings import Rule, RuleChecker
from scale import SCALE, scaled
from sentences import MONOTONE, TERMS, Atoms, rule
from test_impossible import CONFLICTS, FRAME, HEAD
from tiny_tables import Model, TinyTable, TooMany, random_world

import odtdsl
from odtdsl.backends.base import Limits, RawAnswer, Support
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.driver.choice import back_end
from odtdsl.insight.explanations import Explanation, NearestBound, explain
from odtdsl.insight.explanations import oracle as oracles
from odtdsl.insight.explanations.oracle import Constraint
from odtdsl.problem.ir.forms import Core

pytestmark = pytest.mark.usefixtures("few_starts")

CASES = scaled(24)
MOST_TREES = 700
KINDS = [(scope, term) for scope, terms in TERMS.items() for term in terms if term not in MONOTONE]
Names = frozenset[str]

# ---- random specs


@dataclass(frozen=True, kw_only=True)
class ConflictCase:
    """A random spec, the trees of its table with all bounds relaxed, and its constraints."""

    tiny: TinyTable
    rules: tuple[Rule, ...]
    models: list[Model]
    deeper: int

    @cached_property
    def text(self) -> str:
        rules = [one.written(f"r{i}") for i, one in enumerate(self.rules)]
        return "\n".join([*self.tiny.head(), "minimize errors", *rules])

    @cached_property
    def names(self) -> tuple[str, ...]:
        bounds = (("tree leaves", self.tiny.leaves), ("tree depth", self.tiny.depth))
        rules = tuple(f"r{i}" for i in range(len(self.rules)))
        return (*rules, *(name for name, bound in bounds if bound is not None))

    @cached_property
    def kept(self) -> dict[Model, Names]:
        """Of the trees that may stand, which constraints each satisfies (thresholds one by one)."""
        checkers = {f"r{i}": RuleChecker(self.tiny, (one,)) for i, one in enumerate(self.rules)}
        may_stand = RuleChecker(self.tiny, ())
        found = {}
        for model in filter(may_stand.admits, self.models):
            names = {name for name, checker in checkers.items() if checker.admits(model)}
            if self.tiny.leaves is not None and len(model.leaves) <= self.tiny.leaves:
                names.add("tree leaves")
            if self.tiny.depth is not None and model.depth <= self.tiny.depth:
                names.add("tree depth")
            found[model] = frozenset(names)
        return found

    def feasible(self, members: Names, where: Callable[[Model], bool] = lambda _: True) -> bool:
        cuts = [
            one for i, one in enumerate(self.rules) if one.column is not None and f"r{i}" in members
        ]
        some = (model for model, names in self.kept.items() if members <= names and where(model))
        if len(cuts) < 2:
            return any(True for _ in some)
        return any(map(RuleChecker(self.tiny, tuple(cuts)).admits, some))

    def deepest(self, members: Names) -> int:
        """How deep the trees are among which one is looked for."""
        assert self.tiny.depth is not None
        return self.tiny.depth + ("tree depth" not in members) * self.deeper

    @cached_property
    def minimal(self) -> set[Names]:
        """The minimal conflicts, by all subsets."""
        found: set[Names] = set()
        for size in range(len(self.names) + 1):
            for members in map(frozenset, combinations(self.names, size)):
                if not any(one <= members for one in found) and not self.feasible(members):
                    found.add(members)
        return found

    @cached_property
    def fewest_to_drop(self) -> int:
        rules = [name for name in self.names if name.startswith("r")]
        return next(
            size
            for size in range(len(rules) + 1)
            for drop in combinations(rules, size)
            if self.feasible(frozenset(self.names) - frozenset(drop))
        )


def doubtful(seed: int) -> ConflictCase:
    """A random spec without a tree."""
    rng = random.Random(f"doubtful {seed}")
    while True:
        terms = [rng.choice(KINDS) for _ in range(rng.choice([1, 2, 3, 4, 4, 5, 6]))]
        used = {term for _, term in terms}
        tiny = random_world(rng, kinds=["number"] if "threshold" in used else [])
        if "threshold" in used and not any(c.ranked for c in tiny.columns):
            continue
        if tiny.depth is None or tiny.depth > 2:
            continue
        deeper = 1
        depth, leaves = tiny.depth, tiny.leaves
        tiny.depth, tiny.leaves = depth + deeper, None
        try:
            models = tiny.models(MOST_TREES)
        except TooMany:
            continue
        tiny.depth, tiny.leaves = depth, leaves
        atoms = Atoms(rng, tiny, models)
        rules = tuple(rule(atoms, scope, term) for scope, term in terms)
        made = ConflictCase(tiny=tiny, rules=rules, models=models, deeper=deeper)
        if rng.random() < 0.9:  # rules that none can keep alone are dull
            alone = [frozenset({f"r{i}"}) for i in range(len(rules))]
            if not all(map(made.feasible, alone)):
                continue
        if not made.feasible(frozenset(made.names)):
            return made


def explained(one: ConflictCase, using: str = "exact") -> Explanation | None:
    """None where the back end cannot express it."""
    try:
        analysis = odtdsl.parse(one.text).analyse(frame=one.tiny.frame)
        return explain(analysis, backend=using, most=1000, deeper=one.deeper)
    except OdtError as problem:
        codes = {d.code for d in problem.diagnostics}
        if codes <= {"B102", "B221"}:
            return None
        raise


def agrees(one: ConflictCase, using: str = "exact") -> tuple[int, int] | None:
    """Whether all that is said is so; how many conflicts there are, and the smallest's size."""
    found = explained(one, using)
    if found is None:
        return None
    shown = f"{one.text}\n{one.tiny.frame}\n{one.minimal}"
    assert found.status == "infeasible", shown
    assert all(conflict.minimal for conflict in found.conflicts), shown
    assert found.complete, shown
    assert {frozenset(conflict.names) for conflict in found.conflicts} == one.minimal, shown
    least = min(map(len, one.minimal))
    for conflict in found.conflicts:
        assert conflict.smallest == (len(conflict.names) == least), shown
        assert conflict.searched.depth == one.deepest(frozenset(conflict.names)), shown
        bounded = "tree leaves" in conflict.names
        assert conflict.searched.leaves == (one.tiny.leaves if bounded else None), shown
        if "tree depth" not in conflict.names:
            note = f"this holds for trees up to depth {conflict.searched.depth}; deeper trees"
            (said,) = (d for d in found.diagnostics() if _blamed(d, conflict.constraints))
            assert any(text.startswith(note) for text in said.notes), shown
    assert len(found.conflicts[0].names) == least
    assert found.drop is not None, shown
    assert len(found.drop) == one.fewest_to_drop, shown
    dropped = frozenset(constraint.name for constraint in found.drop)
    assert one.feasible(frozenset(one.names) - dropped), shown
    for near in found.nearest:
        near_is_so(one, near, frozenset(found.conflicts[0].names))
    return len(one.minimal), least


def _blamed(said: Diagnostic, constraints: tuple[Constraint, ...]) -> bool:
    return [label.span for label in said.labels] == [one.span for one in constraints]


def near_is_so(one: ConflictCase, near: NearestBound, conflict: Names) -> None:
    """What is kept with a nearest bound, and in which trees; the bound itself of the skeleton."""
    shown = f"{one.text}\n{one.tiny.frame}\n{near}"
    name, kept = near.constraint.name, frozenset(other.name for other in near.kept)
    rest = frozenset(one.names) - {name}
    assert near.rest == one.feasible(rest) == (near.others == "spec"), shown
    bounds = {"tree depth", "tree leaves"} & rest
    wanted = [rest, conflict - {name} | bounds, conflict - {name}]
    assert kept == next(filter(one.feasible, wanted)), shown
    assert not one.feasible(kept | {name}), shown
    assert near.searched.depth == one.deepest(kept), shown
    if near.constraint.kind == "rule":
        return

    def size(model: Model) -> int:
        return model.depth if name == "tree depth" else len(model.leaves)

    value = int(near.found.value)
    assert one.feasible(kept, lambda model: size(model) <= value), shown
    assert not one.feasible(kept, lambda model: size(model) < value), shown


def test_what_was_foreseen_is_told_once() -> None:
    """Warnings before any search say less than the conflict that takes their place."""
    text = """data frame target y tree depth <= 1 minimize errors cost * = 1
        rule cheap: forall path: cost <= -1
        rule right: accuracy >= 90%
        rule none: forall path: cost <= 0.5"""
    frame = {"a": [1, 2, 3, 4], "y": ["p", "n", "p", "n"]}
    model = odtdsl.parse(text)
    found = model.explain(frame=frame)
    assert [one.code for one in found.warnings] == ["R107", "R109", "R108"]
    assert [one.code for one in found.other_warnings] == ["R109", "R108"]
    assert found.conflicts[0].names == ("cheap",)
    assert found.nearest[0].text == (
        "`cheap` can be satisfied alone with a bound of at least 0, in trees up to depth 1; "
        "the other rules conflict even without `cheap`"
    )
    found = model.explain(frame=frame, most=9)
    assert [one.names for one in found.conflicts] == [
        ("cheap",),
        ("right", "tree depth"),
        ("right", "none"),
    ]
    assert [one.code for one in found.other_warnings] == ["R109"], "it lets a single leaf stand"


CELLS = list(itertools.product("01", repeat=4))
BITS: dict[str, list[object]] = {
    **{name: [int(cells[at]) for cells in CELLS] for at, name in enumerate("abcd")},
    "y": ["np"[cells.count("1") % 2] for cells in CELLS],
}


def test_every_conflict_says_in_which_trees_it_holds() -> None:
    """Not only the first: the second is none in deeper trees."""
    rules = {
        "r1": "forall path: uses(a) and uses(b)",
        "r2": "forall path: uses(c)",
        "r3": "forall path: uses(d)",
    }

    def spec(depth: int, names: Iterable[str]) -> odtdsl.Model:
        kept = "\n".join(f"rule {name}: {rules[name]}" for name in names)
        return odtdsl.parse(f"data frame target y tree depth <= {depth} minimize errors\n{kept}")

    model = spec(1, rules)
    found = model.explain(frame=BITS, most=9)
    assert {one.names for one in found.conflicts} == {
        ("r1", "r2"),
        ("r1", "r3"),
        ("r1", "tree depth"),
        ("r2", "r3", "tree depth"),
    }
    note = "this holds for trees up to depth 2; deeper trees were not searched"
    for conflict, said in zip(found.conflicts, found.diagnostics(), strict=True):
        assert (note in said.notes) == ("tree depth" not in conflict.names)
        if "tree depth" not in conflict.names:
            assert spec(2, conflict.names).solve(frame=BITS).status == "infeasible"
            assert spec(3, conflict.names).solve(frame=BITS).status == "optimal"
    (as_json, *_) = found.to_json()["conflicts"]
    assert as_json["within"] == {"depth": 2, "leaves": None}
    assert found.diagnostics()[0].helps[-1] == "search deeper trees with `--deeper 2`"
    (first,) = model.explain(frame=BITS, deeper=2).diagnostics()
    assert first.helps[-1].startswith("look for other conflicts with `--all`")


def test_a_conflict_without_a_bound_of_the_depth_says_of_how_many_leaves() -> None:
    text = "data frame target y tree leaves <= 3 minimize errors\nrule right: accuracy >= 100%"
    (said,) = odtdsl.parse(text).explain(frame=BITS).diagnostics()
    assert said.message == "no tree satisfies `right`"
    note = "this holds for trees with up to 6 leaves; larger trees were not searched"
    assert note in said.notes


def test_a_nearest_bound_says_with_what_and_where_it_is_enough() -> None:
    """Beside another conflict, in the skeleton of the spec: by solving that, and tighter."""
    rules = {
        "right": "accuracy >= 90%",
        "robust": "forall leaf: size >= 3",
        "either": "forall path: uses(a) or uses(b)",
        "no_a": "forall path: tests(a) <= 0",
        "no_b": "forall path: tests(b) <= 0",
    }
    head = "data frame target y tree depth <= 4 minimize errors\n"

    def spec(given: dict[str, str]) -> odtdsl.Model:
        return odtdsl.parse(head + "\n".join(f"rule {name}: {given[name]}" for name in given))

    found = spec(rules).explain(frame=BITS)
    (conflict,) = found.conflicts
    assert conflict.names == ("right", "robust")
    right, robust = found.nearest
    for near, tighter in ((right, Fraction(1, 10**4)), (robust, Fraction(1))):
        name = near.constraint.name
        assert near.others == "conflict"
        kept = [one.name for one in near.kept if one.kind == "rule"]
        assert [*kept, "tree depth"] == [one.name for one in near.kept]
        start, value = rules[name].rsplit(" ", 1)[0], near.found.value
        if near.found.percent:
            value, tighter = value * 100, tighter * 100
        unit = "%" if near.found.percent else ""
        for bound, status in ((value, "optimal"), (value + tighter, "infeasible")):
            asked = {other: rules[other] for other in kept}
            asked[name] = f"{start} {float(bound):g}{unit}"
            assert spec(asked).solve(frame=BITS).status == status, asked
    assert right.text == (
        "`right` can be satisfied together with `robust` with a bound of at most 50%, in trees up "
        "to depth 4; the other rules conflict even without `right`"
    )
    as_json = found.to_json()["nearest"][0]
    assert as_json["kept"] == ["robust", "tree depth"]
    assert as_json["within"] == {"depth": 4, "leaves": None}


def test_a_depth_that_is_enough_for_one_conflict_only_says_so() -> None:
    text = """data frame target y tree depth <= 1 minimize errors
    rule both: forall path: uses(a) and uses(b)
    rule either: forall path: uses(c) or uses(d)
    rule no_c: forall path: tests(c) <= 0
    rule no_d: forall path: tests(d) <= 0"""
    found = odtdsl.parse(text).explain(frame=BITS, deeper=2)
    assert found.conflicts[0].names == ("both", "tree depth")
    (near,) = found.nearest
    assert near.text == (
        "with depth 2, `both` can be satisfied; all rules together conflict even with depth 3"
    )


def test_what_stays_undecided_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The back end gives up after ever more questions; a bound is told, or open."""
    text = """data frame target y tree depth <= 3 minimize errors
    rule right: accuracy >= 90%
    rule robust: forall leaf: size >= 3"""
    seen = 0
    for patience in range(1, 20):
        moody = GivesUp(patience, threading.Event())
        with monkeypatch.context() as patched:
            patched.setattr(oracles, "back_end", lambda *_, moody=moody: moody)
            found = explain(odtdsl.parse(text).analyse(frame=BITS))
        if found.status == "undecided":
            continue
        bounded = {one for one in found.conflicts[0].names if one != "tree depth"}
        told = {one.constraint.name for one in found.nearest}
        open_ = {one.name for one in found.open}
        assert bounded <= told | open_
        assert not told & open_
        (said,) = found.diagnostics()
        if open_:
            seen += 1
            (note,) = (one for one in said.notes if one.startswith("undecided: the nearest bound"))
            for one in found.conflicts[0].constraints:
                name = one.name if one.kind == "rule" else one.text
                assert (f"`{name}`" in note) == (one in found.open)
            assert said.helps[-1].startswith("give it more time with `--within`")
            assert found.to_json()["open"] == [one.name for one in found.open]
        assert ("undecided: the fewest rules to drop" in said.notes) == (found.drop is None)
    assert seen > 1
    assert not open_, "in the end nothing is"


@pytest.mark.parametrize("block", range(scaled(4)))
def test_conflicts_of_random_specs(block: int) -> None:
    seen = [agrees(doubtful(seed)) for seed in range(6 * block, 6 * block + 6)]
    sizes = [answer[1] for answer in seen if answer is not None]
    assert len(sizes) >= len(seen) * 9 // 10
    assert max(sizes) >= 2


def test_conflicts_under_assumptions() -> None:
    """`sat` asks one live formula, and its refutations name conflicts."""
    seen = [agrees(doubtful(seed), "sat") for seed in range(CASES)]
    assert sum(answer is not None for answer in seen) > len(seen) // 2


@pytest.mark.parametrize("seed", [3, 5])
def test_conflicts_on_milp(seed: int) -> None:
    """Programs are asked otherwise: the widest rule is made small instead of kept."""
    assert agrees(doubtful(seed), "milp") is not None


# ---- limits


def _spec(rules: str) -> odtdsl.Model:
    return odtdsl.parse((HEAD + rules).replace("  rule", "\nrule"))


def test_a_back_end_that_cannot_decide_proves_nothing() -> None:
    for rules in list(CONFLICTS.values())[:: 1 if SCALE >= 1 else 4]:
        if "drop" in rules:
            continue
        found = explain(_spec(rules).analyse(frame=FRAME), backend="greedy")
        assert found.status == "undecided"
        assert not found.conflicts
        (said,) = found.diagnostics()
        assert said.code == "R402"
        assert "infeasible" not in str(found.to_json()).replace("R402", "")
        assert "conflict" not in said.message


def test_no_time_is_undecided() -> None:
    for rules in CONFLICTS.values():
        if "drop" in rules:
            continue
        found = explain(_spec(rules).analyse(frame=FRAME), seconds=1e-9)
        assert found.status == "undecided"
        assert found.searches == 0


def test_an_undecided_spec_says_what_the_nearest_grown_tree_breaks() -> None:
    frame = {"x": list(range(40)), "z": [0, 1] * 20, "y": list("np" * 15) + ["p"] * 10}
    spec = """data frame target y tree depth <= 1 minimize errors
    rule many: forall leaf: size >= 21
    rule two: leaves >= 2"""
    found = explain(odtdsl.parse(spec).analyse(frame=frame), backend="greedy")
    assert found.status == "undecided"
    (missed,) = found.near_miss
    assert missed.rule in ("many", "two")
    assert not missed.holds
    (told,) = found.diagnostics()
    assert f"the nearest breaks only `{missed.rule}` (value {missed.value}" in told.notes[-1]
    (as_json,) = found.to_json()["near_miss"]
    assert as_json["rule"] == missed.rule
    decided = explain(odtdsl.parse(spec).analyse(frame=frame))
    assert decided.status == "infeasible"
    assert decided.near_miss == ()


class GivesUp:
    """`exact` that gives up from some question on, or calls for a stop there."""

    name = "exact"

    def __init__(self, patience: int, stop: threading.Event) -> None:
        self.real, self.patience, self.stop, self.asked = back_end("exact"), patience, stop, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)

    def supports(self, form: object, *, inside_or: bool) -> Support:
        return self.real.supports(form, inside_or=inside_or)  # type: ignore[arg-type]

    def objections(self, core: Core) -> object:
        return self.real.objections(core)

    def solve(self, core: Core, limits: Limits, start: object, report: object) -> RawAnswer:
        self.asked += 1
        if self.asked > self.patience:
            self.stop.set()
            return RawAnswer(status="unknown")
        return self.real.solve(core, limits, None, None)


@pytest.mark.parametrize("patience", [0, 1, 3, 6])
def test_giving_up_anywhere_says_only_what_is_proven(
    patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        one = doubtful(seed)
        moody = GivesUp(patience, threading.Event())
        monkeypatch.setattr(oracles, "back_end", lambda *_, moody=moody: moody)
        found = explained(one)
        if found is None:
            continue
        if found.status == "undecided":
            assert patience < 2
            assert not found.conflicts
            continue
        for conflict in found.conflicts:
            members = frozenset(conflict.names)
            assert not one.feasible(members)
            assert not conflict.minimal or members in one.minimal
            assert not conflict.smallest or len(members) == min(map(len, one.minimal))
        assert not found.complete or len(found.conflicts) == len(one.minimal)
        assert found.drop is None or len(found.drop) == one.fewest_to_drop


def test_ctrl_c_ends_with_what_is_known() -> None:
    """The signal comes while a question of a larger table is searched, which takes minutes."""
    rng = random.Random(0)
    frame = {f"f{i}": [rng.random() for _ in range(1500)] for i in range(12)}
    frame["y"] = [rng.choice("pn") for _ in range(1500)]  # type: ignore[misc]
    text = "data frame target y tree depth <= 4 minimize errors\nrule r: errors <= 450"
    analysis = odtdsl.parse(text).analyse(frame=frame)
    timer = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    began = time.monotonic()
    timer.start()
    found = explain(analysis)
    timer.join()
    assert time.monotonic() - began < 20
    assert found.interrupted
    assert found.status == "undecided"
    assert "interrupted" in found.diagnostics()[0].notes[0]


def main(cases: int, using: str) -> None:
    """Random specs until so many were explained; counts by size, and those passed over."""
    sizes: Counter[int] = Counter()
    several = refused = 0
    for seed in itertools.count():
        answer = agrees(doubtful(seed), using)
        if answer is None:
            refused += 1
            continue
        sizes[answer[1]] += 1
        several += answer[0] > 1
        if sizes.total() % 100 == 0:
            print(
                f"{sizes.total()} specs, smallest conflict by size {dict(sorted(sizes.items()))},"
                f" several minimal ones {several}; refused {refused}",
                flush=True,
            )
        if sizes.total() >= cases:
            break


if __name__ == "__main__":
    main(int(sys.argv[1]), *(sys.argv[2:] or ["exact"]))
