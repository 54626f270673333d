"""A first spec for a file of rows: what its columns are, and statements that solve at once.

Nothing here is meant to be right about what a column means. What was taken for what, and why,
stands in comments beside the statements, where the user changes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from odtdsl.base.diagnostics.model import OdtError, error, shortened
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.compiler.column_warnings import FEW_ROWS, LEAST_NUMBERS
from odtdsl.compiler.lookalikes import numerals_of_all, way_of
from odtdsl.datasets.readers import read
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray, RawColumn, Table
from odtdsl.datasets.table import distinct as distinct_values
from odtdsl.language.expressions import name_text as bare_name
from odtdsl.language.expressions import quote

Role = Literal["target", "feature", "id", "left out"]

MARKS = ("?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "NULL", "null", "None", "-", ".")
"""Texts that mark a missing value in most files."""
TARGETS = ("target", "class", "label", "outcome", "y", "response", "diagnosis", "result")
"""Names that targets often have, the likeliest first."""
MOST_WORDS = 3
"""Other texts among numbers; more of them are values of a category."""
MOST_LEVELS = 30
"""Of a category, which is then still one; more are names or notes."""
MOST_CLASSES = 10
"""Different whole numbers of a target that are classes."""
MANY_ROWS = 20_000
"""From here on numbers are split at quantiles, so that a proof takes seconds."""
ALMOST_ALL = 0.98
"""Rows of which one column alone tells the class: it may be known only afterwards."""
_HIDDEN = frozenset({"if", "not", "forall", "minimize", "maximize", "choice", "survival"})
"""Words that stand for something else where a column may be named."""
_UNABLE = {"empty": "empty", "date": "a column of dates"}
_ENCODINGS = (None, "cp1252", "latin-1")
_SEPARATORS = (None, ";", "\t", "|", " ")
_ID = re.compile(r"(.*[ _-])?(id|ids|nr|no|key|index|uuid)|unnamed.*", re.IGNORECASE)


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
    """

    name: str
    kind: str
    missing: int
    distinct: int
    values: str
    role: Role
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A first spec, and what it rests on.

    Attributes
    ----------
    text
        The spec, with comments.
    target
        The column that is predicted.
    chosen
        Whether the target was chosen here, not by the user.
    notes
        What the user should look at: one sentence each.
    """

    text: str
    target: str
    chosen: bool
    n_rows: int
    columns: tuple[Profile, ...]
    notes: tuple[str, ...]


def draft(
    data: Path, spec: Path, target: str | None, ask: Callable[[Sequence[str], str], str] | None
) -> Draft:
    """A first spec for a file.

    Parameters
    ----------
    data
        CSV (any separator), TSV, Parquet or ARFF.
    spec
        Where the spec will stand: its `data` statement names the file from there.
    target
        The column to predict; None to choose one.
    ask
        Given the columns and the likeliest target, asks the user; None where nobody can answer.

    Raises
    ------
    OdtError
        D101 to D113 where the file cannot be read in any way that is tried. N103: no such
        column. D232: no column that could be a target, or no other to split on.
    """
    request, table = _read(data)
    request, table = _with_numbers_read(request, table)
    names = list(table.columns)
    profiles = {name: _profile(column, table) for name, column in table.columns.items()}
    guess = _likely_target(profiles, table)
    chosen = target is None
    if target is None:
        target = ask(names, guess) if ask is not None else guess
    if target not in table.columns:
        near = closest(target, names)
        raise error(
            "N103",
            f"{data} has no column `{target}`",
            notes=(f"its columns are {', '.join(f'`{name}`' for name in names[:20])}",),
            helps=(f"did you mean `{near}`?",) if near else (),
        )
    profiles[target] = replace(profiles[target], role="target", why="")
    if not any(p.role == "feature" for p in profiles.values()):
        # A column that counts the rows is better than nothing.
        for p in profiles.values():
            if p.role == "id" and p.kind == "number":
                profiles[p.name] = replace(p, role="feature", why="")
    if not any(p.role == "feature" for p in profiles.values()):
        raise error(
            "D232",
            f"{data} has no column beside `{target}` that could be split on",
            notes=tuple(f"`{p.name}` is left out: {p.why}" for p in profiles.values() if p.why),
            helps=(
                ("name another target: `--target NAME`",)
                if len(profiles) > 1
                else ("the first line must name the columns: remove lines above it",)
            ),
        )
    if (unable := _UNABLE.get(profiles[target].kind)) is not None:
        raise error(
            "D232",
            f"`{target}` cannot be predicted: it is {unable}",
            helps=("name another target: `--target NAME`",),
        )
    writer = _Writer(data, spec, request, table, target, tuple(profiles.values()))
    text, notes = writer.text()
    return Draft(
        text=text,
        target=target,
        chosen=chosen and ask is None,
        n_rows=table.n_rows,
        columns=tuple(profiles.values()),
        notes=notes,
    )


# ---- reading


def _read(data: Path) -> tuple[DataRequest, Table]:
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


def _with_numbers_read(request: DataRequest, table: Table) -> tuple[DataRequest, Table]:
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


def _profile(column: RawColumn, table: Table) -> Profile:
    missing = int(column.missing.sum())
    n = table.n_rows - missing
    if column.numbers is not None:
        values = distinct_values(column.numbers[~column.missing])
        shown = f"{values[0]:g} to {values[-1]:g}" if len(values) else ""
        kind = "number" if len(values) else "empty"
        found = len(values)
        whole = bool(len(values)) and bool((values == np.floor(values)).all())
        named = whole and found == n and _counts_rows(values)
    else:
        words = column.distinct[0]
        shown = ", ".join(shortened(word, 16) for word in words[:4])
        shown += ", ..." if len(words) > 4 else ""
        written = way_of(words)
        kind = "date" if written is not None and written.way == "date" else "category"
        found, named = len(words), len(words) == n
    made = Profile(
        name=column.name, kind=kind, missing=missing, distinct=found, values=shown, role="feature"
    )
    why = _reason_to_leave_out(made, n, named)
    is_id = why.startswith("one value for each row")
    return replace(made, role="id" if is_id else "left out" if why else "feature", why=why)


def _counts_rows(values: FloatArray) -> bool:
    return bool(values[-1] - values[0] == len(values) - 1)


def _reason_to_leave_out(column: Profile, n: int, named: bool) -> str:
    if column.distinct == 0:
        return "every cell is missing"
    if column.distinct == 1:
        return "it never differs"
    by_name = column.distinct == n and _ID.fullmatch(column.name) is not None
    if (named and by_name) or (n >= FEW_ROWS and (named or by_name)):
        return "one value for each row: a name of rows"
    if column.kind == "date":
        return "dates: make a number of them, such as days, or a part, such as the month"
    if column.kind == "category" and column.distinct > MOST_LEVELS:
        return f"{column.distinct:,} different texts: names or notes, not a category"
    return ""


def _likely_target(profiles: Mapping[str, Profile], table: Table) -> str:
    """A column with the name of a target; else the last one that could be one."""
    able = [p.name for p in profiles.values() if p.role == "feature"] or list(profiles)
    by_name = {name.casefold(): name for name in able}
    for word in TARGETS:
        if word in by_name:
            return by_name[word]
    return able[-1]


# ---- the spec


class _Writer:
    """Writes the statements of one draft."""

    def __init__(
        self,
        data: Path,
        spec: Path,
        request: DataRequest,
        table: Table,
        target: str,
        columns: tuple[Profile, ...],
    ) -> None:
        self.data, self.spec, self.request = data, spec, request
        self.table, self.target, self.columns = table, target, columns
        self.of = {column.name: column for column in columns}
        self.features = [column for column in columns if column.role == "feature"]
        self.truth = table.columns[target]
        self.notes: list[str] = []

    def text(self) -> tuple[str, tuple[str, ...]]:
        """The spec, and what to look at."""
        blocks = [
            self._head(),
            [self._data(), *self._target(), *self._left_out(), *self._kinds(), *self._missing()],
            self._skeleton(),
            self._rules(),
            ["solve within 60 s"],
        ]
        return "\n\n".join("\n".join(block) for block in blocks) + "\n", tuple(self.notes)

    @property
    def is_number(self) -> bool:
        """Whether the target is estimated, not classified."""
        numbers = self.truth.numbers
        if numbers is None:
            return False
        values = distinct_values(numbers[~self.truth.missing])
        return len(values) > MOST_CLASSES or bool((values != np.floor(values)).any())

    def _head(self) -> list[str]:
        spec = _comment(self.spec.name)
        lines = [
            f"# A first spec for {_comment(self.data.name)} by `odt init`: change what is wrong.",
            f"# `odt check {spec}` finds mistakes, `odt solve {spec}` finds the tree.",
            f"# {self.table.n_rows:,} rows. The columns:",
        ]
        width = min(24, max(len(_comment(c.name)) for c in self.columns))
        for column in self.columns[:MOST_SHOWN]:
            missing = f"; {column.missing:,} missing" if column.missing else ""
            kind = f"{column.kind}, {column.distinct:,} values"
            shown = f" ({_comment(column.values)})" if column.values else ""
            lines.append(f"#   {_comment(column.name):<{width}}  {kind}{shown}{missing}")
        if len(self.columns) > MOST_SHOWN:
            lines.append(f"#   and {len(self.columns) - MOST_SHOWN:,} more")
        return lines

    def _data(self) -> str:
        words = [f"data {quote(_path_from(self.spec, self.data))}"]
        asked = self.request
        if self.table.n_rows >= 2 * FEW_ROWS:
            stratified = "" if self.is_number else " stratified"
            words.append(f"test 25%{stratified} seed 1")
        if asked.na:
            words.append(f"na {{{', '.join(quote(mark) for mark in asked.na)}}}")
        if odd := [quote(mark) for mark in asked.na if mark not in MARKS]:
            self.notes.append(
                f"read as missing, as it stands among numbers: {', '.join(odd)}; "
                "if it is a mistake, correct it in the file"
            )
        for option in ("separator", "decimal", "thousands", "encoding"):
            value = getattr(asked, option)
            if value is not None:
                words.append(f"{option} {quote(value)}")
        if not asked.header:
            words.append("header none")
        names = [column.name for column in self.columns if column.role == "id"]
        if names:
            words.append(f"id {name_text(names[0])}")
        return ", ".join(words)

    def _target(self) -> list[str]:
        name = name_text(self.target)
        present = ~self.truth.missing
        if self.is_number:
            numbers = self.truth.numbers
            assert numbers is not None, "is_number asks"
            mean = float(numbers[present].mean())
            spread = float(numbers[present].var())
            told = f"predicting only {mean:.4g} has a mean squared error of {spread:.4g}"
            return [f"target {name}: number  # {told}"]
        texts, places = self.truth.distinct
        counts = np.bincount(places[present], minlength=len(texts))
        order = np.argsort(-counts, kind="stable")
        shares = [f"{_comment(texts[i])} {counts[i] / counts.sum():.0%}" for i in order[:6]]
        more = ", ..." if len(order) > 6 else ""
        most = 1 - counts[order[0]] / counts.sum()
        said = f"{', '.join(shares)}{more}; predicting only the first is wrong for {most:.1%}"
        if len(texts) > MOST_LEVELS:
            self.notes.append(
                f"`{self.target}` has {len(texts):,} classes: is it meant to be predicted?"
            )
        if counts[order[-1]] < 0.1 * counts.sum():
            self.notes.append(
                f"the classes of `{self.target}` are uneven: `maximize balanced_accuracy` counts "
                "each class alike"
            )
        self._note_leaks(places)
        return [f"target {name}  # {said}"]

    def _note_leaks(self, labels: IntArray) -> None:
        """Columns that tell the class almost alone."""
        for column in self.features:
            raw = self.table.columns[column.name]
            right = _best_alone(raw, labels, ~self.truth.missing & ~raw.missing)
            if right >= ALMOST_ALL:
                self.notes.append(
                    f"`{column.name}` alone is right for {right:.1%} of the rows: is it known "
                    f"before `{self.target}` is? If not, `drop {name_text(column.name)}`"
                )

    def _left_out(self) -> list[str]:
        names = [c.name for c in self.columns if c.role == "id"][1:]
        gone = [c for c in self.columns if c.role == "left out"] + [self.of[n] for n in names]
        return [f"drop {name_text(c.name)}  # {c.why}" for c in gone]

    def _kinds(self) -> list[str]:
        lines = []
        few = [
            column.name
            for column in self.features
            if column.kind == "number" and 2 < column.distinct <= 4 and self._is_whole(column.name)
        ]
        if few:
            lines.append("# If they are codes without an order, remove the # in front:")
            lines.append(f"# feature {', '.join(map(name_text, few))}: category")
        return lines

    def _is_whole(self, name: str) -> bool:
        numbers = self.table.columns[name].numbers
        return numbers is not None and bool((np.nan_to_num(numbers) % 1 == 0).all())

    def _missing(self) -> list[str]:
        lines = []
        if any(column.missing for column in self.features):
            lines.append("missing branch  # each split learns where missing cells go")
        if self.truth.missing.any():
            lines.append(f"missing {{{name_text(self.target)}}} drop")
        return lines

    def _skeleton(self) -> list[str]:
        lines = ["tree depth <= 3"]
        if self.table.n_rows >= MANY_ROWS and any(c.kind == "number" for c in self.features):
            lines.insert(0, "candidates * at quantiles 16  # without it, every gap between values")
        return [*lines, "minimize mse" if self.is_number else "minimize errors then leaves"]

    def _rules(self) -> list[str]:
        one, other = (self.features * 2)[:2]
        a, b = name_text(one.name), name_text(other.name)
        return [
            "rule leaf_size: forall leaf: size >= 2%  # no leaf rests on a handful of rows",
            "# More rules to begin with; `odt rules` lists all words:",
            f"# rule order: forall path: {a} before {b}",
            "# rule short: forall path: length <= 2",
        ]


MOST_SHOWN = 60
"""Columns that the comment at the head lists."""


def _best_alone(raw: RawColumn, labels: IntArray, rows: BoolArray) -> float:
    """The share of the rows that one test of the column, or one class a value, gets right."""
    if rows.sum() < FEW_ROWS:
        return 0.0
    classes = labels[rows]
    n_classes = int(classes.max()) + 1
    most = np.bincount(classes).max() / len(classes)
    if most > ALMOST_ALL - 0.05:
        return 0.0  # nearly all rows are of one class anyway
    if raw.numbers is None:
        codes = raw.distinct[1][rows]
        counts = np.zeros((int(codes.max()) + 1, n_classes), dtype=np.int64)
        np.add.at(counts, (codes, classes), 1)
        return float(counts.max(axis=1).sum() / len(classes))
    values = raw.numbers[rows]
    order = np.argsort(values, kind="stable")
    counts = np.zeros((len(classes), n_classes), dtype=np.int32)
    counts[np.arange(len(classes)), classes[order]] = 1
    below = counts.cumsum(axis=0)
    ends = np.flatnonzero(np.diff(values[order]) > 0)
    if not len(ends):
        return 0.0
    right = below[ends].max(axis=1) + (below[-1] - below[ends]).max(axis=1)
    return float(right.max() / len(classes))


def _path_from(spec: Path, data: Path) -> str:
    """The data as the spec names them: relative to its folder, where that is possible."""
    try:
        return Path(os.path.relpath(data.absolute(), spec.absolute().parent)).as_posix()
    except ValueError:  # on another drive
        return data.absolute().as_posix()


def name_text(name: str) -> str:
    """A column as the spec names it."""
    return bare_name(name, _HIDDEN)


def _comment(text: str) -> str:
    """A text that stays on its line of comment."""
    return "".join(char if char.isprintable() else " " for char in text)
