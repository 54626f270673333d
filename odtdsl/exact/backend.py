"""The `exact` back end: our branch-and-bound search over trees with axis splits, in C++."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from odtdsl.backends.base import (
    EXACT,
    Limits,
    Objection,
    Progress,
    RawAnswer,
    Report,
    StageOutcome,
    Status,
    Support,
    started,
)  # fmt: skip
from odtdsl.backends.native import engine
from odtdsl.exact import regression
from odtdsl.exact.lower import (
    Features,
    Losses,
    about_rules,
    deepest_of,
    features,
    from_raw,
    least,
    losses,
    merged,
    most_leaves,
    objections,
    size_of,
    smallest_without_loss,
    to_raw,
)  # fmt: skip
from odtdsl.exact.plain import PlainRules, plain_rules
from odtdsl.exact.ruled import ruled_objections
from odtdsl.exact.shapes import refuted
from odtdsl.exact.under_rules import RuledSearch
from odtdsl.ir.evaluate import Evaluation
from odtdsl.ir.forms import Core, DepthStage, Form, LinearStage
from odtdsl.ir.raw import RawModel, RawTree, depth_of

if TYPE_CHECKING:
    from odtdsl.backends.choice import Need

_REFUSED = {
    Form.DIAGRAM: "the search is for trees",
    Form.HYPERPLANE: "the search tests one feature at a split",
}
_PARTLY = {
    Form.REGRESSION: "`mse`, `mae` and `poisson`, of one target or several",
    Form.OBJECTIVE_LOSS: "with a price per leaf, and the number of leaves as a second stage",
    Form.LOSS_BOUND: "of the loss that is the objective, from above",
}
_PLAIN = {
    Form.TREE, Form.TREE_UNBOUNDED, Form.SPLIT_FILTER, Form.LINEAR_MODEL, Form.MISSING_BRANCH,
    Form.OBJECTIVE_LINEAR, Form.OBJECTIVE_DEPTH, Form.REGRESSION, Form.OBJECTIVE_LOSS,
    Form.LOSS_BOUND, Form.OUTPUT_SET,
}  # fmt: skip


class Exact:
    """Branch and bound over sub-trees: `docs/explanation/exact.md`."""

    name = "exact"

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        reason = _REFUSED.get(form)
        if form is Form.LOSS_BOUND and inside_or:
            reason = "the search does not branch on disjunctions of losses"
        if reason is not None:
            return Support(level="unsupported", reason=reason)
        if form in _PARTLY:
            return Support(level="costly", reason=_PARTLY[form])
        return EXACT

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """What keeps the search from this very problem."""
        if core.targets is not None:
            special = tuple(
                Objection(
                    form=need.form, origin=need.origin,
                    reason="the search for number targets does not carry this rule yet",
                )
                for need in _special(core)
                if need.form is not Form.LINEAR_LEAF  # `regression.objections` looks at these
            )  # fmt: skip
            return (*special, *about_rules(core), *regression.objections(core))
        return () if _plain(core) is not None else tuple(ruled_objections(core))

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        return size_of(core)

    def solve(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> RawAnswer:
        """Search until proven or a limit is met.

        Raises
        ------
        OdtError
            X202: the native part of the package is not built.
        """
        first = started(start)
        if core.targets is not None:
            return regression.RegressionSearch(engine(), core, limits, first, report).run()
        if refuted(core):
            return RawAnswer(status="infeasible", tree=None)
        if (rules := _plain(core)) is not None:
            return _Search(core, rules, limits, first, report).run()
        return RuledSearch(core, limits, first, report, engine()).run()


def _special(core: Core) -> tuple[Need, ...]:
    """What a problem needs and the plain search does not have."""
    from odtdsl.backends.choice import needs

    return tuple(
        need for need in needs(core)
        if need.form not in _PLAIN or (need.form is Form.LINEAR_MODEL and need.inside_or)
    )  # fmt: skip


def _plain(core: Core) -> PlainRules | None:
    """The rules of a problem, if the plain search, the fastest, expresses all of it."""
    found = plain_rules(core)
    if found is None:
        return None
    rules, rest = found
    return None if _special(rest) or any(True for _ in objections(rest)) else rules


class _Search:
    """One solve: a single search, or one per depth where the depth is made least."""

    def __init__(
        self, core: Core, rules: PlainRules, limits: Limits, start: RawTree | None,
        report: Report | None,
    ) -> None:  # fmt: skip
        self.core, self.limits, self.start, self.report = core, limits, start, report
        self.rules = rules
        self.engine = engine()
        self.began = time.monotonic()
        found = features(core)
        self.size = size_of(core, found)
        self.features: Features = merged(rules.restricted(core, found))
        self.stages = tuple(s for s in core.objective if isinstance(s, LinearStage))
        self.least = least(self.stages[0].measure) if self.stages else 0
        self.by_depth = isinstance(core.objective[0], DepthStage)
        self.timeline: list[Progress] = []

    def run(self) -> RawAnswer:
        deepest, self.cut_off = deepest_of(self.core)
        if most_leaves(self.core, deepest) < 1:
            return RawAnswer(status="infeasible", tree=None)
        if not self.by_depth:
            return self._answer(self._search(deepest), deepest)
        if self.rules.none and smallest_without_loss(self.core, deepest):
            return self._smallest(deepest)
        for depth in range(deepest + 1):
            found = self._search(depth)
            if found["status"] != "infeasible":
                return self._answer(found, depth)
        return self._answer(found, deepest)

    def _search(self, depth: int) -> dict[str, Any]:
        """One search at a depth, on the stacked losses."""
        self.losses: Losses = losses(self.core, self.stages, depth)
        bound = None if self.losses.limit is None else self.losses.limit - 1
        found: dict[str, Any] = self.engine.solve(
            self.features.ranks, self.features.distinct, self.losses.classes,
            self.losses.n_classes, depth,
            allowed=list(self.features.allowed), weights=self.losses.weights,
            costs=self.losses.costs, max_leaves=most_leaves(self.core, depth),
            leaf_price=self.losses.price, time_limit=self._left(),
            relative_gap=float(self.limits.gap) if len(self.stages) == 1 else 0.0,
            threads=self.limits.threads, memory_limit=self.limits.memory_bytes,
            upper_bound=bound, start=self._start(depth), progress=self._progress,
            interrupted=self.limits.interrupted, **self.rules.engine(self.core, self.features),
        )  # fmt: skip
        return found

    def _smallest(self, deepest: int) -> RawAnswer:
        """Least depth, then least leaves, by the search for trees without loss.

        A tree comes only when all smaller depths are refuted, so its depth is proven.
        """
        self.losses = losses(self.core, (), deepest)
        found = self.engine.solve(
            self.features.ranks, self.features.distinct, self.losses.classes,
            self.losses.n_classes, deepest, allowed=list(self.features.allowed), smallest=True,
            time_limit=self._left(), memory_limit=self.limits.memory_bytes,
            interrupted=self.limits.interrupted,
        )  # fmt: skip
        if found["tree"] is None:
            return self._answer(found, 0 if found["status"] == "unknown" else deepest)
        tree = to_raw(self.core, self.features, found["tree"])
        return self._answer(found, depth_of(tree))

    def _left(self) -> float | None:
        if self.limits.deadline is None:
            return None
        return max(0.0, self.limits.deadline - time.monotonic())

    def _start(self, depth: int) -> Any:
        if self.start is None or depth_of(self.start) > depth:
            return None
        return from_raw(self.core, self.features, self.start)

    # ---- values

    def _first(self, value: int) -> Fraction:
        """A stacked value (or a bound of it) as one of the first linear stage."""
        stage = self.stages[0].measure
        steps = value if self.losses.limit is None else value % self.losses.limit
        return Fraction(self.least + steps // self.losses.units[0], stage.denominator)

    def _progress(self, value: int, bound: int, seconds: float) -> None:
        if not self.stages or self.by_depth:
            return
        broken = self.losses.limit is not None and value >= self.losses.limit
        progress = Progress(
            stage=0, incumbent=None if broken else self._first(value), bound=self._first(bound),
            seconds=seconds,
        )  # fmt: skip
        self.timeline.append(progress)
        if self.report is not None:
            self.report(progress)

    def _answer(self, found: dict[str, Any], depth: int) -> RawAnswer:
        tree = None if found["tree"] is None else to_raw(self.core, self.features, found["tree"])
        status: Status = self._status(found)
        if status == "unknown" and self.start is not None:  # a start deeper than was asked
            tree, status = self.start, "feasible"
        return RawAnswer(
            status=status, tree=tree, stages=self._outcomes(tree, status, found, depth),
            timeline=tuple(self.timeline), size=self.size,
            counters=tuple(found["counters"].items()),
            interrupted=bool(found["interrupted"]),
        )  # fmt: skip

    def _status(self, found: dict[str, Any]) -> Status:
        """What is proven of all trees: those deeper than `DEEPEST` were not looked at."""
        status: Status = found["status"]
        if not self.cut_off or (self.by_depth and status == "optimal"):
            return status
        if status == "infeasible":
            return "unknown"
        perfect = found["objective"] is not None and found["objective"] <= self.losses.price
        return "feasible" if status == "optimal" and not perfect else status

    def _outcomes(
        self, tree: RawTree | None, status: Status, found: dict[str, Any], depth: int
    ) -> tuple[StageOutcome, ...]:
        evaluation = None if tree is None else Evaluation(self.core, tree)
        outcomes: list[StageOutcome] = []
        for index, stage in enumerate(self.core.objective):
            value = None if evaluation is None else evaluation.stage_value(stage)
            bound = value if status == "optimal" else None
            proven = status == "optimal"
            if isinstance(stage, DepthStage):  # all smaller depths are refuted
                bound, proven = Fraction(depth), value == depth
            elif bound is None and index == 0 and status != "infeasible":
                bound = self._first(int(found["bound"]))
            outcomes.append(StageOutcome(value=value, bound=bound, proven=proven))
        return tuple(outcomes)
