"""What builds a spec statement by statement: the calls of `Model` that say something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack

from odtdsl.base.diagnostics.model import error
from odtdsl.base.source import Source
from odtdsl.interfaces.api import statements
from odtdsl.interfaces.api.inputs import (
    Columns,
    FilePath,
    Inputs,
    Setting,
    Splits,
    check_frame,
    check_names,
)
from odtdsl.language import ast
from odtdsl.language.fragments import without_places
from odtdsl.words import values
from odtdsl.words.expr import Condition, Measure
from odtdsl.words.values import Label, Numeric

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis


class SpecBuilder:
    """A spec that grows by calls: each appends a statement and returns the object.

    A mistake in a call raises `OdtError` at once.
    """

    __slots__ = ("base", "frame", "source", "spec", "test_frame")
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __init__(
        self,
        spec: ast.Spec | None = None,
        *,
        source: Source | None = None,
        base: FilePath | None = None,
        frame: Any = None,
        test_frame: Any = None,
    ) -> None:
        self.spec = _checked(spec)
        self.source = source
        self.base = None if base is None else Path(base)
        self.frame = frame
        self.test_frame = test_frame

    def __eq__(self, other: object) -> bool:
        return self.spec == other.spec if isinstance(other, SpecBuilder) else NotImplemented

    def __str__(self) -> str:
        from odtdsl.language.printer import to_text

        return to_text(self.spec, source=self.source)

    def __repr__(self) -> str:
        count = len(self.spec.statements)
        return f"<odtdsl.Model of {count} statement{'' if count == 1 else 's'}>"

    def copy(self) -> Self:
        """A model that says the same and can be continued apart; frames are shared."""
        return type(self)(
            self.spec,
            source=self.source,
            base=self.base,
            frame=self.frame,
            test_frame=self.test_frame,
        )

    @classmethod
    def from_text(cls, text: str, *, name: str = "<text>", base: FilePath | None = None) -> Self:
        """The model of a text; see `odtdsl.parse`."""
        from odtdsl.language.parser import parse

        source = Source(name=name, text=text)
        return cls(parse(source), source=source, base=base)

    @classmethod
    def from_file(cls, path: FilePath) -> Self:
        """The model of a spec file; see `odtdsl.load`."""
        from odtdsl.language.files import read_source
        from odtdsl.language.parser import parse

        source = read_source(path)
        return cls(parse(source), source=source, base=Path(path).parent)

    def analyse(self, **inputs: Unpack[Inputs]) -> Analysis:
        """The model resolved against its data: what every back end reads.

        Parameters
        ----------
        inputs
            As in `Inputs`: rows, files and settings instead of those of the model.

        Raises
        ------
        OdtError
            With all mistakes of spec and data that were found. For a model built by calls
            the excerpts show its canonical text.
        TypeError
            An argument that is none.
        """
        from odtdsl.compiler import analyse

        check_names(inputs)
        spec, source = self._located()
        settings = inputs.get("settings") or {}
        if not isinstance(settings, Mapping):
            raise values.wrong("settings", settings, "pass a mapping of names to values")
        chosen = {
            name: statements.expression(value, f"setting {name}")
            for name, value in settings.items()
        }
        frame, test_frame = inputs.get("frame"), inputs.get("test_frame")
        check_frame(spec, frame)
        data = statements.file_path("data", "frame", inputs.get("data"))
        test = statements.file_path("test", "test_frame", inputs.get("test"))
        return analyse(
            spec,
            source=source,
            base=self.base,
            frame=self.frame if frame is None else frame,
            test_frame=self.test_frame if test_frame is None else test_frame,
            data=data,
            test=test,
            settings=chosen,
        )

    def _located(self) -> tuple[ast.Spec, Source]:
        """The spec with places in a text, so that messages can show excerpts."""
        if self.source is not None:
            return self.spec, self.source
        from odtdsl.language.parser import parse

        source = Source(name="<model>", text=str(self))
        return parse(source), source

    def save(self, path: FilePath) -> None:
        """Write the text to a file, whole or not at all.

        Raises
        ------
        OdtError
            F301: it cannot be written.
        """
        from odtdsl.base.files import as_path, write_text

        write_text(as_path(path), str(self))

    def add(self, text: str) -> Self:
        """Append statements written in the language.

        >>> Model().add("weight w  drop id").add("tree depth <= 3")
        <odtdsl.Model of 3 statements>

        Raises
        ------
        OdtError
            With every mistake that the parser finds.
        """
        from odtdsl.language.parser import parse

        spec = without_places(parse(Source(name="<text>", text=text)))
        return self._append(*spec.statements)

    def _append(self, *added: ast.Statement) -> Self:
        for statement in added:
            statements.check_writable(statement)
        self._replace((*self.spec.statements, *added))
        return self

    def _replace(self, said: tuple[ast.Statement, ...]) -> None:
        """Comments keep their places; the text is no longer what the spec says."""
        self.spec = ast.Spec(span=self.spec.span, statements=said, comments=self.spec.comments)
        self.source = None

    # ---- data and columns

    def data(
        self,
        source: Any = None,
        *,
        sklearn: str | None = None,
        openml: str | None = None,
        test: Any = None,
        by: str | None = None,
        stratified: bool = False,
        seed: int | None = None,
        na: Label | Iterable[Label] | None = None,
        separator: str | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        header: bool | Literal["none"] | None = True,
        encoding: str | None = None,
        sheet: str | None = None,
        id: str | None = None,
        days: str | Iterable[str] | None = None,
        parts: str | Iterable[str] | None = None,
        dates: str | None = None,
    ) -> Self:
        """`data ...`: where the rows come from.

        Parameters
        ----------
        source
            A path (CSV, TSV, Parquet, ARFF, Excel), or a frame: a pandas, polars or Arrow table, a
            2-D array (columns `x0`, `x1`, ...), a mapping of names to sequences. Nothing here
            and in `sklearn`, `openml` leaves the frame to be given to `solve`.
        sklearn, openml
            The name of a data set.
        test
            Test rows: a path, a frame, or a share of the rows as `"33%"` or `0.33`.
        by
            A column, such as `"patient"`: a share of its values is drawn, and the rows of one value
            are all training or all test rows. It is no feature then.
        stratified, seed
            How a share of test rows is drawn.
        na
            Marks of missing values, other than empty cells.
        separator, encoding
            Of a text file; by default a comma (a tab for `.tsv`) and UTF-8.
        decimal, thousands
            How a text file writes numbers: 1.073,5 by `decimal=","` and `thousands="."`.
        header
            `"none"` where the first line is data; columns are then `c1`, `c2`, ...
        sheet
            Of an Excel file; by default the first.
        id
            The column whose values name the rows.
        days, parts
            Columns of dates that are read as days since 1970-01-01, or as year, month, weekday.
        dates
            Where the year is not in front, `"dmy"` or `"mdy"`.

        >>> print(Model().data("heart.csv", na="?", test="33%", stratified=True), end="")
        data "heart.csv", test 33% stratified, na {"?"}
        """
        statement = statements.data(
            source,
            sklearn=sklearn,
            openml=openml,
            test=test,
            by=by,
            stratified=stratified,
            seed=seed,
            na=na,
            separator=separator,
            decimal=decimal,
            thousands=thousands,
            header=header,
            encoding=encoding,
            sheet=sheet,
            id=id,
            days=days,
            parts=parts,
            dates=dates,
        )
        self._append(statement)
        self.frame = source if statements.is_frame(source) else self.frame
        self.test_frame = test if statements.is_frame(test) else self.test_frame
        return self

    def target(
        self,
        *columns: str | Measure | Iterable[str],
        type: Literal["class", "ordered", "number", "integer", "choice", "survival"] | None = None,
        classes: Iterable[Label] | None = None,
        levels: Iterable[Label] | None = None,
        positive: Label | None = None,
        step: Numeric | None = None,
        by: Literal["reward", "loss"] | None = None,
        event: str | None = None,
    ) -> Self:
        """`target ...`: the column to predict; several where they are numbers.

        With `by` the columns are choices, and hold what each row gains or loses by each. With
        `event` the column holds times, and `event` names the one that says whether it came then.

        >>> print(Model().target("y", classes=["no", "yes"], positive="yes"), end="")
        target y: class {"no", "yes"} positive "yes"
        >>> print(Model().target("math", "reading", type="number"), end="")
        target math, reading: number
        >>> print(Model().target("placebo", "drug", by="reward"), end="")
        target choice {placebo, drug} by reward
        >>> print(Model().target("months", event="died"), end="")
        target survival months event died
        """
        return self._append(
            statements.target(
                columns,
                type=type,
                classes=classes,
                levels=levels,
                positive=positive,
                step=step,
                by=by,
                event=event,
            )
        )

    def feature(
        self,
        columns: Columns,
        type: Literal["number", "category", "ordered", "binary", "integer"] | None = None,
        *,
        levels: Iterable[Label] | None = None,
    ) -> Self:
        """`feature ...`: the type of columns; `levels`, lowest first, make them ordered.

        >>> print(Model().feature("ca", levels=[0, 1, 2]).feature("*", "number"), end="")
        feature ca: ordered {0, 1, 2}
        feature *: number
        """
        return self._append(statements.feature(columns, type, levels))

    def drop(self, *columns: str | Measure | Iterable[str]) -> Self:
        """`drop ...`: columns that no split tests."""
        return self._append(statements.drop(columns))

    def weight(self, column: str) -> Self:
        """`weight ...`: the column of row weights."""
        return self._append(statements.weight(column))

    def missing(
        self,
        policy: Literal["refuse", "drop", "left", "right", "branch"],
        columns: Columns | None = None,
    ) -> Self:
        """`missing ...`: what to do with missing values, everywhere or in some columns."""
        return self._append(statements.missing(policy, columns))

    def candidates(
        self,
        columns: Columns = "*",
        at: Literal["midpoints", "midpoints exact", "guessed"] | None = None,
        *,
        quantiles: int | None = None,
        bins: int | None = None,
        values: Iterable[Numeric] | None = None,
    ) -> Self:
        """`candidates ...`: where numbers may be split; by default in every gap.

        What comes out is the gap's shortest decimal; with `midpoints exact` its middle.

        >>> print(Model().candidates(bins=3).candidates("age", values=[40, 50.5]), end="")
        candidates * at bins 3
        candidates age at {40, 50.5}
        """
        return self._append(
            statements.candidates(columns, at=at, quantiles=quantiles, bins=bins, members=values)
        )

    def cost(
        self,
        prices: Mapping[str, Numeric] | None = None,
        /,
        *,
        default: Numeric | None = None,
        **named: Numeric,
    ) -> Self:
        """`cost ...`: prices of asking for features, and of all others by `default`.

        >>> print(Model().cost({"blood test": 7.27}, thal=1, default=0.5), end="")
        cost * = 0.5, `blood test` = 7.27, thal = 1
        """
        return self._append(statements.cost({**(prices or {}), **named}, default))

    def shared_cost(self, columns: Columns, amount: Numeric) -> Self:
        """`cost {...} shared = ...`: paid once per path that tests any of the features."""
        return self._append(statements.shared_cost(columns, amount))

    def loss(self, *, predict: Label, when: Label, amount: Numeric) -> Self:
        """`loss ...`: what it costs to predict one class when another is right.

        >>> print(Model().loss(predict="no", when="yes", amount=5), end="")
        loss predict "no" when "yes" = 5
        """
        return self._append(statements.loss(predict, when, amount))

    def group(self, name: str, condition: Condition | str) -> Self:
        """`group ...`: a named set of rows.

        >>> print(Model().group("women", 'sex == "female" and age >= 18'), end="")
        group women = sex = "female" and age >= 18
        """
        return self._append(statements.group(name, condition))

    def let(self, name: str, value: Setting) -> Self:
        """`let ...`: a named number or expression, which `settings` may replace."""
        return self._append(statements.let(name, value))

    # ---- skeleton, objective, rules

    def tree(
        self,
        *,
        depth: int | None = None,
        leaves: int | None = None,
        nodes: int | None = None,
        splits: int | Splits | tuple[int, Splits] | None = None,
    ) -> Self:
        """`tree ...`: the largest depth, leaves, nodes and splits.

        `splits` is a largest number, a family of tests, or both in a pair.

        >>> print(Model().tree(depth=3, splits="hyperplane"), end="")
        tree depth <= 3, splits hyperplane
        """
        return self._append(statements.tree(depth=depth, leaves=leaves, nodes=nodes, splits=splits))

    def diagram(self, widths: Iterable[int], *, splits: Splits | None = None) -> Self:
        """`diagram ...`: the number of nodes in each layer, from the root down."""
        return self._append(statements.diagram(widths, splits))

    def minimize(self, *stages: Measure | str) -> Self:
        """`minimize ...`: one measure, or several in order of importance.

        >>> print(Model().minimize("depth", "leaves"), end="")
        minimize depth then leaves
        """
        return self._append(ast.Objective(stages=statements.stages("minimize", stages)))

    def maximize(self, *stages: Measure | str) -> Self:
        """`maximize ...`: one measure, or several in order of importance."""
        return self._append(ast.Objective(stages=statements.stages("maximize", stages)))

    def then_minimize(self, *stages: Measure | str) -> Self:
        """`... then minimize ...`: stages behind those of the last objective.

        >>> print(Model().maximize("accuracy").then_minimize("leaves"), end="")
        maximize accuracy then minimize leaves
        """
        return self._then("minimize", stages)

    def then_maximize(self, *stages: Measure | str) -> Self:
        """`... then maximize ...`: stages behind those of the last objective."""
        return self._then("maximize", stages)

    def _then(self, sense: statements.Sense, stages: tuple[Measure | str, ...]) -> Self:
        said = list(self.spec.statements)
        for place in reversed(range(len(said))):
            objective = said[place]
            if isinstance(objective, ast.Objective):
                later = statements.later_stages(sense, stages)
                longer = ast.Objective(span=objective.span, stages=(*objective.stages, *later))
                statements.check_writable(longer)
                said[place] = longer
                self._replace(tuple(said))
                return self
        raise error(
            "U403",
            f"`then_{sense}` must follow an objective, but there is none yet",
            helps=("begin with `minimize(...)` or `maximize(...)`",),
        )

    def rule(
        self,
        name: str,
        condition: Condition | str,
        *,
        forall: Literal["path", "leaf", "split"] | None = None,
    ) -> Self:
        """`rule ...`: a condition on the whole model, or on each path, leaf or split.

        A text may say its scope itself.

        >>> model = Model().rule("order", "forall path: age before chol")
        >>> model == Model().rule("order", "age before chol", forall="path")
        True
        """
        return self._append(statements.rule(name, condition, forall))

    def options(
        self,
        *,
        using: str | None = None,
        within: Numeric | timedelta | str | None = None,
        gap: Numeric | Measure | str | None = None,
        steady: Numeric | timedelta | str | None = None,
        threads: int | None = None,
        seed: int | None = None,
        memory: str | None = None,
        start: FilePath | None = None,
    ) -> Self:
        """`solve ...`: defaults that the arguments of `Model.solve` override.

        Parameters
        ----------
        using
            A back end, with settings as in `"greedy(split = optimal, leaf = average)"`.
        within
            Seconds, or a text such as `"2 min"`.
        gap
            Where to stop: below 1 a relative gap (0.01, `"1%"`), else in units of the objective.
        steady
            How long no better model may come before the search ends: seconds, or a text.
        threads, seed
            Processor threads; the seed of all choices.
        memory
            A text such as `"4 GB"`.
        start
            The path of a saved tree.

        >>> print(Model().options(using="milp", within="2 min", gap="1%"), end="")
        solve using milp, within 2 min, gap 1%
        """
        return self._append(
            statements.options(
                using=using,
                within=within,
                gap=gap,
                steady=steady,
                threads=threads,
                seed=seed,
                memory=memory,
                start=start,
            )
        )


def _checked(spec: ast.Spec | None) -> ast.Spec:
    """The syntax tree that a model begins with; raises U401 for rows, texts and paths."""
    if spec is None:
        return ast.Spec(statements=())
    if isinstance(spec, ast.Spec):
        return spec
    if isinstance(spec, str | Path):
        helps = ("read a file with `odtdsl.load(path)`, a text with `odtdsl.parse(text)`",)
    else:
        helps = ("give rows to a call: `Model().data(rows).target(...)`",)
    raise error("U401", f"`Model` takes no {type(spec).__name__}", helps=helps)
