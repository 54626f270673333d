"""Words: each term of the registry has one, and each writes what the parser reads back."""

from __future__ import annotations

import builtins
import math
from decimal import Decimal
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scale import scaled

from odtdsl import words
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.language import ast
from odtdsl.language.parser import parse
from odtdsl.problem.terms.base import Kind, Param, Term
from odtdsl.problem.terms.registry import BY_NAME, TERMS
from odtdsl.words import (
    accuracy,
    before,
    col,
    cost,
    count,
    depth,
    error_rate,
    errors,
    feature,
    gap,
    if_then,
    leaves,
    level,
    named,
    output,
    percent,
    rate,
    requires,
    root,
    row,
    same_leaf,
    size,
    tests,
    threshold,
    uses,
)
from odtdsl.words.expr import Condition, Expression, Measure


def condition_of(text: str) -> ast.Expr:
    rule = parse(Source(name="text", text=f"rule r: {text}")).statements[0]
    assert isinstance(rule, ast.Rule)
    return rule.condition


def codes(caught: pytest.ExceptionInfo[OdtError]) -> list[str]:
    return [d.code for d in caught.value.diagnostics]


# ---- the registry

ARGUMENTS = {
    Param.FEATURE: ("age", "age"),
    Param.TARGET: ("math", "math"),
    Param.LABEL: ("yes", '"yes"'),
    Param.GROUP: ("women", "women"),
    Param.ROW: (3, "3"),
    Param.BY: ("race", "race"),
}


def applied(term: Term, params: tuple[Param, ...]) -> tuple[Expression, str]:
    """A term's word with arguments, and how the language writes it."""
    word = getattr(words, term.name)
    if term.kind is Kind.COLUMN:
        return word.isin(["age"]), f"{term.name} in {{age}}"
    if term.name == "output":
        return word("math"), "math"
    if not params:
        return word, term.name
    if Param.MEASURE in params:
        return word(words.rate("yes"), "race"), f'{term.name}(rate("yes"), race)'
    given = [ARGUMENTS[param] for param in params]
    values, texts = [value for value, _ in given], [text for _, text in given]
    if term.name in ("before", "requires"):
        return word(*values), f"{texts[0]} {term.name} {texts[1]}"
    return word(*values), f"{term.name}({', '.join(texts)})"


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_every_term_has_a_word_for_each_signature(term: Term) -> None:
    for signature in term.signatures:
        expression, text = applied(term, signature.params)
        assert repr(expression) == text
        assert expression.node == condition_of(text)
        is_condition = term.kind in (Kind.CONDITION, Kind.COLUMN)
        assert isinstance(expression, Condition if is_condition else Measure)


def test_a_word_for_every_function_of_conditions_and_numbers() -> None:
    for name in ("abs", "sum", "count"):
        argument = depth <= 3 if name == "count" else depth
        assert repr(getattr(words, name)(argument)) == f"{name}({argument!r})"


def test_the_words_that_hide_columns_are_the_terms() -> None:
    assert set(BY_NAME) - {"output", "before", "requires"} == words.terms.TERM_WORDS
    for word in (*words.terms.TERM_WORDS, "row", "if", "math score", "not"):
        assert repr(col(word)) == f"`{word}`"
    assert repr(col("age")) == "age"
    assert repr(uses("cost")) == "uses(cost)"


def test_a_star_import_keeps_what_python_has() -> None:
    assert not set(words.__all__) & set(dir(builtins))
    assert all(hasattr(words, name) for name in words.__all__)
    assert {t.name for t in TERMS} <= set(words.__all__)


# ---- operators

EXPRESSIONS: list[tuple[Expression, str]] = [
    (error_rate + 0.005 * leaves, "error_rate + 0.005 * leaves"),
    (error_rate + named("alpha") * (leaves - 1) / 14, "error_rate + alpha * (leaves - 1) / 14"),
    (2 - depth - 1 == 3 / leaves, "2 - depth - 1 = 3 / leaves"),
    (-(depth + 1) < -3, "-(depth + 1) < -3"),
    (accuracy("women") >= percent(90), "accuracy(women) >= 90%"),
    (accuracy("women") >= accuracy - 0.05, "accuracy(women) >= accuracy - 0.05"),
    (
        abs(rate("yes", "aa") - rate("yes", "cc")) <= percent(5),
        'abs(rate("yes", aa) - rate("yes", cc)) <= 5%',
    ),
    (gap(rate("yes"), "race") <= 0.1, 'gap(rate("yes"), race) <= 0.1'),
    (rate(-1, "a b") != Fraction(1, 2), "rate(-1, `a b`) != 0.5"),
    (rate(True) > Decimal("0.10"), 'rate("True") > 0.1'),
    (errors / 3 <= Fraction(1, 3), "errors / 3 <= 1 / 3"),
    (100 >= cost, "cost <= 100"),  # noqa: SIM300
    (builtins.sum([errors, leaves, 1]) <= 40, "errors + leaves + 1 <= 40"),  # type: ignore[list-item]
    (words.sum(errors, 2 * leaves, 3) <= 40, "sum(errors, 2 * leaves, 3) <= 40"),
    (uses("a") & uses("b") & ~uses("c"), "uses(a) and uses(b) and not uses(c)"),
    (uses("a") | uses("b") & uses("c"), "uses(a) or uses(b) and uses(c)"),
    (~(uses("a") & uses("b")) | (depth <= 3), "not (uses(a) and uses(b)) or depth <= 3"),
    (if_then(uses("chol"), cost <= 50), "if uses(chol) then cost <= 50"),
    (if_then(uses("a"), uses("b")) & uses("c"), "(if uses(a) then uses(b)) and uses(c)"),
    (count(output("c1") > 0, output("c2") > 0) <= 1, "count(c1 > 0, c2 > 0) <= 1"),
    (tests("a", "b c") <= 2, "tests(a, `b c`) <= 2"),
    (before("cost", "if") & requires("b", "a"), "cost before `if` and b requires a"),
    (root.isin({"sex", "age"}), "root in {age, sex}"),
    (root.isin(["sex", "age"]) | (feature == "age"), "root in {sex, age} or feature = age"),
    (threshold("age").isin([40, 45.5]), "threshold(age) in {40, 45.5}"),
    (threshold("age").isin({100, 45, 7}), "threshold(age) in {7, 45, 100}"),
    (threshold("age").between(20, 80), "threshold(age) in [20, 80]"),
    (col("a").between(percent(1), Fraction(1, 3)), "1% <= a <= 1 / 3"),
    (threshold("age").multiple_of(5), "threshold(age) multiple_of 5"),
    (threshold("l") <= "mid", 'threshold(l) <= "mid"'),
    (if_then(level == 0, feature != "age"), "if level = 0 then feature != age"),
    (col("sex").isin(["female", "m"]), 'sex in {"female", "m"}'),
    (
        (col("smoker") == True) & ~col("income").is_missing(),  # noqa: E712
        'smoker = "True" and not income is missing',
    ),
    (row.isin([3, "P17"]), 'row in {3, "P17"}'),
    (same_leaf("P1", 17), 'same_leaf("P1", 17)'),
    (size("vip") >= np.int64(3), "size(vip) >= 3"),  # type: ignore[list-item]
    (size >= np.float64(0.1), "size >= 0.1"),
    (np.float32(0.1) + size >= 1, "0.1 + size >= 1"),  # type: ignore[operator]
    (np.float64(0.1) <= size, "size >= 0.1"),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("built", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_expressions_are_what_their_text_parses_to(built: Expression, text: str) -> None:
    assert repr(built) == text
    assert built.node == condition_of(text)


def test_python_and_or_not_and_chains_are_refused_with_what_to_write() -> None:
    for trap in (
        lambda: 0 <= leaves <= 5,
        lambda: uses("a") and uses("b"),
        lambda: not uses("a"),
        lambda: accuracy in [errors],
    ):
        with pytest.raises(TypeError, match=r"&, \|, ~ .* x\.between\(a, b\)"):
            trap()


def test_measures_are_no_keys() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        {depth: 1}  # noqa: B018


def test_what_does_not_mix_is_a_type_error() -> None:
    for mix in (lambda: depth + "a", lambda: uses("a") & True, lambda: uses("a") | (1 < 2)):  # type: ignore[operator]
        with pytest.raises(TypeError, match="unsupported operand"):
            mix()


def test_values_of_a_wrong_kind_say_what_to_give() -> None:
    for call in (
        lambda: rate(None),  # type: ignore[arg-type]
        lambda: uses(3),  # type: ignore[arg-type]
        lambda: root.isin("age"),
        lambda: threshold("age").isin([]),
        lambda: threshold("age").between("a", 3),  # type: ignore[arg-type]
        lambda: count(depth),  # type: ignore[arg-type]
        lambda: words.abs("x"),  # type: ignore[arg-type]
        lambda: gap("x", "race"),  # type: ignore[arg-type]
        lambda: depth == object(),
        lambda: depth == None,  # noqa: E711
        lambda: percent("5"),  # type: ignore[arg-type]
    ):
        with pytest.raises(OdtError) as caught:
            call()
        assert codes(caught) == ["U401"]
        assert caught.value.diagnostics[0].helps


def test_numbers_that_no_text_says_are_refused_at_once() -> None:
    for call in (
        lambda: depth <= math.inf,
        lambda: depth <= math.nan,
        lambda: depth <= np.float32("nan"),
        lambda: depth <= 10**500,
        lambda: depth <= 10**5000,
        lambda: depth <= Fraction(1, 7**600),
        lambda: percent(Fraction(1, 3)),
        lambda: threshold("age").isin([Fraction(1, 3)]),
        lambda: uses("two\nlines"),
        lambda: col(""),
    ):
        with pytest.raises(OdtError) as caught:
            call()
        assert codes(caught) == ["S090"]


# ---- random expressions

names = st.sampled_from(["age", "cost", "if", "not", "math score", "größe", "row", "a`b", "*"])
numbers = st.one_of(
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.fractions(max_denominator=50),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
)
cells = st.one_of(
    st.text(max_size=4), st.booleans(), st.integers(-99, 99), st.floats(-1e6, 1e6).map(float)
)
measures = st.recursive(
    st.one_of(
        st.sampled_from([depth, leaves, accuracy, cost, size, level]),
        names.map(col),
        names.map(accuracy),
        names.map(threshold),
        names.map(named),
        st.builds(rate, cells, st.none() | names),
        st.integers(-200, 200).map(percent),
    ),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner | numbers),
        st.builds(lambda a, b: b - a, inner, numbers),
        st.builds(lambda a, b: a * b, inner, inner | numbers),
        st.builds(lambda a, b: a / b, inner, inner | numbers),
        inner.map(lambda a: -a),
        inner.map(abs),
        st.lists(inner | numbers, min_size=1, max_size=3).map(lambda i: words.sum(*i)),
        st.builds(lambda m, by: gap(m, by), inner, names),
    ),
    max_leaves=6,
)
conditions = st.recursive(
    st.one_of(
        st.builds(lambda a, b: a <= b, measures, measures | numbers | cells),
        st.builds(lambda a, b: a == b, measures, measures | numbers | cells),
        st.builds(lambda a, b: a != b, measures, measures | numbers | cells),
        st.builds(lambda a, b: a.isin(b), measures, st.lists(cells, min_size=1, max_size=3)),
        st.builds(lambda a, b: a.isin(b), measures, st.sets(cells, min_size=1, max_size=3)),
        st.builds(lambda a, b, c: a.between(b, c), measures, numbers, numbers),
        st.builds(lambda a, b: a.multiple_of(b), measures, numbers),
        measures.map(lambda a: a.is_missing()),
        names.map(uses),
        st.builds(before, names, names),
        st.lists(names, min_size=1, max_size=3).map(root.isin),
        st.lists(st.integers(0, 9), min_size=1, max_size=3).map(row.isin),
    ),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        inner.map(lambda a: ~a),
        st.builds(if_then, inner, inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda i: count(*i) <= 1),
    ),
    max_leaves=5,
)


@settings(max_examples=scaled(400), deadline=None)
@given(conditions)
def test_random_expressions_are_what_their_text_parses_to(built: Condition) -> None:
    assert condition_of(repr(built)) == built.node
