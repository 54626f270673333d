"""Results: a status that is kept to, the model, its audit, and how it was found."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from odtdsl.auditor.audit import Audit
from odtdsl.auditor.results import audit_to_json
from odtdsl.backends.base import Progress, Status
from odtdsl.backends.steps import START
from odtdsl.base.diagnostics.model import Diagnostic, error
from odtdsl.base.diagnostics.render import to_json as diagnostic_to_json
from odtdsl.base.files import as_path
from odtdsl.base.frozen import dataclass
from odtdsl.base.methods import method
from odtdsl.base.numbers import as_number, only
from odtdsl.driver.scoring import OutputScore, TestScore
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree

if TYPE_CHECKING:
    from datetime import timedelta

    from matplotlib.axes import Axes

    from odtdsl.base.theme import Theme
    from odtdsl.datasets.dataset import Dataset, Value
    from odtdsl.datasets.digest import Fingerprint
    from odtdsl.driver.reasons import Why
    from odtdsl.problem.ir.problem import Problem
    from odtdsl.problem.ir.rows import Rows

Show = Literal["costs", "groups", "rules"]
"""What pictures can show of nodes beside the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage of the objective in the terms of the spec.

    Attributes
    ----------
    text
        The stage as written, such as `minimize errors`.
    value
        Recomputed by the checker on the emitted model; None without one.
    bound
        Proven: no admitted model is better than this. None where nothing is proven.
    gap
        Relative distance of value and bound, 0 if proven; None where it is unknown.
    proven
        Whether the value is the best there is, given the stages before it.
    """

    text: str
    value: Fraction | None
    bound: Fraction | None
    gap: Fraction | None
    proven: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What `odtcheck`, which shares no code with the search, showed of a result.

    Attributes
    ----------
    certified
        Whether it showed that the tree is optimal, or that no tree keeps the rules.
    claims
        The bounds that were shown, in words.
    steps
        How many steps were checked.
    rules
        Those of the calculus that were used: `docs/explanation/certificates.md`.
    size
        Of the certificate, in bytes.
    path
        The file of the certificate; the rows stand beside it, as `PATH.csv`. None where it was
        not kept.
    """

    certified: bool
    claims: tuple[str, ...]
    steps: str
    rules: tuple[str, ...]
    size: int
    path: Path | None = None

    def __str__(self) -> str:
        """One line, as results and reports show it."""
        shown = "certified by odtcheck" if self.certified else "not certified"
        where = "" if self.path is None else f": {self.path}"
        return f"{shown}{where} (steps: {self.steps}; {self.size} bytes)"

    def to_json(self) -> dict[str, Any]:
        """As in the JSON of a result."""
        return {
            "certified": self.certified,
            "claims": list(self.claims),
            "steps": self.steps,
            "rules": list(self.rules),
            "bytes": self.size,
            "file": None if self.path is None else str(self.path),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The answer to a problem.

    Attributes
    ----------
    status
        `optimal` (proven), `feasible` (the best found, with a bound where there is one),
        `infeasible` (proven: no model keeps all rules), `unknown` (none found).
    model
        The tree or the diagram that the spec asks for, also as `tree` or `diagram`; None for
        `infeasible` and `unknown`.
    audit
        Every rule checked on the model by code that shares nothing with the solver.
    seconds
        Wall time from the start of compiling to the answer.
    backend
        That of the last step taken.
    steps
        What was asked in turn, as `odt plan` names it, but for the start.
    fingerprint
        Of the training data that the answer belongs to; `digest` is its text.
    timeline
        Incumbents and bounds over time. `timeline[3].model` is the incumbent of that moment, a
        tree or a diagram, made when it is asked for; None where the back end did not keep it.
    stopped
        `gap` or `steady` where the search ended because it was asked to be content with that;
        `held out` where the model is the one of the timeline that is best on held-out rows.
    """

    status: Status
    stages: tuple[Stage, ...]
    model: Predictor | None
    audit: Audit | None
    backend: str
    seconds: float
    seed: int
    fingerprint: Fingerprint
    timeline: tuple[Progress, ...] = ()
    size: tuple[tuple[str, int], ...] = ()
    counters: tuple[tuple[str, int], ...] = ()
    steps: tuple[str, ...] = ()
    interrupted: bool = False
    stopped: Literal["", "gap", "steady", "held out"] = ""
    test: TestScore | None = None
    training: TestScore | None = None
    """On the training rows: of survival trees, whose objective is no score that people know."""
    outputs: OutputScore | None = None
    """On the training rows: of several number targets, or under rules on outputs."""
    warnings: tuple[Diagnostic, ...] = ()
    rows: Rows | None = field(default=None, compare=False, repr=False)
    """The problem with its training rows, for `why` and reports."""
    test_rows: Dataset | None = field(default=None, compare=False, repr=False)
    certificate: Certificate | None = None
    """What was shown of it by `certify`."""

    def certify(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        within: float | str | timedelta | None = None,
    ) -> Result:
        """The same result with a certificate, checked by a program that shares no code with us.

        `exact` solves the problem again, by as many threads as the spec allows, and keeps the
        bounds that it finds.

        Parameters
        ----------
        path
            A file for the certificate, which `odt audit --proof` and `odtcheck` check elsewhere;
            the rows are written beside it.
        within
            A time limit, such as `"30 s"`.

        Returns
        -------
        Result
            Its `certificate` says what was shown; the text and the report of the result tell it.

        Raises
        ------
        OdtError
            P203: no certificate covers the problem, with the rule. P204: the result is not proven,
            or is without its rows. P109: what was shown is less than that the tree is optimal.
        """
        return cast(
            "Result",
            method("Result.certify")(self, None if path is None else as_path(path), within),
        )

    def why(self, row: object, *, to: Value | None = None, frozen: Iterable[str] = ()) -> Why:
        """Why the tree predicts a row so, and the least change that makes it predict otherwise.

        Parameters
        ----------
        row
            The number of a training row (from 0, in the file as read), or a row of its own: a
            mapping of names to cells, or data of one row as `Tree.apply` takes it.
        to
            The class that is wished for; default any other than the one predicted.
        frozen
            Features that may not change.

        Returns
        -------
        Why
            The path in words, the rules that speak of each node, and the counterfactual:
            fewest features first, then the least sum of changes over training ranges.

        Raises
        ------
        OdtError
            U207: no such training row, class or feature, several rows, no tree, or no rows. U201 to
            U204, D132 to D135: as `Tree.apply`.
        """
        if self.diagram is not None:
            raise error("U207", "`why` explains only trees, and the answer is a diagram")
        if self.tree is None:
            raise error("U207", f"there is no tree to explain: the answer is {self.status}")
        if self.rows is None:
            raise error(
                "U207",
                "this result does not keep the training rows, which `why` needs",
                helps=("ask before the estimator is pickled or copied, or fit again",),
            )
        explain = method("Result.why")
        return cast("Why", explain(self.tree, self.rows, row, to=to, frozen=frozen))

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "",
        prices: bool = False,
        within: float | str | None = None,
        rows: bool = True,
    ) -> None:
        """Write one HTML page to look at: it needs no network and no other file.

        The model, to fold and to follow rows in; the spec with its rules and the nodes that they
        shaped; audit, errors by group, costs, thresholds, the timeline; of an infeasible result
        which rules conflict.

        Parameters
        ----------
        path
            The file; replaced as a whole.
        title
            Of the page; default the name of the spec.
        prices
            Whether the price of each rule is searched for, which takes more solves.
        within
            What that, or the search for the conflict, may take: seconds, or `"2 min"`.
        rows
            Whether the page holds cells of training rows, to follow them.

        Raises
        ------
        OdtError
            F301: the file cannot be written. U361: there are no training rows.
        """
        from odtdsl.base.limits import parse_seconds

        limit = None if within is None else parse_seconds(str(within))
        write = method("Result.report")
        write(self, as_path(path), title=title, prices=prices, seconds=limit, with_rows=rows)

    def to_svg(
        self,
        *,
        title: str = "",
        theme: Theme = "auto",
        show: Sequence[Show] = ("costs", "groups", "rules"),
    ) -> str:
        """The model as an SVG document, with what is known of its nodes on the training rows.

        Parameters
        ----------
        title, theme
            As of `Tree.to_svg`.
        show
            `costs` of the path so far, rows of each of the `groups`, and `rules` that speak of
            the node.

        Raises
        ------
        OdtError
            U361: there is no model, or there are no training rows.
        """
        return cast(str, method("Result.to_svg")(self, title=title, theme=theme, show=show))

    def plot(
        self, ax: Axes | None = None, *, show: Sequence[Show] = ("costs", "groups", "rules")
    ) -> Axes:
        """The model drawn by matplotlib, as `to_svg` draws it; see `Tree.plot`."""
        return cast("Axes", method("Result.plot")(self, ax, show=show))

    def without_rows(self) -> Result:
        """The same without training rows, so without what needs them: `why`, reports, and the
        models of the timeline."""
        timeline = tuple(replace(at, found=None, make=None) for at in self.timeline)
        str(self.fingerprint)  # which lets go of the rows
        return replace(self, rows=None, timeline=timeline)

    def __str__(self) -> str:
        """What `odt solve` prints: the model, its status, and the audit."""
        return cast(str, method("Result.__str__")(self))

    def _repr_html_(self) -> str:
        return cast(str, method("Result._repr_html_")(self))

    @property
    def digest(self) -> str:
        """SHA-256 of the training data that the answer belongs to."""
        return str(self.fingerprint)

    @property
    def tree(self) -> Tree | None:
        """The model, where it is a tree."""
        return self.model if isinstance(self.model, Tree) else None

    @property
    def diagram(self) -> Diagram | None:
        """The model, where it is a diagram."""
        return self.model if isinstance(self.model, Diagram) else None

    @property
    def by(self) -> str:
        """Who was asked: the steps taken, else the back end.

        The start is among them where nothing is proven, as the model may then be its.
        """
        closed = self.status in ("optimal", "infeasible")
        told = [step for step in self.steps if not (closed and step == str(START))]
        return ", then ".join(told) or self.backend

    @property
    def objective(self) -> Fraction | tuple[Fraction, ...] | None:
        """The exact value of the only stage, or a tuple of those of several; None without a model.

        `float(result.objective)` makes a float of the first kind.
        """
        found: Fraction | tuple[Fraction, ...] | None = only(tuple(s.value for s in self.stages))
        return found

    @property
    def bound(self) -> Fraction | tuple[Fraction | None, ...] | None:
        """The proven bound of the only stage, or of each of several."""
        found: Fraction | tuple[Fraction | None, ...] | None = only(
            tuple(stage.bound for stage in self.stages)
        )
        return found

    def primal_integral(
        self, best: Fraction | int | float | None = None, until: float | None = None
    ) -> float:
        """How early good models came: the integral of the primal gap over time, in seconds.

        The gap is 1 before the first model, and then the distance of the incumbent and `best`
        over the larger of the two (Berthold, Measuring the impact of primal heuristics, 2013).

        Parameters
        ----------
        best
            The value of the first stage to measure against; by default the last incumbent.
        until
            Seconds to measure to; by default those of the whole solve.
        """
        known = [(at.seconds, at.incumbent) for at in self.timeline if at.stage == 0]
        steps = [(seconds, value) for seconds, value in known if value is not None]
        end = self.seconds if until is None else until
        if not steps:
            return end
        goal = Fraction(best) if best is not None else steps[-1][1]
        total, since, gap = 0.0, 0.0, 1.0
        for seconds, value in steps:
            now = min(max(seconds, since), end)
            total += gap * (now - since)
            since, gap = now, _primal_gap(value, goal)
        return total + gap * (end - since)

    @property
    def gap(self) -> Fraction | None:
        """The gap of the first stage that is not proven; 0 if all are."""
        for stage in self.stages:
            if not stage.proven:
                return stage.gap
        return Fraction(0) if self.stages else None

    def to_json(self) -> dict[str, Any]:
        """One object as `odt solve --json` writes it; fractions as numbers."""
        from odtdsl.predictors.saving import to_json

        model, found = self.model, self.audit
        return {
            "status": self.status,
            "objective": as_number(self.objective),
            "bound": as_number(self.bound),
            "gap": as_number(self.gap),
            "errors": None if found is None else as_number(found.errors),
            "depth": None if model is None else model.depth,
            "leaves": None if model is None else model.n_leaves,
            "splits": None if model is None else model.n_splits,
            "nodes": None if model is None else model.n_leaves + model.n_splits,
            "seconds": round(self.seconds, 6),
            "backend": self.backend,
            "steps": list(self.steps),
            "seed": self.seed,
            "digest": self.digest,
            "problem": None if self.rows is None else problem_digest(self.rows.problem),
            "interrupted": self.interrupted,
            "stopped": self.stopped or None,
            "size": dict(self.size),
            "counters": dict(self.counters),
            "stages": [
                {
                    "text": stage.text,
                    "value": as_number(stage.value),
                    "bound": as_number(stage.bound),
                    "gap": as_number(stage.gap),
                    "proven": stage.proven,
                }
                for stage in self.stages
            ],
            "audit": [] if found is None else audit_to_json(found),
            "test": None if self.test is None else self.test.to_json(),
            **({} if self.training is None else {"training": self.training.to_json()}),
            **({} if self.outputs is None else {"outputs": self.outputs.to_json()}),
            "primal_integral": round(self.primal_integral(), 6),
            "timeline": [
                {
                    "seconds": round(at.seconds, 6),
                    "stage": at.stage,
                    "incumbent": as_number(at.incumbent),
                    "bound": as_number(at.bound),
                }
                for at in self.timeline
            ],
            "warnings": [diagnostic_to_json(warning) for warning in self.warnings],
            **({} if self.certificate is None else {"certificate": self.certificate.to_json()}),
            "model": None if model is None else to_json(model),
        }


def _primal_gap(value: Fraction, best: Fraction) -> float:
    if value == best:
        return 0.0
    if value * best < 0:
        return 1.0
    return float(abs(value - best) / max(abs(value), abs(best)))


def problem_digest(problem: Problem) -> str:
    """SHA-256 of what is asked: all of a problem but its rows and the options of the search.

    Other releases, or other words of the same meaning, may give another one.
    """
    from odtdsl.datasets.request import DataRequest
    from odtdsl.problem.ir.problem import Options

    asked = replace(problem, data=DataRequest(kind="frame"), options=Options())
    return hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).hexdigest()
