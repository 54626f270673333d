"""A model as a SELECT with a CASE: standard SQL that SQLite runs, exact for float64."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Value
from odtdsl.predictors.wording import number_text
from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.names import check_name, refuse_texts
from odtdsl.presentation.exports.plan import (
    TITLE,
    AtMost,
    CellTest,
    Column,
    Fork,
    Item,
    OneOf,
    Plan,
    Plane,
    Term,
    Within,
)

TABLE = "data"
STEP = 2**52
DEEP = 6
"""From here on the shallower side of a split comes first, negated: parsers have small stacks."""


def to_sql(plan: Plan, name: str | None = None) -> str:
    """A query that adds a prediction to each row of a table.

    A split is a WHEN; NULL passes no comparison, so that where missing cells pass the WHEN
    says `IS NULL` too. Rows that `predict` refuses get NULL: an ordered column with a value
    that is no level, a missing cell under a hyperplane.

    Parameters
    ----------
    plan
        The model.
    name
        The table; default `data`.

    Raises
    ------
    OdtError
        U371, U373: a name with a NUL character, which ends the text of a query.
    """
    refuse_texts(plan, "sql", re.compile("\0"), "a NUL character")
    check_name(name, "sql", re.compile("\0"), "a NUL character")
    writer = _Writer(plan, TABLE if name is None else name)
    return "\n".join(writer.lines()) + "\n"


FORMAT = Format(
    what="a SELECT with a CASE", suffixes=(".sql",), begins=b"-- " + TITLE + rb"\.\n", write=to_sql
)


class _Writer:
    def __init__(self, plan: Plan, table: str) -> None:
        self.plan, self.table = plan, table
        self.depths: dict[int, int] = {}
        self.cells = tuple(f"{identifier(table)}.{identifier(c.name)}" for c in plan.columns)

    def lines(self) -> Iterator[str]:
        yield from self.head()
        yield "SELECT"
        yield f"  {identifier(self.table)}.*,"
        last = len(self.plan.targets) - 1
        for i, target in enumerate(self.plan.targets):
            said = tuple(self.said(leaf, i) for leaf in range(len(self.plan.leaves)))
            yield from self.predicted(said)
            yield f"  AS {identifier(f'predicted_{target}')}" + "," * (i < last)
        yield f"FROM {identifier(self.table)};"

    def head(self) -> Iterator[str]:
        plan = self.plan
        yield f"-- {plan.title}."
        yield "-- Reads these columns; NULL is missing:"
        for column in plan.columns:
            what = "DOUBLE PRECISION" if column.kind == "number" else "TEXT, '' is missing too"
            yield f"--   {printable(column.name)}: {what}"
        for column in plan.literal:
            yield f"-- In {printable(column.name)} numbers must be written as the levels are."
        for column in plan.refusing:
            if column.ordered:
                yield f"-- An unknown value of {printable(column.name)} makes the prediction NULL."
            if column.weighed:
                yield f"-- A missing value of {printable(column.name)} makes the prediction NULL."

    def said(self, leaf: int, target: int) -> str:
        found = self.plan.leaves[leaf]
        if found.label is not None:
            return label(self.plan.classes[found.label])
        assert found.output is not None, "check_tree: a leaf says something"
        return number(found.output[target])

    def predicted(self, said: tuple[str, ...]) -> Iterator[str]:
        refused = [words for column in self.plan.refusing for words in self.refusal(column)]
        if not isinstance(self.plan.root, Fork) and not refused:
            yield from self.item(self.plan.root, said, "  ")
            return
        yield "  CASE"
        yield from (f"    WHEN {words} THEN NULL" for words in refused)
        yield from self.inside(self.plan.root, said, "    ")
        yield "  END"

    def refusal(self, column: Column) -> Iterator[str]:
        cell = self.cells[self.plan.columns.index(column)]
        if column.weighed:
            yield f"{cell} IS NULL"
        if column.ordered:
            listed = ", ".join(map(literal, column.levels))
            blank = [] if column.kind == "number" or column.weighed else ["''"]
            yield f"{cell} NOT IN ({', '.join([listed, *blank])})"
        elif column.weighed and column.kind == "text":
            yield f"{cell} = ''"

    def inside(self, item: Item, said: tuple[str, ...], indent: str) -> Iterator[str]:
        """A WHEN for each split down the right sides, and the ELSE of the last leaf."""
        while isinstance(item, Fork):
            words, first, second = self.condition(item.question), item.left, item.right
            if self.nested(first) >= DEEP and self.nested(second) < self.nested(first):
                words, first, second = f"({words}) IS NOT TRUE", second, first
            if isinstance(first, Fork):
                yield f"{indent}WHEN {words} THEN"
                yield from self.item(first, said, indent + "  ")
            else:
                yield f"{indent}WHEN {words} THEN {said[first.leaf]}"
            item = second
        yield f"{indent}ELSE {said[item.leaf]}"

    def nested(self, item: Item) -> int:
        """How deep the CASEs of a subtree are nested at most."""
        if not isinstance(item, Fork):
            return 0
        if id(item) not in self.depths:
            left, right = self.nested(item.left), self.nested(item.right)
            deep = left >= DEEP and right < left
            self.depths[id(item)] = max(left, right + 1) if deep else max(left + 1, right)
        return self.depths[id(item)]

    def item(self, item: Item, said: tuple[str, ...], indent: str) -> Iterator[str]:
        if isinstance(item, Fork):
            yield f"{indent}CASE"
            yield from self.inside(item, said, indent + "  ")
            yield f"{indent}END"
        else:
            yield f"{indent}{said[item.leaf]}"

    def condition(self, question: CellTest | Plane) -> str:
        if isinstance(question, Plane):
            total = " + ".join(map(self.term, question.terms))
            return f"{total} < {number(question.bound)}"
        cell = self.cells[question.column]
        words = _passes(question, cell)
        if not question.missing:
            return words
        text = self.plan.columns[question.column].kind == "text"
        blank = f" OR {cell} = ''" if text else ""
        return f"{words} OR {cell} IS NULL{blank}"

    def term(self, term: Term) -> str:
        column, cell = self.plan.columns[term.column], self.cells[term.column]
        if term.value is not None:
            cell = f"CASE WHEN {cell} = {literal(term.value)} THEN 1.0E0 ELSE 0.0E0 END"
        elif column.ordered:
            whens = (f"WHEN {literal(x)} THEN {i}.0E0" for i, x in enumerate(column.levels))
            cell = f"CASE {cell} {' '.join(whens)} END"
        return f"{number(term.weight)} * {cell}"


def _passes(question: CellTest, cell: str) -> str:
    match question.condition:
        case AtMost(value=value):
            return f"{cell} <= {number(value)}"
        case OneOf(values=()):
            return "1 = 0"
        case OneOf(values=(value,)):
            return f"{cell} = {literal(value)}"
        case OneOf(values=values):
            return f"{cell} IN ({', '.join(map(literal, values))})"
        case Within(ends=ends):
            parts = [f"{cell} {sign} {number(end)}" for sign, end in ends]
            return " AND ".join(parts) or f"{cell} IS NOT NULL"


# ---- literals


def identifier(name: str) -> str:
    """A quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: float | str) -> str:
    """A cell as a literal."""
    return text(value) if isinstance(value, str) else number(value)


def label(value: Value) -> str:
    """A label: whole numbers as such where they fit 64 bits."""
    if isinstance(value, int) and abs(value) < 2**63:
        return str(int(value))
    return text(value) if isinstance(value, str) else number(float(value))


def text(value: str) -> str:
    """A text literal. Control characters, and the backslash that some databases take for an
    escape, are spelled by `char`, so that no text can end the literal anywhere."""
    parts = re.split(r"([\x00-\x1f\x7f-\x9f\\\u2028\u2029])", value)
    spelled = (
        f"char({ord(part)})" if i % 2 else "'" + part.replace("'", "''") + "'"
        for i, part in enumerate(parts)
        if part
    )
    return " || ".join(spelled) or "''"


def number(value: float) -> str:
    """A float64 that every database reads as it is.

    SQL has no promise that decimals are read to the nearest float64: SQLite computes digits
    times a power of ten, in 53, 64 or 106 bits depending on its version and the machine. A
    decimal is written where all of these give the number; elsewhere it is a whole number over
    (or times) powers of two, each step of which is exact, and the decimal is a comment for
    readers. The exponent makes it a float in standard SQL.
    """
    decimal = number_text(value)
    if value == 0 or _safe(value, decimal):
        mantissa, _, exponent = decimal.partition("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{exponent or 0}"
    numerator, denominator = value.as_integer_ratio()
    sign, numerator = ("-" if value < 0 else ""), abs(numerator)
    steps, operator = 0, "/"
    if denominator == 1:
        operator = "*"
        while numerator > STEP * 2:
            numerator, denominator = numerator // 2, denominator * 2
    while denominator > STEP:
        steps, denominator = steps + 1, denominator // STEP
    factors = [f"{STEP}.0E0"] * steps + [f"{denominator}.0E0"] * (denominator > 1)
    return f"({f' {operator} '.join([f'{sign}{numerator}.0E0', *factors])}) /* {decimal} */"


def _safe(value: float, decimal: str) -> bool:
    """Whether digits times a power of ten is the number, rounded once or by way of 64 bits."""
    exact = Fraction(decimal)
    digits, _, exponent = decimal.lower().lstrip("-").partition("e")
    whole, _, fraction = digits.partition(".")
    if len(f"{whole}{fraction}".strip("0")) > 15:
        return False
    power = int(exponent or 0) - len(fraction)
    if abs(power) > 22 or len(f"{whole}{fraction}".lstrip("0")) > 15:
        return False
    return _rounded(_rounded(exact, 64), 53) == Fraction(value)


def _rounded(value: Fraction, bits: int) -> Fraction:
    """The nearest number of so many binary digits, ties to even."""
    if value == 0:
        return value
    scale = Fraction(2) ** (bits - 1 - _exponent(abs(value)))
    return Fraction(round(value * scale)) / scale


def _exponent(value: Fraction) -> int:
    """The greatest e with 2**e <= value."""
    e = value.numerator.bit_length() - value.denominator.bit_length()
    return e if Fraction(2) ** e <= value else e - 1
