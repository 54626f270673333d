"""`odt audit`, `odt evaluate` and `odt why`: commands on saved models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.commands import Argument, Command, Json, OnSpec, Option
from odtdsl.interfaces.cli.common import OK, WRONG, print_json, print_lines, warn

if TYPE_CHECKING:
    from odtdsl.datasets.request import DataRequest
    from odtdsl.datasets.table import Table
    from odtdsl.predictors.predictor import Predictor


@dataclass(frozen=True, kw_only=True)
class OnRows(Command):
    """A command about a saved model and the rows of a file."""

    model: Annotated[Path, Argument(help="A saved tree, or a saved `solve --json`.")]
    data: Annotated[Path, Argument(help="Rows: CSV, TSV, Parquet or ARFF.")]
    na: Annotated[
        list[str] | None,
        Option(help="A text that marks a missing value; without it, those of the spec."),
    ] = None
    separator: Annotated[str | None, Option(help="Separator between cells.")] = None
    decimal: Annotated[str | None, Option(help="Decimal separator.")] = None
    thousands: Annotated[str | None, Option(help="Thousands separator.")] = None
    no_header: Annotated[
        bool, Option("--no-header", help="The first line holds data, not names.")
    ] = False

    encoding: Annotated[str | None, Option(help="Encoding of the text; default UTF-8.")] = None

    def request(self, name: str, model: Predictor) -> DataRequest:
        """What to read: a file or stream of this name, with the options of the command.

        Texts that mark missing values are those of the model where the command names none.
        """
        from odtdsl.datasets.request import DataRequest

        return DataRequest(
            kind="file",
            name=name,
            na=tuple(self.na or dict.fromkeys(m for type_ in model.features for m in type_.na)),
            separator=self.separator,
            decimal=self.decimal,
            thousands=self.thousands,
            header=not self.no_header,
            encoding=self.encoding,
        )

    def rows(self, model: Predictor) -> Table:
        """The rows of the file, as the model's spec marks missing cells."""
        from odtdsl.datasets.readers import read

        return read(self.request(str(self.data.absolute()), model), base=Path())


@dataclass(frozen=True, kw_only=True)
class Evaluate(OnRows):
    """Measure a saved model on rows whose truth is known, with intervals, also by group."""

    by: Annotated[str | None, Option(help="A column that parts the rows into groups.")] = None
    draws: Annotated[int, Option(least=100, most=100_000, help="Draws of the bootstrap.")] = 2000
    seed: Annotated[int, Option(least=0, most=2**31 - 1, help="Seed of the bootstrap.")] = 0
    as_json: Json = False

    def run(self) -> int:
        """Print accuracy, recall, precision, ROC AUC and more, or the errors of numbers."""
        from odtdsl.insight.evaluation import evaluate
        from odtdsl.interfaces.api import load_model
        from odtdsl.presentation.evaluation import lines

        model = load_model(self.model)
        found = evaluate(model, self.rows(model), by=self.by, draws=self.draws, seed=self.seed)
        if self.as_json:
            print_json(found.to_json())
        else:
            print_lines(lines(found))
        return OK


@dataclass(frozen=True, kw_only=True)
class Audit(OnSpec):
    """Check a saved model against a spec and its data, rule by rule; or a proof, step by step."""

    model: Annotated[
        Path | None,
        Argument(help="A saved tree, or a saved `solve --json`; not needed with --proof."),
    ] = None
    proof: Annotated[Path | None, Option(help="Check a proof of `solve --proof`.")] = None
    sample: Annotated[
        str | None, Option(help="Check a share of a certificate's depth-two steps: 1%.")
    ] = None
    as_json: Json = False

    def run(self) -> int:
        """Audit a saved model, check a proof, or both; exits with 1 if something does not hold."""
        from odtdsl.insight.verification import audited
        from odtdsl.presentation.verification import lines

        if self.model is None and self.proof is None:
            raise error("U317", "nothing to audit", helps=("name a saved tree, or `--proof FILE`",))
        told = audited(self.problem().analysis(), self.model, self.proof, self.sample)
        if self.as_json:
            print_json(told.to_json())
        else:
            print_lines(lines(told))
            warn((*told.warnings, *told.shortfalls))
        return OK if told.holds else WRONG


@dataclass(frozen=True, kw_only=True)
class Why(OnSpec):
    """Say why a row is predicted so, and the least change that makes it another."""

    model: Annotated[Path, Argument(help="A saved tree, or a saved `solve --json`.")]
    row: Annotated[int | None, Option(help="Index of a training row, from 0.")] = None
    cell: Annotated[
        list[str] | None,
        Option(help="NAME=VALUE: a cell of your own row; an empty value is missing."),
    ] = None
    to: Annotated[str | None, Option(help="The class to change the prediction to.")] = None
    freeze: Annotated[list[str] | None, Option(help="A feature that may not change.")] = None
    as_json: Json = False

    def run(self) -> int:
        """Print why a saved tree predicts what it does for one row, and the smallest change."""
        from odtdsl.auditor import audit as checker
        from odtdsl.insight.counterfactuals import why
        from odtdsl.interfaces.api import load_tree

        asked = _asked_row(self.row, self.cell or [])
        analysis = self.problem().analysis()
        tree = load_tree(self.model)
        found = why(
            tree,
            analysis.rows,
            asked,
            to=self.to,
            frozen=self.freeze or (),
            audit=checker.audit(tree, analysis.rows),
        )
        if self.as_json:
            print_json(found.to_json())
        else:
            print_lines(found.lines())
        return OK


def _asked_row(row: int | None, cells: list[str]) -> int | dict[str, str | None]:
    """A training row, or the cells of `--cell`."""
    parts = [cell.partition("=") for cell in cells]
    if (row is None) == (not cells) or not all(name and equals for name, equals, _ in parts):
        raise error(
            "U309",
            "exactly one row must be given",
            helps=(
                "write `--row 3`, or `--cell age=41 --cell sex=male` with every tested feature",
            ),
        )
    return row if row is not None else {name.strip(): value or None for name, _, value in parts}


__all__ = ["Audit", "Evaluate", "OnRows", "Why"]
