"""`odt audit` and `odt evaluate`: commands on saved models."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from odtdsl.base.diagnostics.model import DataHelp, Diagnostic, OdtError, error
from odtdsl.interfaces.cli.commands import Argument, Command, Json, OnSpec, Option
from odtdsl.interfaces.cli.common import OK, WRONG, Problem, print_json, print_lines, warn

if TYPE_CHECKING:
    from odtdsl.datasets.request import DataRequest
    from odtdsl.datasets.table import Table
    from odtdsl.predictors.predictor import Predictor


@dataclass(frozen=True, kw_only=True)
class OnRows(Command):
    """A command about a saved model and the rows of a file."""

    spec: Annotated[
        Path | None, Argument(help="The .odt file; DATA is read as its data statement says.")
    ] = None
    model: Annotated[Path, Argument(help="A saved tree, or a saved `solve --json`.")]
    rows: Annotated[Path, Argument(help="Rows: CSV, TSV, Excel, Parquet or ARFF.")]
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

    def run(self) -> int:
        """What `answer` does; how a file is written is told by options where there is no spec."""
        try:
            return self.answer()
        except OdtError as problem:
            if self.spec is None:
                raise OdtError(map(_by_options, problem.diagnostics)) from None
            raise

    @abstractmethod
    def answer(self) -> int:
        """Do the command; returns its exit code."""

    def request(self, name: str, model: Predictor) -> DataRequest:
        """What to read: a file or stream of this name, with the options of the command.

        Those that it does not have are those of the spec, where there is one. Texts that mark
        missing values, and what is read as dates, are else those of the model.
        """
        from odtdsl.datasets.request import DataRequest
        from odtdsl.predictors.frames import with_dates_of

        said = DataRequest(kind="file") if self.spec is None else written(self.spec)
        marks = dict.fromkeys(mark for type_ in model.features for mark in type_.na)
        if not (said.days or said.parts):
            said = with_dates_of(model, said)
        return replace(
            said,
            kind="file",
            name=name,
            test=None,
            na=tuple(self.na or said.na or marks),
            separator=self.separator or said.separator,
            decimal=self.decimal or said.decimal,
            thousands=self.thousands or said.thousands,
            header=said.header and not self.no_header,
            encoding=self.encoding or said.encoding,
        )

    def table(self, model: Predictor) -> Table:
        """The rows of the file, as the model's spec marks missing cells."""
        from odtdsl.datasets.readers import read

        return read(self.request(str(self.rows.absolute()), model), base=Path())


def _by_options(problem: Diagnostic) -> Diagnostic:
    """A mistake, with options in its helps where they name what a data statement would say."""
    helps = (one.option if isinstance(one, DataHelp) else one for one in problem.helps)
    return replace(problem, helps=tuple(helps))


def written(spec: Path) -> DataRequest:
    """The data statement of a spec: how its files of rows are written."""
    from odtdsl.compiler.context import Reporter
    from odtdsl.compiler.sources import data_request
    from odtdsl.datasets.request import DataRequest
    from odtdsl.language import ast

    problem = Problem(spec)
    said = [one for one in problem.syntax.statements if isinstance(one, ast.Data)]
    if not said:
        return DataRequest(kind="file")
    return data_request(said[0], Reporter(problem.source), data=None, test=None)


@dataclass(frozen=True, kw_only=True)
class Evaluate(OnRows):
    """Measure a saved model on rows whose truth is known, with intervals, also by group."""

    by: Annotated[str | None, Option(help="A column that parts the rows into groups.")] = None
    draws: Annotated[int, Option(least=100, most=100_000, help="Draws of the bootstrap.")] = 2000
    seed: Annotated[int, Option(least=0, most=2**31 - 1, help="Seed of the bootstrap.")] = 0
    beside: Annotated[
        bool, Option(help="Grow a greedy tree and CART beside, of many rows too; needs a spec.")
    ] = False
    as_json: Json = False

    def answer(self) -> int:
        """Print accuracy, recall, precision, ROC AUC and more, or the errors of numbers."""
        from odtdsl.driver.unfamiliar import Unfamiliar
        from odtdsl.insight.evaluation import evaluate, evaluate_under
        from odtdsl.interfaces.api import load_model
        from odtdsl.presentation.evaluation import lines

        model = load_model(self.model)
        table = self.table(model)
        stages: tuple[str, ...] = ()
        if self.spec is None:
            found = evaluate(model, table, by=self.by, draws=self.draws, seed=self.seed)
        else:
            analysis = Problem(self.spec, test=str(self.rows)).analysis()
            stages = tuple(stage.text for stage in analysis.problem.objective)
            found = evaluate_under(
                analysis,
                model,
                table,
                by=self.by,
                draws=self.draws,
                seed=self.seed,
                beside=self.beside or None,
            )
        if self.as_json:
            print_json(found.to_json())
        else:
            print_lines(lines(found, stages))
        strange = Unfamiliar(model)
        strange.look_at(table)
        warn(strange.warnings())
        return OK


@dataclass(frozen=True, kw_only=True)
class Audit(OnSpec):
    """Check a saved model against a spec and its data, rule by rule; or a proof, step by step."""

    model: Annotated[
        Path | None,
        Argument(help="A saved tree, or a saved `solve --json`; not needed with --proof."),
    ] = None
    rows: Annotated[
        Path | None,
        Argument(help="Other rows, to tell the objective and every rule on."),
    ] = None
    proof: Annotated[Path | None, Option(help="Check a proof of `solve --proof`.")] = None
    sample: Annotated[
        str | None, Option(help="Check a share of a certificate's depth-two steps: 1%.")
    ] = None
    as_json: Json = False

    def run(self) -> int:
        """Audit a saved model, check a proof, or both; exits with 1 if something does not hold."""
        from odtdsl.driver.unfamiliar import Unfamiliar
        from odtdsl.insight.verification import audited
        from odtdsl.interfaces.api import load_model
        from odtdsl.presentation.verification import lines

        if self.model is None and self.proof is None:
            raise error(
                "U317",
                "nothing to audit",
                helps=("name the spec, and a saved tree or `--proof FILE`",),
            )
        analysis = self.problem(self.rows).analysis()
        told = audited(analysis, self.model, self.proof, self.sample)
        if self.as_json:
            print_json(told.to_json())
        else:
            print_lines(lines(told))
            warn((*told.warnings, *told.shortfalls))
        if self.model is not None and analysis.test is not None:
            strange = Unfamiliar(load_model(self.model))
            strange.look_at(analysis.test.table)
            warn(strange.warnings())
        return OK if told.holds else WRONG


__all__ = ["Audit", "Evaluate", "OnRows", "written"]
