"""A model as Python source: one function, no imports beyond the language."""

from __future__ import annotations

import math
from collections.abc import Iterator

from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.names import identifiers, program_name
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
    Reader,
    Term,
    Within,
)

NUMBER = '''
def _number(row, name, other=False, texts=None):
    """The number of a cell, NaN where it is missing; infinite for texts where they may stand.
    Where `texts` are given, other texts are no number."""
    cell = _cell(row, name)
    if cell is None:
        return float("nan")
    try:
        number = float("x" if isinstance(cell, str) and "_" in cell else cell)
    except (TypeError, ValueError, OverflowError):
        number = float("inf")
    if number == number and texts is not None and isinstance(cell, str) and cell not in texts:
        number = float("inf")
    if number in (float("inf"), float("-inf")) and not other:
        raise ValueError(f"{name!r} must be a finite number, not {cell!r}")
    return number
'''
TEXT = '''
def _text(row, name, numerals, by_value=False):
    """The text of a cell, None where it is missing; a number is the one level that reads as it."""
    cell = _cell(row, name)
    if cell is None:
        return None
    if isinstance(cell, str):
        text = cell
        try:
            number = float("x" if "_" in text else text)
        except ValueError:
            return text
        if number != number:
            return None
        if not by_value:
            return text
        if text.lstrip("+-").isdecimal():
            number = int(text)
    else:
        try:
            number = int(cell) if hasattr(cell, "__index__") else float(cell) + 0.0
        except (TypeError, OverflowError):
            raise ValueError(f"{name!r} must be a text or a number that float64 holds")
        if number != number:
            return None
        text = repr(number)
    same = numerals.get(number, (text,))
    if len(same) > 1 and not by_value:
        raise ValueError(f"{name!r} has the number {cell!r}, which may mean any of {same}")
    return text if text in same else same[0]
'''
CELL = '''
def _cell(row, name):
    """A cell without blanks around it, None where it is missing; truth values are texts."""
    cell = row[name]
    if type(cell).__name__ in ("bool", "bool_"):
        return str(bool(cell))
    if isinstance(cell, str):
        return cell.strip() or None
    return None if type(cell).__name__ in ("NAType", "NaTType") else cell
'''
KNOWN = '''
def _known(cell, name, levels):
    """The cell, which must be a level or missing."""
    if cell is not None and cell == cell and cell not in levels:
        raise ValueError(f"{name!r} has {cell!r}, which is none of its levels")
    return cell
'''
THERE = '''
def _there(cell, name):
    """The cell, which must not be missing."""
    if cell is None or cell != cell:
        raise ValueError(f"{name!r} is missing, and a hyperplane weighs it")
    return cell
'''
READERS: dict[Reader, str] = {
    "number": NUMBER,
    "text": TEXT,
    "cell": CELL,
    "known": KNOWN,
    "there": THERE,
}


def to_python(plan: Plan, name: str | None = None) -> str:
    """A module with a function of one row: a mapping of column names to cells.

    Cells are read as `predict` reads them: numbers or texts that write them; None, NaN, "" and
    "nan" are missing. What `predict` refuses raises ValueError.

    Parameters
    ----------
    plan
        The model.
    name
        Of the function; default `predict`.

    Raises
    ------
    OdtError
        U373: the name is no identifier.
    """
    return "\n".join(_Writer(plan, program_name(name, "predict")).lines()) + "\n"


FORMAT = Format(
    what="a function without dependencies",
    suffixes=(".py",),
    begins=rb"# coding: utf-8\n# " + TITLE + rb"\.\n",
    write=to_python,
    any_text=True,
)


class _Writer:
    def __init__(self, plan: Plan, name: str) -> None:
        self.plan, self.name = plan, name
        self.cells = identifiers(column.name for column in plan.columns)

    def lines(self) -> Iterator[str]:
        plan = self.plan
        # The first cookie counts: without one a title such as "coding: utf-7" would be it, and
        # could end its own line.
        yield "# coding: utf-8"
        yield f"# {plan.title}."
        yield "# Python 3.9 or later, nothing else."
        yield ""
        yield ""
        yield f"def {self.name}(row):"
        yield f'    """{self.promise()}"""'
        for column, cell in zip(plan.columns, self.cells, strict=True):
            yield f"    {cell} = {read(column)}"
        yield from self.item(plan.root, "    ")
        for reader in plan.readers:
            yield ""
            yield from READERS[reader].rstrip("\n").split("\n")

    def promise(self) -> str:
        if self.plan.classes:
            what = "label"
        else:
            what = "output" if len(self.plan.targets) == 1 else "outputs, a tuple,"
        return f"The {what} of a row: a mapping of column names to cells; None is missing."

    def item(self, item: Item, indent: str) -> Iterator[str]:
        """Right sides follow without `else`, so that only left sides are nested."""
        while isinstance(item, Fork):
            yield f"{indent}if {self.condition(item.question)}:"
            yield from self.item(item.left, indent + "    ")
            item = item.right
        yield f"{indent}return {self.said(item.leaf)}"

    def said(self, leaf: int) -> str:
        found = self.plan.leaves[leaf]
        if found.label is not None:
            return ascii(self.plan.classes[found.label])
        assert found.output is not None, "check_tree: a leaf says something"
        return repr(found.output[0] if len(found.output) == 1 else found.output)

    def condition(self, question: CellTest | Plane) -> str:
        if isinstance(question, Plane):
            total = " + ".join(map(self.term, question.terms))
            return f"{total} < {question.bound!r}"
        cell = self.cells[question.column]
        if not question.missing:
            return passes(question, cell)
        text = self.plan.columns[question.column].kind == "text"
        return f"{f'{cell} is None' if text else f'{cell} != {cell}'} or {passes(question, cell)}"

    def term(self, term: Term) -> str:
        column, cell = self.plan.columns[term.column], self.cells[term.column]
        if term.value is not None:
            cell = f"({cell} == {term.value!a})"
        elif column.ordered:
            cell = f"{column.levels!a}.index({cell})"
        return f"{term.weight!r} * {cell}"


def passes(question: CellTest, cell: str) -> str:
    """The condition of a cell that is not missing; false for NaN and None."""
    match question.condition:
        case AtMost(value=value):
            return f"{cell} <= {value!r}"
        case OneOf(values=()):
            return "False"
        case OneOf(values=(value,)):
            return f"{cell} == {value!a}"
        case OneOf(values=values):
            return f"{cell} in {values!a}"
        case Within(low=low, high=high, closed=closed):
            if math.isinf(low) and math.isinf(high):
                return f"{cell} == {cell}"
            above = "" if math.isinf(low) else f"{low!r} <= "
            return f"{above}{cell}" + (
                "" if math.isinf(high) else f" {'<' + '=' * closed} {high!r}"
            )


def read(column: Column) -> str:
    """The call that reads a column."""
    name = ascii(column.name)
    if column.kind == "number":
        known = "" if column.by_value else f", texts={column.level_texts!a}"
        call = f"_number(row, {name}{f', other=True{known}' if column.levels else ''})"
    else:
        numerals = dict(column.numerals)
        call = f"_text(row, {name}, {numerals!a}{', by_value=True' if column.by_value else ''})"
    if column.ordered:
        call = f"_known({call}, {name}, {column.levels!a})"
    return f"_there({call}, {name})" if column.weighed else call
