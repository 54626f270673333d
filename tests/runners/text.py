"""The rules, read here by what their words mean."""

from __future__ import annotations

import ast
import re
from typing import Any

from exported import REFUSED, Model, Row, refuses, same

from odtdsl.presentation.exports.plan import plan_of
from runners.base import Runner, alone


def by_rules(model: Model, rows: list[Row]) -> list[Any]:
    """The rules, read here by what their words mean."""
    text = model.export("text")
    assert isinstance(text, str)
    head, *blocks = text.rstrip("\n").split("\n\n")
    count = re.search(r"(\d+) rules?, (?:of )?which", head.split("\n")[0])
    assert count
    assert int(count[1]) == len(blocks)
    ranks = ranks_of(head.split("\n")[1:])
    rules = [_Rule(block, len(model.targets), ranks) for block in blocks]
    refusing = plan_of(model).refusing
    return [_ruled(rules, row, refusing) for row in rows]


def ranks_of(lines: list[str]) -> dict[str, dict[str, float]]:
    """The ranks of levels, as `rank(NAME): LEVEL RANK, ...` says them."""
    return {
        line.split("`")[1]: {
            str(ast.literal_eval(level)): float(rank)
            for level, rank in re.findall(r"(\"[^\"]*\"|\S+) (\d+)[,.]", line.split(": ")[1])
        }
        for line in lines
    }


def _ruled(rules: list[_Rule], row: Row, refusing: Any) -> Any:
    if refuses(refusing, row):
        return REFUSED
    said = [rule.said for rule in rules if all(part.holds(row) for part in rule.parts)]
    assert len(said) == 1, said
    return said[0]


class _Rule:
    """`if ... and ... then ...`, or `always then ...`."""

    def __init__(self, block: str, targets: int, ranks: dict[str, dict[str, float]]) -> None:
        *lines, last = block.split("\n")
        lines = [] if lines == ["always"] else lines
        self.parts = [condition(line, ranks) for line in lines]
        self.said = outputs(last, targets)


def condition(line: str, ranks: dict[str, dict[str, float]]) -> _Part | _Sum:
    """`if ...` or `and ...`."""
    return _Part(line) if re.match(r"(if|and) `", line) else _Sum(line, ranks)


def outputs(words: str, targets: int) -> Any:
    """What `TARGET = VALUE, ...` says."""
    values = re.findall(r'` = ("(?:[^"\\]|\\.)*"|[-+.\de]+)', words)
    assert len(values) == targets, words
    found = tuple(ast.literal_eval(value) for value in values)
    return found if targets > 1 else found[0]


class _Part:
    """`if NAME CONDITION {and CONDITION} [or missing]`, or `if NAME = A {or = B} [or missing]`."""

    def __init__(self, line: str) -> None:
        match = re.fullmatch(r"(?:if|and) `((?:[^`\\]|\\.)*)` (.*)", line)
        assert match, line
        self.name, words = ast.literal_eval(f'"{_escaped(match[1])}"'), match[2]
        self.missing = words.endswith("missing")
        if self.missing:
            words = words.removesuffix("missing").removesuffix(" or ")
        operand = r'\[[^\])]*[\])]|"(?:[^"\\]|\\.)*"|[-+.\de]+'
        one = rf"(?:(or|and) )?(not )?(in|<=|>=|<|>|=) ({operand})(?: |$)"
        words = "" if words == "= nothing" else words  # which no cell is
        self.present = bool(words)
        parts = [] if words in ("", "present") else re.findall(one, words)
        assert words in ("", "present") or re.fullmatch(f"({one})+", words), line
        self.any = any(part[0] == "or" for part in parts)
        self.parts = [(not negated, sign, _operand(sign, text)) for _, negated, sign, text in parts]

    def holds(self, row: Row) -> bool:
        cell = row.get(self.name)
        if cell is None or not self.present:
            return cell is None and self.missing
        truths = (_true(sign, operand, cell) is wanted for wanted, sign, operand in self.parts)
        return any(truths) if self.any else all(truths)


class _Sum:
    """`if W * NAME + W * rank(NAME) + W * [NAME = VALUE] < BOUND`."""

    def __init__(self, line: str, ranks: dict[str, dict[str, float]]) -> None:
        words = line.removeprefix("if ").removeprefix("and ")
        term = r"([-\d.e]+) \* (?:`([^`]*)`|rank\(`([^`]*)`\)|\[`([^`]*)` = ([^\]]*)\])"
        match = re.fullmatch(rf"({term}(?: \+ {term})*) (<|>=) ([-\d.e]+)", words)
        assert match, line
        self.terms = re.findall(term, match[1])
        self.below, self.bound = match[match.re.groups - 1] == "<", float(match[match.re.groups])
        self.ranks = ranks

    def holds(self, row: Row) -> bool:
        total = 0.0
        for weight, plain, ranked, named, value in self.terms:
            if plain:
                counted = row[plain]
            elif ranked:
                counted = self.ranks[ranked][str(row[ranked])]
            else:
                counted = float(same(row[named], ast.literal_eval(value)))
            total = total + float(weight) * counted
        return (total < self.bound) is self.below


def _escaped(text: str) -> str:
    return text.replace("\\`", "`").replace('"', '\\"')


def _operand(sign: str, text: str) -> Any:
    if sign != "in":
        return ast.literal_eval(text)
    low, high = text[1:-1].split(", ")
    return float(low), float(high), text[-1] == "]"


def _true(sign: str, operand: Any, cell: Any) -> bool:
    match sign:
        case "in":
            low, high, closed = operand
            return bool(low <= cell < high or (closed and cell == high))
        case "=":
            return same(cell, operand)
        case "<=":
            return bool(cell <= operand)
        case ">=":
            return bool(cell >= operand)
        case "<":
            return bool(cell < operand)
    return bool(cell > operand)


RUNNER = Runner(run=alone(by_rules), cases=30, reads=str.isprintable)
"""Names that are not printable are spelled as escapes, which people do not read back either."""
