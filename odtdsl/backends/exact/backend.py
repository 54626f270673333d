"""The `exact` back end: our branch-and-bound search over axis splits, in C++.

Trees are searched here and in the modules beside; diagrams by moves, trees and shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from odtdsl.backends.base import (
    BackEnd,
    Limits,
    Objection,
    RawAnswer,
    Report,
    Status,
    Support,
    by_tables,
    started,
)
from odtdsl.backends.exact.features import Features, features, merged, size_of
from odtdsl.backends.exact.lowering import (
    Losses,
    any_tree_will_do,
    deepest_of,
    demands,
    least,
    losses,
    most_leaves,
    objections,
    smallest_without_loss,
    suits_counts,
)
from odtdsl.backends.exact.packed import Packed
from odtdsl.backends.exact.plain_rules import PlainRules, beyond_plain, plain_rules
from odtdsl.backends.exact.raw_trees import to_raw
from odtdsl.backends.exact.shapes import refuted
from odtdsl.backends.exact.stacked_search import Found, StackedSearch
from odtdsl.backends.needs import Need, needs, refusals
from odtdsl.backends.steps import (
    BRIEF_START,
    LATE_START,
    QUICK_START_OF_DIAGRAMS,
    START_OF_DIAGRAMS,
    VECTOR_START,
    Step,
)
from odtdsl.backends.stepwise import take
from odtdsl.base import engine
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.kept import kept
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core, Form, Linear, LinearStage, MaximaBound, RegressionStage
from odtdsl.problem.ir.maxima import MOST_CASES, too_many, written_out
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawModel, RawTree, depth_of

if TYPE_CHECKING:
    from odtdsl.backends.exact.diagrams import DiagramSearch
    from odtdsl.backends.exact.remote import Exchange

_REFUSED = {
    Form.HYPERPLANE: "each split of the search tests one feature",
}
_PARTLY = {
    Form.DIAGRAM: "only for one additive stage; it may end without a proof, above all under rules",
    Form.REGRESSION: "only `mse`, `mae` and `poisson`, for one target or several",
    Form.MAXIMA_BOUND: f"its cases are enumerated, at most {MOST_CASES:,}; use `milp` for more",
}
_PLAIN = {
    Form.TREE,
    Form.TREE_UNBOUNDED,
    Form.SPLIT_FILTER,
    Form.LINEAR_MODEL,
    Form.MISSING_BRANCH,
    Form.OBJECTIVE_LINEAR,
    Form.OBJECTIVE_DEPTH,
    Form.REGRESSION,
    Form.OBJECTIVE_LOSS,
    Form.LOSS_BOUND,
    Form.OUTPUT_SET,
}


@dataclass(frozen=True, slots=True)
class Exact(BackEnd):
    """Branch and bound over sub-trees: `docs/explanation/exact.md`.

    Imports inside methods keep the code for diagrams and numbers from being loaded for classes.
    """

    name: ClassVar[str] = "exact"
    asks_by_turns: ClassVar[bool] = True

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """What the search proves, proves slowly, or does not take; with the reason."""
        return by_tables(form, _REFUSED, _PARTLY)

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """What keeps the search from this very problem."""
        written = _of_cases(core)
        if not isinstance(written, Core):
            return written
        core = written
        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.exact.diagrams import diagram_objections

            return tuple(diagram_objections(core))
        if core.targets is not None:
            from odtdsl.backends.exact import regression

            return tuple(regression.objections(core))
        if plain_of(core) is not None:
            return ()
        from odtdsl.backends.exact.ruled import ruled_objections

        return tuple(ruled_objections(core))

    def kept_here(self, core: Core) -> str:
        """Diagrams, numbers, and rules that the plain search does not express."""
        if isinstance(core.skeleton, DiagramSkeleton):
            return "the search for diagrams runs on one machine"
        if core.targets is not None:
            return "the search for trees of numbers runs on one machine"
        if plain_of(core) is None:
            return "the search under these rules runs on one machine"
        return ""

    def starts(self, core: Core) -> tuple[Step, ...]:
        """One that is brief, before trees: it grows its own, but for output vectors under rules.

        Late where it grows them from the first moment on, or tells all at once. None where counts
        soon prove the best tree: growing one would take longer.
        """
        if isinstance(core.skeleton, DiagramSkeleton):
            return (START_OF_DIAGRAMS if core.clauses else QUICK_START_OF_DIAGRAMS,)
        if core.targets is not None:
            from odtdsl.backends.exact.number_rules import tells_at_once
            from odtdsl.backends.exact.regression import takes_vectors

            if self.grows(core) or tells_at_once(core):
                return (LATE_START,)
            return (VECTOR_START if takes_vectors(core) else BRIEF_START,)
        if not self.grows(core):
            return (LATE_START if any_tree_will_do(core) else BRIEF_START,)
        return () if suits_counts(core) else (LATE_START,)

    def grows(self, core: Core) -> bool:
        """Whether it meets trees from the first moment on, and needs none to begin with.

        So does the search by scans for one number, that for numbers without rules, and the plain
        search of a whole problem, except where it goes up in depth or every row must be right.
        """
        if core.targets is not None:
            from odtdsl.backends.exact.number_rules import asks_tree, scans

            first = core.objective[0]
            if not isinstance(first, RegressionStage) or asks_tree(core):
                return False
            return not core.clauses or scans(core)
        return (
            isinstance(core.objective[0], LinearStage)
            and not any(True for _ in demands(core))
            and plain_of(core) is not None
        )

    def steps(self, core: Core) -> tuple[Step, ...]:
        """Diagrams by moves, trees and shapes; trees in one."""
        if not isinstance(core.skeleton, DiagramSkeleton):
            return BackEnd.steps(self, core)
        from odtdsl.backends.exact.diagrams import STEPS

        return STEPS

    def steps_before_another(self, core: Core) -> tuple[Step, ...]:
        """The same for diagrams, with time left for the other."""
        from odtdsl.backends.exact.diagrams import STEPS_BEFORE_ANOTHER

        return STEPS_BEFORE_ANOTHER

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """Rows, features and cuts that the search looks at, by name."""
        core = written_out(core)
        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.exact.diagrams import diagram_size

            return diagram_size(core)
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
        core = written_out(core)
        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.exact.diagrams import STEPS

            return take(self._diagrams(core, limits, start, report), STEPS, limits)
        first = started(start)
        if core.targets is not None:
            from odtdsl.backends.exact.number_stages import search_of

            answer = search_of(core, limits, first, report)
            if limits.ledger is not None and answer.status in ("optimal", "infeasible"):
                from odtdsl.backends.exact.number_proof import number_certificate

                depth, _ = deepest_of(core)
                limits.ledger.parts.append(number_certificate(core, depth, answer, limits))
            return answer
        if limits.ledger is None and refuted(core):
            return RawAnswer(status="infeasible")
        rules = plain_of(core)
        if rules is not None:
            if limits.ledger is None or not asks_fronts(core):
                return PlainSearch(core, rules, limits, first, report).run()
            certified = _certified(core, rules, limits, first, report)
            if certified is not None:
                return certified
        from odtdsl.backends.exact.ruled_search import RuledSearch

        return RuledSearch(core, limits, first, report).run()

    def begin(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> DiagramSearch | None:
        """The search for diagrams."""
        if not isinstance(core.skeleton, DiagramSkeleton):
            return None
        return self._diagrams(written_out(core), limits, start, report)

    def _diagrams(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> DiagramSearch:
        first = start if isinstance(start, RawDiagram) else None
        from odtdsl.backends.exact.diagrams import DiagramSearch

        return DiagramSearch(core, limits, first, report, self._of_trees)

    def _of_trees(self, core: Core, limits: Limits) -> RawAnswer | None:
        return None if refusals(self, core) else self.solve(core, limits, None, None)


@kept  # asked for by `objections`, then by the search
def _of_cases(core: Core) -> Core | tuple[Objection, ...]:
    """The problem with the cases of sums of maxima in their place, or why it has none."""
    many = tuple(
        Objection(
            form=Form.MAXIMA_BOUND,
            origin=clause.origin,
            reason=f"it has {count:,} cases, and at most {MOST_CASES:,} are enumerated",
        )
        for clause, count in too_many(core)
    )
    if many:
        return many
    try:
        return written_out(core)
    except OdtError as problem:
        summed = [
            clause.origin
            for clause in core.clauses
            if any(isinstance(literal.atom, MaximaBound) for literal in clause.literals)
        ]
        reason = f"in one of its cases, {problem.diagnostics[0].message}"
        return (Objection(form=Form.MAXIMA_BOUND, origin=summed[0], reason=reason),)


def _special(core: Core) -> tuple[Need, ...]:
    """What a problem needs and the plain search does not have."""
    return tuple(
        need
        for need in needs(core)
        if need.form not in _PLAIN or (need.form is Form.LINEAR_MODEL and need.inside_or)
    )


@kept  # asked for by the choice, its starts, and the search
def plain_of(core: Core) -> PlainRules | None:
    """The rules of a problem, if the plain search, the fastest, expresses all of it."""
    rest = beyond_plain(core)
    if _special(rest) or any(True for _ in objections(rest)):
        return None  # before the rules on paths become an automaton, which may take long
    found = plain_rules(core)
    return None if found is None else found[0]


def asks_fronts(core: Core) -> bool:
    """Whether a certificate of a problem of classes is one under rules.

    The plain search with its log does not express them, or it prunes by more than it logs.
    """
    rules = None if core.targets is not None else plain_of(core)
    return rules is None or rules.must is not None


def _certified(
    core: Core, rules: PlainRules, limits: Limits, start: RawTree | None, report: Report | None
) -> RawAnswer | None:
    """The plain search's answer, certified as one under rules that have no multipliers.

    None where they may have some: then the search under rules finds them.
    """
    bounds = any(
        clause.scope is Scope.MODEL and isinstance(literal.atom, Linear)
        for clause in core.clauses
        for literal in clause.literals
    )
    depth, cut_off = deepest_of(core)
    linear = all(isinstance(stage, LinearStage) for stage in core.objective)
    if bounds or core.tree.leaves is not None or cut_off or not linear:
        return None
    answer = PlainSearch(core, rules, replace(limits, ledger=None), start, report).run()
    if answer.status == "infeasible":
        return None
    if answer.status == "optimal":
        from odtdsl.backends.exact.multipliers import certificate_without
        from odtdsl.backends.exact.ruled import assemble

        assert limits.ledger is not None, "a certificate is asked for"
        values = [stage.value for stage in answer.stages if stage.value is not None]
        limits.ledger.parts.append(certificate_without(core, assemble(core, depth), values))
    return answer


class PlainSearch(StackedSearch):
    """The search for trees whose rules are filters, costs of labels and least sizes."""

    least_stacked = 0

    def __init__(
        self,
        core: Core,
        rules: PlainRules,
        limits: Limits,
        start: RawTree | None,
        report: Report | None,
    ) -> None:
        super().__init__(core, limits, start, report)
        self.rules = rules
        found = features(core)
        self._size = size_of(core, found)
        self._cells: Features = merged(rules.restricted(core, found))
        self.stages = tuple(s for s in core.objective if isinstance(s, LinearStage))
        self.least = least(self.stages[0].measure) if self.stages else 0

    @property
    def cells(self) -> Features:
        """Tests that rows tell apart, by the filters."""
        return self._cells

    def size(self) -> tuple[tuple[str, int], ...]:
        """Rows, features and cuts."""
        return self._size

    def course(self, deepest: int) -> RawAnswer:
        """Depth upwards, or by the search for least trees without loss."""
        certified = self.limits.ledger is not None
        if (
            not certified
            and self.by_depth
            and self.rules.none
            and smallest_without_loss(self.core, deepest)
        ):
            return self._smallest(deepest)
        return super().course(deepest)

    def asked(self, depth: int) -> Found:
        """One search at a depth, on the stacked losses."""
        if self.limits.cluster is None:
            found = self._solved(depth, None)
        else:
            from odtdsl.backends.exact.remote import Exchange

            arguments = self._arguments(depth)
            with Exchange(self.limits.cluster, self.cells, arguments) as exchange:
                found = self._solved(depth, exchange)
        if self.limits.ledger is not None:
            self.limits.ledger.parts.append(found.certificate)
        return found

    def _solved(self, depth: int, elsewhere: Exchange | None) -> engine.ClassAnswer:
        return engine.solve(
            self._problem(depth),
            self.limits.of_engine(gap=len(self.stages) == 1),
            start=self.engine_start(),
            upper_bound=None if self.losses.limit is None else self.losses.limit - 1,
            progress=self.told,
            elsewhere=elsewhere,
        )

    def _problem(self, depth: int) -> engine.ClassProblem:
        """This problem at a depth, for the engine."""
        return engine.ClassProblem(self.cells.table(), **self._arguments(depth))

    def _arguments(self, depth: int) -> dict[str, Any]:
        """What it takes beside the table, by name."""
        # All parts of a certificate count in the same digits.
        digits = depth if self.limits.ledger is None else deepest_of(self.core)[0]
        self.losses: Losses = losses(self.core, self.stages, digits)
        return {
            "labels": self.losses.classes,
            "classes": self.losses.n_classes,
            "depth": depth,
            "weights": self.losses.weights,
            "costs": self.losses.costs,
            "max_leaves": most_leaves(self.core, depth),
            "leaf_price": self.losses.price,
            "min_leaf_rows": self.rules.leaf_rows,
            "column": self.rules.columns(self.core, self.cells),
            "next": self.rules.next,
            "must_column": -1 if self.rules.must is None else self.rules.must,
        }

    def packed(self, held: engine.Plan | engine.Tree) -> Packed:
        """A plan."""
        return Packed(_finishing, self.depth, held)

    def unpacked(self, told: Packed) -> RawTree:
        """The tree of a plan that this search told."""
        assert isinstance(told.held, engine.Plan), "as `packed` has it"
        found = engine.finish(self._problem(told.depth), told.held)
        assert found.tree is not None, "a plan is that of a tree"
        return to_raw(self.core, self.cells, found.tree)

    def _smallest(self, deepest: int) -> RawAnswer:
        """Least depth, then least leaves, by the search for trees without loss.

        A tree comes only when all smaller depths are refuted, so its depth is proven.
        """
        self.losses = losses(self.core, (), deepest)
        problem = engine.ClassProblem(
            self.cells.table(),
            self.losses.classes,
            self.losses.n_classes,
            deepest,
            smallest=True,
        )
        limits = engine.Limits(
            time_limit=self.limits.left(),
            memory_limit=self.limits.table_bytes(),
            threads=self.limits.threads,
            interrupted=self.limits.interrupted,
        )
        found = engine.solve(problem, limits)
        if found.tree is None:
            self.depth = 0 if found.status == "unknown" else deepest
        else:
            self.depth = depth_of(to_raw(self.core, self.cells, found.tree))
        return self.answer(found)

    # ---- values

    def value_of(self, stacked: int) -> Fraction | None:
        """None where a loss beyond the limit stands for a broken rule."""
        broken = self.losses.limit is not None and stacked >= self.losses.limit
        return None if broken else self.bound_of(stacked)

    def bound_of(self, stacked: int) -> Fraction | None:
        """Of the first linear stage."""
        stage = self.stages[0].measure
        steps = stacked if self.losses.limit is None else stacked % self.losses.limit
        return Fraction(self.least + steps // self.losses.units[0], stage.denominator)

    def status_of(self, found: Found) -> Status:
        """A tree without loss is best at any depth."""
        status = found.status
        if not self.cut_off or (self.by_depth and status == "optimal"):
            return status
        if status == "infeasible":
            return "unknown"
        perfect = found.objective is not None and found.objective <= self.losses.price
        return "feasible" if status == "optimal" and not perfect else status


def _finishing(core: Core) -> PlainSearch:
    """A search that is only asked to finish trees."""
    rules = plain_of(core)
    assert rules is not None, "the plain search told the tree"
    return PlainSearch(core, rules, Limits(), None, None)
