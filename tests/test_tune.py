"""Tuning: folds, scores and choices against plain computations, tables and pictures."""

from __future__ import annotations

import csv
import io
import json
import random
import xml.etree.ElementTree as ET
from collections import Counter
from fractions import Fraction
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scale import scaled
from tunings import SPEC, code, made

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.insight.tuning import run as run_module
from odtdsl.insight.tuning.folds import deal
from odtdsl.insight.tuning.grid import grid_of, numbers, parse_vary
from odtdsl.insight.tuning.result import Trial, Tuning, choose
from odtdsl.insight.tuning.scores import parse_score
from odtdsl.insight.tuning.single_run import Cell, Job
from odtdsl.interfaces.cli.main import app
from odtdsl.problem.terms.registry import BY_NAME

# ---- folds


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_folds_part_the_rows_and_share_out_every_class(seed: int) -> None:
    draw = random.Random(seed)
    rows = made(draw.randrange(8, 60), seed, "abc")
    analysis = odtdsl.parse(SPEC).analyse(frame=rows)
    everything = analysis.rows.data.row_numbers
    chosen = np.array(sorted(draw.sample(everything.tolist(), draw.randrange(6, len(everything)))))
    count = draw.randrange(2, 6)
    folds = deal(analysis.rows, chosen, count, (seed,))
    assert sorted(row for fold in folds for row in fold.tolist()) == chosen.tolist()
    sizes = [len(fold) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    for label in "abc":
        held = [sum(rows["y"][row] == label for row in fold) for fold in folds]
        assert max(held) - min(held) <= 1
    again = deal(analysis.rows, chosen, count, (seed,))
    assert all((one == other).all() for one, other in zip(folds, again, strict=True))


def test_folds_of_numbers_have_their_share_of_every_range() -> None:
    rows = {"x": list(range(40)), "y": [value**2 for value in range(40)]}
    text = "data frame target y: number tree depth <= 1 minimize mse"
    analysis = odtdsl.parse(text).analyse(frame=rows)
    folds = deal(analysis.rows, analysis.rows.data.row_numbers, 4, (3,))
    for fold in folds:
        assert Counter(int(row) // 4 for row in fold) == dict.fromkeys(range(10), 1)


@pytest.mark.parametrize("seed", range(scaled(30)))
def test_folds_keep_groups_together_and_are_as_even_as_these(seed: int) -> None:
    draw = random.Random(seed)
    rows = made(draw.randrange(12, 60), seed, "abc")
    analysis = odtdsl.parse(SPEC).analyse(frame=rows)
    everything = analysis.rows.data.row_numbers
    groups = np.array([draw.randrange(9) for _ in rows["y"]])
    chosen = np.array(sorted(draw.sample(everything.tolist(), draw.randrange(8, len(everything)))))
    inside = Counter(groups[chosen].tolist())
    count = draw.randrange(2, 5)
    if len(inside) < count:
        with pytest.raises(OdtError, match="groups"):
            deal(analysis.rows, chosen, count, (seed,), groups)
        return
    folds = deal(analysis.rows, chosen, count, (seed,), groups)
    assert sorted(row for fold in folds for row in fold.tolist()) == chosen.tolist()
    held = [set(groups[fold].tolist()) for fold in folds]
    assert sum(map(len, held)) == len(inside)
    sizes = [len(fold) for fold in folds]
    assert min(sizes) > 0
    assert max(sizes) - min(sizes) <= max(inside.values())


def test_patients_stay_together_in_test_rows_and_in_folds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = random.Random(4)
    patients = [f"P{at // 3}" for at in range(60)]
    rows = {
        "MRN": patients,
        "x": [draw.randrange(9) for _ in patients],
        "y": [draw.choice("ab") for _ in patients],
    }
    spec = "data frame, test 25% by MRN seed 2 target y tree depth <= 1 minimize errors"
    analysis = odtdsl.parse(spec).analyse(frame=rows)
    assert [feature.name for feature in analysis.problem.features] == ["x"]
    assert analysis.test is not None
    held = {patients[at] for at in analysis.test.row_numbers}
    seen = {patients[at] for at in analysis.rows.data.row_numbers}
    assert (len(held), len(seen), held & seen) == (5, 15, set())
    folds = []

    def dealt(*args: Any) -> list[Any]:
        folds.append(deal(*args))
        return folds[-1]

    monkeypatch.setattr(run_module, "deal", dealt)
    found = odtdsl.tune(spec, {"depth": [0, 1]}, cv=4, frame=rows, outer=2)
    plain = spec.replace(" by MRN", " stratified") + " drop MRN"
    other = odtdsl.tune(plain, {"depth": [0]}, cv=4, frame=rows, by="MRN")
    assert (found.by, other.by, found.to_json()["by"]) == ("MRN", "MRN", "MRN")
    assert "folds keep the rows of each `MRN` together" in str(found)
    assert len(folds) == 1 + 1 + 2 + 1
    for dealt_folds in folds:
        whose = [{patients[at] for at in fold} for fold in dealt_folds]
        assert sum(map(len, whose)) == len(set().union(*whose))
    with pytest.raises(OdtError, match="no column `MNR`"):
        odtdsl.tune(plain, {"depth": [0]}, frame=rows, by="MNR")


# ---- scores


def test_scores_are_those_of_models_that_never_saw_the_fold() -> None:
    rows = made(60)
    found = odtdsl.tune(SPEC, {"depth": [1, 2]}, frame=rows, cv=3, seed=5)
    analysis = odtdsl.parse(SPEC).analyse(frame=rows)
    folds = deal(analysis.rows, analysis.rows.data.row_numbers, 3, (5, 0, 0))
    for depth, trial in zip((1, 2), found.trials, strict=True):
        for fold, run in zip(folds, trial.runs, strict=True):
            held = set(fold.tolist())

            def part(inside: bool, held: set[int] = held) -> dict[str, list[Any]]:
                return {
                    k: [c for i, c in enumerate(v) if (i in held) == inside]
                    for k, v in rows.items()
                }

            tree = odtdsl.parse(SPEC.replace("<= 2", f"<= {depth}")).solve(frame=part(False)).tree
            assert tree is not None
            told = tree.predict(part(True)).tolist()
            wrong = sum(a != b for a, b in zip(told, part(True)["y"], strict=True))
            assert run.score == Fraction(wrong, len(fold))
            assert (run.status, run.splits) == ("optimal", tree.n_splits)
        assert trial.mean == pytest.approx(mean(map(float, trial.scores)))
        assert trial.error == pytest.approx(stdev(map(float, trial.scores)) / 3**0.5)


@pytest.mark.parametrize(
    ("score", "told"),
    [
        ("accuracy", "maximize accuracy"),
        ('recall("b")', 'maximize recall("b")'),
        ("minimize accuracy", "accuracy"),
        ("1 - accuracy", "1 - accuracy"),
        ("error_rate", "error_rate"),
        ("maximize leaves", "maximize leaves"),
    ],
)
def test_a_score_of_which_more_is_better_is_maximized(score: str, told: str) -> None:
    found = odtdsl.tune(SPEC, {"depth": [0, 2]}, frame=made(60), cv=2, score=score, choose="best")
    assert (found.score, found.maximizes) == (told, told.startswith("maximize"))
    means = [trial.mean for trial in found.trials]
    assert means[0] != means[1]
    assert found.best == means.index((max if found.maximizes else min)(means))


@pytest.mark.parametrize("word", ["accuracy", "recall", "f1", "reward", "errors", "leaves"])
def test_a_term_says_whether_a_score_of_it_alone_is_maximized(word: str) -> None:
    more = BY_NAME[word].fewer_is_better is False
    assert more == (word not in ("errors", "leaves"))
    assert parse_score(word).sense == ("maximize" if more else "minimize")
    assert parse_score(f"minimize {word}").sense == "minimize"
    assert parse_score(f"{word} + 0 * leaves").sense == "minimize"


def test_scores_are_any_measure_of_the_language_with_weights() -> None:
    rows = made(60) | {"w": [1 + i % 3 for i in range(60)]}
    spec = SPEC + 'weight w\ngroup g = k = "u"'
    found = odtdsl.tune(spec, {"depth": [1]}, frame=rows, cv=2, score="maximize accuracy(g)")
    assert found.maximizes
    assert (found.measure, found.score) == ("accuracy(g)", "maximize accuracy(g)")
    analysis = odtdsl.parse(spec).analyse(frame=rows)
    for fold, run in zip(
        deal(analysis.rows, analysis.rows.data.row_numbers, 2, (0, 0, 0)),
        found.trials[0].runs,
        strict=True,
    ):
        held = set(fold.tolist())
        train = {k: [c for i, c in enumerate(v) if i not in held] for k, v in rows.items()}
        tree = odtdsl.parse(spec.replace("<= 2", "<= 1")).solve(frame=train).tree
        assert tree is not None
        told = tree.predict(rows).tolist()
        group = [i for i in held if rows["k"][i] == "u"]
        right = sum(rows["w"][i] for i in group if told[i] == rows["y"][i])
        assert run.score == Fraction(right, sum(rows["w"][i] for i in group))


def test_the_default_score_follows_target_and_objective() -> None:
    rows = made(30) | {"number": list(range(30))}
    base = "data frame drop number target y tree depth <= 1 "
    losses = base + 'loss predict "a" when "b" = 5 minimize expected_loss'
    number = "data frame drop y target number: number tree depth <= 1 minimize "
    for text, score in (
        (base + "minimize errors", "error_rate"),
        (losses, "expected_loss"),
        (number + "mse", "mse"),
        (number + "mae", "mae"),
    ):
        assert odtdsl.tune(text, {"depth": [1]}, frame=rows, cv=2).score == score


def test_test_rows_take_no_part_and_are_reported_at_the_end() -> None:
    rows = made(60)
    spec = SPEC.replace("data frame", "data frame, test 50% seed 2")
    found = odtdsl.tune(spec, {"depth": [1, 2]}, frame=rows, cv=3)
    assert found.result is not None
    assert found.result.test is not None
    assert found.result.test.rows == 30
    training = set(odtdsl.parse(spec).analyse(frame=rows).rows.data.row_numbers.tolist())
    other = {name: list(cells) for name, cells in rows.items()}
    for row in set(range(60)) - training:
        other["y"][row] = "a" if other["y"][row] == "b" else "b"
    again = odtdsl.tune(spec, {"depth": [1, 2]}, frame=other, cv=3)
    assert [t.scores for t in again.trials] == [t.scores for t in found.trials]
    assert again.result is not None
    assert again.result.test != found.result.test


# ---- choices


@pytest.mark.parametrize("seed", range(scaled(50)))
def test_the_choice_is_the_smallest_model_within_one_standard_error(seed: int) -> None:
    draw = random.Random(seed)
    sign = draw.choice((1, -1))
    trials = []
    for at in range(draw.randrange(1, 8)):
        runs = [
            Cell(
                score=None if draw.random() < 0.05 else Fraction(draw.randrange(40), 40),
                splits=draw.randrange(4),
                leaves=1,
                depth=1,
            )
            for _ in range(4)
        ]
        trials.append(Trial(setting=(str(at),), runs=tuple(runs), folds=4))
    able = [t for t in trials if all(run.score is not None for run in t.runs)]
    places = choose(tuple(trials), sign < 0, "one-se")
    if not able:
        assert places is None
        return
    assert places is not None
    best, chosen = (trials[at] for at in places)

    def value(trial: Trial) -> float:
        return sign * mean(float(score) for score in trial.scores)

    least = min(map(value, able))
    assert value(best) == pytest.approx(least)
    room = least + stdev(map(float, best.scores)) / 2
    near = [t for t in able if value(t) <= room + 1e-12]
    sizes = [mean(run.splits or 0 for run in t.runs) for t in near]
    assert mean(run.splits or 0 for run in chosen.runs) == min(sizes)
    assert choose(tuple(trials), sign < 0, "best") == (places[0], places[0])


def test_nested_selection_scores_on_folds_that_no_choice_has_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = made(48)
    jobs: list[Job] = []
    run = Job.run
    monkeypatch.setattr(Job, "run", lambda self, *a: (jobs.append(self), run(self, *a))[1])  # type: ignore[func-returns-value]
    found = odtdsl.tune(SPEC, {"depth": [1, 2], "alpha": [0, "1/50"]}, frame=rows, cv=3, outer=4)
    folds = jobs[0].folds
    inner, outer = folds[3:15], folds[15:]
    for number, fold in enumerate(outer):
        assert not set(fold.train) & set(fold.held)
        for one in inner[3 * number : 3 * number + 3]:
            assert set(one.train) | set(one.held) == set(fold.train)
    assert sorted(row for fold in outer for row in fold.held) == list(range(48))
    assert found.estimate is not None
    scores = [fold.run.score for fold in found.outer if fold.run is not None]
    assert len(scores) == 4
    assert found.estimate[0] == pytest.approx(mean(float(score) for score in scores if score))
    spec = odtdsl.parse(SPEC.replace("<= 2", "<= 1").replace("alpha = 0", "alpha = 1/50"))
    assert found.setting is not None
    assert found.result is not None
    if found.setting == {"depth": "1", "alpha": "1/50"}:
        assert found.result.objective == spec.solve(frame=rows).objective


# ---- what is varied


def test_values_are_read_as_people_write_them() -> None:
    grid = parse_vary(["depth=2..4", "alpha=0..0.1 by 0.05", 'm=gap(rate("a,b"), k), 1/3'])
    assert grid.values == (
        ("2", "3", "4"),
        ("0", "0.05", "0.1"),
        ('gap(rate("a,b"), k)', "1/3"),
    )
    assert len(grid.settings()) == 18
    from_python = grid_of(
        {
            "depth": range(2, 5),
            "alpha": [0, 0.05, Fraction(1, 3), np.float64(0.1)],
            "widths": [(1, 2), [1, 2, 4]],
            "leaves": 4,
        }
    )
    assert from_python.values == (
        ("2", "3", "4"),
        ("0", "0.05", "1/3", "0.1"),
        ("1-2", "1-2-4"),
        ("4",),
    )


@pytest.mark.usefixtures("few_starts")
def test_diagrams_and_limits_are_varied_too() -> None:
    spec = SPEC.replace("tree depth <= 2", "diagram widths 1, 2").replace("leaves", "splits")
    found = odtdsl.tune(
        spec,
        {"widths": ["1-2", "1-1"], "using": ["greedy"], "within": ["5", "1 min"]},
        frame=made(30),
        cv=2,
    )
    assert len(found.trials) == 4
    assert found.result is not None
    assert (found.result.backend, found.result.diagram is not None) == ("greedy", True)


@pytest.mark.usefixtures("few_starts")
def test_trees_and_diagrams_are_compared_as_skeletons() -> None:
    """The price and the skeleton of the ODD study, chosen on rows that no solve saw."""
    spec = SPEC.replace("leaves", "splits")
    kinds = ["tree depth <= 2", "diagram widths 1, 2", "diagram widths 1, 1"]
    found = odtdsl.tune(
        spec, {"skeleton": kinds, "alpha": [0.1, 0.01], "using": "greedy"}, frame=made(30), cv=2
    )
    assert [trial.setting[0] for trial in found.trials] == [kind for kind in kinds for _ in "ab"]
    assert found.result is not None
    assert (found.result.tree is not None) == found.setting["skeleton"].startswith("tree")
    assert parse_vary([f"skeleton={'; '.join(kinds)}"]).values == (tuple(kinds),)


@pytest.mark.parametrize(
    ("vary", "expected"),
    [
        ({"skeleton": "tree depth <= 2;"}, "U340"),
        ({"skeleton": ["tree depth <= 2 drop x"]}, "U402"),
        ({"skeleton": ["bush depth <= 2"]}, "S"),
        ({"skeleton": ["diagram widths 0"]}, "K"),
        ({}, "U340"),
        ({"depth": ""}, "U340"),
        ({"depth": []}, "U340"),
        ({"depth": "5..2"}, "U340"),
        ({"alpha": "0..1 by 0"}, "U340"),
        ({"depht": [1]}, "U342"),
        ({"widths": ["1-2"]}, "U342"),
        ({"depth": ["two"]}, "U342"),
        ({"depth": [-1]}, "U342"),
        ({"depth": [99]}, "K106"),
        ({"alpha": ["beta"]}, "N"),
        ({"within": ["soon"]}, "S"),
        ({"seed": ["1, gap 1%"]}, "U342"),
        ({"alpha": "0..1 by 0.00001"}, "U340"),
        ({"depth": [None]}, "U401"),
        ({"alpha": range(200), "seed": range(200)}, "U341"),
    ],
)
def test_mistaken_values_are_told_before_any_run(
    vary: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Job, "run", lambda *_: pytest.fail("nothing runs"))
    with pytest.raises(OdtError) as failure:
        odtdsl.tune(SPEC, vary, frame=made(20))
    assert code(failure).startswith(expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"cv": 1}, "U343"),
        ({"cv": 21}, "U343"),
        ({"outer": 1}, "U343"),
        ({"repeats": 0}, "U343"),
        ({"score": "errors then leaves"}, "U344"),
        ({"score": "error_rate * accuracy"}, "U344"),
        ({"score": "bogus"}, "N"),
        ({"choose": "worst"}, "U402"),
        ({"backend": "bogus"}, "U347"),
        ({"backend": "loky", "address": "tcp://a:1"}, "U347"),
    ],
)
def test_mistaken_options_are_told(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(OdtError) as failure:
        odtdsl.tune(SPEC, {"depth": [1]}, frame=made(20), **options)
    assert code(failure).startswith(expected)


def test_a_setting_without_a_score_is_not_chosen_and_says_why() -> None:
    rows = made(40)
    spec = SPEC + "rule large: forall leaf: size >= bound\nlet bound = 1\nrule splits: splits >= 1"
    found = odtdsl.tune(spec, {"bound": [15, 2]}, frame=rows, cv=2)
    assert [trial.reason for trial in found.trials] == ["fold 1: no model satisfies all rules", ""]
    assert found.chosen == 1
    none = odtdsl.tune(spec, {"bound": [18, 20]}, frame=rows, cv=2)
    assert (none.chosen, none.result, none.complete) == (None, None, True)
    rare = {**rows, "y": ["c", *rows["y"][1:]]}
    alone = odtdsl.tune(SPEC, {"depth": [1]}, frame=rare, cv=2, score='maximize recall("c")')
    assert alone.chosen is None
    assert "no held-out row" in alone.trials[0].reason


# ---- as data, as picture, on the command line


@pytest.fixture(scope="module")
def tuned() -> Tuning:
    return odtdsl.tune(
        SPEC + "rule large: forall leaf: size >= least\nlet least = 1",
        {"depth": [0, 1, 2], "least": [1, 26]},
        frame=made(40),
        cv=3,
        repeats=2,
        outer=2,
    )


def test_a_tuning_is_a_frame_a_table_and_a_picture(tuned: Tuning) -> None:
    columns = tuned.columns()
    assert columns["depth"] == [0, 0, 1, 1, 2, 2]
    assert sum(columns["chosen"]) == 1
    read = list(csv.DictReader(io.StringIO(tuned.to_csv())))
    assert [row["depth"] for row in read] == ["0", "0", "1", "1", "2", "2"]
    assert float(read[0]["error_rate"]) == tuned.trials[0].mean
    assert {f"fold_{n}" for n in range(1, 7)} <= set(columns)
    for theme in ("auto", "light", "dark"):
        drawn = ET.fromstring(tuned.to_svg(title='<"&>', theme=theme))  # type: ignore[arg-type]
        assert drawn.get("aria-label") == '<"&>'
        circles = [e.get("class") for e in drawn.iter() if e.tag.endswith("circle")]
        assert Counter(circles) == {"point": sum(not t.reason for t in tuned.trials), "ring": 1}


def test_a_tuning_is_a_frame_of_pandas(tuned: Tuning) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = tuned.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.loc[frame["chosen"], "error_rate"].tolist() == [tuned.trials[tuned.chosen].mean]  # type: ignore[index]


def test_the_command_prints_saves_and_goes_on(tmp_path: Path) -> None:
    rows = made(40)
    with open(tmp_path / "rows.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))
    spec = tmp_path / "s.odt"
    spec.write_text(SPEC.replace("data frame", 'data "rows.csv"'))
    arguments = [
        "tune",
        str(spec),
        "--vary",
        "depth=0..2",
        "--cv",
        "3",
        "--outer",
        "2",
        "--set",
        "alpha=0.01",
        "--out",
        str(tmp_path / "tree.json"),
        "--csv",
        str(tmp_path / "t.csv"),
        "--svg",
        str(tmp_path / "t.svg"),
    ]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "nested: error_rate" in first.stdout
    assert "chosen: depth" in first.stdout
    assert odtdsl.load_tree(tmp_path / "tree.json").depth <= 2
    again = CliRunner().invoke(app, [*arguments, "--json"])
    found = json.loads(again.stdout)
    assert found["resumed"] == 3 * 9 + 2
    assert found["complete"]
    assert [trial["setting"]["depth"] for trial in found["trials"]] == ["0", "1", "2"]
    assert CliRunner().invoke(app, ["tune", str(spec), "--vary", "depht=1"]).exit_code == 2
    assert CliRunner().invoke(app, [*arguments, "--keep", str(spec)]).exit_code == 2


def test_a_name_that_is_varied_keeps_its_column() -> None:
    """Though a later column would have the same name."""
    found = odtdsl.tune(
        'data sklearn "iris" target target let se = 1 tree depth <= 1 minimize errors + 0 * se',
        {"splits": [0, 1], "se": [1, 2]},
        cv=2,
    )
    columns = found.columns()
    assert columns["splits"] == [0, 0, 1, 1]
    assert columns["se"] == [1, 2, 1, 2]
    assert columns["found_splits"] == [trial.splits for trial in found.trials]
    assert columns["found_se"] == [trial.error for trial in found.trials]
    assert len(found.to_csv().splitlines()) == 5


def test_ranges_are_exact_however_many_digits_they_have() -> None:
    tiny = "0." + "0" * 29 + "1"
    assert parse_vary([f"a=0..0.{'0' * 29}2 by {tiny}"]).values[0] == ("0", tiny, tiny[:-1] + "2")
    assert parse_vary([f"a=0..0.{'0' * 449}1 by 0.{'0' * 449}1"]).values[0][0] == "0"
    assert parse_vary(["a=-0.75..0.25 by 0.5"]).values[0] == ("-0.75", "-0.25", "0.25")
    large = "123456789.123456789"
    assert parse_vary([f"a={large}..123456789.223456789"]).values[0] == (large,)
    assert numbers(["1" + "0" * 350, "0.5"]) == ["1" + "0" * 350, "0.5"]
