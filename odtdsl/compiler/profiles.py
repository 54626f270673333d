"""What the columns of a file seem to be, for a first spec: read in any usual way, and profiled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from odtdsl.base.diagnostics.model import OdtError, shortened
from odtdsl.compiler.column_warnings import FEW_ROWS, LEAST_NUMBERS
from odtdsl.datasets.lookalikes import BARE, numerals_of_all, way_of
from odtdsl.datasets.readers import read
from odtdsl.datasets.request import ORDERS, DataRequest
from odtdsl.datasets.table import FloatArray, RawColumn, Table
from odtdsl.datasets.table import distinct as distinct_values
from odtdsl.language.expressions import name_text

Role = Literal["target", "feature", "id", "left out"]

MARKS = ("?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "NULL", "null", "None", "-", ".")
"""Texts that mark a missing value in most files."""
TARGETS = (
    *("target", "class", "label", "outcome", "y", "response", "diagnosis", "result"),
    *("churn", "churned", "attrition", "default", "defaulted", "fraud", "survived", "readmitted"),
)
"""Names that targets often have, the likeliest first; also as a word of a longer name."""
MOST_GONE = 0.05
"""Cells that a target lacks at most: a reason for leaving stands only where somebody left."""
MOST_WORDS = 3
"""Other texts among numbers; more of them are values of a category."""
MOST_LEVELS = 30
"""Of a category, which is then still one; more are names or notes."""
MOST_CLASSES = 10
"""Different whole numbers of a target that are classes."""
LEAST_NAMES = 5
"""Rows from which on a text of its own for each of them is a name."""
_ENCODINGS = (None, "cp1252", "latin-1")
_SEPARATORS = (None, ";", "\t", "|", " ")
_LEADING_ZERO = re.compile(r"0\d+")
_WORDS = re.compile(r"[\W_]+")
_ID = re.compile(r"(.*[ _-])?(id|ids|nr|no|key|index|uuid)|unnamed.*", re.IGNORECASE)
_TIME = re.compile(
    r"((survival|overall|event|follow[ _-]?up|failure)[ _-]?)?(time|days|weeks|months|years)"
    r"|duration|futime|overall[ _-]survival|time[ _-]to[ _-].+",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"event|died|death|dead|deceased|death[ _-]event|relapsed?|recurrence|failed|failure|fustat"
    r"|(vital[ _-])?status",
    re.IGNORECASE,
)
_STAY = re.compile(r"tenure([ _-]?(in[ _-])?(days|weeks|months|years))?", re.IGNORECASE)
_LEFT = re.compile(
    r"churn(ed)?([ _-]?(flag|value|label))?|attrition|exited|left|cancel+ed", re.IGNORECASE
)
_CAME = {"1", "true", "yes"}
_CAME_OR_NOT = _CAME | {"0", "false", "no"}
_ANSWERS = (
    {"yes", "no"},
    {"true", "false"},
    {"y", "n"},
    {"ja", "nein"},
    {"ja", "nee"},
    {"oui", "non"},
    {"si", "no"},
    {"sí", "no"},
    {"sì", "no"},
    {"sim", "não"},
    {"tak", "nie"},
    {"pos", "neg"},
    {"positive", "negative"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a column is taken for.

    Attributes
    ----------
    name, kind
        `kind` is `number`, `category`, `date`, or `empty`.
    missing, distinct
        Cells that are missing, and different values of the others.
    values
        A few of them as text: the range of a number, or some of the words.
    role, why
        What the draft does with the column, and the reason where it is left out.
    code
        Whether its numbers are codes: some have zeros in front, which numbers do not keep.
    answers
        Whether its two values answer a question, such as yes and no.
    came
        Of two values that may say whether an event came, the one that says yes.
    gone
        The share of cells that are missing.
    dates
        Of a column of dates, what to write to read them as numbers.
    signs
        Of amounts of money and percentages: what they are, and what to do about the sign.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    values: str
    role: Role
    why: str = ""
    code: bool = False
    answers: bool = False
    came: tuple[str, ...] = ()
    gone: float = 0.0
    dates: str = ""
    signs: str = ""


# ---- reading


def read_any(data: Path) -> tuple[DataRequest, Table]:
    """The file by the first separator and encoding that make a table of it."""
    first: OdtError | None = None
    narrow: tuple[DataRequest, Table] | None = None
    for encoding in _ENCODINGS:
        for separator in _SEPARATORS:
            request = DataRequest(
                kind="file", name=str(data.absolute()), separator=separator, encoding=encoding
            )
            try:
                found = _without_header(request, read(request, base=Path()))
                if len(found[1].columns) > 1:
                    return found
                narrow = narrow or found
            except OdtError as problem:
                first = first or problem
                codes = {one.code for one in problem.diagnostics}
                if codes & {"D101", "D108", "D114"}:
                    raise
                if codes == {"D104"} and (plain := _of_numbers(request)) is not None:
                    return plain
                if codes == {"D102"}:
                    break
    if narrow is not None:
        return narrow
    assert first is not None, "a separator was tried"
    raise first


def _of_numbers(request: DataRequest) -> tuple[DataRequest, Table] | None:
    """The table without a header, if it holds numbers only: two of the first row may be alike."""
    request = replace(request, header=False)
    table = read(request, base=Path())
    whole = all(column.numbers is not None for column in table.columns.values())
    return (request, table) if whole else None


def _without_header(request: DataRequest, table: Table) -> tuple[DataRequest, Table]:
    """The table read again where the names of its columns are numbers: they are the first row."""
    if not all(map(_is_number, table.columns)):
        return request, table
    request = replace(request, header=False)
    return request, read(request, base=Path())


def with_numbers_read(request: DataRequest, table: Table) -> tuple[DataRequest, Table]:
    """The table read again with the marks and the signs of numbers that its texts show."""
    if Path(request.name).suffix.lower() in (".parquet", ".pq"):
        return request, table
    texts = {n: c.distinct[0] for n, c in table.columns.items() if c.numbers is None}
    marks = {word for words in texts.values() for word in words if word in MARKS}
    signed = {}
    for name, words in texts.items():
        marks |= _odd_words(table.columns[name], marks)
        kept = [word for word in words if word not in marks]
        if kept and (written := way_of(kept)) is not None and written.way == "numerals":
            signed[name] = kept
    if Path(request.name).suffix.lower() != ".arff" and signed:
        signs = numerals_of_all(signed)[0]
        request = replace(
            request,
            decimal=None if signs.decimal == "." else signs.decimal,
            thousands=signs.thousands,
        )
    if marks:
        request = replace(request, na=tuple(sorted(marks)))
    return request, read(request, base=Path()) if marks or signed else table


def _odd_words(column: RawColumn, marks: set[str]) -> set[str]:
    """The few texts among many numbers, which then probably stand for a missing value."""
    words = [word for word in column.distinct[0] if word not in marks]
    odd = {word for word in words if not _is_number(word)}
    enough = len(words) - len(odd) >= LEAST_NUMBERS
    return odd if enough and len(odd) <= MOST_WORDS else set()


def _is_number(word: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+([.,]\d*)*|\.\d+)([eE][+-]?\d+)?", word) is not None


# ---- columns


def profile_of(column: RawColumn, table: Table) -> Profile:
    """What a column is taken for, by its cells and its name."""
    missing = int(column.missing.sum())
    n = table.n_rows - missing
    words = column.distinct[0]
    code = column.numbers is not None and any(map(_LEADING_ZERO.fullmatch, words))
    if column.numbers is not None and not code:
        values = distinct_values(column.numbers[~column.missing])
        shown = f"{values[0]:g} to {values[-1]:g}" if len(values) else ""
        kind = "number" if len(values) else "empty"
        found = len(values)
        whole = bool(len(values)) and bool((values == np.floor(values)).all())
        named = whole and found == n and _counts_rows(values)
    else:
        shown = ", ".join(shortened(word, 16) for word in words[:4])
        shown += ", ..." if len(words) > 4 else ""
        written = way_of(words)
        kind = "date" if written is not None and written.way == "date" else "category"
        found, named = len(words), len(words) == n
    said = [word.casefold() for word in words]
    came = tuple(word for word in words if word.casefold() in _CAME)
    made = Profile(
        name=column.name,
        kind=kind,
        missing=missing,
        distinct=found,
        values=shown,
        role="feature",
        code=code,
        answers=found == 2 and set(said) in _ANSWERS,
        came=came if set(said) <= _CAME_OR_NOT else (),
        gone=missing / table.n_rows if table.n_rows else 0.0,
        dates=dates_advice(column.name, words) if kind == "date" else "",
        signs=_signs(words) if kind == "category" else "",
    )
    why = _reason_to_leave_out(made, n, named)
    is_id = why.startswith("one value for each row")
    return replace(made, role="id" if is_id else "left out" if why else "feature", why=why)


def _signs(words: tuple[str, ...]) -> str:
    written = way_of(words)
    return ": ".join(BARE[written.way]) if written is not None and written.way in BARE else ""


def dates_advice(name: str, words: tuple[str, ...]) -> str:
    """What to write in the data statement for a column of dates."""
    from odtdsl.datasets.dates import date_of, order_of

    days, parts = (f"`{word} {{{name_text(name)}}}`" for word in ("days", "parts"))
    order = order_of(words)
    more = f', with `dates "{order}"`' if order else ""
    if order is None:
        if not any(date_of(word, one) for word in words for one in ORDERS):
            return "dates or times: make a number of them, such as minutes"
        more = ', with `dates "dmy"` if the day is in front, else `dates "mdy"`'
    return f"dates: {days} in the data statement reads days, {parts} year, month, weekday{more}"


def _counts_rows(values: FloatArray) -> bool:
    return bool(values[-1] - values[0] == len(values) - 1)


def _reason_to_leave_out(column: Profile, n: int, named: bool) -> str:
    if column.distinct == 0:
        return "every cell is missing"
    if column.distinct == 1:
        return "it never differs"
    by_name = column.distinct == n and _ID.fullmatch(column.name) is not None
    word = column.kind == "category" and n >= LEAST_NAMES
    if column.signs and column.distinct > MOST_LEVELS:
        return column.signs
    if (named and (by_name or word or n >= FEW_ROWS)) or (n >= FEW_ROWS and by_name):
        return "one value for each row: a name of rows"
    if column.kind == "date":
        return column.dates
    if column.code and column.distinct > MOST_LEVELS:
        return f"codes, as some have zeros in front: {column.distinct:,} different ones"
    if column.kind == "category" and column.distinct > MOST_LEVELS:
        return f"{column.distinct:,} different texts: names or notes, not a category"
    return ""


def likely_target(profiles: Mapping[str, Profile], named: bool) -> str:
    """A column with the name of a target; else one with the looks of one; else the last.

    Looks are two values or a few words in the last column; answers such as yes and no in a single
    one; or, in files without names, few values in the first column before measurements.
    """
    able = [p.name for p in profiles.values() if p.role == "feature"] or list(profiles)
    able = [name for name in able if profiles[name].gone <= MOST_GONE] or able
    by_name = {name.casefold(): name for name in able}
    for word in TARGETS:
        if word in by_name:
            return by_name[word]
    for word in TARGETS:
        for name in able:
            few = profiles[name].distinct <= MOST_CLASSES
            if few and len(word) > 1 and word in _WORDS.split(name.casefold()):
                return name
    first, last = profiles[able[0]], profiles[able[-1]]
    if last.distinct == 2 or (last.kind == "category" and last.distinct <= MOST_CLASSES):
        return last.name
    answers = [name for name in able if profiles[name].answers]
    if len(answers) == 1:
        return answers[0]
    if not named and first.distinct <= MOST_CLASSES < last.distinct:
        return first.name
    return last.name


def survival_pair(profiles: Mapping[str, Profile]) -> tuple[str, str] | None:
    """A column of times and one that says whether the event came by then, by their names."""
    return _pair(profiles, _TIME, _EVENT)


def stay_pair(profiles: Mapping[str, Profile]) -> tuple[str, str] | None:
    """How long customers or staff stayed and whether they left: a class as well as survival."""
    return _pair(profiles, _STAY, _LEFT)


def _pair(
    profiles: Mapping[str, Profile], time: re.Pattern[str], event: re.Pattern[str]
) -> tuple[str, str] | None:
    times = [
        p.name
        for p in profiles.values()
        if p.kind == "number" and p.distinct > MOST_CLASSES and time.fullmatch(p.name)
    ]
    events = [
        p.name for p in profiles.values() if p.distinct == 2 and p.came and event.fullmatch(p.name)
    ]
    return (times[0], events[0]) if len(times) == len(events) == 1 else None
