"""Whatever parts of specs are put together, analysis ends with a problem or with diagnostics."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from corpus import BAD, GOOD
from scale import scaled

from odtdsl.base.diagnostics.codes import CODES
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler import analyse
from odtdsl.language import ast
from odtdsl.language.parser import parse, read_source
from odtdsl.problem.ir.dump import dump_core, dump_problem
from odtdsl.problem.terms.normalize import normalize

ODD: tuple[ast.Node, ...] = (
    ast.Number(value=Fraction(0)),
    ast.Number(value=Fraction(-3)),
    ast.Number(value=Fraction(1, 3)),
    ast.Number(value=Fraction(10) ** 390),
    ast.Number(value=Fraction(1, 10**390)),
    ast.Percent(value=Fraction(250)),
    ast.Percent(value=Fraction(0)),
    ast.Text(value=""),
    ast.Text(value="yes"),
    ast.Text(value="1e400"),
    ast.Name(name="age", quoted=True),
    ast.Name(name="row"),
    ast.Name(name="output"),
    ast.Name(name="before"),
    ast.Name(name="sick"),
    ast.Call(function="output", args=(ast.Name(name="math"),)),
    ast.Call(function="row", args=()),
    ast.Call(function="sum", args=()),
    ast.Call(function="count", args=()),
)

EXPRESSIONS = {
    "Negate.operand",
    "Binary.left",
    "Binary.right",
    "Compare.operands",
    "Member.item",
    "IsMissing.item",
    "Infix.left",
    "Infix.right",
    "Not.operand",
    "And.items",
    "Or.items",
    "If.condition",
    "If.consequence",
    "Call.args",
    "Let.value",
    "Group.condition",
    "Rule.condition",
    "Stage.measure",
}
LITERALS = {
    "SetOf.items",
    "Target.positive",
    "Loss.predicted",
    "Loss.actual",
    "TypeSpec.values",
    "Candidates.values",
}
KINDS = (ast.Number, ast.Name, ast.TypeSpec, ast.SetOf, ast.Interval)
"""Nodes that are replaced by their like only; any expression stands for any other."""


def _walk(node: Any) -> Iterator[ast.Node]:
    if isinstance(node, ast.Node):
        yield node
        for each in fields(node):
            yield from _walk(getattr(node, each.name))
    elif isinstance(node, tuple):
        for item in node:
            yield from _walk(item)


class Splicer:
    """Puts parts of other specs into a spec, each where its like stood."""

    def __init__(self, rng: random.Random, pool: list[ast.Node], rate: float) -> None:
        self.rng, self.pool, self.rate = rng, pool, rate
        self.exprs = [node for node in pool if isinstance(node, ast.Expr)]

    def __call__(self, node: Any, place: str = "") -> Any:
        if isinstance(node, tuple):
            return tuple(self(item, place) for item in node)
        if not isinstance(node, ast.Node):
            return node
        if self.rng.random() < self.rate:
            found = self.other(node, place)
            if found is not None:
                return found
        return replace(
            node,
            **{
                f.name: self(getattr(node, f.name), f"{type(node).__name__}.{f.name}")
                for f in fields(node)
            },
        )

    def other(self, node: ast.Node, place: str) -> ast.Node | None:
        if place in EXPRESSIONS:
            return self.rng.choice(self.exprs)
        kinds: tuple[type[ast.Node], ...] = ()
        if place in LITERALS:
            kinds = (ast.Number, ast.Percent, ast.Text, ast.Name)
        elif isinstance(node, KINDS):
            kinds = (type(node),)
        alike = [each for each in self.pool if isinstance(each, kinds)] if kinds else []
        return self.rng.choice(alike) if alike else None


def _specs() -> list[ast.Spec]:
    found = []
    for path in (*GOOD, *BAD):
        try:
            found.append(parse(read_source(path)))
        except OdtError:
            continue
    return found


@pytest.mark.parametrize("seed", range(scaled(8)))
def test_only_diagnostics_come_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOOD[0].parent)
    rng = random.Random(seed)
    specs = _specs()
    pool = [*(node for spec in specs for node in _walk(spec)), *ODD, *ODD]
    ends = {"understood": 0, "refused": 0}
    many = scaled(60, least=30)
    for at in range(4 * many):
        if at >= many and min(ends.values()):
            break
        spliced = Splicer(rng, pool, rng.choice((0.02, 0.05, 0.15)))(rng.choice(specs))
        more = tuple(rng.choice(rng.choice(specs).statements or (ast.Tree(),)) for _ in range(2))
        spec = replace(spliced, statements=spliced.statements + more[: rng.randint(0, 2)])
        if any(isinstance(s, ast.LibrarySource) and s.library == "openml" for s in _walk(spec)):
            continue
        refused = _refused(spec)
        ends["understood" if refused is None else "refused"] += 1
        if refused is not None:
            assert refused.diagnostics
            assert {one.code for one in refused.diagnostics} <= set(CODES)
            assert str(refused)
    assert min(ends.values()) > 0


def _refused(spec: ast.Spec) -> OdtError | None:
    """What is wrong with a spec; None where it has a problem and a core."""
    try:
        analysis = analyse(spec, base=Path())
        dump_problem(analysis.problem)
        dump_core(normalize(analysis.rows))
    except OdtError as error:
        return error
    return None
