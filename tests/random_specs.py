"""Random tiny specs as text with their tables, and random trees on them.

Tables have ties, missing cells, text and ordered columns, weights (0 among them); conditions are
drawn over every term of a class target, in every scope, nested.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from odtdsl.base.source import Source
from odtdsl.compiler import Analysis, analyse
from odtdsl.language.parser import parse
from odtdsl.problem.ir.evaluate import goes_left
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import local_gap, place
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree
from odtdsl.problem.terms.base import Kind
from odtdsl.problem.terms.registry import TERMS, quotients

OPS = ("<=", ">=", "<", ">", "=", "!=")
FEATURES = ("a", "b", "c", "o")
GROUPS = ("g", "h")
SHARES = [
    term.name
    for term in TERMS
    if Scope.MODEL in term.scopes
    and term.kind is Kind.SHARE
    and term.takes_group
    and term.target != "choice"
    and not term.is_quotient
]
"""The additive shares of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table and the statements that all rules on it share."""

    frame: dict[str, list[Any]]
    head: str
    classes: tuple[str, ...]
    bins: bool


def case(rng: random.Random) -> Case:
    """A table of 4 to 8 rows: number `a`, number or bins `b`, category `c`, ordered `o`."""
    n = rng.randint(4, 8)
    classes = ("n", "y") if rng.random() < 0.6 else ("n", "y", "z")
    policy = rng.choice(("left", "right", "branch"))

    def cells(values: list[Any]) -> list[Any]:
        found = [rng.choice(values) for _ in range(n)]
        if rng.random() < 0.5:
            found[rng.randrange(n)] = None
        return found

    frame: dict[str, list[Any]] = {
        "a": cells([1.0, 2.0, 4.0]),
        "b": cells([0.5, 0.75, 3.0, 10.0]),
        "c": cells(["p", "q", "r"]),
        "o": cells(["lo", "mid", "hi"]),
        "y": [*classes, *(rng.choice(classes) for _ in range(n - len(classes)))],
        "w": [rng.choice([0, 1, 1, 2, 0.5]) for _ in range(n - 1)] + [1],
    }
    frame["a"][:2] = [1.0, 4.0]
    frame["c"][:2] = ["p", "q"]
    bins = rng.random() < 0.3
    lines = [
        "data frame",
        'feature o: ordered {"lo", "mid", "hi"}',
        "feature a, b: number",
        f"missing {policy}",
    ]
    positive = rng.choice(['"n"', '"y"'])
    if len(classes) == 2:
        lines.append(f"target y positive {positive}")
    else:
        lines.append('target y: ordered {"z", "n", "y"}')
    if bins:
        lines.append("candidates b at bins 3")
    if rng.random() < 0.4:
        lines.append(f"candidates a at {rng.choice(['quantiles 3', '{1.5, 2, 3}', '{1, 2.5}'])}")
    if rng.random() < 0.5:
        lines.append("weight w")
    else:
        lines.append("drop w")
    lines.append(f"cost a = {rng.choice(['1', '0.25'])}, b = 3, {{a, c}} shared = 1.5")
    lines.append('loss predict "n" when "y" = 2.5')
    lines.append("group g = row in {0, 1, 2}")
    lines.append('group h = a >= 2 or c = "p" or row in {3}')
    lines.append("tree depth <= 3")
    return Case(frame=frame, head="\n".join(lines), classes=classes, bins=bins)


def read(case: Case, rules: str, objective: str = "minimize errors") -> Analysis:
    source = Source(name="random", text=f"{case.head}\n{objective}\n{rules}\n")
    return analyse(parse(source), source=source, frame=case.frame)


# ---- conditions


class Conditions:
    """Draws conditions of one scope."""

    def __init__(self, rng: random.Random, case: Case, scope: str) -> None:
        self.rng, self.case, self.scope = rng, case, scope

    def condition(self, depth: int = 2) -> str:
        pick = self.rng.random()
        if depth == 0 or pick < 0.45:
            return self.atom()
        if pick < 0.6:
            return f"not ({self.condition(depth - 1)})"
        if pick < 0.75:
            return f"({self.condition(depth - 1)}) and ({self.condition(depth - 1)})"
        if pick < 0.88:
            return f"({self.condition(depth - 1)}) or ({self.condition(depth - 1)})"
        if pick < 0.94:
            return f"(if {self.condition(depth - 1)} then {self.condition(depth - 1)})"
        inner = ", ".join(self.condition(0) for _ in range(self.rng.randint(1, 3)))
        if self.scope == "split":
            return self.atom()
        return f"count({inner}) {self.op()} {self.rng.choice(['0', '1', '2', '1.5'])}"

    def atom(self) -> str:
        match self.scope:
            case "model":
                return self.model()
            case "path":
                return self.path()
            case "leaf":
                return self.leaf()
            case _:
                return self.split()

    def op(self) -> str:
        return self.rng.choice(OPS)

    def feature(self) -> str:
        return self.rng.choice(FEATURES)

    def label(self) -> str:
        return f'"{self.rng.choice(self.case.classes)}"'

    def of(self, *args: str) -> str:
        shown = [*args, *([self.rng.choice(GROUPS)] if self.rng.random() < 0.4 else [])]
        return f"({', '.join(shown)})" if shown else ""

    def share(self) -> str:
        """A share that no data of ours leave without a row."""
        name = self.rng.choice(SHARES)
        if name in ("accuracy", "balanced_accuracy", "error_rate"):
            return f"{name}{self.of()}"
        return f"{name}{self.of(self.label())}" if name == "rate" else f"{name}({self.label()})"

    def number(self, *values: str) -> str:
        return self.rng.choice(values)

    def model(self) -> str:
        rng, op = self.rng, self.op()
        match rng.randrange(17):
            case 0:
                return f"errors{self.of()} {op} {self.number('0', '1', '2', '2.5', '30%', '50%')}"
            case 1:
                return f"{self.share()} {op} {self.number('0.5', '50%', '25%', '0', '1')}"
            case 2:
                return f"{self.share()} {op} {self.share()} - {self.number('10%', '0', '0.2')}"
            case 3:
                return f"{self.number('leaves', 'splits', 'nodes')} {op} {rng.randint(0, 6)}"
            case 4:
                return f"depth {op} {self.number('-1', '0', '1', '1.5', '2', '3')}"
            case 5:
                return f"uses({self.feature()})"
            case 6:
                return f"tests({self.feature()}, {self.feature()}) {op} {rng.randint(0, 3)}"
            case 7:
                return f"root in {{{self.feature()}, {self.feature()}}}"
            case 8:
                kind = self.number("same_leaf", "different_leaf")
                return f"{kind}({rng.randrange(4)}, {rng.randrange(4)})"
            case 9:
                what = self.number("loss", "expected_loss")
                return f"{what} {op} {self.number('0', '1', '0.75')}"
            case 10:
                term = rng.choice([name for name in quotients(Scope.MODEL) if name != "ratio"])
                of = f"{term}({self.label()})"
                return self.number(
                    f"{of} {op} {self.number('0', '0.5', '1', '60%')}",
                    f"1 - 2 * {of} {op} {self.number('0', '-0.5')}",
                    f"abs({of} - 0.5) {op} 0.25",
                    f"{of} in {{0, 0.5, 1}}",
                )
            case 11:
                return f"abs({self.share()} - {self.share()}) {op} {self.number('0', '20%', '0.5')}"
            case 12:
                return f"gap(rate({self.label()}), g, h) {op} {self.number('0', '25%', '1')}"
            case 13:
                bound = self.number("0", "50%", "1", "80%", "-0.5", "1.5")
                return f"ratio(rate({self.label()}), g, h) {op} {bound}"
            case 14:
                return f"{self.number('increasing', 'decreasing')}({self.number('a', 'b', 'o')})"
            case 15:
                low, high = sorted((rng.randint(0, 4), rng.randint(0, 6)))
                return f"{low} <= errors + 0.5 * leaves - splits <= {high}"
            case _:
                what = f"count_predicted({self.label()})"
                return f"{what} {op} {self.number('1', '2', '40%', '3')}"

    def path(self) -> str:
        rng, op = self.rng, self.op()
        first, second = rng.sample(FEATURES, 2)
        match rng.randrange(7):
            case 0:
                return f"{first} before {second}"
            case 1:
                return f"{first} requires {second}"
            case 2:
                return f"uses({first})"
            case 3:
                return f"tests({first}, {second}) {op} {rng.randint(0, 3)}"
            case 4:
                return f"cost {op} {self.number('0', '1', '2.5', '2.75', '5.5')}"
            case 5:
                return f"length {op} {self.number('0', '1', '2', '1.5')}"
            case _:
                return f"abs(cost - 2 * length) {op} {self.number('0', '1', '2')}"

    def leaf(self) -> str:
        rng, op = self.rng, self.op()
        match rng.randrange(5):
            case 0:
                return f"size{self.of()} {op} {self.number('1', '2', '30%', '2.5')}"
            case 1:
                return f"purity {op} {self.number('0.5', '1', '75%', '0')}"
            case 2:
                return "majority"
            case 3:
                return f"size(g) {op} size(h) + {rng.randint(-1, 1)}"
            case _:
                return f"abs(2 * size - size(h)) {op} {rng.randint(0, 5)}"

    def split(self) -> str:
        """Conditions on size and those on the test stand apart: see `scope`."""
        op = self.op()
        if self.sized:
            return f"size{self.of()} {op} {self.number('2', '3', '50%')}"
        thresholds = [
            f"threshold(a) {op} {self.number('1', '2', '1.5', '3', '3.5')}",
            f"threshold(a) in {{{self.number('1', '1.5')}, {self.number('2.5', '3')}}}",
            "threshold(a) multiple_of 0.5",
            f"threshold(a) in [{self.number('1', '1.2')}, {self.number('2', '3')}]",
        ]
        plain = [
            f"feature in {{{self.feature()}, {self.feature()}}}",
            f"feature {self.number('=', '!=')} {self.feature()}",
            f"level {op} {self.number('0', '1', '2')}",
            f"level in {{{self.number('0', '1')}, 2}}",
        ]
        levels = [
            f"threshold(o) {op} {self.number(chr(34) + 'lo' + chr(34), chr(34) + 'mid' + chr(34))}"
        ]
        if self.rng.random() < 0.5:
            return self.rng.choice(plain)
        return self.rng.choice(thresholds if self.of_a else levels)

    sized = False
    of_a = True


def rule(rng: random.Random, case: Case, name: str, scope: str) -> tuple[str, str]:
    """A rule and its negation, as text."""
    draw = Conditions(rng, case, scope)
    draw.sized, draw.of_a = rng.random() < 0.4, rng.random() < 0.7
    text = draw.condition()
    head = "" if scope == "model" else f"forall {scope}: "
    return f"rule {name}: {head}{text}", f"rule not_{name}: {head}not ({text})"


# ---- trees


def tree(rng: random.Random, core: Core, depth: int) -> RawTree:
    """A tree whose splits part their rows, at a place that candidates admit (filters aside)."""
    import numpy as np

    def grow(rows: list[int], left: int) -> RawTree:
        choices = [(f, t) for f, family in enumerate(core.families) for t in range(family.n_tests)]
        rng.shuffle(choices)
        if left and rng.random() < 0.85:
            for f, t in choices[:6]:
                family = core.families[f]
                codes = family.codes[np.asarray(rows)]
                goes = goes_left(family, t, codes)
                if family.kind == "threshold":
                    gap = local_gap(family, t, codes)
                    if gap is None or place(family, family.domain, *gap) is None:
                        continue
                if not goes.any() or goes.all():
                    continue
                kids = [[r for r, g in zip(rows, goes, strict=True) if g == s] for s in (1, 0)]
                return RawSplit(
                    family=f, test=t, left=grow(kids[0], left - 1), right=grow(kids[1], left - 1)
                )
        return RawLeaf(label=rng.randrange(core.n_classes))

    return grow(list(range(core.n_rows)), depth)
