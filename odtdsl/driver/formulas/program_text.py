"""Programs as LP, MPS or MiniZinc texts, with comments for people.

Names are those of the program. Every number that is whole is written as one. The same program
gives the same bytes.

References: IBM, "LP file format: algebraic representation", whose limits on names and lines are
kept; free MPS as in the manual of HiGHS; the MiniZinc handbook.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from odtdsl.backends.programs import Handover
from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.driver.formulas.legend import LOOKAHEAD, Legend, row_kind

PER_LINE = 6
"""Terms of a line of an LP file: old readers take 255 characters."""
LONGEST_COMMENT = 200
"""Of a longer line CBC and SCIP take the rest for a row: they refuse the file, or misread it."""


def text_of(legend: Legend, to: str) -> str:
    """The whole file: `lp`, `mps` or `mzn`.

    Raises
    ------
    OdtError
        B225: MiniZinc of a program with numbers that are not whole.
    """
    body, mark = {"lp": (_lp, "\\"), "mps": (_mps, "*"), "mzn": (_mzn, "%")}[to]
    lines = [line for told in legend.head() for line in _comment(mark, told)]
    lines.extend(body(legend.handed, legend, mark))
    return "\n".join(lines) + "\n"


def shown_as(legend: Legend) -> list[str]:
    """For every row the rule that it is of; `lookahead` has a name of its own."""
    handed = legend.handed
    return [
        LOOKAHEAD if row_kind(name) == LOOKAHEAD else origin.rule
        for name, origin in zip(handed.row_names, handed.origins, strict=True)
    ]


def rows_of(legend: Legend, rule: str) -> Iterator[str]:
    """The rows of a rule as an LP file has them, below the rule's sentence."""
    wanted = [i for i, name in enumerate(shown_as(legend)) if name == rule]
    if rule == "objective":
        for told in (legend.rule(rule), *legend.value_lines()):
            yield from _comment("\\", told)
        yield from _objective(legend.handed)
    yield from _lp_rows(legend.handed, legend, "\\", wanted)


def _comment(mark: str, text: str) -> list[str]:
    plain = text.encode("ascii", "backslashreplace").decode("ascii")
    return textwrap.wrap(
        plain,
        LONGEST_COMMENT,
        initial_indent=f"{mark} ",
        subsequent_indent=f"{mark}   ",
        break_on_hyphens=False,
    ) or [mark]


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _texts(numbers: FloatArray, sign: str = "") -> list[str]:
    """The numbers as text; with `sign` "+" each has one."""
    distinct, which = np.unique(numbers, return_inverse=True)
    shown = [f"{'+' if sign and x >= 0 else ''}{_number(x)}" for x in distinct.tolist()]
    return [shown[i] for i in which.tolist()]


def _terms(handed: Handover, between: str = " ") -> list[str]:
    """`+3 name` for every nonzero."""
    names = handed.column_names
    return [
        f"{value}{between}{names[column]}"
        for value, column in zip(_texts(handed.values, "+"), handed.columns.tolist(), strict=True)
    ]


def _groups(legend: Legend, rows: Iterable[int]) -> Iterator[tuple[str, list[int]]]:
    """Rows that follow each other and are of one rule, or of one kind, and what they say."""
    handed = legend.handed

    def key(row: int) -> tuple[str, str]:
        name, rule = handed.row_names[row], handed.origins[row].rule
        return rule, row_kind(name) if rule in ("skeleton", "objective") else ""

    for (rule, kind), group in groupby(rows, key):
        members = list(group)
        says = legend.row(handed.row_names[members[0]]) if kind else ""
        yield f"{kind}: {says}" if says else legend.rule(rule), members


# ---- LP


def _lp(handed: Handover, legend: Legend, mark: str) -> Iterator[str]:
    yield "Minimize"
    yield from _objective(handed)
    yield "Subject To"
    yield from _lp_rows(handed, legend, mark, range(len(handed.row_names)))
    yield "Bounds"
    binary = handed.integer & (handed.column_lower == 0) & (handed.column_upper == 1)
    yield from _lp_bounds(handed, np.flatnonzero(~binary))
    for title, chosen in (("Binaries", binary), ("Generals", handed.integer & ~binary)):
        if chosen.any():
            yield title
            yield from (f" {handed.column_names[i]}" for i in np.flatnonzero(chosen).tolist())
    yield "End"


def _objective(handed: Handover) -> Iterator[str]:
    names = handed.column_names
    terms = [f"{value:+d} {names[column]}" for column, value in handed.cost.items()]
    yield from _wrapped("obj", terms or [f"0 {names[0]}"], "")


def _lp_rows(handed: Handover, legend: Legend, mark: str, wanted: Sequence[int]) -> Iterator[str]:
    terms, starts = _terms(handed), handed.starts.tolist()
    lower, upper = handed.row_lower.tolist(), handed.row_upper.tolist()
    for says, rows in _groups(legend, wanted):
        yield from _comment(mark, says)
        for row in rows:
            sign, side = _side(lower[row], upper[row])
            mine = terms[starts[row] : starts[row + 1]]
            yield from _wrapped(handed.row_names[row], mine, f" {sign} {_number(side)}")


def _side(lower: float, upper: float) -> tuple[str, float]:
    """The relation of a row, which has one finite side, or two that are equal."""
    if lower == upper:
        return "=", upper
    return ("<=", upper) if upper < np.inf else (">=", lower)


def _wrapped(name: str, terms: list[str], end: str) -> Iterator[str]:
    first = " ".join(terms[:PER_LINE])
    lines = [f" {name}: {first}"]
    lines += [
        f"   {' '.join(terms[i : i + PER_LINE])}" for i in range(PER_LINE, len(terms), PER_LINE)
    ]
    lines[-1] += end
    yield from lines


def _lp_bounds(handed: Handover, columns: IntArray) -> Iterator[str]:
    for i in columns.tolist():
        low, high = float(handed.column_lower[i]), float(handed.column_upper[i])
        name = handed.column_names[i]
        if low == high:
            yield f" {name} = {_number(low)}"
        elif np.isinf(low) and np.isinf(high):
            yield f" {name} free"
        elif np.isinf(high):
            yield f" {name} >= {_number(low)}"
        else:
            yield f" {'-inf' if np.isinf(low) else _number(low)} <= {name} <= {_number(high)}"


def lp_order(handed: Handover) -> list[int]:
    """Columns in the order in which an LP file first names them, as GLPK numbers them."""
    binary = handed.integer & (handed.column_lower == 0) & (handed.column_upper == 1)
    named = [*(handed.cost or [0]), *handed.columns.tolist()]
    named += [*np.flatnonzero(~binary).tolist(), *np.flatnonzero(binary).tolist()]
    return list(dict.fromkeys(named))


# ---- MPS


def _mps(handed: Handover, legend: Legend, mark: str) -> Iterator[str]:
    yield "NAME odtdsl FREE"  # or CBC takes some lines for those of the fixed format
    yield "ROWS"
    yield " N obj"
    lower, upper = handed.row_lower.tolist(), handed.row_upper.tolist()
    kinds = {"=": "E", "<=": "L", ">=": "G"}
    sides = [_side(low, high) for low, high in zip(lower, upper, strict=True)]
    for says, rows in _groups(legend, range(len(handed.row_names))):
        yield from _comment(mark, says)
        yield from (f" {kinds[sides[row][0]]} {handed.row_names[row]}" for row in rows)
    yield "COLUMNS"
    yield from _mps_columns(handed)
    yield "RHS"
    for name, (_, side) in zip(handed.row_names, sides, strict=True):
        if side:
            yield f" RHS {name} {_number(side)}"
    yield "BOUNDS"
    for column in range(len(handed.column_names)):
        yield from _mps_bounds(handed, column)
    yield "ENDATA"


def _mps_columns(handed: Handover) -> Iterator[str]:
    """Column by column, between markers where they are integer."""
    row_of = np.repeat(np.arange(len(handed.row_names)), np.diff(handed.starts))
    order = np.argsort(handed.columns, kind="stable")
    counts = np.bincount(handed.columns, minlength=len(handed.column_names))
    ends = np.cumsum(counts).tolist()
    rows, values = row_of[order].tolist(), _texts(handed.values[order])
    cost, marked = handed.cost, False
    for column, (end, count) in enumerate(zip(ends, counts.tolist(), strict=True)):
        if bool(handed.integer[column]) != marked:
            marked = not marked
            yield f" MARKER 'MARKER' '{'INTORG' if marked else 'INTEND'}'"
        name = handed.column_names[column]
        if column in cost or not count:
            yield f" {name} obj {cost.get(column, 0)}"
        for place in range(end - count, end):
            yield f" {name} {handed.row_names[rows[place]]} {values[place]}"
    if marked:
        yield " MARKER 'MARKER' 'INTEND'"


def _mps_bounds(handed: Handover, column: int) -> Iterator[str]:
    name = handed.column_names[column]
    low, high = float(handed.column_lower[column]), float(handed.column_upper[column])
    if low == high:
        yield f" FX BND {name} {_number(low)}"
    elif np.isinf(low) and np.isinf(high):
        yield f" FR BND {name}"
    else:
        if low:
            yield f" MI BND {name}" if np.isinf(low) else f" LO BND {name} {_number(low)}"
        yield f" PL BND {name}" if np.isinf(high) else f" UP BND {name} {_number(high)}"


# ---- MiniZinc


def _mzn(handed: Handover, legend: Legend, mark: str) -> Iterator[str]:
    """All columns are integers there: continuous ones are whole in some best point anyway."""
    numbers = (handed.values, handed.column_lower, handed.column_upper)
    if not all(
        np.array_equal(part, np.floor(part)) and np.isfinite(part).all() for part in numbers
    ):
        raise error(
            "B225",
            "a program of hyperplanes has numbers that are not whole, which MiniZinc's solvers of "
            "integers do not take",
            helps=("write it as lp or mps",),
        )
    names = _identifiers(handed.column_names)
    for i, name in enumerate(names):
        low, high = int(handed.column_lower[i]), int(handed.column_upper[i])
        yield f"var {low}..{high}: {name};"
    starts, columns = handed.starts.tolist(), handed.columns.tolist()
    values = _texts(handed.values)
    lower, upper = handed.row_lower.tolist(), handed.row_upper.tolist()
    for says, rows in _groups(legend, range(len(handed.row_names))):
        yield from _comment(mark, says)
        for row in rows:
            here = range(starts[row], starts[row + 1])
            total = " + ".join(f"{values[i]}*{names[columns[i]]}" for i in here)
            sign, side = _side(lower[row], upper[row])
            yield f"constraint {total} {sign} {_number(side)};"
    cost = " + ".join(f"{value}*{names[column]}" for column, value in handed.cost.items())
    reach = sum(
        abs(value) * max(abs(handed.column_lower[column]), abs(handed.column_upper[column]))
        for column, value in handed.cost.items()
    )
    yield f"var -{int(reach)}..{int(reach)}: objective;"
    yield f"constraint objective = {cost or 0};"
    yield "solve minimize objective;" if cost else "solve satisfy;"
    yield "output ["
    for name, identifier in zip(handed.column_names, names, strict=True):
        yield f'  "{name} = \\({identifier})\\n",'
    yield '  "objective = \\(objective)\\n"'
    yield "];"


def _identifiers(names: Sequence[str]) -> list[str]:
    """`use(n0,age)` as `use_n0_age`, distinct. MiniZinc has names in quotes, too, but its release
    2.6 prints some of them unevaluated."""
    found: dict[str, None] = {"objective": None}
    for name in names:
        plain = re.sub(r"\W+", "_", name).strip("_")
        while plain in found:
            plain += "_"
        found[plain] = None
    return list(found)[1:]
