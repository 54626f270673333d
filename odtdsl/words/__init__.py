"""The words of the language as Python objects, for rules, groups and objectives.

Every term is here under its own name, as a constant or a function; comparisons and arithmetic
build expressions, `&`, `|` and `~` stand for `and`, `or` and `not`. A string where a feature,
a group or a target stands is its name; where a class, a level or a cell stands it is the value.

Examples
--------
>>> from odtdsl import Model
>>> from odtdsl.words import accuracy, before, cost, leaves, error_rate, uses
>>> model = Model().rule("women", accuracy("women") >= 0.9)
>>> model = model.rule("order", before("age", "chol") & (cost <= 150), forall="path")
>>> print(model.minimize(error_rate + 0.005 * leaves), end="")
rule women: accuracy(women) >= 0.9
rule order: forall path: age before chol and cost <= 150
<BLANKLINE>
minimize error_rate + 0.005 * leaves
"""

from __future__ import annotations

from odtdsl.language import ast
from odtdsl.words import build, terms, values
from odtdsl.words.expr import Condition, Expression, Measure, Named, RowWord
from odtdsl.words.terms import *  # noqa: F403 - the words of all terms
from odtdsl.words.terms import TERM_WORDS
from odtdsl.words.values import Numeric

# `abs`, `sum` are words too, left out so that a star import keeps Python's own.
__all__ = [
    "Condition",
    "Expression",
    "Measure",
    "col",
    "count",
    "if_then",
    "named",
    "output",
    "percent",
    "row",
]
__all__ += terms.__all__

# ---- of a leaf


def output(target: str) -> Measure:
    """What a leaf predicts for a number target.

    >>> if_then(output("reading") < 50, output("writing") == 0)
    if reading < 50 then writing = 0
    """
    return col(target)


# ---- of a row

row = RowWord(node=ast.Name(name="row"))
"""Rows of a group: `row.isin([3, 17])`."""


def col(column: str) -> Measure:
    """A column, in the condition of a group; in backticks where the bare word is a term.

    >>> (col("sex") == "female") | col("size").is_missing()
    sex = "female" or `size` is missing
    """
    found = values.name(column)
    hidden = found.name in TERM_WORDS or found.name == "row"
    return Measure(node=ast.Name(name=found.name, quoted=found.quoted or hidden))


# ---- anywhere


def named(let: str) -> Named:
    """What `Model.let` gave a name to: a number or a condition.

    >>> error_rate + named("alpha") * leaves
    error_rate + alpha * leaves
    """
    return Named(node=values.name(let, "a `let`"))


def percent(share: Numeric) -> Measure:
    """`share` percent. Against a count of rows it is that share of the rows.

    >>> size >= percent(2.5)
    size >= 2.5%
    """
    number = values.literal_number(share, "a percentage")
    return Measure(node=ast.Percent(value=number.value))


def if_then(condition: Condition, consequence: Condition) -> Condition:
    """The consequence holds where the condition does.

    >>> if_then(level == 0, feature.isin({"sex", "age"}))
    if level = 0 then feature in {age, sex}
    """
    premise, conclusion = build.conditions((condition, consequence))
    return Condition(node=ast.If(condition=premise, consequence=conclusion))


def count(*conditions: Condition) -> Measure:
    """How many of the conditions hold.

    >>> count(uses("age"), uses("sex"), uses("chol")) <= 2
    count(uses(age), uses(sex), uses(chol)) <= 2
    """
    return build.measure_of("count", *build.conditions(conditions))


def abs(measure: Measure | Numeric) -> Measure:
    """The absolute value; Python's own `abs` does the same for measures.

    >>> abs(rate("yes", "aa") - rate("yes", "cc")) <= percent(5)
    abs(rate("yes", aa) - rate("yes", cc)) <= 5%
    """
    return build.measure_of("abs", build.measure(measure))


def sum(*measures: Measure | Numeric) -> Measure:
    """The sum, without the nesting that a long chain of `+` has.

    >>> from odtdsl import words
    >>> words.sum(errors, 2 * leaves, 3) <= 40
    sum(errors, 2 * leaves, 3) <= 40
    """
    return build.measure_of("sum", *build.measures(measures))
