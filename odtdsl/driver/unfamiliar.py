"""Cells to predict on that training had none of: the side that they take at splits is a guess."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from odtdsl.base.diagnostics.model import Diagnostic, shortened
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.datasets.dataset import UNSEEN_CODE, ColumnType
from odtdsl.datasets.levels import level_text
from odtdsl.datasets.table import IntArray, Table
from odtdsl.language.expressions import coded, name_text
from odtdsl.predictors.encoding import encode_cells
from odtdsl.predictors.routing import HasFeatures
from odtdsl.predictors.survival import Curve

_SHOWN = 3


class Unfamiliar:
    """Counts, over tables of rows that were predicted, the cells of tested columns that are a
    category without a training row, or missing where the spec says nothing of such cells; and
    the rows whose survival is asked for behind all that training rows of their leaf tell."""

    def __init__(self, model: HasFeatures) -> None:
        tested = set(model.tested)
        self._types = [type_ for type_ in model.features if type_.name in tested]
        self._rows = 0
        self._missing = dict.fromkeys(tested, 0)
        self._unseen = dict.fromkeys(tested, 0)
        self.new: dict[str, dict[str, None]] = {}
        """By column, the values that no training row had, in the order of their rows."""
        self._late: dict[float, int] = {}
        self._longest = 0.0

    def look_at(self, table: Table) -> None:
        """Count these rows too; the model can predict them."""
        self._rows += table.n_rows
        for type_ in self._types:
            column = table.columns[type_.name]
            cells = encode_cells(column, type_)
            if not type_.gaps:
                self._missing[type_.name] += int(cells.missing.sum())
            if cells.codes is None:
                continue
            rows = np.flatnonzero(cells.codes == UNSEEN_CODE)
            self._unseen[type_.name] += len(rows)
            if len(rows):
                values = self.new.setdefault(type_.name, {})
                values |= dict.fromkeys(str(text) for text in column.texts[rows].tolist())

    def look_at_times(
        self, curves: Sequence[Curve], ends: IntArray, times: Sequence[float]
    ) -> None:
        """Count rows, by the leaves where they end, whose curve ends above 0 before a time."""
        last = np.array([curve[-1][0] for curve in curves])
        some_left = np.array([curve[-1][1] > curve[-1][2] for curve in curves])
        self._longest = float(last.max())
        for time in times:
            late = int((some_left & (last < time))[ends].sum())
            self._late[time] = self._late.get(time, 0) + late

    def warnings(self) -> Iterator[Diagnostic]:
        """U218 for each column with values that are new, U219 for each with missing cells, U220 for
        each time that leaves do not reach.
        """
        for time, count in self._late.items():
            if count:
                yield Diagnostic(
                    code="U220",
                    severity="warning",
                    message=(
                        f"who survives beyond {time:g} is not known for {count} of {self._rows}"
                        " rows: no training row of their leaves was followed that long"
                    ),
                    notes=(
                        "they get the last value of their leaf; later survival can only be lower",
                        f"the longest follow-up of a training row is {self._longest:g}",
                    ),
                )
        for type_ in self._types:
            if type_.name in self.new:
                yield self.of_new(type_.name)
            if self._missing[type_.name]:
                yield self._of_missing(type_)

    def _of_missing(self, type_: ColumnType) -> Diagnostic:
        missing = f"`{type_.name}` is missing in {self._missing[type_.name]} of {self._rows} rows"
        asked = f"{_branch(name_text(type_.name))} in the spec"
        if type_.gaps is None:
            return Diagnostic(
                code="U219",
                severity="warning",
                message=(
                    f"{missing}, and the model, which an older odtdsl saved, does not tell whether "
                    "its spec says where such rows go"
                ),
                notes=("at each split they take the side that the model names as `missing`",),
                helps=(f"solve and save it again, with {asked} to let each split learn the side",),
            )
        return Diagnostic(
            code="U219",
            severity="warning",
            message=f"{missing}, and the spec of the model does not say where such rows go",
            notes=("at each split they take the side with more training weight",),
            helps=(
                f"to let each split learn the side, solve with {asked} and training rows of which"
                " some lack it: without such rows nothing is learned",
            ),
        )

    def of_new(self, name: str) -> Diagnostic:
        """U218 for a column with values that are new."""
        type_ = next(one for one in self._types if one.name == name)
        values = list(self.new[name])
        listed = ", ".join(f'"{shortened(value)}"' for value in values[:_SHOWN])
        more = f" and {len(values) - _SHOWN} more values" if len(values) > _SHOWN else ""
        known = [level_text(level) for level in type_.levels]
        near = next((one for one in known if one.casefold() == values[0].casefold()), None)
        near = near or closest(values[0], known)
        count = self._unseen[type_.name]
        return Diagnostic(
            code="U218",
            severity="warning",
            message=(
                f"`{type_.name}` is {listed}{more} in {count} of {self._rows} rows, which no "
                "training row has"
            ),
            notes=("such rows differ from every value that a split tests, so they go right",),
            helps=() if near is None else (f'did you mean "{near}"?',),
        )


def _branch(name: str) -> str:
    return coded(f"missing {{{name}}} branch")
