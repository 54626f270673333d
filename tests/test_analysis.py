"""What statements mean, where the language page leaves no choice or `docs` states one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import Analysis, analyse
from odtdsl.language import ast
from odtdsl.language.parser import parse
from odtdsl.problem.ir.expr import GroupArg
from odtdsl.problem.ir.forms import Linear, LinearStage
from odtdsl.problem.terms.normalize import normalize

FRAME: dict[str, list[Any]] = {
    "age": [20, 30, 40, 50, 60, None],
    "sex": ["m", "f", "f", "m", None, "m"],
    "race": ["a", "b", "a", "c", "b", "a"],
    "w": [1, 2, 1, 1, 0.5, 1],
    "name": ["A", "B", "B", "D", "E", "F"],
    "y": ["yes", "no", "yes", "no", "yes", "no"],
}
HEAD = 'data frame\ntarget y positive "yes"\n'
TREE = "tree depth <= 2\nminimize errors\n"


def understood(text: str, frame: Any = None, **inputs: Any) -> Analysis:
    source = Source(name="spec", text=text)
    given = FRAME if frame is None else frame
    return analyse(parse(source), source=source, frame=given, **inputs)


def codes(text: str, frame: Any = None, **inputs: Any) -> list[str]:
    with pytest.raises(OdtError) as caught:
        normalize(understood(text, frame, **inputs).rows)
    return [one.code for one in caught.value.diagnostics]


def bounds(text: str, **inputs: Any) -> list[tuple[int, int, int]]:
    """Constant, denominator and bound of every linear atom, in order."""
    core = normalize(understood(HEAD + "missing branch\n" + TREE + text, **inputs).rows)
    atoms = [literal.atom for clause in core.clauses for literal in clause.literals]
    linear = [atom for atom in atoms if isinstance(atom, Linear)]
    return [(a.measure.constant, a.measure.denominator, a.at_most) for a in linear]


# ---- percentages


@pytest.mark.parametrize(
    ("rule", "at_most"),
    [
        ("errors <= 50%", 3),
        ("errors <= 10% * 5", 3),
        ("errors <= 100% / 2", 3),
        ("errors <= 1 + 50%", 4),
        ("errors <= 2 * (1 + 25%)", 5),
        ("errors - 1 <= 50%", 4),
        ("50% >= errors", 3),
        ("errors(f) <= 50%", 1),
        ("errors <= half", 3),
        ("abs(errors - 50%) <= 1", 4),
    ],
)
def test_a_percentage_of_a_count_is_of_all_training_rows_or_of_the_groups(
    rule: str, at_most: int
) -> None:
    found = bounds(f'group f = sex = "f"\nlet half = 50%\nrule r: {rule}')[0]
    constant, denominator, bound = found
    assert Fraction(bound - constant, denominator) == at_most


@pytest.mark.parametrize("rule", ["accuracy >= 50%", "accuracy >= 1 / 2", "2 * accuracy >= 100%"])
def test_a_percentage_of_a_share_is_a_ratio(rule: str) -> None:
    (found,) = bounds(f"rule r: {rule}")
    assert found in ((3, 6, 0), (6, 12, 0), (6, 6, 0))


def test_a_factor_stays_a_ratio() -> None:
    (found,) = bounds("rule r: errors <= 50% * leaves + 50%")
    assert Fraction(found[2] - found[0], found[1]) == 3


# ---- mistakes


def test_mistakes_that_have_nothing_to_do_with_each_other_come_in_one_run() -> None:
    start, rule = "data frame\ndrop sex\nmissing drop\n", "rule s: foo <= 3\n"
    assert codes(start + 'target y positive "maybe"\n' + TREE + rule) == ["N106", "N201"]
    assert codes(start + "target y\ntree depth <= 2\n" + rule) == ["K102", "N201"]
    assert codes(start + "cost zz = 1\n" + TREE) == ["K102", "N103"]
    assert codes(start + "target y\nminimize errors\n" + rule) == ["K102", "N201"]
    wrong = {**FRAME, "age": ["old", *FRAME["age"][1:]]}
    cells = start + "target y\nfeature age: number\n" + TREE
    assert codes(cells + rule, wrong) == ["D141", "N201"]
    assert codes(cells + rule, FRAME) == ["N201"]


# ---- rows


def test_missing_values_are_refused_where_they_are_read() -> None:
    assert codes(HEAD + TREE) == ["D201"]  # of both columns
    assert codes(HEAD + 'drop age, sex\ngroup f = sex = "f"\n' + TREE) == ["D201"]
    assert codes(HEAD + 'drop age, sex\nrule r: gap(rate("yes"), sex) <= 1\n' + TREE) == ["D201"]
    understood(HEAD + "drop age, sex\ngroup none = age is missing\n" + TREE)
    understood(HEAD + "drop age, sex\n" + TREE)


def test_a_policy_of_one_column_leaves_the_others_alone() -> None:
    some = understood(HEAD + "drop sex\nmissing {age} drop\n" + TREE)
    assert some.rows.n_rows == 5
    both = understood(HEAD + "missing left\nmissing {age} drop\n" + TREE)
    assert both.rows.n_rows == 5
    assert codes(HEAD + "missing {age} left\n" + TREE) == ["D201"]
    dropped = understood(HEAD + 'drop sex\nmissing drop\ngroup f = sex = "f"\n' + TREE)
    assert dropped.rows.n_rows == 4
    assert codes(HEAD + "missing {y} left\nmissing branch\n" + TREE) == ["N111"]
    assert codes(HEAD + "missing brnch\n" + TREE).count("N111") == 1


def test_a_target_or_weight_is_never_missing() -> None:
    frame = {**FRAME, "y": [*FRAME["y"][:5], None]}
    assert codes(HEAD + "missing branch\n" + TREE, frame) == ["D201"]
    assert understood(HEAD + "missing branch\nmissing {y} drop\n" + TREE, frame).rows.n_rows == 5
    frame = {**FRAME, "w": [None, *FRAME["w"][1:]]}
    assert codes(HEAD + "missing branch\nweight w\n" + TREE, frame) == ["D201"]


def test_a_mistake_of_training_rows_is_not_told_again_of_test_rows() -> None:
    text = HEAD + "feature age: number drop sex, race, name " + TREE
    wrong = {**FRAME, "age": [20, "old", 40, 50, 60, 70]}
    fine = {**FRAME, "age": [20, 30, 40, 50, 60, 70]}
    few = {**FRAME, "y": ["yes", "", *FRAME["y"][2:]]}
    weights = {**fine, "w": [1, -1, 1, 1, 1, 1]}
    for frame, code, more in [
        (wrong, "D141", ""),
        (few | {"age": fine["age"]}, "D201", ""),
        (weights, "D161", "weight w"),
    ]:
        assert codes(text + more, frame, test_frame=frame).count(code) == 1
        assert codes(text + more, fine, test_frame=frame).count(code) == 1


def test_comparisons_with_missing_cells_are_false() -> None:
    spec = (
        'missing branch\ngroup f = sex = "f"\ngroup not_f = sex != "f"\n'
        'group others = not (sex = "f")\ngroup any_age = age <= 1000\n'
    )
    rows = understood(HEAD + spec + TREE).rows

    def members(name: str) -> list[int]:
        return np.flatnonzero(rows.mask(GroupArg(name=name))).tolist()

    assert members("f") == [1, 2]
    assert members("not_f") == [0, 3, 5]
    assert members("others") == [0, 3, 4, 5]
    assert members("any_age") == [0, 1, 2, 3, 4]


def test_rows_are_called_by_position_or_id() -> None:
    text = "missing branch\nmissing {age} drop\n" + TREE
    understood(HEAD + text + "rule r: same_leaf(0, 4)")
    assert codes(HEAD + text + "rule r: same_leaf(0, 5)") == ["N115"]
    named = HEAD.replace("data frame", "data frame, id name") + text
    found = understood(named + 'rule r: same_leaf("A", "E")')
    assert "name" not in [feature.name for feature in found.problem.features]
    assert codes(named + 'rule r: same_leaf("A", "B")') == ["D210"]


def test_weights_weigh_measures_but_not_counts_of_rows() -> None:
    found = understood(HEAD + "missing branch\nweight w\n" + TREE.replace("errors", "error_rate"))
    (stage,) = normalize(found.rows).objective
    assert isinstance(stage, LinearStage)
    assert (stage.measure.denominator, int(stage.measure.output.sum())) == (13, 13)  # type: ignore[union-attr]
    ((constant, denominator, bound),) = bounds("weight w\nrule r: errors <= 50%")
    assert Fraction(bound - constant, denominator) == 3
    assert denominator == 2


# ---- names


def test_all_mistakes_are_told_at_once() -> None:
    found = codes(
        HEAD + "feature aeg: number\ndrop rase\ncost sxe = 1\nmissing branch\ntree depth <= 99\n"
        "minimize erors\nrule a: uses(agee)\nrule b: cost <= 3\nsolve using mlip\n"
    )
    assert found == ["N103", "N103", "N103", "K106", "N201", "N103", "T220", "K115"]


def test_terms_win_over_columns_where_they_can_stand() -> None:
    frame = {"cost": [1, 2, 3, 4], "size": [1, 1, 2, 2], "loss": [1.0, 2.0, 3.0, 4.0]}
    text = "data frame\ntarget loss: number\ntree depth <= 2\nminimize mse\n"
    found = understood(
        text + "rule a: forall path: cost before size\nrule b: forall path: cost <= 3\n"
        "rule c: forall leaf: loss >= 0\nrule d: forall leaf: size >= 1\n",
        frame,
    )
    assert [rule.name for rule in found.problem.rules] == ["a", "b", "c", "d"]


def test_lets_stand_in_groups_sets_and_labels_and_can_be_set() -> None:
    text = (
        'missing branch\nlet old = 20 + 10\nlet label = "yes"\ngroup g = age >= old\n'
        "rule a: recall(label) >= 50%\nrule b: forall split: threshold(age) in {old, 45}\n"
        "rule c: errors <= old / 10\n"
    )
    rows = understood(HEAD + text + TREE).rows
    assert int(rows.mask(GroupArg(name="g")).sum()) == 4
    changed = understood(HEAD + text + TREE, settings={"old": ast.Number(value=Fraction(50))})
    assert int(changed.rows.mask(GroupArg(name="g")).sum()) == 2
    known = HEAD + "missing branch\n" + TREE
    assert codes(known, settings={"new": ast.Number(value=Fraction(1))}) == ["N113"]


def test_gap_parts_by_the_values_of_training_rows() -> None:
    frame = {**FRAME, "race": ["a", "b", "a", "b", "c", "a"]}
    spec = 'drop age, sex, race\nmissing {w} drop\nrule r: gap(rate("yes"), race) <= 1\n'
    groups = understood(HEAD + spec + TREE, {**frame, "w": [1, 1, 1, 1, None, 1]}).problem.groups
    assert [group.name for group in groups] == ['race = "a"', 'race = "b"']


# ---- objectives


@pytest.mark.parametrize(
    ("objective", "warned"),
    [
        ("maximize accuracy then leaves", ["O102"]),
        ("maximize accuracy then minimize leaves", []),
        ("minimize -accuracy", []),
        ("minimize errors - 2 * accuracy", []),
        ("maximize -1 * errors", []),
        ("maximize errors", ["O103"]),
        ("minimize errors then leaves then splits", []),
    ],
)
def test_directions(objective: str, warned: list[str]) -> None:
    text = HEAD + "missing branch\ntree depth <= 2\n" + objective
    assert [one.code for one in understood(text).warnings] == warned


@pytest.mark.parametrize(
    ("said", "warned"),
    [
        ("minimize errors", ["O105"]),
        ("minimize errors then expected_loss", []),
        ("minimize leaves + 2 * loss", []),
        ("minimize errors\nrule r: gap(expected_loss, old, young) <= 9", []),
        ("minimize errors\nrule r: if leaves >= 3 then loss <= 9", []),
    ],
)
def test_losses_that_nothing_uses(said: str, warned: list[str]) -> None:
    groups = "group old = age >= 50\ngroup young = age < 50\n"
    text = HEAD + "missing branch\ntree depth <= 2\n" + groups + said
    assert [one.code for one in understood(text).warnings if one.code == "O105"] == []
    text += '\nloss predict "no" when "yes" = 5'
    assert [one.code for one in understood(text).warnings if one.code == "O105"] == warned


# ---- leaf outputs


def test_negations_of_outputs_are_pushed_inwards_before_they_are_closed() -> None:
    from odtdsl.problem.ir.expr import Compare, OrC

    frame = {"x": [1, 2, 3, 4], "a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 0.0, 0.0, 2.0]}
    text = "data frame\ntarget a, b: number\ntree depth <= 2\nminimize mse\n"
    found = understood(text + "rule r: forall leaf: if a < 3 then b = 0", frame)
    condition = found.problem.rules[0].condition
    assert isinstance(condition, OrC)
    assert [item.op for item in condition.items if isinstance(item, Compare)] == [">=", "="]
    assert codes(text + "rule r: forall leaf: if a = 3 then b = 0", frame) == ["R104"]
    assert codes(text + "rule r: forall leaf: count(a = 0, b = 0) <= 1", frame) == ["R104"]
    understood(text + "rule r: forall leaf: count(a = 0, b = 0) >= 1", frame)
    always = understood(text + "rule r: forall leaf: 2 * a < 3 or a > 1.5", frame)
    assert [one.code for one in always.warnings] == ["R105"]
