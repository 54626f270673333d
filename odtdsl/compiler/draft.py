"""A first spec for a file of rows: what its columns are, and statements that solve at once.

Nothing here is meant to be right about what a column means. What was taken for what, and why,
stands in comments beside the statements, where the user changes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.base.diagnostics.suggest import closest, nearest_first
from odtdsl.base.numbers import counted
from odtdsl.compiler.column_warnings import FEW_ROWS
from odtdsl.compiler.profiles import (
    MARKS,
    MOST_CLASSES,
    MOST_LEVELS,
    Profile,
    likely_target,
    profile_of,
    read_any,
    stay_pair,
    survival_pair,
    with_numbers_read,
)
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import BoolArray, IntArray, RawColumn, Table
from odtdsl.datasets.table import distinct as distinct_values
from odtdsl.language.expressions import coded, quote
from odtdsl.language.expressions import name_text as bare_name

MANY_ROWS = 20_000
"""From here on numbers are split at quantiles, so that a proof takes seconds."""
ALMOST_ALL = 0.98
"""Rows of which one column alone tells the class: it may be known only afterwards."""
_HIDDEN = frozenset({"if", "not", "forall", "minimize", "maximize", "choice", "survival"})
"""Words that stand for something else where a column may be named."""
_UNABLE = {"empty": "empty", "date": "a column of dates"}
_SURVIVAL = re.compile(r"survival\s+(.+?)\s+event\s+(.+)")


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
    request, raw = read_any(data)
    request, table = with_numbers_read(request, raw)
    names = list(table.columns)
    profiles = {name: profile_of(column, table) for name, column in table.columns.items()}
    pair = survival_pair(profiles)
    guess = likely_target(profiles, request.header)
    if pair is not None:
        guess = f"survival {name_text(pair[0])} event {name_text(pair[1])}"
    chosen = target is None
    if target is None:
        target = ask(names, guess) if ask is not None else guess
    time = None
    if (said := _SURVIVAL.fullmatch(target.strip())) is not None and target not in table.columns:
        time, target = said[1].strip("`"), said[2].strip("`")
        if time not in table.columns or table.columns[time].numbers is None:
            raise error(
                "N103", f"{data} has no column of times `{time}`", notes=(_columns(time, names),)
            )
        if target in table.columns and not profiles[target].came:
            raise error(
                "D232",
                f"`{target}` does not say whether the event came: it has {profiles[target].values}",
                helps=("write 1 where the event came, and 0 where the row was censored",),
            )
        profiles[time] = replace(profiles[time], role="target", why="")
    elif pair is not None and target == pair[1]:
        why = f"the time until `{target}`: for survival `--target {quote(guess)}`"
        profiles[pair[0]] = replace(profiles[pair[0]], role="left out", why=why)
    if target not in table.columns:
        near = closest(target, names)
        raise error(
            "N103",
            f"{data} has no column `{target}`",
            notes=(_columns(target, names),),
            helps=_no_target(table, target, near),
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
    writer = _Writer(data, spec, request, table, target, tuple(profiles.values()), time)
    writer.odd = {
        mark: sum(int((column.texts == mark).sum()) for column in raw.columns.values())
        for mark in request.na or ()
        if mark not in MARKS
    }
    text, notes = writer.text()
    return Draft(
        text=text,
        target=target if time is None else f"survival {time} event {target}",
        chosen=chosen and ask is None,
        n_rows=table.n_rows,
        columns=tuple(profiles.values()),
        notes=notes,
    )


def _columns(asked: str, names: Sequence[str]) -> str:
    first = nearest_first(asked, names)[:20]
    more = ", ..." if names[20:] else ""
    return f"its columns are {', '.join(f'`{name}`' for name in first)}{more}"


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
        time: str | None = None,
    ) -> None:
        self.data, self.spec, self.request = data, spec, request
        self.table, self.target, self.columns = table, target, columns
        self.of = {column.name: column for column in columns}
        self.features = [column for column in columns if column.role == "feature"]
        self.truth, self.time = table.columns[target], time
        self.notes: list[str] = []
        self.odd: dict[str, int] = {}
        """Texts among numbers that are read as missing, and in how many cells they stand."""

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
            f"# {self.table.n_rows:,} {'row' if self.table.n_rows == 1 else 'rows'}. The columns:",
        ]
        width = min(24, max(len(_comment(c.name)) for c in self.columns))
        for column in self.columns[:MOST_SHOWN]:
            missing = f"; {column.missing:,} missing" if column.missing else ""
            values = "value" if column.distinct == 1 else "values"
            kind = f"{column.kind}, {column.distinct:,} {values}"
            shown = f" ({_comment(column.values)})" if column.values else ""
            lines.append(f"#   {_comment(column.name):<{width}}  {kind}{shown}{missing}")
        if len(self.columns) > MOST_SHOWN:
            lines.append(f"#   and {len(self.columns) - MOST_SHOWN:,} more")
        return lines

    def _data(self) -> str:
        words = [f"data {quote(_path_from(self.spec, self.data))}"]
        asked = self.request
        if self.table.n_rows >= 2 * FEW_ROWS:
            stratified = "" if self.is_number or self.time is not None else " stratified"
            words.append(f"test 25%{stratified} seed 1")
        if asked.na:
            words.append(f"na {{{', '.join(quote(mark) for mark in asked.na)}}}")
        if self.odd:
            odd = [f"{quote(mark)} in {counted(n, 'cell')}" for mark, n in self.odd.items()]
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
        if self.time is not None:
            came = int((self.truth.texts == self.of[self.target].came[0]).sum())
            told = f"the event came in {came:,} of {present.sum():,} rows"
            return [f"target survival {name_text(self.time)} event {name}  # {told}"]
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
        if (pair := stay_pair(self.of)) is not None and pair[1] == self.target:
            survival = f"survival {name_text(pair[0])} event {name}"
            self.notes.append(
                f"`{pair[0]}` may be the time until `{self.target}`: for survival "
                f"`--target {quote(survival)}`"
            )
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
            elif _told_by_missing(raw, labels, ~self.truth.missing) >= ALMOST_ALL:
                self.notes.append(
                    f"whether `{column.name}` is missing tells `{self.target}` almost alone: is it "
                    f"known before? If not, `drop {name_text(column.name)}`"
                )

    def _left_out(self) -> list[str]:
        names = [c.name for c in self.columns if c.role == "id"][1:]
        gone = [c for c in self.columns if c.role == "left out"] + [self.of[n] for n in names]
        return [f"drop {name_text(c.name)}  # {c.why}" for c in gone]

    def _kinds(self) -> list[str]:
        codes = [name_text(column.name) for column in self.features if column.code]
        lines = [f"feature {', '.join(codes)}: category  # zeros in front"] if codes else []
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
        truths = [self.target, *([] if self.time is None else [self.time])]
        if gone := [name for name in truths if self.table.columns[name].missing.any()]:
            lines.append(f"missing {{{', '.join(map(name_text, gone))}}} drop")
        return lines

    def _skeleton(self) -> list[str]:
        lines = ["tree depth <= 3"]
        if self.table.n_rows >= MANY_ROWS and any(c.kind == "number" for c in self.features):
            lines.insert(0, "candidates * at quantiles 16  # without it, every gap between values")
        if self.time is not None:
            return [*lines, "minimize survival_loss"]
        return [*lines, "minimize mse" if self.is_number else "minimize errors then leaves"]

    def _rules(self) -> list[str]:
        one, other = (self.features * 2)[:2]
        a, b = name_text(one.name), name_text(other.name)
        order = [f"# rule order: forall path: {a} before {b}"] if a != b else []
        return [
            "rule leaf_size: forall leaf: size >= 2%  # no leaf rests on a handful of rows",
            "# More rules to begin with; `odt rules` lists all words:",
            *order,
            "# rule short: forall path: length <= 2",
        ]


MOST_SHOWN = 60
"""Columns that the comment at the head lists."""


def _no_target(table: Table, target: str, near: str | None) -> tuple[str, ...]:
    """What to do about a target that is no column: it may be a name below a title."""
    below = any(target in column.texts[:20].tolist() for column in table.columns.values())
    if below:
        return ("it is a cell: if the names stand below a title, delete the rows above them",)
    several = [name.strip().strip("`") for name in target.split(",")]
    if len(several) > 1 and all(name in table.columns for name in several):
        listed = ", ".join(map(name_text, several))
        first = f"--target {quote(several[0])}"
        both = coded(f"target {listed}: number")
        return (f"draft a spec with `{first}`, and write {both} in it",)
    return (f"did you mean `{near}`?",) if near else ()


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


def _told_by_missing(raw: RawColumn, labels: IntArray, rows: BoolArray) -> float:
    """The share of the rows that one class where cells are missing, and one elsewhere, gets right.

    0 where the most frequent class alone does as well.
    """
    sides = [labels[rows & raw.missing], labels[rows & ~raw.missing]]
    if rows.sum() < FEW_ROWS or not all(side.size for side in sides):
        return 0.0
    most = np.bincount(labels[rows]).max()
    right = sum(int(np.bincount(side).max()) for side in sides)
    return right / int(rows.sum()) if right > most + 1 and most < ALMOST_ALL * rows.sum() else 0.0


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
