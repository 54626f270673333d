"""What else: the distinct trees that are as good as the best one, or nearly so.

A tree counts by the function that it computes: of all trees that predict alike everywhere, one is
kept, the best one by the objective, then that of the fewest leaves, then the shallowest.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from odtdsl.backends.base import Limits, Report, Status
from odtdsl.base.back_ends import AUTO, able
from odtdsl.base.diagnostics.model import Diagnostic, Label, OdtError, error
from odtdsl.base.files import as_path
from odtdsl.base.interrupts import interruptible
from odtdsl.base.kept import keeping
from odtdsl.base.memory import Guard
from odtdsl.base.methods import method
from odtdsl.base.numbers import as_number, only
from odtdsl.driver.collected import Alternative, Collected, alternative
from odtdsl.driver.near import Near, bounds_of, price_of_an_error
from odtdsl.driver.overrides import Overrides, overridden
from odtdsl.driver.result import Certificate, Result
from odtdsl.predictors.nodes import Branch
from odtdsl.predictors.predictor import Predictor
from odtdsl.problem.ir.forms import Core, DepthStage
from odtdsl.problem.ir.problem import DiagramSkeleton

if TYPE_CHECKING:
    from odtdsl.backends.exact.enumeration import Enumerated, Wish
    from odtdsl.backends.exact.enumeration import Stopped as Ended
    from odtdsl.compiler import Analysis
    from odtdsl.driver.reliance import Reliance
    from odtdsl.problem.ir.rows import Rows

MAX_LISTED_TREES = 1000
"""Distinct trees that are listed where no number is given."""

Stopped = Literal["", "most", "time", "interrupted", "memory", "depth", "unproven"]

STOPPED: dict[Stopped, str] = {
    "": "",
    "most": "there are more: raise `--most` to see them",
    "time": "no time was left for more trees",
    "interrupted": "interrupted",
    "memory": "the memory limit was reached",
    "depth": "deeper trees were not searched",
    "unproven": "the best tree was not proven optimal within the limits",
}
"""Why a list is not complete, in words."""


MOST = 2**62
"""More trees than are ever listed."""


def at_least_one(most: int) -> int:
    """How many trees to list.

    Raises
    ------
    OdtError
        U313: none.
    """
    if most < 1:
        raise error("U313", f"`{most}` is not a number of trees", helps=("write 1 or more",))
    return min(most, MOST)


# ---- the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """In how many of the trees something stands.

    Attributes
    ----------
    feature, test
        A feature, and the condition that sends a row left (empty: any test of it).
    trees
        The trees that have it.
    share
        Of all trees.
    """

    feature: str
    test: str
    trees: int
    share: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternatives:
    """The distinct trees that are as good as the best one, or nearly so.

    Attributes
    ----------
    result
        The answer of the search for the best one.
    near
        The tolerance as given; empty for trees that are equal to the best in every stage.
    most
        How many trees were asked for.
    trees
        The best ones first; by size where values are equal.
    complete
        Whether there are no others.
    stopped
        Why there may be others; empty if there are none.
    raw
        How many trees there are where those that predict alike count each; None where they were
        not all counted.
    counts
        The same by the value of the first stage, the best first.
    without
        Of these, how many never test each feature, in the order of the spec; empty unless asked
        for.
    distinct
        How many trees there are where those that predict alike count once, if `complete`; else
        how many were found.
    seconds
        Wall time, the search for the best one included.
    rows
        The training rows.
    tolerance
        `near`, read.
    """

    result: Result
    near: str
    most: int
    trees: tuple[Alternative, ...]
    complete: bool
    stopped: Stopped
    raw: int | None
    counts: tuple[tuple[Fraction, int], ...]
    without: tuple[int, ...]
    distinct: int
    seconds: float
    rows: Rows = field(repr=False)
    tolerance: Near | None = field(default=None, repr=False)
    counters: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    certificate: Certificate | None = field(default=None, repr=False)
    """What was shown of the list by `certify`."""

    def __str__(self) -> str:
        """What `odt solve --near` prints: the first trees, and what all share."""
        return cast(str, method("Alternatives.__str__")(self))

    def reliance(self) -> tuple[Reliance, ...]:
        """How far good trees rely on each feature, the most relied on first.

        Which features each good tree needs is known after `count`, whether they are listed or
        not; least and most reliance are those of the listed trees, and of all where the list is
        complete.

        Raises
        ------
        OdtError
            B103: the target has no classes.
        """
        from odtdsl.driver.reliance import reliance_of

        return reliance_of([one.tree for one in self.trees], self.rows, self.without)

    def certify(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        within: float | str | timedelta | None = None,
    ) -> Alternatives:
        """The same list with a certificate that it is complete, checked by `odtcheck`.

        Parameters
        ----------
        path
            A file for the certificate, which `odt audit --proof` and `odtcheck` check elsewhere;
            the rows are written beside it.
        within
            A time limit for writing it, such as `"30 s"`.

        Returns
        -------
        Alternatives
            Its `certificate` says what was shown; the text of the list tells it.

        Raises
        ------
        OdtError
            P201: the list is not complete. P202: the time was over. P203: no certificate covers
            the problem, with the rule. P109: `odtcheck` refuses it.
        """
        return cast(
            "Alternatives",
            method("Alternatives.certify")(self, None if path is None else as_path(path), within),
        )

    @property
    def status(self) -> Status:
        """What the search for the best tree proved."""
        return self.result.status

    @property
    def features(self) -> tuple[Use, ...]:
        """The features by the share of trees that test them; those that no tree tests, too."""
        names = [type_.name for type_ in self.trees[0].tree.features] if self.trees else []
        count = Counter(name for one in self.trees for name in one.tree.tested)
        uses = [self._use(name, "", count[name]) for name in names]
        return tuple(sorted(uses, key=lambda use: -use.trees))

    @property
    def tests(self) -> tuple[Use, ...]:
        """The tests by the share of trees that have them somewhere."""
        from odtdsl.predictors.wording import split_words

        count: Counter[tuple[str, str]] = Counter()
        for one in self.trees:
            nodes = [node for node in one.tree.nodes() if isinstance(node, Branch)]
            words = {(node.feature, split_words(node)[1]): None for node in nodes}
            count.update(list(words))
        uses = [self._use(feature, test, trees) for (feature, test), trees in count.items()]
        return tuple(sorted(uses, key=lambda use: -use.trees))

    def _use(self, feature: str, test: str, trees: int) -> Use:
        return Use(feature=feature, test=test, trees=trees, share=Fraction(trees, len(self.trees)))

    @property
    def shared(self) -> tuple[str, ...]:
        """The features that every tree tests."""
        return tuple(use.feature for use in self.features if use.share == 1)

    @property
    def sizes(self) -> tuple[tuple[tuple[Fraction, ...], int, int], ...]:
        """How many trees have which value and how many leaves, the best first."""
        count = Counter((one.objective, one.tree.n_leaves) for one in self.trees)
        return tuple((value, leaves, trees) for (value, leaves), trees in count.items())

    def to_json(self) -> dict[str, Any]:
        """One object as `odt solve --all-optimal --json` writes it."""
        from odtdsl.predictors.json import to_json

        def uses(found: Iterable[Use]) -> list[dict[str, Any]]:
            return [
                {
                    "feature": use.feature,
                    **({"test": use.test} if use.test else {}),
                    "trees": use.trees,
                    "share": float(use.share),
                }
                for use in found
            ]

        return {
            "status": self.status,
            "near": self.near or None,
            "most": self.most,
            "count": len(self.trees),
            "complete": self.complete,
            "stopped": self.stopped or None,
            "distinct": self.distinct,
            "raw": self.raw,
            "counts": [{"value": as_number(v), "trees": trees} for v, trees in self.counts],
            "seconds": round(self.seconds, 6),
            "reliance": [
                {
                    "feature": one.feature,
                    "needed": one.needed,
                    "without": one.without,
                    "least": one.least,
                    "most": one.most,
                }
                for one in (self.reliance() if self.without and self.trees else ())
            ],
            "shared": list(self.shared),
            "features": uses(self.features),
            "tests": uses(self.tests),
            "sizes": [
                {"objective": as_number(only(value)), "leaves": leaves, "trees": trees}
                for value, leaves, trees in self.sizes
            ],
            "counters": dict(self.counters),
            **({} if self.certificate is None else {"certificate": self.certificate.to_json()}),
            "model": to_json(self.trees[0].tree) if self.trees else None,
            "trees": [
                {
                    "objective": as_number(only(one.objective)),
                    "errors": as_number(one.audit.errors),
                    "depth": one.tree.depth,
                    "leaves": one.tree.n_leaves,
                    "model": to_json(one.tree),
                }
                for one in self.trees
            ],
            "best": {k: v for k, v in self.result.to_json().items() if k != "model"},
        }


# ---- the search


@keeping()
def alternatives(
    analysis: Analysis,
    *,
    near: Near | None = None,
    most: int = MAX_LISTED_TREES,
    tell: bool | Callable[[Alternative], None] = True,
    count: bool = False,
    start: Predictor | None = None,
    report: Report | None = None,
    began: float | None = None,
    **overrides: Unpack[Overrides],
) -> Alternatives:
    """The distinct trees whose objective is that of the best one, or near it.

    Parameters
    ----------
    analysis
        The spec, resolved.
    near
        How far the first stage may be from its best value; the later ones are free then. None:
        all stages must have their best values.
    most
        Distinct trees to list at most.
    tell
        Whether to list trees, or only count them: those that predict alike once up to `most`,
        and each one however many there are. A function is called with the first `FIRST_TREES`
        of the list, each as soon as no better one can come.
    count
        Whether to count all trees, and those that do without each feature, beside the list.
    start, report, began, overrides
        As in `driver.pipeline.solve`. Only `exact` lists trees, and a gap is not read.

    Returns
    -------
    Alternatives
        On Ctrl-C or at a limit, with what was found and `complete` false.

    Raises
    ------
    OdtError
        B102, B103: `exact` cannot express the problem, or another back end is asked for, or
        targets are numbers. U314: `near` counts errors, and the objective does not. X101: a
        tree did not survive its audit, which is a mistake of this package.
    """
    from odtdsl.backends.exact.enumeration import Enumerated, Wish
    from odtdsl.driver import pipeline
    from odtdsl.problem.terms.normalize import normalize

    began = began or time.monotonic()
    options, _ = overridden(analysis.problem.options, overrides)
    core = normalize(analysis.rows)
    _check(analysis, core, options.backend)
    overrides["backend"], overrides["gap"] = able("list"), Fraction(0)
    if near is not None and near.of == "errors":
        price_of_an_error(core, analysis.rows)  # refuse before the search
    result = pipeline.solve(analysis, start=start, report=report, began=began, **overrides)
    deadline = None if options.seconds is None else began + options.seconds
    found = Collected(core, analysis, most, deadline, tell if callable(tell) else None)
    stopped: Stopped = ""
    ended = Enumerated(stopped="", counts=())
    if result.status == "optimal" and not result.interrupted:
        limits = Limits(
            deadline=deadline, threads=options.threads, memory_bytes=options.memory_bytes
        )
        wish = Wish(most=most, tell=bool(tell) or found.merges, count=count or not tell)
        stopped, ended = _enumerate(core, analysis, result, near, limits, found, wish)
    elif result.status != "infeasible":
        stopped, ended = "interrupted" if result.interrupted else "unproven", Enumerated(stopped="")
    trees = found.trees() if tell else ()
    if not trees and tell and result.tree is not None and result.audit is not None:
        trees = (alternative(result.tree, result.audit),)
    sign = core.objective[0].sign
    return Alternatives(
        result=result,
        near="" if near is None else near.text,
        most=most,
        trees=trees,
        complete=not stopped,
        stopped=stopped,
        raw=None if ended.counts is None else sum(trees for _, trees in ended.counts),
        counts=tuple((sign * value, trees) for value, trees in ended.counts or ()),
        without=ended.without,
        distinct=len(found.known) if tell or found.merges else ended.told,
        seconds=time.monotonic() - began,
        rows=analysis.rows,
        tolerance=near,
        counters=ended.counters,
    )


def _enumerate(
    core: Core,
    analysis: Analysis,
    result: Result,
    near: Near | None,
    limits: Limits,
    found: Collected,
    wish: Wish,
) -> tuple[Stopped, Enumerated]:
    from odtdsl.backends.exact.enumeration import Functions, enumerate_trees

    best = best_of(core, result)
    bounds = bounds_of(core, analysis.rows, best, near)
    with interruptible() as interrupted:  # as before: a first Ctrl-C only asks
        memory = Guard(limits.memory_bytes, lambda: interrupted() or found.must_end())
        ended = enumerate_trees(
            core,
            bounds,
            replace(limits, interrupted=memory),
            found,
            wish=replace(
                wish,
                least=best,
                most=2**62 if found.merges else wish.most,
                functions=Functions(rows=analysis.rows, columns=found.missing),
            ),
            shallowest=shallowest(core, best),
        )
        if ended.stopped == "interrupted" and not interrupted():
            return "memory" if memory.full else "time", ended
    return _ENDED[ended.stopped], ended


def best_of(core: Core, result: Result) -> tuple[Fraction, ...]:
    """The values of the stages of an optimal result, minimized."""
    return tuple(
        stage.value if isinstance(form, DepthStage) else form.sign * stage.value
        for form, stage in zip(core.objective, result.stages, strict=True)
        if stage.value is not None
    )


def shallowest(core: Core, best: tuple[Fraction, ...]) -> int:
    """The least depth that trees of a list have, where the depth is the first stage."""
    return int(best[0]) if isinstance(core.objective[0], DepthStage) else 0


_ENDED: dict[Ended, Stopped] = {
    "": "",
    "enough": "most",
    "time": "time",
    "interrupted": "interrupted",
    "memory": "memory",
    "depth": "depth",
}


def _check(analysis: Analysis, core: Core, wish: str) -> None:
    """One back end lists trees, and only trees with classes."""
    from odtdsl.backends.exact.enumeration import enumerate_objections
    from odtdsl.driver.choice import choose, refuse_quotients, refused

    lists = able("list")
    if wish not in (AUTO, lists):
        raise error(
            "B103",
            f"`{wish}` finds one tree: it cannot list equally good ones",
            helps=(f"write `using {lists}`, or `--using {lists}`",),
        )
    if isinstance(core.skeleton, DiagramSkeleton):
        raise error("B103", "only trees can be listed, not diagrams")
    refuse_quotients(core, analysis.problem.source, "lists of trees")
    choice = choose(core, lists)
    if choice.name is None:
        raise refused(choice, lists, analysis.problem.source, solving=False)
    if core.targets is not None:
        raise error("B103", "trees can be listed only for class targets, not for number targets")
    objections = tuple(enumerate_objections(core))
    if objections:
        raise OdtError(
            [
                Diagnostic(
                    code="B103",
                    message="the trees of this problem cannot be listed",
                    labels=(Label(span=one.origin.span),) if one.origin.span.start >= 0 else (),
                    notes=(one.reason,),
                    source=analysis.problem.source,
                )
                for one in objections
            ]
        )
