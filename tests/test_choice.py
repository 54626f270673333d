"""Choices among columns of rewards or losses: every back end against brute force, and the audit.

Specs are random texts on random tables, as in `test_every_term`: rewards and losses of one to four
digits, weights, groups, rules of every scope beside budgets of choices. The brute force is
written from the language reference and uses nothing of the package.
"""

from __future__ import annotations

import json
import random
import re
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from goals import row_groups, weighting
from meanings import RATES, Goal, Measures, Number, Rule, RuleChecker, gap_of
from sat_trees import without_start
from scale import SCALE, scaled
from sentences import MONOTONE, TERMS, Atoms, rule
from tiny_tables import Model, TinyTable, TooMany, decimal, random_world

import odtdsl
from odtdsl.backends.exact.backend import plain_of
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.language.parser import parse
from odtdsl.predictors.saving import from_json, to_json
from odtdsl.problem.terms.normalize import normalize

pytestmark = pytest.mark.usefixtures("few_starts")

MOST_TREES = 1500
OF_ROWS = ("count_predicted", "rate", "share")
NOT_HERE = {
    *("errors", "error_rate", "accuracy", "recall", "precision", "negative_predictive_value"),
    *("balanced_accuracy", "f1", "false_positive_rate", "specificity"),
    *("purity", "majority", *MONOTONE),
}
KINDS = [(scope, term) for scope, terms in TERMS.items() for term in terms if term not in NOT_HERE]
BACK_ENDS = ("exact", "milp", "sat", "cpsat")


@dataclass(eq=False, kw_only=True)
class ChoiceTable(TinyTable):
    """A table whose class columns hold what each row gains, or loses, by each choice."""

    by: str
    worth: dict[str, list[Fraction]]

    def loss(self, predicted: int, row: int) -> Fraction:
        return self.worth[self.classes[predicted]][row]

    @property
    def frame(self) -> dict[str, list[Any]]:
        found = super().frame
        del found["y"]
        return found | {name: [float(x) for x in cells] for name, cells in self.worth.items()}

    def head(self) -> list[str]:
        _, _, *rest = (line for line in super().head() if not line.startswith("loss "))
        return ["data frame", f"target choice {{{', '.join(self.classes)}}} by {self.by}", *rest]


class ChoiceMeasures(Measures):
    """Draws measures that choices have, whatever is asked for; labels are bare names."""

    tiny: ChoiceTable

    def named(self, term: str, label: int | None, group: str | None) -> str:
        shown = [] if label is None else [self.tiny.classes[label]]
        shown += [] if group is None else [group]
        return f"{term}({', '.join(shown)})" if shown else term

    def of(self, term: str, label: int, group: str | None) -> tuple[str, Number] | None:
        rows, gained = self.tiny.members(group), self.lost(group)
        if term in ("loss", self.tiny.by):
            return self.named(self.tiny.by, None, group), gained
        if term in ("expected_loss", f"expected_{self.tiny.by}"):
            whole, text = (
                self.tiny.weight(rows),
                self.named(f"expected_{self.tiny.by}", None, group),
            )
            return (text, lambda m: gained(m) / whole) if whole else None
        if term in ("errors", "count_predicted"):
            return super().of("count_predicted", label, group)
        found = super().of("rate", label, group)
        shown = self.rng.choice(["rate", "share"])
        return None if found is None else (self.named(shown, label, group), found[1])

    def any_of(self, *terms: str, group: bool = True) -> tuple[str, Number]:
        """Shares alone where shares are asked for, as percentages are of them."""
        if terms and set(terms) <= set(RATES):
            return super().any_of("rate", "share", group=group)
        return super().any_of(*OF_ROWS, self.tiny.by, f"expected_{self.tiny.by}", group=group)

    def over_groups(self, *_: str) -> tuple[str, list[Number]]:
        return super().over_groups("rate", "share")

    def worth_over_groups(self) -> tuple[str, list[Number]]:
        term = f"expected_{self.tiny.by}"
        by = [name for name in self.tiny.groups if self.of(term, 0, name) is not None][:2]
        found = [self.of(term, 0, name) for name in by]
        return f"{term}, {', '.join(by)}", [one[1] for one in found if one is not None]


class ChoiceAtoms(Atoms):
    """Draws conditions for choices."""

    def __init__(self, rng: random.Random, tiny: ChoiceTable, models: Sequence[Model]) -> None:
        super().__init__(rng, tiny, models)
        self.draw = ChoiceMeasures(rng, tiny)


def _table(rng: random.Random) -> ChoiceTable:
    plain = random_world(rng)
    pool = rng.choice([range(-2, 6), (0, 1), range(10), ("0.5", "-1.25", 3), ("0.001", 7, -40)])
    worth = {name: [Fraction(rng.choice(pool)) for _ in plain.target] for name in plain.classes}  # type: ignore[arg-type]
    return ChoiceTable(**vars(plain), by=rng.choice(["reward", "reward", "loss"]), worth=worth)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A spec, and the trees of its table that keep its rules."""

    tiny: ChoiceTable
    text: str
    stages: tuple[Goal, ...]
    rules: tuple[Rule, ...]
    models: list[Model]
    kept: list[Model]

    @property
    def optimum(self) -> tuple[Fraction, ...] | None:
        values = (tuple(goal.sign * goal.value(one) for goal in self.stages) for one in self.kept)
        least = min(values, default=None)
        if least is None:
            return None
        return tuple(goal.sign * value for goal, value in zip(self.stages, least, strict=True))

    def __str__(self) -> str:
        return f"{self.text}\n{self.tiny.frame}"


SAME = {"reward": "loss", "expected_reward": "expected_loss", "share": "rate"}
"""Terms that are drawn as those of classes are; `ChoiceMeasures` calls them as choices do."""


def case(seed: object, first: tuple[str, str] | None = None) -> Case:
    """A random spec of up to three rules, the first one of a scope with a term if it is given."""
    rng = random.Random(f"choice {seed}" if first is None else f"choice {first} {seed}")
    while True:
        tiny = _table(rng)
        try:
            models = tiny.models(MOST_TREES)
        except TooMany:
            continue
        atoms = ChoiceAtoms(rng, tiny, models)
        some = [rng.choice(KINDS) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]
        if first is not None:
            some = [(first[0], SAME.get(first[1], first[1])), *some[:2]]
        if any(term == "threshold" for _, term in some) and not any(c.ranked for c in tiny.columns):
            continue
        rules = tuple(rule(atoms, scope, term) for scope, term in some)
        if any(word in one.text for one in rules for word in NOT_HERE):
            continue
        if first is not None and first[1] not in rules[0].text:
            continue
        stages = _goals(rng, tiny)
        admits = RuleChecker(tiny, rules).admits
        sense = {1: "minimize", -1: "maximize"}
        lines = [
            *tiny.head(),
            *(row_groups(tiny) if any(goal.of_rows for goal in stages) else []),
            " then ".join(f"{sense[goal.sign]} {goal.text}" for goal in stages),
            *(one.written(f"r{i}") for i, one in enumerate(rules)),
        ]
        kept = [model for model in models if admits(model)]
        return Case(
            tiny=tiny,
            text="\n".join(lines),
            stages=tuple(stages),
            rules=rules,
            models=models,
            kept=kept,
        )


def _goals(rng: random.Random, tiny: ChoiceTable) -> list[Goal]:
    draw = ChoiceMeasures(rng, tiny)
    sign = -1 if tiny.by == "reward" else 1
    factor = Fraction(rng.choice(["0.25", "1", "2"]))
    worth, cost = draw.lost(None), draw.plain("expected_cost")[1]
    text, shares = draw.over_groups()
    between = "+" if sign > 0 else "-"
    first = rng.choice(
        [
            Goal(text=tiny.by, sign=sign, value=worth),
            Goal(text=tiny.by, sign=sign, value=worth),
            Goal(
                text=f"{tiny.by} {between} {decimal(factor)} * leaves",
                sign=sign,
                value=lambda m: worth(m) + sign * factor * len(m.leaves),
            ),
            Goal(
                text=f"{tiny.by} {between} {decimal(factor)} * expected_cost",
                sign=sign,
                value=lambda m: worth(m) + sign * factor * cost(m),
            ),
            Goal(
                text=f"{tiny.by} {between} {decimal(factor)} * gap({text})",
                sign=sign,
                value=lambda m: worth(m) + sign * factor * gap_of(shares, m),
            ),
            weighting(rng, tiny),
        ]
    )
    other, value = draw.any_of()
    last = Goal(text=other, sign=rng.choice([1, -1]), value=value)
    leaves = Goal(text="leaves", sign=1, value=lambda m: Fraction(len(m.leaves)))
    return rng.choice([[first], [first], [first, leaves], [first, last], [last]])


def solved(one: Case, using: str, *, started: bool) -> str:
    """Whether the answer is that of brute force, with a greedy tree to begin with or without one:
    its status, or `refused`."""
    try:
        with nullcontext() if started else without_start():
            result = odtdsl.parse(one.text).solve(using=using, frame=one.tiny.frame)
    except OdtError as problem:
        return refused(problem, one)
    expected = one.optimum
    if expected is None:
        assert result.status == "infeasible", f"{result.status}\n{one}"
        return "infeasible"
    assert result.audit is not None, f"{result.status}, best {expected}\n{one}"
    assert result.audit.holds, str(one)
    found = tuple(stage.value for stage in result.stages)
    if result.status == "feasible" and (using in ("greedy", "search") or one.tiny.wide):
        for goal, stage, best in zip(one.stages, result.stages, expected, strict=True):
            assert stage.value is not None
            assert goal.sign * stage.value >= goal.sign * best, f"{found}, best {expected}\n{one}"
            if stage.value != best:
                break
        return "feasible"
    assert result.status == "optimal", f"{result.status}, best {expected}\n{one}"
    assert found == expected, f"{found}, best {expected}\n{one}"
    return "optimal"


def refused(problem: OdtError, one: Case) -> str:
    """A back end may say that it cannot, or not in floats; a spec is never wrong."""
    codes = {each.code for each in problem.diagnostics}
    if one.tiny.wide and codes <= {"B220", "B221"}:
        return "too many digits"
    assert codes == {"B102"}, f"{problem}\n{one}"
    return "refused"


@pytest.mark.parametrize("using", BACK_ENDS)
def test_the_optimum_is_that_of_brute_force(using: str) -> None:
    """By day of half as many as elsewhere: most of the time goes into the brute force."""
    many = {"exact": 3000, "milp": 150, "sat": 400, "cpsat": 150}[using]
    if SCALE < 1:
        many = scaled(many // 2, least=10)
    found = Counter(solved(case(f"{seed}"), using, started=seed % 3 == 0) for seed in range(many))
    assert found["optimal"] >= many // 2, found
    assert using == "sat" or found["refused"] <= many // 20, found


@pytest.mark.parametrize("using", ["greedy", "search"])
def test_searches_without_a_proof_keep_the_rules(using: str) -> None:
    """What they find is audited, and no better than the best."""
    using = {"search": "search(steps = 1)"}.get(using, using)
    many = scaled(200, least=10)
    found = Counter(_greedy(case(f"{using} {seed}"), using) for seed in range(many))
    assert found["feasible"] + found["optimal"] >= many // 3, found


def _greedy(one: Case, using: str) -> str:
    """As `solved`, where nothing need be found."""
    try:
        result = odtdsl.parse(f"{one.text}\nsolve using {using}").solve(frame=one.tiny.frame)
    except OdtError as problem:
        return refused(problem, one)
    if result.model is None:
        assert result.status in ("unknown", "infeasible"), str(one)
        assert result.status == "unknown" or one.optimum is None, str(one)
        return result.status
    assert result.audit is not None
    assert result.audit.holds, str(one)
    assert one.optimum is not None, str(one)
    goal, stage = one.stages[0], result.stages[0]
    assert stage.value is not None
    assert goal.sign * stage.value >= goal.sign * one.optimum[0], str(one)
    return result.status


# ---- diagrams, hyperplanes


@pytest.mark.parametrize("using", ["auto", "exact", "milp", "sat", "cpsat"])
def test_diagrams_choose_too(using: str) -> None:
    """One terminal for each choice; of two 0/1 columns widths 1, 2 tell all cells apart."""
    rng = random.Random(using)
    for _ in range(scaled(30, least=3)):
        more = ((rng.randint(0, 1), rng.randint(0, 1)) for _ in range(4))
        cells = [*product((0, 1), (0, 1)), *more]
        frame = {name: [cell[k] for cell in cells] for k, name in enumerate(("x", "z"))}
        frame |= {name: [rng.randint(-3, 5) for _ in cells] for name in "abc"}
        text = "data frame target choice {a, b, c} by reward diagram widths 1, 2 maximize reward"
        result = odtdsl.parse(text).solve(frame=frame, using=using)
        assert result.status == "optimal"
        assert result.audit is not None
        assert result.audit.holds
        rows = {at: [i for i, cell in enumerate(cells) if cell == at] for at in cells}
        best = sum(max(sum(frame[c][i] for i in some) for c in "abc") for some in rows.values())
        assert result.stages[0].value == best
        assert isinstance(result.model, odtdsl.Diagram)
        again = from_json(json.loads(json.dumps(to_json(result.model))))
        assert again == result.model
        assert set(again.predict(frame)) <= {"a", "b", "c"}


def test_hyperplanes_choose_too() -> None:
    frame = {"x": [0, 1, 2, 3, 1, 2], "z": [3, 2, 1, 0, 0, 3]}
    frame |= {"a": [2, 2, 0, 0, 1, 1], "b": [0, 0, 3, 3, 0, 2], "c": [1, 1, 1, 1, 1, 1]}
    text = "data frame target choice {a, b, c} by reward tree depth <= 1, splits hyperplane"
    result = odtdsl.parse(f"{text} maximize reward rule r: share(b) <= 50%").solve(frame=frame)
    assert result.status == "optimal"
    assert result.audit is not None
    assert result.audit.holds
    assert result.stages[0].value == 13  # b for rows 2, 3 and 5, a for the others


# ---- sums of many digits


def test_rewards_of_many_digits_are_rounded_alike_by_both_meanings() -> None:
    rng = np.random.default_rng(7)
    for scale, weighed in ((1.0, False), (1e6, True), (1e-7, False)):
        frame = {"x": rng.normal(size=300), **{c: rng.normal(size=300) * scale for c in "ab"}}
        head = "data frame target choice {a, b} by reward tree depth <= 1 maximize reward"
        if weighed:
            frame["w"] = rng.uniform(0, 3, 300).round(2)
            head = head.replace("tree", "weight w tree")
        result = odtdsl.parse(head).solve(frame=frame)
        assert [one.code for one in result.warnings] == ["D226"]
        assert result.status == "optimal"
        assert result.audit.holds
        value = result.stages[0].value
        assert result.audit.objective == (value,)
        order = np.argsort(frame["x"])
        worth = np.column_stack([frame["a"], frame["b"]])[order]
        worth = worth * (frame["w"][order, None] if weighed else 1)
        below = np.cumsum(worth, axis=0)
        best = (below[:-1].max(axis=1) + (below[-1] - below[:-1]).max(axis=1)).max()
        assert float(value) == pytest.approx(best, rel=1e-9)


def test_decimals_are_exact() -> None:
    frame = {"x": [1, 2, 3], "a": [0.1, 0.2, -0.3], "b": [0.0, 0.0, 0.0]}
    text = "data frame target choice {a, b} by reward tree depth <= 0 maximize reward"
    result = odtdsl.parse(text).solve(frame=frame)
    assert result.stages[0].value == 0
    assert not result.warnings


def test_rewards_that_are_too_large_are_refused() -> None:
    frame = {"x": [1, 2, 3], "a": [1e15, 2e15, 3.5], "b": [0, 1, 0]}
    text = "data frame target choice {a, b} by reward tree depth <= 1 maximize reward"
    with pytest.raises(OdtError, match="D227"):
        odtdsl.parse(text).solve(frame=frame)


# ---- the audit


HEAD = "data frame target choice {a, b} by reward tree depth <= 2 maximize reward"
FRAME = {
    "x": [1, 2, 3, 4, 5, 6],
    "z": [0, 1, 0, 1, 0, 1],
    "a": [1, 1, 2, 0, 0, 3],
    "b": [0, 2, 0, 4, 3, 1],
}


def test_the_report_compares_the_tree_with_one_choice_for_everybody(tmp_path: Path) -> None:
    odtdsl.parse(HEAD).solve(frame=FRAME).report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    tables = re.sub(r"<[^>]+>+", " ", page.partition('<section id="errors"')[2])
    words = " ".join(tables.split())
    assert "rows count this tree all a all b best of each row" in words
    assert "training rows 6 2.5 1.16667 1.66667 2.5" in words
    assert "rows count a b training rows 6 50.0% 50.0%" in words
    assert "a 1.16667 · b 1.66667" in page  # the means of all rows, at the root
    assert '"actual":["1, 0","1, 2","2, 0","0, 4","0, 3","3, 1"]' in page


def test_the_audit_recounts_a_tree_that_was_changed() -> None:
    spec = odtdsl.parse(f"{HEAD} rule r: reward >= 14.5")
    tree = spec.solve(frame=FRAME).tree
    assert tree is not None
    saved = json.dumps(to_json(tree))
    changed = saved.replace('"label": 1', '"label": 0', 1)
    assert changed != saved
    assert odtdsl.audit(tree, spec, frame=FRAME).holds
    audit = odtdsl.audit(from_json(json.loads(changed)), spec, frame=FRAME)
    assert not audit.holds
    assert [line.rule for line in audit.lines if not line.holds] == ["r"]


def test_a_wrong_column_fails_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first meaning swaps the columns of the choices."""
    from odtdsl.tasks.choice import terms
    from odtdsl.tasks.choice.problem import worths

    true = worths

    def swapped(rows: Any) -> Any:
        numerators, *rest = true(rows)
        return (numerators[:, ::-1], *rest)

    monkeypatch.setattr(terms, "worths", swapped)
    with pytest.raises(OdtError, match="X101"):
        odtdsl.parse(HEAD).solve(frame=FRAME)


# ---- words and messages


def test_specs_are_written_as_they_are_read() -> None:
    text = "target choice {a, `drug b`} by loss\n"
    model = odtdsl.parse(text)
    assert str(model) == text
    built = odtdsl.Model().target("a", "drug b", by="loss")
    assert str(built) == text
    assert built.spec == model.spec
    for wrong in ({"by": 3}, {"by": "loss", "classes": ["a"]}, {"type": "choice"}):
        with pytest.raises(OdtError, match=r"U40"):
            odtdsl.Model().target("a", "b", **wrong)


def test_words_of_choices_are_free_where_nothing_is_chosen() -> None:
    """Columns and `let` names of other specs are not hidden by terms that mean nothing there."""
    frame = {"reward": [1, 2, 3, 4], "y": ["p", "p", "n", "n"]}
    text = (
        "data frame target y let share = 20% tree depth <= 1 minimize errors"
        " rule r: errors <= share rule s: forall split: threshold(reward) <= 9"
    )
    assert odtdsl.parse(text).solve(frame=frame).status == "optimal"
    numbers = "data frame target reward: number tree depth <= 1 minimize mse rule r: forall leaf: "
    found = odtdsl.parse(f"{numbers}reward >= 1").solve(frame=frame)
    assert found.status == "optimal"


@pytest.mark.parametrize(
    ("spec", "code", "words"),
    [
        (f"{HEAD} rule r: loss <= 3", "T219", "the choices are made `by reward`: use `reward`"),
        (f"{HEAD} rule r: errors <= 3", "T219", "for a choice use `reward`"),
        (f"{HEAD} rule r: increasing(x)", "T228", "choices have no order"),
        (f"{HEAD} rule r: share(c) <= 3%", "N106", "choice `c` is unknown"),
        (f"{HEAD} rule r: forall leaf: a >= 3", "T215", "`a` is a choice"),
        (HEAD.replace("{a, b}", "{a}"), "T124", "at least two columns"),
        (HEAD.replace("by reward", "by profit"), "T123", "`profit` is unknown"),
        (HEAD.replace("target choice", "target chose"), "S028", "write `choice`"),
        (HEAD.replace(" by reward", ""), "S028", "write `target choice {a, b} by reward`"),
        (HEAD.replace("{a, b}", "{a, a}"), "N104", "named twice"),
        (
            "data frame target x: number tree depth <= 1 minimize mse rule r: reward <= 3",
            "T219",
            "needs a choice by reward",
        ),
    ],
)
def test_mistakes_are_told(spec: str, code: str, words: str) -> None:
    with pytest.raises(OdtError) as caught:
        odtdsl.parse(spec).solve(frame=FRAME)
    assert caught.value.diagnostics[0].code == code
    assert words in str(caught.value)


def test_a_text_is_no_reward() -> None:
    with pytest.raises(OdtError, match="rewards and losses of choices are numbers"):
        odtdsl.parse(HEAD).solve(frame=FRAME | {"a": ["low"] * 6})


def test_missing_rewards_are_refused() -> None:
    with pytest.raises(OdtError, match="D201"):
        odtdsl.parse(HEAD).solve(frame=FRAME | {"a": [1, None, 2, 0, 0, 3]})


def test_thresholds_are_guessed_by_the_best_choice() -> None:
    pytest.importorskip("sklearn")
    text = HEAD.replace("tree", "candidates * at guessed tree")
    result = odtdsl.parse(text).solve(frame=FRAME)
    assert result.status == "optimal"
    assert result.audit.holds


def test_many_kinds_of_rewards_need_no_table_of_all_pairs() -> None:
    """The search for classes refuses them, and looks at no more than their number."""
    rng = np.random.default_rng(1)
    frame = {name: rng.normal(size=3000).round(4) for name in ("x", "a", "b", "c")}
    source = Source(name="rewards", text=HEAD.replace("{a, b}", "{a, b, c}"))
    core = normalize(analyse(parse(source), source=source, frame=frame).rows)
    tracemalloc.start()
    assert plain_of(core) is None
    assert tracemalloc.get_traced_memory()[1] < 30e6
    tracemalloc.stop()
