"""Models built by calls are the models that their text parses to."""

from __future__ import annotations

import contextlib
import pickle
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scale import scaled
from test_words import cells, codes, conditions, measures, names

import odtdsl
from odtdsl import Model, OdtError
from odtdsl.language import ast
from odtdsl.words import (
    accuracy,
    before,
    col,
    cost,
    error_rate,
    leaves,
    named,
    percent,
    size,
    threshold,
    uses,
)

HEART = """
data "heart.csv", na {"?"}
target disease: class {"no", "yes"} positive "yes"
feature age, trestbps, chol, thalach, oldpeak: number
feature sex, cp, restecg, slope, thal: category
feature ca: ordered {0, 1, 2, 3}
drop fbs
missing branch
cost chol = 7.27, thal = 1.00, thalach = 1.00
cost {thal, thalach} shared = 101.90
group sick_women = sex == "female" and disease == "yes"
tree depth <= 3, leaves <= 6
minimize error_rate + 0.005 * leaves
rule age_first:  forall path: age before chol
rule budget:     forall path: cost <= 150
rule one_scan:   forall path: not (uses(thal) and uses(thalach))
rule women:      accuracy(sick_women) >= 90%
rule robust:     forall leaf: size >= 5
rule cut_points: forall split: threshold(age) in {40, 45, 50, 55, 60, 65}
solve within 60 s
"""


def heart() -> Model:
    return (
        Model()
        .data("heart.csv", na=["?"])
        .target("disease", classes=["no", "yes"], positive="yes")
        .feature(["age", "trestbps", "chol", "thalach", "oldpeak"], "number")
        .feature(("sex", "cp", "restecg", "slope", "thal"), "category")
        .feature("ca", "ordered", levels=range(4))
        .drop("fbs")
        .missing("branch")
        .cost(chol=7.27, thal=1, thalach=1.0)
        .shared_cost(["thal", "thalach"], 101.9)
        .group("sick_women", (col("sex") == "female") & (col("disease") == "yes"))
        .tree(depth=3, leaves=6)
        .minimize(error_rate + 0.005 * leaves)
        .rule("age_first", before("age", "chol"), forall="path")
        .rule("budget", cost <= 150, forall="path")
        .rule("one_scan", ~(uses("thal") & uses("thalach")), forall="path")
        .rule("women", accuracy("sick_women") >= percent(90))
        .rule("robust", size >= 5, forall="leaf")
        .rule("cut_points", threshold("age").isin(range(40, 66, 5)), forall="split")
        .options(within=60)
    )


def test_the_sample_of_the_language_built_by_calls_is_the_parsed_one() -> None:
    built, parsed = heart(), odtdsl.parse(HEART)
    assert built == parsed
    assert built.spec == parsed.spec
    assert odtdsl.parse(str(built)) == built
    assert built != heart().drop("age")
    assert built != HEART


def test_texts_of_conditions_make_the_same_model_as_words() -> None:
    model = heart()
    said = [s for s in model.spec.statements if isinstance(s, ast.Rule)]
    again = Model()
    for text in str(model).splitlines():
        if text.startswith("rule "):
            name, condition = text.removeprefix("rule ").split(": ", 1)
            again.rule(name, condition)
    assert list(again.spec.statements) == said


CALLS: list[tuple[Model, str]] = [
    (Model().data(), "data frame"),
    (Model().data({"a": [1]}), "data frame"),
    (Model().data(sklearn="wine", test=0.5, seed=0), 'data sklearn "wine", test 50% seed 0'),
    (Model().data(openml="haberman"), 'data openml "haberman"'),
    (Model().data(Path("d") / "x.csv", test=Path("t.csv")), 'data "d/x.csv", test "t.csv"'),
    (
        Model().data("x.csv", test=percent(33), stratified=True, seed=1),
        'data "x.csv", test 33% stratified seed 1',
    ),
    (Model().data("x.csv", test="25%", by="MRN", seed=1), 'data "x.csv", test 25% by MRN seed 1'),
    (Model().data("x.csv", test="12.5%"), 'data "x.csv", test 12.5%'),
    (Model().data("x.csv", test=Fraction(1, 4)), 'data "x.csv", test 25%'),
    (
        Model().data("x", na=["?", -9], separator=";", header="none", encoding="latin-1", id="n n"),
        'data "x", na {"?", -9}, separator ";", header none, encoding "latin-1", id `n n`',
    ),
    (Model().data("x", header=False), 'data "x", header none'),
    (Model().data("x", header=None), 'data "x", header none'),
    (Model().target("survived"), "target survived"),
    (Model().target("y", type="class"), "target y: class"),
    (Model().target("y", classes=[0, 1, -1], positive=1), "target y: class {0, 1, -1} positive 1"),
    (Model().target("g", levels=["s", "m"]), 'target g: ordered {"s", "m"}'),
    (Model().target("g", type="ordered", levels=np.array([1.5, 2])), "target g: ordered {1.5, 2}"),
    (Model().target(["math score", "w"], type="number"), "target `math score`, w: number"),
    (Model().target("price", step=0.5), "target price: number step 0.5"),
    (Model().target("age", type="integer"), "target age: integer"),
    (Model().feature("*", "number"), "feature *: number"),
    (Model().feature(col("*"), "binary"), "feature `*`: binary"),
    (Model().feature(["cost", "if"], "integer"), "feature cost, `if`: integer"),
    (Model().drop("a", "b c"), "drop a, `b c`"),
    (Model().drop(["a", "b"]), "drop a, b"),
    (Model().weight("w"), "weight w"),
    (Model().missing("branch", "comfort"), "missing {comfort} branch"),
    (Model().missing("left", ["a", "b"]), "missing {a, b} left"),
    (Model().candidates(), "candidates * at midpoints"),
    (Model().candidates("age", "guessed"), "candidates age at guessed"),
    (Model().candidates(["a", "b"], quantiles=10), "candidates a, b at quantiles 10"),
    (Model().candidates("*", bins=3), "candidates * at bins 3"),
    (Model().candidates("a", values={50, 12.5}), "candidates a at {12.5, 50}"),
    (Model().cost({"a b": 3}, default=1), "cost * = 1, `a b` = 3"),
    (Model().shared_cost("a", 0.1), "cost {a} shared = 0.1"),
    (Model().loss(predict="no", when="yes", amount=5), 'loss predict "no" when "yes" = 5'),
    (Model().loss(predict=-1, when=True, amount=1), 'loss predict -1 when "True" = 1'),
    (Model().group("two words", "row in {3, 17}"), "group `two words` = row in {3, 17}"),
    (Model().let("alpha", 0.1), "let alpha = 0.1"),
    (Model().let("third", Fraction(1, 3)), "let third = 1 / 3"),
    (Model().let("who", '"a"'), 'let who = "a"'),
    (Model().let("both", uses("a") & uses("b")), "let both = uses(a) and uses(b)"),
    (Model().let("twice", 2 * named("alpha")), "let twice = 2 * alpha"),
    (Model().tree(), "tree"),
    (
        Model().tree(depth=3, leaves=6, nodes=9, splits=4),
        "tree depth <= 3, leaves <= 6, nodes <= 9, splits <= 4",
    ),
    (Model().tree(splits="axis"), "tree splits axis"),
    (Model().tree(splits=(4, "hyperplane")), "tree splits <= 4, splits hyperplane"),
    (Model().diagram([1, 2, 4]), "diagram widths 1, 2, 4"),
    (Model().diagram((1, 2), splits="hyperplane"), "diagram widths 1, 2 splits hyperplane"),
    (Model().minimize("depth then leaves"), "minimize depth then leaves"),
    (Model().minimize("depth", leaves), "minimize depth then leaves"),
    (
        Model().minimize("depth", "leaves then maximize accuracy"),
        "minimize depth then leaves then maximize accuracy",
    ),
    (
        Model().maximize(accuracy).then_minimize(leaves, "depth"),
        "maximize accuracy then minimize leaves then minimize depth",
    ),
    (
        Model().minimize("errors").tree(depth=1).then_maximize("precision(1)"),
        "minimize errors then maximize precision(1)\n\ntree depth <= 1",
    ),
    (
        Model().rule("forall", col("forall") >= 0, forall="leaf"),
        "rule forall: forall leaf: `forall` >= 0",
    ),
    (Model().rule("r", "forall split: size >= 10%"), "rule r: forall split: size >= 10%"),
    (
        Model().options(
            using="exact",
            within=timedelta(minutes=1),
            gap=0.01,
            threads=2,
            seed=1,
            memory="4 GB",
            start=Path("t.json"),
        ),
        'solve using exact, within 60 s, gap 0.01, threads 2, seed 1, memory 4 GB, start "t.json"',
    ),
    (
        Model().options(
            using="greedy(split = relaxed 10, leaf = optimal)", within="2 min", gap="1%"
        ),
        "solve using greedy(split = relaxed 10, leaf = optimal), within 2 min, gap 1%",
    ),
    (Model().options(gap=percent(5)), "solve gap 5%"),
    (Model().add("weight w rule r: errors = 0 # why"), "weight w\n\nrule r: errors = 0"),
]


@pytest.mark.parametrize(("model", "text"), CALLS, ids=[text for _, text in CALLS])
def test_each_call_says_its_statement(model: Model, text: str) -> None:
    assert str(model) == text + "\n"
    assert odtdsl.parse(text) == model


# ---- models from text


def test_a_parsed_model_keeps_its_form_until_something_is_appended() -> None:
    text = "# why\ntarget y  # the class\ntree depth <= 2\n"
    model = odtdsl.parse(text, name="a.odt")
    assert str(model) == text
    assert model.source is not None
    assert model.source.name == "a.odt"
    model.rule("r", "errors = 0")
    assert model.source is None
    assert str(model) == ("# why\ntarget y  # the class\n\ntree depth <= 2\n\nrule r: errors = 0\n")
    assert odtdsl.parse(str(model)) == model


def test_a_copy_goes_its_own_way() -> None:
    first = odtdsl.parse("tree depth <= 2").data({"a": [1]})
    second = first.copy().drop("a")
    assert len(first.spec.statements) == 2
    assert len(second.spec.statements) == 3
    assert second.frame is first.frame
    assert repr(first) == "<odtdsl.Model of 2 statements>"


def test_models_are_saved_and_loaded_with_the_folder_that_paths_start_from(tmp_path: Path) -> None:
    path = tmp_path / "größe.odt"
    heart().save(path)
    again = odtdsl.load(path)
    assert again == heart()
    assert again.base == tmp_path
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    with pytest.raises(OdtError) as caught:
        heart().save(tmp_path / "none" / "x.odt")
    assert codes(caught) == ["F301"]
    with pytest.raises(OdtError) as caught:
        odtdsl.load(tmp_path / "gröse.odt")
    assert codes(caught) == ["F001"]
    assert "größe.odt" in caught.value.diagnostics[0].helps[0]


SPECS = sorted(Path(__file__).parent.parent.glob("models/**/*.odt"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_the_models_of_the_project_survive_the_round_trip(path: Path) -> None:
    model = odtdsl.load(path)
    assert odtdsl.parse(str(model)) == model
    assert odtdsl.parse(str(model.copy().add("rule r: errors >= 0"))) != model


def test_models_travel_to_other_processes() -> None:
    parsed = odtdsl.parse(HEART)
    for model in (heart(), parsed):
        again = pickle.loads(pickle.dumps(model))
        assert again == model
        assert str(again) == str(model)
    condition = uses("a") & (cost <= 3)
    assert pickle.loads(pickle.dumps(condition)).node == condition.node


def test_a_model_is_no_key() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        {Model()}


# ---- mistakes


def nothing(**changes: Any) -> Model:
    return Model().options(**changes)


MISTAKES: list[tuple[Any, str]] = [
    (lambda: Model().rule("r", True), "U401"),  # type: ignore[arg-type]
    (lambda: Model().rule("r", uses("a"), forall="paths"), "U401"),  # type: ignore[arg-type]
    (lambda: Model().rule(3, uses("a")), "U401"),  # type: ignore[arg-type]
    (lambda: Model().rule("", uses("a")), "S090"),
    (lambda: Model().rule("a\nb", "errors = 0"), "S090"),
    (lambda: Model().rule("r", "forall leaf: size > 1", forall="leaf"), "S012"),
    (lambda: Model().rule("r", "errors =< 3"), "S010"),
    (lambda: Model().rule("r", ""), "S003"),
    (lambda: Model().rule("r", "errors = 0 rule s: leaves = 1"), "U402"),
    (lambda: Model().minimize("errors tree depth <= 2"), "U402"),
    (lambda: Model().minimize(), "U401"),
    (lambda: Model().minimize(3), "U401"),  # type: ignore[arg-type]
    (lambda: Model().then_minimize("errors"), "U403"),
    (lambda: Model().data("x.csv", sklearn="iris"), "U402"),
    (lambda: Model().data("x.csv", seed=1), "U402"),
    (lambda: Model().data("x.csv", test="t.csv", stratified=True), "U402"),
    (lambda: Model().data("x.csv", test="t.csv", by="MRN"), "U402"),
    (lambda: Model().data(3), "U401"),
    (lambda: Model().data("x.csv", test=True), "U401"),
    (lambda: Model().data("x.csv", test=Fraction(1, 3)), "S090"),
    (lambda: Model().data("x.csv", header="first"), "U401"),  # type: ignore[arg-type]
    (lambda: Model().target(), "S090"),
    (lambda: Model().target("y", type="category"), "U401"),  # type: ignore[arg-type]
    (lambda: Model().target("y", type="number", classes=["a"]), "U402"),
    (lambda: Model().target("y", classes={"a", "b"}), "U401"),
    (lambda: Model().target("y", type="ordered"), "U402"),
    (lambda: Model().feature("a"), "U401"),
    (lambda: Model().feature("a", "class"), "U401"),  # type: ignore[arg-type]
    (lambda: Model().feature("a", "number", levels=[1]), "U402"),
    (lambda: Model().feature([], "number"), "U401"),
    (lambda: Model().candidates("a", quantiles=4, bins=3), "U402"),
    (lambda: Model().candidates("a", bins=2.5), "U401"),  # type: ignore[arg-type]
    (lambda: Model().candidates("a", "quantiles"), "U401"),  # type: ignore[arg-type]
    (lambda: Model().cost(), "U401"),
    (lambda: Model().cost(a="3"), "U401"),  # type: ignore[arg-type]
    (lambda: Model().cost(a=Fraction(1, 3)), "S090"),
    (lambda: Model().cost(a=float("nan")), "S090"),
    (lambda: Model().tree(depth="3"), "U401"),  # type: ignore[arg-type]
    (lambda: Model().tree(splits=(1, 2)), "U401"),  # type: ignore[arg-type]
    (lambda: Model().diagram([]), "U401"),
    (lambda: nothing(), "U402"),
    (lambda: nothing(within="60"), "S020"),
    (lambda: nothing(within="60 s, seed 1"), "U401"),
    (lambda: nothing(memory=4), "U401"),
    (lambda: nothing(start=3), "U401"),
    (lambda: nothing(threads=1.5), "U401"),
    (lambda: Model().add("tagret y"), "S002"),
    (lambda: odtdsl.parse("tagret y"), "S002"),
    (lambda: odtdsl.plan(3), "U401"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "code"), MISTAKES, ids=[f"{i}" for i in range(len(MISTAKES))])
def test_mistakes_in_calls_are_told_at_once(call: Any, code: str) -> None:
    with pytest.raises(OdtError) as caught:
        call()
    assert codes(caught) == [code]
    assert str(caught.value).startswith(f"error[{code}]: ")


def test_a_refused_call_leaves_the_model_as_it_was() -> None:
    model = heart()
    for call in (
        lambda: model.rule("r", "errors =< 3"),
        lambda: model.cost(a=float("inf")),
        lambda: model.data({"a": [1]}, seed=1),
        lambda: model.then_minimize("errors minimize"),
    ):
        with pytest.raises(OdtError):
            call()
    assert model == heart()
    assert model.frame is None


def test_an_excerpt_shows_the_text_of_the_call() -> None:
    with pytest.raises(OdtError) as caught:
        Model().rule("budget", "forall path: cost =< 150")
    assert str(caught.value).splitlines()[1:4] == [
        " --> <rule budget>:1:32",
        "  |",
        "1 | rule budget: forall path: cost =< 150",
    ]


def test_what_nests_too_deep_to_be_read_back_is_refused() -> None:
    deep = leaves + 1
    for _ in range(scaled(2000, least=200)):
        deep = deep + 1
    with pytest.raises(OdtError) as caught:
        Model().minimize(deep)
    assert codes(caught) == ["S027"]
    assert "words.sum" in str(caught.value)
    fit = []
    for depth in range(20, 160, 5):
        condition = uses("a")
        for _ in range(depth):
            condition = ~condition & uses("b")
        model = Model()
        with contextlib.suppress(OdtError):
            model.rule("r", condition)
        assert odtdsl.parse(str(model)) == model
        fit.append(len(model.spec.statements))
    assert fit == sorted(fit, reverse=True)
    assert (fit[0], fit[-1]) == (1, 0)


# ---- random models

short = st.text(max_size=4)
amounts = st.one_of(st.integers(-99, 999), st.floats(-1e9, 1e9), st.decimals(-99, 99, places=2))
some_names = names | st.lists(names, min_size=1, max_size=3)
some_cells = st.lists(cells, min_size=1, max_size=3)
scopes = st.sampled_from([None, "path", "leaf", "split"])
kinds = st.sampled_from(["number", "category", "binary", "integer"])
families = st.sampled_from([None, "axis", "hyperplane"])
whole = st.none() | st.integers(0, 99)


def call(method: str, *args: st.SearchStrategy[Any], **named: st.SearchStrategy[Any]) -> Any:
    return st.tuples(st.just(method), st.tuples(*args), st.fixed_dictionaries(named))


calls = st.one_of(
    call(
        "data",
        short | st.none(),
        na=st.none() | some_cells,
        separator=st.none() | short,
        decimal=st.none() | short,
        thousands=st.none() | short,
        header=st.booleans(),
        encoding=st.none() | short,
        id=st.none() | names,
        test=st.sampled_from([None, "t.csv", 0.33, "10%"]),
    ),
    call(
        "data",
        sklearn=short,
        test=st.sampled_from([0.1, "7.5%"]),
        by=st.none() | names,
        stratified=st.booleans(),
        seed=whole,
    ),
    call("data", openml=short),
    call(
        "target",
        some_names,
        type=st.sampled_from([None, "number", "integer", "class"]),
        positive=st.none() | cells,
    ),
    call("target", names, classes=some_cells),
    call("target", names, levels=some_cells),
    call("target", names, step=amounts),
    call("feature", some_names | st.just("*"), kinds),
    call("feature", some_names, levels=some_cells),
    call("drop", some_names),
    call("weight", names),
    call("missing", st.sampled_from(["refuse", "branch"]), st.none() | some_names),
    call("candidates", some_names | st.just("*"), bins=st.integers(-2, 20)),
    call("candidates", some_names | st.just("*"), quantiles=st.integers(2, 20)),
    call("candidates", some_names | st.just("*"), values=some_cells),
    call("candidates", some_names, st.sampled_from(["midpoints", "midpoints exact", "guessed"])),
    call(
        "cost", st.dictionaries(names, amounts, min_size=1, max_size=3), default=st.none() | amounts
    ),
    call("shared_cost", some_names, amounts),
    call("loss", predict=cells, when=cells, amount=amounts),
    call("group", names, conditions),
    call("let", names, conditions | measures | amounts),
    call("tree", depth=whole, leaves=whole, nodes=whole, splits=whole | families),
    call("diagram", st.lists(st.integers(-1, 9), min_size=1, max_size=3), splits=families),
    call("rule", names, conditions | conditions.map(repr), forall=scopes),
    call(
        "options",
        using=st.sampled_from(["milp", "greedy(split = optimal)"]),
        within=st.none() | amounts,
        gap=st.none() | amounts,
        threads=whole,
        seed=whole,
        memory=st.sampled_from([None, "4 GB"]),
        start=st.none() | short,
    ),
)
objectives = st.tuples(
    st.sampled_from(["minimize", "maximize"]),
    st.lists(measures, min_size=1, max_size=2),
    st.sampled_from(["then_minimize", "then_maximize"]),
    st.lists(measures | measures.map(lambda m: f"({m!r})"), max_size=2),
)


@settings(max_examples=scaled(200, part=0.5), deadline=None)
@given(st.lists(calls, max_size=4), objectives, st.lists(calls, max_size=1))
def test_random_models_are_what_their_text_parses_to(
    first: list[Any], objective: Any, last: list[Any]
) -> None:
    model = Model()
    for method, args, named_args in first:
        assert getattr(model, method)(*args, **named_args) is model
    getattr(model, objective[0])(*objective[1])
    for method, args, named_args in last:
        getattr(model, method)(*args, **named_args)
    if objective[3]:
        getattr(model, objective[2])(*objective[3])
    again = odtdsl.parse(str(model))
    assert again == model
    assert str(again) == str(model)
    assert len(again.spec.statements) == len(first) + 1 + len(last)
