"""The objective and the rules on test rows, and what a model without a split has there."""

from __future__ import annotations

import json
import random
import re
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from scale import scaled

import odtdsl
from odtdsl.auditor.audit import audit_rows
from odtdsl.auditor.results import RowCount
from odtdsl.interfaces.cli.main import app
from odtdsl.predictors.saving import save
from odtdsl.presentation import console

SPEC = """data frame
target y positive "p"
feature a: number
drop g
group u = g == "u"
group v = g == "v"
loss predict "n" when "p" = 5
loss predict "p" when "n" = 1
tree depth <= 1
minimize expected_loss
rule parity: gap(rate("p"), u, v) <= 10%
solve using exact
"""
TRAIN = {"a": [1, 1, 2, 2], "g": ["u", "v", "u", "v"], "y": ["n", "n", "p", "p"]}
TEST = {"a": [1, 1, 2, 2, 2], "g": ["u", "u", "v", "v", "v"], "y": ["n", "p", "p", "p", "n"]}


def test_training_rows_as_test_rows_are_told(tmp_path: Path) -> None:
    found = odtdsl.solve(SPEC, frame=TRAIN, test_frame=TRAIN)
    assert [one.code for one in found.warnings].count("D234") == 1
    assert "D234" not in {
        one.code for one in odtdsl.solve(SPEC, frame=TRAIN, test_frame=TEST).warnings
    }
    rows, others = tmp_path / "rows.csv", tmp_path / "others.csv"
    pd.DataFrame(TRAIN).to_csv(rows, index=False)
    pd.DataFrame(TEST).to_csv(others, index=False)
    spec = tmp_path / "a.odt"
    for data, test, said in ((rows, rows, True), (rows, others, False), (others, rows, False)):
        spec.write_text(SPEC.replace("data frame", f'data "{data.name}"'))
        ran = CliRunner().invoke(app, ["solve", str(spec), "--test", str(test)])
        assert ("warning[D234]" in ran.output) == said, ran.output


def test_a_leaf_without_test_rows_is_not_the_least_pure_one() -> None:
    """It keeps the rule as it says nothing, and has no share."""
    spec = """data frame
target y
tree depth <= 2
minimize errors
rule pure: forall leaf: purity >= 50%
"""
    train = {"a": [1, 2, 3, 4, 5, 6, 7, 8], "y": list("ppqqppqq")}
    result = odtdsl.solve(spec, frame=train, test_frame={"a": [1, 2, 2, 4], "y": list("ppqq")})
    assert result.test is not None
    (line,) = result.test.audit.lines
    assert (line.holds, line.value) == (True, Fraction(2, 3))
    assert line.slack == Fraction(1, 6)
    assert line.rows == (RowCount(of="the tightest leaf", rows=3),)


@pytest.mark.parametrize(
    ("rule", "holds", "told"),
    [
        ("forall leaf: size >= 2", False, True),
        ("forall leaf: 2 <= size(u)", False, True),
        ("errors <= 0", False, True),
        ("count_predicted(q) >= 2", False, True),
        ("forall leaf: size >= 1", True, False),
        ("forall leaf: size >= 50%", False, False),  # goes by the rows here
        ("accuracy >= 90%", False, False),
        ("forall leaf: size(u) >= size(v)", False, False),
    ],
)
def test_a_bound_in_rows_that_fewer_test_rows_break_is_told(
    rule: str, holds: bool, told: bool
) -> None:
    spec = f"""data frame
target y
drop g
group u = g == "u"
group v = g == "v"
tree depth <= 1
minimize errors
rule few: {rule.replace("(q)", '("q")')}
"""
    train = {"a": [1, 1, 1, 1, 2, 2, 2, 2], "g": list("uuvvuuvv"), "y": list("ppppqqqq")}
    test = {"a": [1, 1, 2], "g": list("uvv"), "y": list("pqq")}
    result = odtdsl.solve(spec, frame=train, test_frame=test)
    assert all(line.holds and not line.note for line in result.audit.lines)
    assert result.test is not None
    (line,) = result.test.audit.lines
    assert line.holds is holds
    assert ("number of training rows" in line.note) is told


def test_rows_of_a_value_that_no_training_row_has_are_told() -> None:
    """They are in no group that the column makes."""
    spec = """data frame
target y
drop g
group u = g == "u"
group v = g == "v"
tree depth <= 1
minimize errors
rule made: gap(rate("p"), g) <= 10%
rule named: gap(rate("p"), u, v) <= 10%
"""
    test = {"a": [1, 1, 1, 2, 2], "g": ["u", "v", "u", "w", "x"], "y": list("nnnpp")}
    result = odtdsl.solve(spec, frame=TRAIN, test_frame=test)
    assert result.test is not None
    made, named = result.test.audit.lines
    assert made.note == "without 2 rows of other values of `g`: no training row has them"
    assert not named.note, "who names groups means these"
    assert [(one.group, one.value, one.rows) for one in made.groups] == [
        ('g = "u"', 0, 2),
        ('g = "v"', 0, 1),
        ('g = "w" (no training row)', 1, 1),
        ('g = "x" (no training row)', 1, 1),
    ]
    assert made.value == 0, "they have no part in the rule"
    assert [one.group for one in named.groups] == ["u", "v"]
    assert result.audit is not None
    assert not any(line.note for line in result.audit.lines)
    assert [len(line.groups) for line in result.audit.lines if line.groups] == [2, 2]


@pytest.mark.parametrize(("values", "told"), [(20, 20), (21, 0)])
def test_numbers_and_many_values_that_no_training_row_has(values: int, told: int) -> None:
    spec = """data frame
target y
feature a: number
drop n
missing {n} left
tree depth <= 1
minimize errors
rule made: gap(errors, n) <= 9
"""
    train = {"a": [1, 1, 2, 2], "n": [1, 2, 1, 2], "y": list("nnpp")}
    later = [2.5 + i // 2 for i in range(2 * values)]
    test = {"a": [1, 2] * values, "n": later, "y": ["n"] * (2 * values)}
    result = odtdsl.solve(spec, frame=train, test_frame=test | {"n": [*later[:-1], None]})
    assert result.test is not None
    assert result.test.audit is not None
    (line,) = result.test.audit.lines
    new = [one for one in line.groups if "(no training row)" in one.group]
    assert len(new) == told
    assert [one.rows for one in new] == [2] * (told - 1) + [1] * (told > 0)
    assert not new or new[0].group == "n = 2.5 (no training row)"
    assert f"without {2 * values - 1} rows of other values" in line.note


@pytest.mark.parametrize("condition", ['g == "u"', "a <= 1"])
def test_a_group_may_have_the_name_of_that_of_a_value(condition: str) -> None:
    """What is said of values of a column is not said of it, and it stays another group."""
    spec = f"""data frame
target y
drop g
group `g = "u"` = {condition}
group v = g == "v"
tree depth <= 1
minimize errors
rule made: gap(rate("p"), g) <= 1
rule named: gap(rate("p"), `g = "u"`, v) <= 1
"""
    test = {"a": [1, 1, 1, 2, 2], "g": ["u", "v", "u", "w", "x"], "y": list("nnnpp")}
    result = odtdsl.solve(spec, frame=TRAIN, test_frame=test)
    assert result.test is not None
    assert result.test.audit is not None
    made, named = result.test.audit.lines
    assert "of other values of `g`" in made.note
    assert not named.note
    assert [one.group for one in made.groups[:2]] == ['rows of g = "u"', 'g = "v"']
    assert [one.rows for one in made.groups[:2]] == [2, 1]
    assert [one.rows for one in named.groups] == [2 if "g" in condition else 3, 1]


def test_rules_objective_and_baseline_are_told_on_test_rows() -> None:
    result = odtdsl.solve(SPEC, frame=TRAIN, test_frame=TEST)
    assert result.audit is not None
    assert result.audit.holds, "the rule is kept on training rows"
    test = result.test
    assert test is not None
    assert test.audit is not None
    (parity,) = test.audit.lines
    assert (parity.rule, parity.holds, parity.value) == ("parity", False, 1)
    # One `p` called `n` (5), one `n` called `p` (1), of five rows.
    assert test.audit.objective == (Fraction(6, 5),)
    assert test.baseline is not None
    assert test.baseline.audit is not None
    # A `p` called `n` costs most: of the training rows, half of each, `p` for all costs least.
    assert test.baseline.predicts == ("p",)
    assert test.baseline.errors == 2
    assert test.baseline.audit.objective == (Fraction(2, 5),)
    shown = str(result)
    assert (
        "on the 5 test rows (rules are enforced on training rows only; broken here: parity):"
        in shown
    )
    assert "always predicting p: 2 errors, accuracy 60.00%" in shown
    assert "minimize expected_loss: 1.2; always predicting p 0.4" in shown
    told = result.to_json()["test"]
    assert told["objective"] == [1.2]
    assert [line["holds"] for line in told["audit"]] == [False]
    assert told["baseline"]["predicts"] == ["p"]
    assert told["baseline"]["objective"] == [0.4]


def test_an_audit_of_a_saved_tree_tells_the_same_of_test_rows(tmp_path: Path) -> None:
    """Rules that break there break no audit: they are for training rows."""
    for name, rows in (("rows.csv", TRAIN), ("test.csv", TEST)):
        pd.DataFrame(rows).to_csv(tmp_path / name, index=False)
    spec, tree = tmp_path / "s.odt", tmp_path / "t.json"
    spec.write_text(SPEC.replace("data frame", 'data "rows.csv", test "test.csv"'))
    result = odtdsl.load(spec).solve()
    assert result.tree is not None
    save(result.tree, tree)
    told = CliRunner().invoke(app, ["audit", str(spec), str(tree)])
    assert told.exit_code == 0
    assert "broken here: parity" in told.stdout
    whole = " ".join(str(result).split())
    assert all(" ".join(line.split()) in whole for line in told.stdout.splitlines())
    as_json = CliRunner().invoke(app, ["audit", str(spec), str(tree), "--json"])
    assert json.loads(as_json.stdout)["test"] == result.to_json()["test"]


def test_the_rows_behind_each_group_are_told(tmp_path: Path) -> None:
    result = odtdsl.solve(SPEC, frame=TRAIN, test_frame=TEST)
    assert result.test is not None
    assert result.test.audit is not None
    (parity,) = result.test.audit.lines
    assert parity.rows == (RowCount(of="u", rows=2), RowCount(of="v", rows=3))
    here, there = (one for one in str(result).splitlines() if one.startswith("  parity "))
    assert "  2, 2  " in here, "in the audit of the training rows"
    assert "  2, 3  " in there
    told = result.to_json()["test"]["audit"][0]["rows"]
    assert told == [{"of": "u", "rows": 2}, {"of": "v", "rows": 3}]
    page = tmp_path / "page.html"
    result.report(page)
    words = page.read_text(encoding="utf-8")
    assert "Rules on test rows" in words
    assert '<span class="behind">v 3</span>' in words
    assert "always predicting p" in words


def test_the_groups_of_a_gap_are_named_with_their_rates(tmp_path: Path) -> None:
    """A gap is one number: the groups behind it, lowest first, say who is ahead."""
    result = odtdsl.solve(SPEC, frame=TRAIN, test_frame=TEST)
    assert result.test is not None
    assert result.test.audit is not None
    (parity,) = result.test.audit.lines
    assert [(one.measure, one.group, one.value, one.rows) for one in parity.groups] == [
        ('rate("p")', "u", 0, 2),
        ('rate("p")', "v", 1, 3),
    ]
    shown = [" ".join(line.split()) for line in str(result).splitlines()]
    assert shown[-5:] == [
        "by group, lowest first:",
        "rule measure group value rows",
        "------ --------- ----- ----- ----",
        'parity rate("p") u 0 2',
        'parity rate("p") v 1 3',
    ]
    assert result.to_json()["test"]["audit"][0]["groups"] == [
        {"measure": 'rate("p")', "group": "u", "value": 0, "rows": 2},
        {"measure": 'rate("p")', "group": "v", "value": 1, "rows": 3},
    ]
    page = tmp_path / "page.html"
    result.report(page)
    assert page.read_text(encoding="utf-8").count("Groups that rules compare, lowest first") == 2


@pytest.mark.parametrize(
    ("rule", "groups"),
    [
        (
            'abs(recall("p", u) - recall("p")) <= 1',
            (('recall("p")', "u", 1), ('recall("p")', "", 2)),
        ),
        (
            'precision("p", u) >= 0 and precision("p", v) >= 0',
            (('precision("p")', "u", 1), ('precision("p")', "v", 1)),
        ),
        ("ratio(accuracy, v, u) >= 0", (("accuracy", "v", 2), ("accuracy", "u", 2))),
        ("accuracy(u) >= 0", ()),
        ("accuracy >= 0", ()),
        ("forall leaf: size(u) + size(v) >= 1", ()),
    ],
)
def test_groups_are_told_where_they_are_compared(
    rule: str, groups: tuple[tuple[str, str, int], ...]
) -> None:
    spec = "\n".join(line for line in SPEC.splitlines() if not line.startswith("rule"))
    result = odtdsl.solve(f"{spec}\nrule it: {rule}", frame=TRAIN)
    assert result.audit is not None
    line = next(one for one in result.audit.lines if one.rule == "it")
    assert tuple((one.measure, one.group, one.rows) for one in line.groups) == groups


@pytest.mark.parametrize(
    ("groups", "lines", "left_out"), [(8, 8, 0), (9, 9, 0), (10, 9, 2), (12, 9, 4)]
)
def test_of_many_groups_the_text_names_the_lowest_and_the_highest(
    groups: int, lines: int, left_out: int
) -> None:
    """A single one has the line that would say how many are left out."""
    values = [str(i) for i in range(groups)]
    rows = {"x": list(range(groups)), "site": values, "y": ["n", "p", *["p"] * (groups - 2)]}
    spec = """data frame
    target y positive "p"
    feature x: number
    drop site
    tree depth <= 2
    minimize errors
    rule fair: gap(rate("p"), site) <= 1"""
    result = odtdsl.solve(spec, frame=rows)
    shown = str(result).splitlines()
    assert sum(line.startswith("    fair ") for line in shown) == lines
    assert re.findall(r"\((\d+) more\)", str(result)) == [str(left_out)] * (left_out > 0)
    (line,) = [one for one in result.to_json()["audit"] if one["rule"] == "fair"]
    assert len(line["groups"]) == groups


def test_a_group_without_test_rows_has_no_value_there() -> None:
    only = {"a": [1, 2], "g": ["u", "u"], "y": ["n", "n"]}
    result = odtdsl.solve(SPEC, frame=TRAIN, test_frame=only)
    assert result.test is not None
    assert result.test.audit is not None
    (parity,) = result.test.audit.lines
    assert parity.holds is None
    assert [(one.group, one.value is None, one.rows) for one in parity.groups] == [
        ("u", False, 2),
        ("v", True, 0),
    ]
    assert "v      -      0" in str(result)


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ('recall("p", u) >= 0', (("u, p", 1),)),
        ('false_positive_rate("p", v) >= 0', (("v, not p", 1),)),
        ('precision("p") >= 0', (("predicted p", 2),)),
        ('negative_predictive_value("p", v) >= 0', (("v, not predicted p", 1),)),
        ("errors(u) + 2 * errors <= 50", (("u", 2), ("", 4))),
        ('ratio(recall("n"), v, u) >= 0', (("v, n", 1), ("u, n", 1))),
        ("forall leaf: size >= 1", (("the tightest leaf", 2),)),
        ("forall path: length <= 3", ()),
        ("depth <= 3", ()),
    ],
)
def test_what_a_measure_is_taken_over(rule: str, rows: tuple[tuple[str, int], ...]) -> None:
    spec = "\n".join(line for line in SPEC.splitlines() if not line.startswith("rule"))
    result = odtdsl.solve(f"{spec}\nrule it: {rule}", frame=TRAIN)
    assert result.audit is not None
    (line,) = (one for one in result.audit.lines if one.rule == "it")
    assert tuple((one.of, one.rows) for one in line.rows) == rows


@pytest.mark.parametrize(
    ("share", "always", "reason"),
    [
        ('precision("p")', "n", "no row is predicted as that class"),
        ('precision("p", u)', "n", "no row of the group is predicted as that class"),
        ('negative_predictive_value("p")', "p", "every row is predicted as that class"),
    ],
)
def test_a_share_of_no_row_says_why_it_holds(share: str, always: str, reason: str) -> None:
    spec = f"""data frame target y drop g tree depth <= 1 minimize leaves
    group u = g == "u"
    rule all: rate("{always}") = 100%
    rule it: {share} >= 90%"""
    result = odtdsl.solve(spec, frame=TRAIN)
    assert result.audit is not None
    (line,) = (line for line in result.audit.lines if line.rule == "it")
    assert (line.holds, line.note) == (True, f"vacuous: {reason}")
    assert (line.value, line.bound, line.slack) == (None, None, None)


@pytest.mark.parametrize("skeleton", ["tree depth <= 1", "diagram widths 1"])
def test_what_weights_count_in_is_told(skeleton: str) -> None:
    spec = f"data frame target y {skeleton} minimize error_rate"
    frame = {"a": [0, 0, 0, 1, 1], "y": ["n", "n", "p", "p", "p"]}
    plain = odtdsl.solve(spec, frame=frame, test_frame=frame)
    assert "1 training error\n" in str(plain)
    assert "test: 1 error on 5 rows, accuracy 80.00%\n" in str(plain)
    weights = {"w": [1, 1.5, 0.75, 1, 2]}
    result = odtdsl.solve(spec + " weight w", frame=frame | weights, test_frame=frame | weights)
    assert "training errors of weight 0.75\n" in str(result)
    assert "test: 1 error on 5 rows, accuracy 88.00% by weight\n" in str(result)
    assert result.test is not None
    assert result.test.to_json()["weighted"] is True
    assert result.test.to_json()["accuracy"] == pytest.approx(1 - 0.75 / 6.25)
    assert f"minimize error_rate: {0.75 / 6.25:g}" in str(result)


def test_nothing_is_said_twice() -> None:
    spec = "data frame target y tree depth <= 1 minimize errors or leaves solve using exact"
    spec = spec.replace("errors or leaves", "errors then leaves")
    result = odtdsl.solve(
        spec, frame={"a": TRAIN["a"], "y": TRAIN["y"]}, test_frame={"a": TEST["a"], "y": TEST["y"]}
    )
    assert result.test is not None
    told = list(console.test_lines(result.test, console.stage_texts(result)))
    assert told == ["always predicting n: 3 errors, accuracy 40.00%"]


@pytest.mark.parametrize("aim", ["minimize errors", "maximize accuracy"])
@pytest.mark.parametrize("alike", [True, False])
def test_a_tree_no_better_than_one_leaf_on_test_rows_is_told(aim: str, alike: bool) -> None:
    a = [i % 10 for i in range(40)]
    learnt = ["p" if one > 6 else "n" for one in a]
    frame = {"a": a, "y": learnt}
    test = {"a": a, "y": learnt if alike else ["n" if one > 6 else "p" for one in a]}
    text = f'data frame target y positive "p" tree depth <= 1 {aim}'
    result = odtdsl.parse(text).solve(frame=frame, test_frame=test)
    assert ("no better than one leaf" in str(result)) == (not alike)


def test_a_diagram_has_a_baseline() -> None:
    spec = "data frame target y diagram widths 1, 2 minimize errors"
    result = odtdsl.solve(
        spec, frame={"a": TRAIN["a"], "y": TRAIN["y"]}, test_frame={"a": TEST["a"], "y": TEST["y"]}
    )
    assert result.test is not None
    assert result.test.baseline is not None
    assert (result.test.baseline.predicts, result.test.baseline.errors) == (("n",), 3)


def test_the_median_is_the_baseline_of_absolute_errors() -> None:
    spec = "data frame target y: number tree depth <= 1 minimize mae solve using exact"
    result = odtdsl.solve(
        spec, frame={"a": [1, 1, 2], "y": [0.0, 0.0, 9.0]}, test_frame={"a": [1], "y": [0.0]}
    )
    assert result.test is not None
    assert result.test.baseline is not None
    assert (result.test.baseline.predicts, result.test.baseline.mae) == ((0.0,), 0.0)


def test_the_mean_is_the_baseline_of_numbers() -> None:
    spec = "data frame target y: number tree depth <= 1 minimize mse solve using exact"
    result = odtdsl.solve(
        spec,
        frame={"a": [1, 1, 2, 2], "y": [0.0, 0.0, 4.0, 4.0]},
        test_frame={"a": [1, 2], "y": [1.0, 4.0]},
    )
    assert result.test is not None
    assert result.test.mse == 0.5
    assert result.test.baseline is not None
    assert result.test.baseline.mse == 2.5  # 2 against 1 and 4


@pytest.mark.parametrize("seed", range(scaled(2000, part=0.25)))
def test_groups_without_a_row_to_measure_are_named_and_nothing_unmeasured_holds(seed: int) -> None:
    rng = random.Random(seed)
    term = rng.choice(["gap", "ratio"])
    bound = rng.choice([Fraction(0), Fraction(1, 2), Fraction(1)])
    rule = f'{term}(recall("p"), g) {"<=" if term == "gap" else ">="} {float(bound):.0%}'
    spec = f"""data frame target y feature a: number drop g tree depth <= 1 minimize errors
    rule it: {rule}"""
    frame = {"a": [1, 2] * 3, "g": [*"uuvvww"], "y": ["n", "p"] * 3}  # perfect where a >= 2
    rows = [(rng.choice([1, 2]), rng.choice("uvw"), rng.choice("nnp")) for _ in range(5)]
    test = dict(zip("agy", map(list, zip(*rows, strict=True)), strict=True))
    shares = {}
    for group in "uvw":
        of_group = [a == 2 for a, g, y in rows if (g, y) == (group, "p")]
        if of_group:
            shares[group] = Fraction(sum(of_group), len(of_group))
    result = odtdsl.solve(spec, frame=frame, test_frame=test)
    assert result.test is not None
    assert result.test.audit is not None
    (line,) = result.test.audit.lines
    told = result.to_json()["test"]["audit"][0]
    assert told["holds"] is line.holds
    if len(shares) < 2:
        assert (line.holds, line.value) == (None, None)
        assert line.note == "no value: " + (
            f'only the group g = "{next(iter(shares))}" has a row to measure'
            if shares
            else "no row to measure"
        )
        assert "not measured here: it" in str(result)
        return
    low, high = min(shares.values()), max(shares.values())
    value = high - low if term == "gap" else low / high if high else Fraction(1)
    assert line.value == value
    assert line.holds is (value <= bound if term == "gap" else value >= bound)
    without = ", ".join(f'g = "{group}"' for group in "uvw" if group not in shares)
    assert line.note == (f"without {without}: no row to measure" if without else "")


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ('recall("p", u) >= 50%', None),
        ('recall("p", u) >= 50% and rate("p") >= 100%', False),
        ('recall("p", u) >= 50% and rate("p") >= 0.1', None),
        ('recall("p", u) >= 50% or rate("p") >= 0.1', True),
        ('recall("p", u) >= 50% or rate("p") >= 100%', None),
        ('not (recall("p", u) >= 50%)', None),
    ],
)
def test_one_part_decides_where_another_has_no_value(rule: str, holds: bool | None) -> None:
    spec = f"""target y feature a: number drop g tree depth <= 1 minimize errors
    group u = g == "u"
    rule it: {rule}"""
    held_out = {"a": [1, 2], "g": ["v", "v"], "y": ["n", "p"]}
    result = odtdsl.parse(spec).data(TRAIN, test=held_out).analyse()
    assert result.test is not None
    model = odtdsl.parse(spec.partition("rule it")[0]).data(TRAIN).solve().model
    assert model is not None
    found = audit_rows(model, result.problem, result.test)
    assert [line.holds for line in found.lines] == [holds]


def test_an_objective_over_groups_of_which_one_has_no_row_has_no_value() -> None:
    spec = """data frame target y feature a: number drop g tree depth <= 1
    minimize gap(recall("p"), g) then errors"""
    frame = {"a": [1, 2] * 3, "g": [*"uuvvww"], "y": ["n", "p"] * 3}
    test = {"a": [1, 2, 2], "g": [*"uvv"], "y": ["p", "p", "n"]}
    result = odtdsl.solve(spec, frame=frame, test_frame=test)
    assert result.test is not None
    assert result.test.audit is not None
    assert result.test.audit.objective == (None, 2)


def test_a_loss_without_bound_is_one_value_in_json() -> None:
    spec = "data frame target y: number tree depth <= 1 minimize poisson rule r: poisson <= 3"
    rows = {"a": [1, 1, 2, 2], "y": [0, 0, 3, 4]}
    result = odtdsl.solve(spec, frame=rows, test_frame={"a": [1, 2], "y": [2, 3]})
    told = json.loads(json.dumps(result.to_json()["test"]))
    assert told["poisson"] is None
    assert told["objective"] == [None]
    (line,) = told["audit"]
    assert (line["holds"], line["value"], line["bound"], line["slack"]) == (False, None, 3, None)
    assert re.search(r"r +NO +inf +3 +-inf", str(result))
