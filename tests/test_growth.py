"""Short specs that stand for a lot: their cost is bounded before it is spent."""

from __future__ import annotations

import random
import time

import numpy as np
import pandas as pd
import pytest
from scale import scaled

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.interfaces.api import check
from odtdsl.problem.ir.forms import Depth, SignedAtom
from odtdsl.problem.terms.base import AllOf, AnyOf, Formula, Holds
from odtdsl.problem.terms.formulas import clauses

HEAD = 'data sklearn "iris" target target tree depth <= 2 '
SECONDS = 30
"""Of the processor, for any of them: a machine under load takes a third."""


def doubled(op: str, base: str) -> str:
    """Twenty `let` names, each of which holds the one before twice."""
    lets = [f"let a0 = {base}", *(f"let a{i} = a{i - 1} {op} a{i - 1}" for i in range(1, 21))]
    return "\n".join(lets)


def nested(times: int) -> str:
    return f"abs({nested(times - 1)}) - 1" if times else "leaves - 3"


def any_of(count: int, text: str) -> str:
    return " or ".join(text.format(i) for i in range(count))


CASES = {
    "sum": (doubled("+", "errors") + " minimize errors rule r: a20 <= 3", "N130"),
    "objective": (doubled("+", "errors") + " minimize a20", "N130"),
    "product": (doubled("*", "2") + " minimize errors rule r: errors <= a20", "N130"),
    "and": (doubled("and", "(errors <= 20)") + " minimize errors rule r: a20", "N130"),
    "group": (
        doubled("and", "(`sepal length (cm)` > 5)")
        + " group g = a20 minimize errors rule r: errors(g) <= 9",
        "N130",
    ),
    "chain": (
        "let a0 = errors "
        + " ".join(f"let a{i} = a{i - 1} + 1" for i in range(1, 2000))
        + " minimize errors rule r: a1999 <= 3",
        "N130",
    ),
    "abs": (f"minimize errors rule r: {nested(20)} <= 3", "R302"),
    "abs in the objective": (f"minimize errors + {nested(20)}", "R302"),
    "at least": (
        "minimize errors rule r: " + " + ".join(f"abs(leaves - {i})" for i in range(40)) + " >= 3",
        "R302",
    ),
    "or of and": (
        "minimize errors rule r: " + any_of(1500, "(errors <= {0} and leaves <= {0})"),
        "R302",
    ),
    "values": (
        "minimize errors rule r: depth in {" + ", ".join(map(str, range(1500))) + "}",
        "R302",
    ),
    "or": ("minimize errors rule r: " + any_of(1500, "errors <= {}"), None),
    "or of leaves": ("minimize errors rule r: forall leaf: " + any_of(1500, "size >= {}"), None),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_spec_stands_for_is_bounded(name: str) -> None:
    text, code = CASES[name]
    began = time.process_time()
    found = [one.code for one in check(HEAD + text) if one.severity == "error"]
    assert time.process_time() - began < SECONDS
    assert found == ([] if code is None else [code])


def test_clauses_say_what_the_formula_says() -> None:
    def holds(formula: Formula, true: set[int]) -> bool:
        match formula:
            case Holds(atom=Depth(at_most=number)):
                return (number in true) == formula.positive
            case AllOf(items=items):
                return all(holds(item, true) for item in items)
            case AnyOf(items=items):
                return any(holds(item, true) for item in items)
        raise AssertionError

    def drawn(rng: random.Random, deep: int) -> Formula:
        if not deep or rng.random() < 0.3:
            return Holds(atom=Depth(at_most=rng.randrange(4)), positive=rng.random() < 0.5)
        kind = rng.choice((AllOf, AnyOf))
        return kind(items=tuple(drawn(rng, deep - 1) for _ in range(rng.randrange(4))))

    def kept(literal: SignedAtom, true: set[int]) -> bool:
        assert isinstance(literal.atom, Depth)
        return (literal.atom.at_most in true) == literal.positive

    for seed in range(scaled(300)):
        formula = drawn(random.Random(f"clauses {seed}"), 3)
        written = clauses(formula)
        for number in range(16):
            true = {bit for bit in range(4) if number >> bit & 1}
            said = all(any(kept(literal, true) for literal in clause) for clause in written)
            assert said == holds(formula, true), seed


def frame_of_codes(rows: int, values: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    codes = np.where(np.arange(rows) < values, np.arange(rows), rng.integers(0, values, rows))
    frame = {"code": [f"c{code}" for code in codes], "x": rng.integers(0, 9, rows)}
    return pd.DataFrame({**frame, "y": rng.integers(0, 2, rows)})


CODES = "target y: class\nfeature code: category\ntree depth <= 2\nminimize errors"


def test_a_category_of_many_values_is_refused_before_it_costs() -> None:
    """Masks of its tests would be 20 billion cells."""
    model = odtdsl.parse(CODES).data(frame_of_codes(200_000, 100_000))
    began = time.process_time()
    (said,) = model.check()
    assert said.code == "D224"
    assert any("drop code" in each for each in said.helps)
    for ask in (model.plan, model.solve):
        with pytest.raises(OdtError, match="D224"):
            ask()
    assert time.process_time() - began < 20
