"""Warnings about columns that are allowed as they are, and probably not meant so.

All of them are traps of real files: a column that never differs, `NA` among numbers, which makes
texts of them all, a name of rows taken for a feature, and a number taken for classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.base.limits import ANALYSIS, looking
from odtdsl.compiler.context import Reporter
from odtdsl.compiler.statements import Statements
from odtdsl.compiler.targets import TargetPart
from odtdsl.datasets.cells import number_of
from odtdsl.datasets.dataset import Column, Value
from odtdsl.datasets.lookalikes import BARE, Written, numerals_of_all, way_of
from odtdsl.datasets.numerals import Numerals
from odtdsl.datasets.table import FloatArray, IntArray, distinct
from odtdsl.language import ast
from odtdsl.language.expressions import coded, name_text
from odtdsl.problem.ir.problem import FeatureDecl
from odtdsl.problem.ir.rows import Rows

SHOWN = 6
"""Columns that one warning tells of; it counts the others."""
FEW_ROWS = 20
"""With fewer rows, values that all differ say nothing."""
LEAST_NUMBERS = 5
"""Numbers among texts are levels (`2`, `3`, `4`, `5more`) where they are fewer."""
MOST_MARKS = 3
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def warn_of_columns(rows: Rows, statements: Statements, reporter: Reporter) -> None:
    """Report warnings about the features and the target; what a spec declares is meant."""
    declared = _declared(statements)
    _same_everywhere(rows, statements, reporter)
    _merged_blanks(rows, statements, reporter)
    _marked_values(rows, statements, reporter)
    unsaid = (one for one in rows.problem.features if one.name not in declared)
    _warn_of_kind(rows, unsaid, statements, reporter)
    TargetPart.of(rows.problem.target.kind).warn(rows, statements, reporter)


def of_program(rows: Rows, categories: Collection[str], *, classes: bool) -> tuple[Diagnostic, ...]:
    """The warnings about what a program declared by the cells: these categories, and the `classes`.

    So do estimators: what they say of a column nobody has meant yet.
    """
    reporter = Reporter(None)
    said = Statements(data=ast.Data(source=ast.FrameSource(), options=()))
    guessed = (one for one in rows.problem.features if one.name in categories)
    _warn_of_kind(rows, guessed, said, reporter)
    if classes:
        TargetPart.of(rows.problem.target.kind).lookalikes(rows, said, reporter)
    return reporter.warnings


def _warn_of_kind(
    rows: Rows, features: Iterable[FeatureDecl], statements: Statements, reporter: Reporter
) -> None:
    """Features that may not be meant as they are taken."""
    signed: dict[str, list[str]] = {}
    spelled: dict[str, list[list[str]]] = {}
    seen = looking(ANALYSIS)
    for feature in features:
        column = rows.data.columns[feature.name]
        seen(rows.data.n_rows)
        if feature.type.kind == "category" and (written := way_of(_words(feature))) is not None:
            if written.way == "numerals":
                signed[feature.name] = _words(feature)
            else:
                _signs_of(feature.name, written, statements, reporter)
            continue
        if feature.type.kind == "category" and column.codes is not None:
            _texts(feature, column, statements, reporter)
            if alike := _spelled_apart(feature, column):
                spelled[feature.name] = alike
        elif column.numbers is not None and _names_rows(column):
            _name_of_rows(
                feature.name,
                rows.n_rows,
                "they are consecutive whole numbers, one per row",
                statements,
                reporter,
            )
    if signed:
        # Numbers of Excel have no separator: those that are texts may have any.
        fractions = None if _is_excel(statements.data) else _with_fractions(rows)
        _signed_numbers(signed, fractions, statements, reporter)
    if spelled:
        _same_values(spelled, statements, reporter)


def _is_excel(data: ast.Data | None) -> bool:
    source = None if data is None else data.source
    return isinstance(source, ast.FileSource) and source.path.lower().endswith((".xlsx", ".xlsm"))


def _declared(statements: Statements) -> set[str]:
    """The features whose type the spec says by name."""
    return {
        column.name
        for statement in statements.features
        if not isinstance(statement.columns, ast.Star)
        for column in statement.columns
    }


# ---- columns that divide nothing


def _same_everywhere(rows: Rows, statements: Statements, reporter: Reporter) -> None:
    """All features that no split can test, in one warning."""
    columns, n_rows = rows.data.columns, rows.n_rows
    told = [
        (feature.name, said)
        for feature in rows.problem.features
        if (said := _only_value(feature, columns[feature.type.name], n_rows)) is not None
    ]
    if not told:
        return
    names = [name for name, _ in told]
    notes = [f"`{name}` {said}" for name, said in told[:SHOWN]]
    if len(told) > SHOWN:
        notes.append(f"and {len(told) - SHOWN} more")
    reporter.warn(
        "D213",
        f"no split can test {_listed(names)}: the training rows do not differ in "
        + ("it" if len(names) == 1 else "them"),
        statements.data,
        notes=notes,
        helps=(
            (
                f"to leave {'it' if len(names) == 1 else 'them'} out, write "
                f"{coded(f'drop {_columns(names)}')}"
            ),
        ),
    )


def _only_value(feature: FeatureDecl, column: Column, n_rows: int) -> str | None:
    """What a column holds that has no two sides; None for one that has.

    Of a category with gaps, `x == v` asks for the gap where it may go right, apart from v.
    """
    if column.numbers is not None:
        first, last = column.numbers[0], column.numbers[-1]
        if first < last or first > last:  # the usual case; neither is missing
            return None
        here: FloatArray | IntArray = column.numbers[~np.isnan(column.numbers)]
        asks = feature.candidates.place == "bins"
    else:
        assert column.codes is not None, "a column has numbers or codes"
        here = column.codes[column.codes >= 0]
        asks = feature.type.kind in ("category", "binary")
    gaps = len(here) < n_rows
    apart = gaps and asks and feature.missing in ("right", "branch")
    if here.size and (apart or here.min() != here.max()):
        return None
    if not here.size:
        return "has only missing values"
    only = here[0].item() if column.codes is None else feature.type.levels[int(here[0])]
    shown = f"{only:.15g}" if isinstance(only, float) else _value(only)
    return (
        f"is {shown} in every row where it is not missing" if gaps else f"is {shown} in every row"
    )


# ---- columns of texts


def _merged_blanks(rows: Rows, statements: Statements, reporter: Reporter) -> None:
    """Values that differ only in the blanks around them, which are dropped."""
    problem = rows.problem
    for name in (*problem.target.names, *(feature.name for feature in problem.features)):
        merged = rows.data.table.columns[name].blanks
        if not merged or rows.data.columns[name].codes is None:
            continue
        shown = ", ".join(f'"{text}"' for text in merged[:SHOWN])
        more = f" and {len(merged) - SHOWN} more" if len(merged) > SHOWN else ""
        reporter.warn(
            "D218",
            (
                f"`{name}` has {shown}{more} with different blanks around: they are read as the "
                "same value"
            ),
            statements.data,
            notes=("blanks around a cell are ignored",),
            helps=("if they are different values, replace the blanks by other characters",),
        )


def _marked_values(rows: Rows, statements: Statements, reporter: Reporter) -> None:
    """Values that are missing because they read as the number of a mark, which they are not."""
    for feature in rows.problem.features:
        marked = rows.data.table.columns[feature.name].marked
        if not marked or feature.type.kind == "number":
            continue
        shown = ", ".join(f'"{text}"' for text in marked[:SHOWN])
        more = f" and {len(marked) - SHOWN} more" if len(marked) > SHOWN else ""
        reporter.warn(
            "D223",
            f"{shown}{more} of `{feature.name}` is read as a missing value",
            statements.data,
            notes=("a mark that is a number matches every cell with that number",),
            helps=(
                "if it is a value, give missing cells another mark, or leave them empty",
                "if it also marks missing values, add it to `na` as it is written",
            ),
        )


def _words(feature: FeatureDecl) -> list[str]:
    return [level for level in feature.type.levels if isinstance(level, str)]


def _with_fractions(rows: Rows) -> str | None:
    """A column of numbers that are not all whole, so that their decimal separator is known."""
    return next(
        (
            name
            for name, column in rows.data.columns.items()
            if column.numbers is not None and (np.nan_to_num(column.numbers) % 1 != 0).any()
        ),
        None,
    )


def _signed_numbers(
    columns: Mapping[str, Sequence[str]],
    fractions: str | None,
    statements: Statements,
    reporter: Reporter,
) -> None:
    """All columns of the file whose numbers have decimal commas or groups of thousands."""
    names = list(columns)
    examples = ", ".join(
        f"`{next(x for x in levels if number_of(x) is None)}` in `{name}`"
        for name, levels in list(columns.items())[:SHOWN]
    )
    options = () if statements.data is None else statements.data.options
    decimal = next((one.text for one in options if isinstance(one, ast.Decimal)), ".")
    helps = list(_as_numbers(columns, fractions, decimal))
    if statements.data is not None and not isinstance(statements.data.source, ast.FileSource):
        helps = ["if they are numbers, convert the column to numbers in the frame"]
    helps.append(f"if they are codes, write {coded(f'feature {_columns(names)}: category')}")
    reporter.warn(
        "D220",
        (
            f"{_listed(names)} {'has' if len(names) == 1 else 'have'} numbers with decimal "
            "commas or thousands separators, which are read as texts"
        ),
        statements.data,
        notes=(examples,),
        helps=helps,
    )


def _as_numbers(
    columns: Mapping[str, Sequence[str]], fractions: str | None, decimal: str
) -> Iterator[str]:
    """How the texts of columns can be read as numbers, and still those of `fractions`, where the
    decimal separator is known."""
    styles = numerals_of_all(columns, None if fractions is None else decimal)
    if not styles:
        yield f"if they are numbers, write them in the file as those of `{fractions}` are written"
        return
    first, thousands = styles[0].decimal, styles[0].thousands
    options = [f'decimal "{first}"'] if first != decimal else []
    options += [] if thousands is None else [f'thousands "{thousands}"']
    yield f"if they are numbers, add `{', '.join(options)}` to the data statement"
    if styles[0] == Numerals(".", ",") and Numerals(",", None) in styles:
        yield 'if the comma is the decimal separator, add `decimal ","` instead'


def _signs_of(name: str, written: Written, statements: Statements, reporter: Reporter) -> None:
    """A column of dates, percentages or amounts of money."""
    what, instead = {
        "date": (
            "dates or times",
            f"add {coded(f'days {{{name_text(name)}}}')} to the data statement to read days, or "
            f"{coded(f'parts {{{name_text(name)}}}')} to read year, month and weekday",
        ),
        **BARE,
    }[written.way]
    column = name_text(name)
    reporter.warn(
        "D221",
        f"`{name}` contains {what}, such as `{written.example}`, and is read as a category",
        statements.data,
        notes=("each split tests for one of its values",),
        helps=(instead, f"if this is right, write {coded(f'feature {column}: category')}"),
    )


def _texts(
    feature: FeatureDecl, column: Column, statements: Statements, reporter: Reporter
) -> None:
    """A category that is numbers with marks among them, or that has a value for each row."""
    assert column.codes is not None, "a category has codes"
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(feature.type.levels))
    levels = [str(level) for level in feature.type.levels]
    if all(isinstance(level, str) for level in feature.type.levels) and _numbers_as_texts(
        feature.name, levels, counts.tolist(), statements, reporter
    ):
        return
    n_rows, distinct = len(column.codes), int((counts > 0).sum())
    if n_rows >= FEW_ROWS and 2 * distinct > n_rows:
        test = coded(f"{name_text(feature.name)} == ...")
        note = f"each split tests for one value: {test}"
        _name_of_rows(feature.name, distinct, note, statements, reporter)


def _spelled_apart(feature: FeatureDecl, column: Column) -> list[list[str]]:
    """Texts of a category that are one but for capitals and blanks, the most frequent first."""
    assert column.codes is not None, "a category has codes"
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(feature.type.levels))
    found: dict[str, list[str]] = {}
    for at in np.argsort(-counts, kind="stable").tolist():
        level = feature.type.levels[at]
        if counts[at] and isinstance(level, str):
            found.setdefault("".join(level.split()).casefold(), []).append(level)
    return [same for same in found.values() if len(same) > 1]


def _same_values(
    columns: Mapping[str, Sequence[Sequence[str]]], statements: Statements, reporter: Reporter
) -> None:
    """All columns whose values differ only in capitals or blanks."""
    names = list(columns)
    notes = []
    for name, sets in list(columns.items())[:SHOWN]:
        listed = ", ".join(" and ".join(map(_value, same)) for same in sets[:SHOWN])
        more = f", and {len(sets) - SHOWN} more" if len(sets) > SHOWN else ""
        notes.append(f"`{name}`: {listed}{more}")
    usual, *others = columns[names[0]][0]
    reporter.warn(
        "D235",
        f"{_listed(names)} {'has' if len(names) == 1 else 'have'} values that differ only in "
        "capitals or blanks",
        statements.data,
        notes=(*notes, "each split tests for one of them alone"),
        helps=(
            "if they are one value, write them the same way in the data: "
            f"{_value(usual)} for {' and '.join(map(_value, others))}",
            f"if they are different values, write {coded(f'feature {_columns(names)}: category')}",
        ),
    )


def _numbers_as_texts(
    name: str,
    levels: Sequence[str],
    counts: Sequence[int],
    statements: Statements,
    reporter: Reporter,
) -> bool:
    """Warn if most cells write numbers; whether they do."""
    commas = [bool(DECIMAL_COMMA.fullmatch(level)) for level in levels]
    plain = [_writes_number(level) for level in levels]
    total = sum(counts)
    cells = sum(
        n for n, comma, number in zip(counts, commas, plain, strict=True) if comma or number
    )
    if sum(plain) + sum(commas) < LEAST_NUMBERS or 2 * cells <= total:
        return False
    comma = next((level for level, is_one in zip(levels, commas, strict=True) if is_one), None)
    others = [
        level for level, one, two in zip(levels, plain, commas, strict=True) if not one and not two
    ]
    if comma is None and not others:
        return False  # levels that the source declares
    notes, helps = [], []
    if comma is not None:
        notes.append(f"`{comma}` is a text: the decimal separator is a point")
    if others:
        notes.append(
            "not numbers: "
            + ", ".join(map(_value, others[:SHOWN]))
            + (", ..." if len(others) > SHOWN else "")
        )
    if 0 < len(others) <= MOST_MARKS:
        helps.append(_marks(others, statements))
    helps.append(
        f"if they are codes of categories, write {coded(f'feature {name_text(name)}: category')}"
    )
    reporter.warn(
        "D214",
        f"`{name}` is read as a category, but {cells} of {total} cells are numbers",
        statements.data,
        notes=notes,
        helps=helps,
    )
    return True


def _writes_number(text: str) -> bool:
    number = number_of(text)
    return number is not None and math.isfinite(number)


def _marks(others: Sequence[str], statements: Statements) -> str:
    """What to write where the texts among numbers stand for missing cells."""
    marks = ", ".join(map(_value, others))
    if statements.data is not None and isinstance(statements.data.source, ast.FrameSource):
        return f"if these mean a missing value, put None or NaN into the frame instead of {marks}"
    return f"if these mean a missing value, add `na {{{marks}}}` to the data statement"


# ---- names of rows


def _names_rows(column: Column) -> bool:
    """Whether numbers are a count of the rows: whole, all different, and hardly a gap.

    Where a share of the rows is for testing, up to half of the numbers are not there.
    """
    numbers = column.numbers
    if numbers is None or len(numbers) < FEW_ROWS or not float(numbers[0]).is_integer():
        return False
    if not np.isfinite(numbers).all():
        return False
    span = float(numbers.max()) - float(numbers.min())  # infinite without a warning of numpy
    # Fewer whole numbers than rows cannot all differ.
    if not len(numbers) <= span + 1 <= 2 * len(numbers) or (numbers != np.floor(numbers)).any():
        return False
    return len(distinct(numbers)) == len(numbers)


def _name_of_rows(
    name: str, distinct: int, note: str, statements: Statements, reporter: Reporter
) -> None:
    column = name_text(name)
    reporter.warn(
        "D215",
        f"`{name}` looks like an identifier of rows, not a feature: it has {distinct} values",
        statements.data,
        notes=(note,),
        helps=(
            (
                f"to leave it out, write {coded(f'drop {column}')}, or {coded(f'id {column}')} "
                "in the data statement of a file"
            ),
            (
                f"if it is a feature, declare its type: {coded(f'feature {column}: number')} or "
                "`category`"
            ),
        ),
    )


# ---- wording


def _listed(names: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in names]
    if len(shown) > SHOWN:
        return f"{', '.join(shown[:SHOWN])} and {len(shown) - SHOWN} other features"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _columns(names: Sequence[str]) -> str:
    return ", ".join(map(name_text, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")


def _value(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
