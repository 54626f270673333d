"""`Model`: a spec as an object, parsed from text or built by calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.interfaces.api import auditing, explaining, formulas, solving
from odtdsl.interfaces.api.builder import SpecBuilder
from odtdsl.interfaces.api.inputs import (
    FileFormat,
    FilePath,
    Inputs,
)
from odtdsl.words.values import Numeric

if TYPE_CHECKING:
    from pyomo.core.base import ConcreteModel

    from odtdsl.auditor.audit import Audit
    from odtdsl.backends.base import Report
    from odtdsl.driver.alternatives import Alternatives
    from odtdsl.driver.comparison import Comparison
    from odtdsl.driver.pipeline import Plan
    from odtdsl.driver.result import Result
    from odtdsl.insight.explanations import Curve, Explanation
    from odtdsl.insight.proofs.check import Verified
    from odtdsl.predictors.predictor import Predictor
    from odtdsl.predictors.tree import Tree


class Model(SpecBuilder):
    """An optimal-tree or optimal-diagram problem.

    A model holds an immutable syntax tree; every call below appends a statement of the
    language to it and returns the model, so that calls chain. Models are equal when they
    say the same, whether parsed or built; `str` gives the text.

    Conditions and measures are given as texts in the language or as objects of
    `odtdsl.words`. A mistake in a call raises `OdtError` at once; what needs the data is
    told by `check` and `solve`.

    Attributes
    ----------
    spec
        The syntax tree.
    source
        The text that it was parsed from; None once something was appended.
    base
        The folder that paths in the spec are relative to; None for the current one.
    frame, test_frame
        Rows given from Python, for `data frame`.

    Examples
    --------
    >>> import odtdsl
    >>> model = (
    ...     odtdsl.Model()
    ...     .data(sklearn="iris")
    ...     .target("target")
    ...     .tree(depth=2)
    ...     .minimize("errors")
    ...     .rule("robust", "size >= 5", forall="leaf")
    ... )
    >>> print(model, end="")
    data sklearn "iris"
    <BLANKLINE>
    target target
    <BLANKLINE>
    tree depth <= 2
    <BLANKLINE>
    minimize errors
    <BLANKLINE>
    rule robust: forall leaf: size >= 5
    >>> odtdsl.parse(str(model)) == model
    True
    >>> result = model.solve()
    >>> result.status, int(result.objective)
    ('optimal', 6)
    """

    __slots__ = ()

    def check(self, **inputs: Unpack[Inputs]) -> tuple[Diagnostic, ...]:
        """All mistakes and warnings; see `odtdsl.check`."""
        return solving.check(self, **inputs)

    def plan(
        self,
        *,
        using: str | None = None,
        encoding: Literal["ordered", "paper"] | None = None,
        solver: str | None = None,
        options: Mapping[str, str | int] | None = None,
        **inputs: Unpack[Inputs],
    ) -> Plan:
        """Which back end would run and why; see `odtdsl.plan`."""
        return solving.plan(
            self, using=using, encoding=encoding, solver=solver, options=options, **inputs
        )

    def compare(
        self,
        *,
        backends: Iterable[str] | None = None,
        within: Numeric | timedelta | str | None = None,
        gap: Numeric | str | None = None,
        threads: int | None = None,
        seed: int | None = None,
        **inputs: Unpack[Inputs],
    ) -> Comparison:
        """Solve the model on every back end that can, side by side; see `odtdsl.compare`."""
        return solving.compare(
            self, backends=backends, within=within, gap=gap, threads=threads, seed=seed, **inputs
        )

    def solve(
        self,
        *,
        using: str | None = None,
        model: Literal["pattern", "subtrees", "cptree", "odd"] | None = None,
        encoding: Literal["ordered", "paper"] | None = None,
        solver: str | None = None,
        options: Mapping[str, str | int] | None = None,
        within: Numeric | timedelta | str | None = None,
        gap: Numeric | str | None = None,
        steady: Numeric | timedelta | str | None = None,
        threads: int | None = None,
        seed: int | None = None,
        memory: str | None = None,
        start: Predictor | FilePath | None = None,
        progress: Report | None = None,
        proof: FilePath | None = None,
        client: object = None,
        **inputs: Unpack[Inputs],
    ) -> Result:
        """Solve the model; see `odtdsl.solve`."""
        return solving.solve(
            self,
            using=using,
            model=model,
            encoding=encoding,
            solver=solver,
            options=options,
            within=within,
            gap=gap,
            steady=steady,
            threads=threads,
            seed=seed,
            memory=memory,
            start=start,
            progress=progress,
            proof=proof,
            client=client,
            **inputs,
        )

    def explain(
        self,
        *,
        using: str | None = None,
        within: Numeric | timedelta | str | None = None,
        memory: str | None = None,
        most: int = 1,
        deeper: int = 1,
        **inputs: Unpack[Inputs],
    ) -> Explanation:
        """Which rules conflict, or what each costs; see `odtdsl.explain`."""
        return explaining.explain(
            self, using=using, within=within, memory=memory, most=most, deeper=deeper, **inputs
        )

    def curve(
        self,
        rule: str,
        *,
        using: str | None = None,
        within: Numeric | timedelta | str | None = None,
        memory: str | None = None,
        points: int = 200,
        jobs: int = 1,
        **inputs: Unpack[Inputs],
    ) -> Curve:
        """The objective against the bound of a rule; see `odtdsl.curve`."""
        return explaining.curve(
            self,
            rule,
            using=using,
            within=within,
            memory=memory,
            points=points,
            jobs=jobs,
            **inputs,
        )

    def alternatives(
        self,
        *,
        near: Numeric | str | None = None,
        most: int = 1000,
        count: bool = False,
        only_count: bool = False,
        using: str | None = None,
        within: Numeric | timedelta | str | None = None,
        threads: int | None = None,
        seed: int | None = None,
        memory: str | None = None,
        start: Predictor | FilePath | None = None,
        progress: Report | None = None,
        proof: FilePath | None = None,
        **inputs: Unpack[Inputs],
    ) -> Alternatives:
        """The trees that are as good as the best one, or nearly so; see `odtdsl.alternatives`."""
        return solving.alternatives(
            self,
            near=near,
            most=most,
            count=count,
            only_count=only_count,
            using=using,
            within=within,
            threads=threads,
            seed=seed,
            memory=memory,
            start=start,
            progress=progress,
            proof=proof,
            **inputs,
        )

    @overload
    def compile(
        self,
        path: FilePath,
        *,
        to: FileFormat | None = None,
        model: Literal["pattern", "subtrees", "cptree", "odd"] | None = None,
        depth: int | None = None,
        bound: Numeric | Iterable[Numeric] = (),
        weighted: bool = False,
        legend: FilePath | None = None,
        **inputs: Unpack[Inputs],
    ) -> dict[str, int]: ...

    @overload
    def compile(
        self,
        path: None = None,
        *,
        to: Literal["pyomo"],
        model: Literal["pattern", "subtrees", "cptree", "odd"] | None = None,
        bound: Numeric | Iterable[Numeric] = (),
        weighted: bool = False,
        **inputs: Unpack[Inputs],
    ) -> ConcreteModel: ...

    def compile(
        self,
        path: FilePath | None = None,
        **options: Any,
    ) -> dict[str, int] | ConcreteModel:
        """Write the model as a program or a formula for other solvers, or as a Pyomo model; see
        `odtdsl.compile`."""
        written: dict[str, int] | ConcreteModel = formulas.compile(self, path, **options)
        return written

    def decode(
        self,
        assignment: FilePath | Iterable[int] | Mapping[str, float],
        *,
        to: FileFormat | None = None,
        model: Literal["pattern", "subtrees", "cptree", "odd"] | None = None,
        depth: int | None = None,
        bound: Numeric | Iterable[Numeric] = (),
        weighted: bool = False,
        **inputs: Unpack[Inputs],
    ) -> Result:
        """The tree or diagram of another solver's answer; see `odtdsl.decode`."""
        return formulas.decode(
            self,
            assignment,
            to=to,
            model=model,
            depth=depth,
            bound=bound,
            weighted=weighted,
            **inputs,
        )

    def audit(self, tree: Predictor | Result | FilePath, **inputs: Unpack[Inputs]) -> Audit:
        """Check a tree against the model; see `odtdsl.audit`."""
        return auditing.audit(tree, self, **inputs)

    def check_proof(
        self,
        proof: FilePath,
        tree: Tree | Result | FilePath | None = None,
        **inputs: Unpack[Inputs],
    ) -> tuple[Verified, ...]:
        """Check a proof that nothing is better; see `odtdsl.check_proof`."""
        return auditing.check_proof(proof, self, tree, **inputs)


def parse(text: str, *, name: str = "<text>", base: FilePath | None = None) -> Model:
    """The model of a text in the language.

    Parameters
    ----------
    text
        Statements; none gives an empty model.
    name
        What messages call the text.
    base
        The folder that paths in it are relative to; default the current one.

    Raises
    ------
    OdtError
        With a diagnostic for every statement that cannot be read.

    Examples
    --------
    >>> parse("drop id tree depth <= 3") == Model().drop("id").tree(depth=3)
    True
    """
    return Model.from_text(text, name=name, base=base)


def load(path: FilePath) -> Model:
    """The model of a spec file; paths in it are relative to its folder.

    Raises
    ------
    OdtError
        F001 to F007: the file cannot be read; else as `parse`.
    """
    return Model.from_file(path)
