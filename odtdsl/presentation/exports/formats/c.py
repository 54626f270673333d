"""A model as C99 source: one function, numbers in hexadecimal so that no digit is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator

from odtdsl.datasets.levels import level_text
from odtdsl.predictors.wording import number_text
from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.names import comment, identifiers, program_name, refuse_texts
from odtdsl.presentation.exports.plan import (
    TITLE,
    AtMost,
    Cell,
    CellTest,
    Column,
    Fork,
    Item,
    OneOf,
    Plan,
    Plane,
    Within,
)

MAX_LITERAL = 4_095
"""Characters of a string literal that C99 promises to take."""


def to_c(plan: Plan, name: str | None = None) -> str:
    """A translation unit with a struct of the cells and a function of it.

    Class trees give the index of the label in `NAME_labels`, number trees write their outputs
    to an array and give 0; -1 is a row that `predict` refuses. Numbers are doubles, NAN where
    missing; texts are UTF-8, NULL or "" where missing.

    Parameters
    ----------
    plan
        The model.
    name
        Of the function, and before the names of the rest; default `predict`.

    Raises
    ------
    OdtError
        U371: a text with a NUL character, or longer than a literal may be; U373: the name is
        no identifier.
    """
    refuse_texts(plan, "c", re.compile("\0"), "a NUL character")
    refuse_texts(plan, "c", re.compile(rf"(?s).{{{MAX_LITERAL // 4}}}"), "too many characters")
    return "\n".join(_Writer(plan, program_name(name, "predict")).lines()) + "\n"


FORMAT = Format(
    what="a C99 function", suffixes=(".c",), begins=rb"/\* " + TITLE + rb"\. C99", write=to_c
)


class _Writer:
    def __init__(self, plan: Plan, name: str) -> None:
        self.plan, self.name = plan, name
        self.cells = identifiers(column.name for column in plan.columns)

    def lines(self) -> Iterator[str]:
        plan, name = self.plan, self.name
        yield f"/* {comment(plan.title)}. C99. */"
        yield ""
        yield "#include <math.h>"
        yield "#include <stddef.h>"
        if "text" in plan.readers:
            yield "#include <string.h>"
        yield ""
        yield from self.struct()
        yield ""
        row = f"const {name}_row *row"
        if plan.classes:
            labels = ", ".join(map(string, map(level_text, plan.classes)))
            head = f"const char *const {name}_labels[{len(plan.classes)}]"
            yield f"extern {head};"
            yield f"{head} = {{{labels}}};"
        else:
            row += f", double outputs[{len(plan.targets)}]"
        yield ""
        yield from self.promise()
        yield f"int {name}({row});"
        yield ""
        if "text" in plan.readers:
            yield "static int is(const char *cell, const char *text)"
            yield "{"
            yield "    return cell != NULL && strcmp(cell, text) == 0;"
            yield "}"
            yield ""
        yield f"int {name}({row})"
        yield "{"
        yield from self.body()
        yield "}"

    def struct(self) -> Iterator[str]:
        yield "typedef struct {"
        for column, cell in zip(self.plan.columns, self.cells, strict=True):
            kind = "double " if column.kind == "number" else "const char *"
            note = "; write numbers as the levels are" if column.numerals else ""
            yield f"    {kind}{cell}; /* {comment(column.name)}{note} */"
        if not self.plan.columns:
            yield "    char nothing; /* no column is tested */"
        yield f"}} {self.name}_row;"

    def promise(self) -> Iterator[str]:
        if self.plan.classes:
            what = f"The index of the label in {self.name}_labels"
        else:
            what = "Writes the outputs and returns 0"
        if self.plan.refusing:
            yield f"/* {what}; -1 for a row with an unknown value of an"
            yield "   ordered column, or a missing one that a hyperplane weighs. */"
        else:
            yield f"/* {what}. */"

    def body(self) -> Iterator[str]:
        used = self.used()
        if not used:
            yield "    (void)row;"
        for at, (column, cell) in enumerate(zip(self.plan.columns, self.cells, strict=True)):
            if at in used and column.kind == "number":
                yield f"    const double {cell} = row->{cell};"
            elif at in used:
                yield f"    const char *const {cell} ="
                yield f"        row->{cell} != NULL && row->{cell}[0] != 0 ? row->{cell} : NULL;"
        if any(isinstance(fork.question, Plane) for fork in self.plan.forks()):
            # Stored products can be neither fused with the sum nor kept in wider registers.
            yield "    volatile double product, total;"
        for column, cell in zip(self.plan.columns, self.cells, strict=True):
            for words in refusal(column, cell):
                yield f"    if ({words})"
                yield "        return -1;"
        yield from self.item(self.plan.root, "    ")

    def used(self) -> set[int]:
        """The columns that the code reads. A node of a diagram that no arc leads to tests one
        that it does not, and compilers note what is unused."""
        found = {i for i, column in enumerate(self.plan.columns) if column in self.plan.refusing}
        for fork in self.plan.forks():
            question = fork.question
            if isinstance(question, Plane):
                found.update(term.column for term in question.terms)
            elif question.missing or question.condition != OneOf(values=()):
                found.add(question.column)
        return found

    def item(self, item: Item, indent: str) -> Iterator[str]:
        """Right sides follow without `else`, so that only left sides are nested."""
        while isinstance(item, Fork):
            question = item.question
            if isinstance(question, Plane):
                yield from self.total(question, indent)
                words = f"total < {number(question.bound)}"
            else:
                words = self.condition(question)
            yield f"{indent}if ({words}) {{"
            yield from self.item(item.left, indent + "    ")
            yield f"{indent}}}"
            item = item.right
        yield from (indent + line for line in self.said(item.leaf))

    def said(self, leaf: int) -> Iterator[str]:
        found = self.plan.leaves[leaf]
        if found.label is not None:
            label = comment(level_text(self.plan.classes[found.label]))
            yield f"return {found.label}; /* {label} */"
            return
        assert found.output is not None, "check_tree: a leaf says something"
        yield from (f"outputs[{i}] = {number(x)};" for i, x in enumerate(found.output))
        yield "return 0;"

    def total(self, plane: Plane, indent: str) -> Iterator[str]:
        yield f"{indent}total = 0.0;"
        for term in plane.terms:
            column, cell = self.plan.columns[term.column], self.cells[term.column]
            if term.value is not None:
                cell = f"({equal(cell, term.value)} ? 1.0 : 0.0)"
            elif column.ordered:
                ranks = (f"{equal(cell, x)} ? {i}.0 : " for i, x in enumerate(column.levels))
                cell = f"({''.join(ranks)}-1.0)"
            yield f"{indent}product = {number(term.weight)} * {cell};"
            yield f"{indent}total = total + product;"

    def condition(self, question: CellTest) -> str:
        cell = self.cells[question.column]
        words = passes(question, cell)
        if not question.missing:
            return words
        text = self.plan.columns[question.column].kind == "text"
        there = f"{cell} == NULL" if text else f"isnan({cell})"
        return f"{there} || ({words})" if " && " in words else f"{there} || {words}"


def passes(question: CellTest, cell: str) -> str:
    """The condition of a cell that is not missing; false for NAN and NULL."""
    match question.condition:
        case AtMost(value=value):
            return f"{cell} <= {number(value)}"
        case OneOf(values=()):
            return "0"
        case OneOf(values=values):
            return " || ".join(equal(cell, value) for value in values)
        case Within(ends=ends):
            parts = [f"{cell} {sign} {number(end)}" for sign, end in ends]
            return " && ".join(parts) or f"!isnan({cell})"


def refusal(column: Column, cell: str) -> Iterator[str]:
    """The conditions under which `predict` refuses a row."""
    there = f"{cell} != NULL" if column.kind == "text" else f"!isnan({cell})"
    if column.weighed:
        yield f"{cell} == NULL" if column.kind == "text" else f"isnan({cell})"
    if column.ordered:
        known = " || ".join(equal(cell, level) for level in column.levels) or "0"
        yield f"{there} && !({known})"


def equal(cell: str, value: Cell) -> str:
    """A cell compared with a text or a number."""
    return (
        f"is({cell}, {string(value)})" if isinstance(value, str) else f"{cell} == {number(value)}"
    )


def number(value: float) -> str:
    """A double in hexadecimal, with its decimal if that is more readable."""
    short = number_text(value)
    if value == int(value) and abs(value) < 2**53:
        return short if "." in short or "e" in short else f"{short}.0"
    return f"{value.hex()} /* {short} */"


def string(text: str) -> str:
    """A string literal: UTF-8, all but plain ASCII spelled in octal, so that no trigraph or
    escape can be read into it."""
    found = []
    for byte in text.encode("utf-8"):
        plain = 32 <= byte < 127 and byte not in b'"\\?'
        found.append(chr(byte) if plain else f"\\{byte:03o}")
    return '"' + "".join(found) + '"'
