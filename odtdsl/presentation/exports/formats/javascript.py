"""A model as JavaScript source: a module with one function, no imports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from odtdsl.datasets.dataset import Value
from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.names import comment, identifiers, program_name
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

WORDS = """
    arguments await break case catch class const continue debugger default delete do else enum eval
    export extends false finally for function if implements import in instanceof interface let new
    null package private protected public return static super switch this throw true try typeof var
    void while with yield
    BigInt Infinity JSON Math NaN Number Object RangeError String TypeError undefined
"""
"""Words that no function of a module may have for a name, and what the module uses itself."""

NUMBER = """
// The number of a cell, NaN where it is missing; infinite for texts where they may stand.
// Where `texts` are given, other texts are no number.
function _number(row, name, other = false, texts = null) {
    const cell = _cell(row, name);
    if (cell === null) {
        return NaN;
    }
    let number = Infinity;
    if (typeof cell === "string") {
        number = _reading(cell) ?? Infinity;
        if (texts !== null && !Number.isNaN(number) && !texts.includes(cell)) {
            number = Infinity;
        }
    } else if (typeof cell === "number" || typeof cell === "bigint") {
        number = Number(cell);
    }
    if (Math.abs(number) === Infinity && !other) {
        throw new RangeError(
            `${JSON.stringify(name)} must be a finite number, not ${_shown(cell)}`
        );
    }
    return number;
}

// A cell as a message shows it: not every object can be written.
function _shown(cell) {
    return ["string", "number", "bigint"].includes(typeof cell) ? String(cell) : typeof cell;
}
"""
TEXT = """
// The text of a cell, null where it is missing; a number is the one level that reads as it.
function _text(row, name, numerals, byValue = false) {
    const cell = _cell(row, name);
    if (cell === null || Number.isNaN(cell)) {
        return null;
    }
    let number = cell;
    let text = cell;
    if (typeof cell === "string") {
        number = _reading(cell);
        if (Number.isNaN(number)) {
            return null;
        }
        if (number === null || !byValue) {
            return cell;
        }
        if (/^[+-]?[0-9]+$/.test(cell)) {
            number = BigInt(cell);
        }
    } else if (typeof cell === "number" || typeof cell === "bigint") {
        text = String(cell).replace("Infinity", "inf");
    } else {
        throw new RangeError(`${JSON.stringify(name)} must be a text or a number`);
    }
    // `==` compares a BigInt and a number by value, exactly.
    const same = (numerals.find((pair) => pair[0] == number) ?? [number, [text]])[1];
    if (same.length > 1 && !byValue) {
        throw new RangeError(
            `${JSON.stringify(name)} has the number ${text}, which may mean any of ${same}`
        );
    }
    return same.includes(text) ? text : same[0];
}
"""
CELL = r"""
// A cell without blanks around it, null where it is missing; truth values are texts.
function _cell(row, name) {
    if (!Object.prototype.hasOwnProperty.call(row, name)) {
        throw new TypeError(`the row has no ${JSON.stringify(name)}`);
    }
    const cell = row[name] ?? null;
    if (typeof cell === "boolean") {
        return cell ? "True" : "False";
    }
    return typeof cell === "string" ? _bare(cell) || null : cell;
}

function _bare(text) {
    const blank = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005"
        + "\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000";
    let first = 0;
    let end = text.length;
    while (first < end && blank.includes(text[first])) {
        first += 1;
    }
    while (first < end && blank.includes(text[end - 1])) {
        end -= 1;
    }
    return text.slice(first, end);
}

// The number that a text writes in digits, NaN of "nan", null of other texts.
function _reading(text) {
    if (/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i.test(text)) {
        return Number(text);
    }
    return /^[+-]?nan$/i.test(text) ? NaN : null;
}
"""
KNOWN = """
// The cell, which must be a level or missing.
function _known(cell, name, levels) {
    if (cell !== null && !Number.isNaN(cell) && !levels.includes(cell)) {
        throw new RangeError(`${JSON.stringify(name)} has ${cell}, which is none of its levels`);
    }
    return cell;
}
"""
THERE = """
// The cell, which must not be missing.
function _there(cell, name) {
    if (cell === null || Number.isNaN(cell)) {
        throw new RangeError(`${JSON.stringify(name)} is missing, and a hyperplane weighs it`);
    }
    return cell;
}
"""
READERS: dict[Reader, str] = {
    "number": NUMBER,
    "text": TEXT,
    "cell": CELL,
    "known": KNOWN,
    "there": THERE,
}


def to_javascript(plan: Plan, name: str | None = None) -> str:
    """A module that exports a function of one row: an object with a cell for each tested column.

    Cells are read as `predict` reads them: numbers or texts that write them; null, undefined,
    NaN, "" and "nan" are missing. What `predict` refuses throws a RangeError, a row without a
    tested column a TypeError.

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
    found = program_name(name, "predict", WORDS.split())
    return "\n".join(_Writer(plan, found).lines()) + "\n"


FORMAT = Format(
    what="a module without dependencies",
    suffixes=(".mjs", ".js"),
    begins=rb"/\* " + TITLE + rb"\. A module of ECMAScript",
    write=to_javascript,
    any_text=True,
)


class _Writer:
    def __init__(self, plan: Plan, name: str) -> None:
        self.plan, self.name = plan, name
        self.cells = identifiers(column.name for column in plan.columns)

    def lines(self) -> Iterator[str]:
        plan = self.plan
        yield f"/* {comment(plan.title)}. A module of ECMAScript 2020. */"
        yield ""
        yield from self.promise()
        yield f"export function {self.name}(row) {{"
        for column, cell in zip(plan.columns, self.cells, strict=True):
            yield f"    const {cell} = {read(column)};"
        yield from self.item(plan.root, "    ")
        yield "}"
        for reader in plan.readers:
            yield from READERS[reader].rstrip("\n").split("\n")

    def promise(self) -> Iterator[str]:
        if self.plan.classes:
            what = "label"
        else:
            what = "output" if len(self.plan.targets) == 1 else "outputs, an array,"
        yield f"// The {what} of a row: an object with a cell for each column; null is missing."

    def item(self, item: Item, indent: str) -> Iterator[str]:
        """Right sides follow without `else`, so that only left sides are nested."""
        while isinstance(item, Fork):
            yield f"{indent}if ({self.condition(item.question)}) {{"
            yield from self.item(item.left, indent + "    ")
            yield f"{indent}}}"
            item = item.right
        yield f"{indent}return {self.said(item.leaf)};"

    def said(self, leaf: int) -> str:
        found = self.plan.leaves[leaf]
        if found.label is not None:
            return literal(self.plan.classes[found.label])
        assert found.output is not None, "check_tree: a leaf says something"
        return literal(found.output[0]) if len(found.output) == 1 else array(found.output)

    def condition(self, question: CellTest | Plane) -> str:
        if isinstance(question, Plane):
            # Sums of JavaScript are of float64, one operation after the other.
            total = " + ".join(map(self.term, question.terms))
            return f"{total} < {literal(question.bound)}"
        cell = self.cells[question.column]
        words = passes(question, cell)
        if not question.missing:
            return words
        text = self.plan.columns[question.column].kind == "text"
        missing = f"{cell} === null" if text else f"Number.isNaN({cell})"
        return f"{missing} || ({words})" if " && " in words else f"{missing} || {words}"

    def term(self, term: Term) -> str:
        column, cell = self.plan.columns[term.column], self.cells[term.column]
        if term.value is not None:
            cell = f"({cell} === {literal(term.value)} ? 1 : 0)"
        elif column.ordered:
            cell = f"{array(column.levels)}.indexOf({cell})"
        return f"{literal(term.weight)} * {cell}"


def passes(question: CellTest, cell: str) -> str:
    """The condition of a cell that is not missing; false for NaN and null."""
    match question.condition:
        case AtMost(value=value):
            return f"{cell} <= {literal(value)}"
        case OneOf(values=()):
            return "false"
        case OneOf(values=(value,)):
            return f"{cell} === {literal(value)}"
        case OneOf(values=values):
            return f"{array(values)}.includes({cell})"
        case Within(ends=ends):
            parts = [f"{cell} {sign} {literal(end)}" for sign, end in ends]
            return " && ".join(parts) or f"!Number.isNaN({cell})"


def read(column: Column) -> str:
    """The call that reads a column."""
    name = literal(column.name)
    if column.kind == "number":
        known = "" if column.by_value else f", {array(column.level_texts)}"
        call = f"_number(row, {name}{f', true{known}' if column.levels else ''})"
    else:
        pairs = ", ".join(f"[{literal(x)}, {array(texts)}]" for x, texts in column.numerals)
        call = f"_text(row, {name}, [{pairs}]{', true' if column.by_value else ''})"
    if column.ordered:
        call = f"_known({call}, {name}, {array(column.levels)})"
    return f"_there({call}, {name})" if column.weighed else call


def array(values: Iterable[Value]) -> str:
    """An array of literals."""
    return f"[{', '.join(map(literal, values))}]"


def literal(value: Value) -> str:
    """A text, all but ASCII escaped; a number; a BigInt for an integer that may be no float64."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int) and abs(value) >= 2**53:
        return f"{value}n"
    return repr(value)
