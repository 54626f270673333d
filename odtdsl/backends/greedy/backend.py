"""The `greedy` back end: a good tree at once, without a proof.

It grows CART under the rules, labels, prunes and improves the tree, and starts again with
perturbed scores and with more weight on the rules that were broken. What it answers is
valid by `problem.ir.evaluate`; where it meets no valid tree it says `unknown`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from odtdsl.backends.base import (
    EXACT,
    BackEnd,
    Limits,
    Objection,
    RawAnswer,
    Report,
    Support,
    started,
)
from odtdsl.backends.decode import simplify
from odtdsl.backends.greedy.costs import Lagrangian, PenalizedObjective
from odtdsl.backends.greedy.exhaustive import small_trees
from odtdsl.backends.greedy.growth import Grower, Plan
from odtdsl.backends.greedy.labels import label_leaves
from odtdsl.backends.greedy.local_search import alternate, settled, with_column
from odtdsl.backends.greedy.paths import PathRules
from odtdsl.backends.greedy.tables import Node, Tables
from odtdsl.backends.incumbent import Incumbent
from odtdsl.backends.steps import START, Step
from odtdsl.base.back_ends import Value
from odtdsl.base.diagnostics.model import error
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core, DepthStage, Form, Origin, Used
from odtdsl.problem.ir.problem import DiagramSkeleton, Growth, Options
from odtdsl.problem.ir.raw import RawDiagram, RawLeaf, RawModel, RawTree
from odtdsl.problem.ir.regression import loss_in

ATTEMPTS = 60
"""Trees grown at most."""
WORK = 40_000_000
"""Cells scanned at most, once a valid tree is known; four times as many before. A cell takes about
as long as a visit of a row in `search`, so that a limit of steps counts both."""
NODE = 2_000
"""Cells that labelling and judging one node costs as much time as."""
BRIEF, TRIALS = 2_000_000, 4
"""Of a brief run: cells scanned at most once a valid tree is known, four times as many before, and
trees grown at most where rules bound predictions, two times as many before; else the first tree
will do."""
OPTIMAL = Growth()
TRIMS = 40
"""Trees of more splits are not trimmed by trying every fold."""


@dataclass(frozen=True, slots=True)
class GreedyBackEnd(BackEnd):
    """CART under the rules of a spec.

    Parameters
    ----------
    growth
        How splits are scored and leaves filled, of number targets.
    brief
        Whether the first good tree will do: for a search that finds better ones by itself.
    """

    name: ClassVar[str] = "greedy"

    growth: Growth = OPTIMAL
    brief: bool = False

    @classmethod
    def of(cls, options: Options, given: Mapping[str, Value]) -> GreedyBackEnd:
        """With the ways of the spec."""
        return cls(options.growth)

    def check(self, core: Core) -> None:
        """Ways of growth are for number targets, and violations are priced for two losses."""
        ways = {self.growth.split, self.growth.leaf}
        if ways == {"optimal"}:
            return
        other = ", ".join(sorted(ways - {"optimal"}))
        if core.targets is None:
            raise error(
                "B102",
                f"`greedy` can score splits by `{other}` only for number targets, and the target is"
                " a class",
                helps=("write `using greedy`",),
            )
        loss = loss_in(core)
        if loss is not None and loss.exposure is not None:
            raise error(
                "B102",
                "leaves of survival trees are filled by `optimal` alone",
                helps=("write `using greedy`",),
            )
        if "relaxed" in ways and loss is not None and loss.kind == "poisson":
            raise error(
                "B102",
                "`relaxed` works with `mse` and `mae`, not with `poisson`",
                helps=("use `optimal`, `medoid` or `average`",),
            )

    def starts(self, core: Core) -> tuple[Step, ...]:
        """None: it is what starts are grown by."""
        return ()

    def for_start(self, way: str, *, brief: bool) -> GreedyBackEnd:
        """With the way of a start."""
        return GreedyBackEnd(Growth(split=way), brief)

    def answered(self, core: Core) -> Core:
        """Ways that may break rules on outputs make these soft."""
        if core.targets is None:
            return core
        from odtdsl.backends.greedy.outputs import is_soft, softened

        return softened(core) if is_soft(self.growth) else core

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """Whether trees are judged by a form; `greedy` promises nothing but validity."""
        return EXACT

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """Hyperplanes of a tree; else what is expressed is so whatever the numbers."""
        skeleton = core.skeleton
        if skeleton.splits == "hyperplane" and not isinstance(skeleton, DiagramSkeleton):
            reason = "`greedy` tests one feature at a split of a tree"
            origin = Origin(rule="skeleton")
            return (Objection(form=Form.HYPERPLANE, origin=origin, reason=reason),)
        return ()

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """The rows and the candidate tests that are scanned."""
        return (("rows", core.n_rows), ("tests", sum(f.n_tests for f in core.families)))

    def solve(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> RawAnswer:
        """Grow trees until the effort is spent; deterministic for a seed within the limits.

        The status is `feasible` or `unknown`, never a proof.

        Raises
        ------
        OdtError
            X202: the native part of the package is not built.
        """
        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.greedy.diagrams import grow

            given = start if isinstance(start, RawDiagram) else None
            return grow(core, limits, given, report, brief=self.brief)
        judged = self.answered(core)
        incumbent: Incumbent[RawTree] = Incumbent(judged, limits, report)
        if (first := started(start)) is not None:
            incumbent.offer(first)
        left = limits.left()
        self._run(core, incumbent, brief=self.brief)
        if incumbent.best is None and left is not None and left < START.least / 2:
            # Reading has left too little for a tree: the first good one has some time in any case,
            # as it has where growth is a start.
            incumbent.limits = replace(limits, deadline=time.monotonic() + START.least)
            self._run(core, incumbent, brief=True)
        if incumbent.best is None:
            return incumbent.answer(None)
        return incumbent.answer(settled(judged, simplify(judged, incumbent.best)))

    def _run(self, core: Core, incumbent: Incumbent[RawTree], *, brief: bool) -> None:
        """Grow what the targets ask for."""
        seed = incumbent.limits.seed
        if core.targets is None:
            _Search(core, incumbent, seed, brief=brief).run()
        elif self.grows_vectors(core):
            from odtdsl.backends.greedy.outputs import OutputGrowth

            OutputGrowth(core, incumbent, seed, self.growth).run()
        else:
            from odtdsl.backends.greedy.regression import RegressionGrowth

            RegressionGrowth(core, incumbent, seed, brief=brief).run()

    def grows_vectors(self, core: Core) -> bool:
        """Whether the growth for output vectors is asked for, with its ways of scoring."""
        from odtdsl.problem.outputs.feasible import feasible_set

        assert core.targets is not None
        loss = loss_in(core)
        plain = core.targets.shape[1] == 1 and (loss is None or loss.kind != "poisson")
        return not plain or self.growth != Growth() or feasible_set(core) is not None


class _Search:
    """One run: restarts; the best tree is kept."""

    def __init__(
        self, core: Core, incumbent: Incumbent[RawTree], seed: int, *, brief: bool = False
    ) -> None:
        self.core = core
        self.incumbent = incumbent
        self.brief = brief
        self.tables = Tables(core)
        self.rules = PathRules(core)
        self.grower = Grower(self.tables, self.rules, incumbent.stopped, seed)
        self.lagrangian = Lagrangian(core)
        self.required = _required(core)
        steps = incumbent.limits.steps
        self.most = WORK if steps is None else min(WORK, incumbent.limits.work)

    def run(self) -> None:
        self._single_leaves()
        for grown, (plan, plain) in enumerate(self._plans()):
            if self._spent() or (self.brief and self._suffices(grown)):
                break
            self._attempt(plan, plain)
        if self.brief:
            return
        if self.incumbent.best is None:
            for tree in small_trees(self.core, self.tables.depth):
                if self.incumbent.stopped():
                    break
                self.incumbent.offer(tree)
        if self.incumbent.best is not None:
            self._trim()

    def _spent(self) -> bool:
        limit = self.most if self.incumbent.best is not None else 4 * self.most
        return self.incumbent.stopped() or self.tables.work > limit

    def _suffices(self, grown: int) -> bool:
        """Whether a brief run has seen enough after so many trees."""
        known = self.incumbent.best is not None
        most = TRIALS if self.lagrangian.clauses or not known else 1
        factor = 1 if known else 2
        return grown >= factor * most or self.tables.work > factor**2 * BRIEF

    def _single_leaves(self) -> None:
        for label in range(self.core.n_classes):
            self.incumbent.offer(RawLeaf(label=label))

    def _plans(self) -> Iterator[tuple[Plan, bool]]:
        """Plain growth first, then stumps, forced roots, and perturbed restarts."""
        depth, leaves = self._depth(), self.tables.leaves
        base = Plan(depth=depth, leaves=leaves)
        yield base, False
        yield replace(base, gain_last=False), False
        yield base, True
        for shallow in range(1, min(depth, 3)):
            yield replace(base, depth=shallow), False
        for column in self.required:
            yield replace(base, first=column), False
        for attempt in range(ATTEMPTS):
            wide = attempt % 3 == 1 and leaves is not None
            yield (
                Plan(
                    depth=self._depth(),
                    leaves=None if wide else leaves,
                    noise=(0.1, 0.3, 0.6, 1.0)[attempt % 4],
                    gain_last=attempt % 2 == 0,
                    full=bool(self.lagrangian.clauses) and attempt % 3 == 2,
                ),
                attempt % 7 == 6,
            )

    def _depth(self) -> int:
        """The depth to grow to: below the best one where depth is what counts most."""
        first = self.core.objective[0] if self.core.objective else None
        if isinstance(first, DepthStage) and self.incumbent.values:
            return max(0, min(self.tables.depth, int(self.incumbent.values[0]) - 1))
        return self.tables.depth

    # ---- one restart

    def _attempt(self, plan: Plan, plain: bool) -> None:
        objective = self.lagrangian.current(plain=plain)
        root = self.grower.grow(self.tables.root(), objective, plan)
        for column in self.required:
            if column not in {self.core.families[n.family].column for n in root.splits()}:
                with_column(self.grower, root, column, objective, plan.depth)
        # Learnt from the labels that the objective prefers: flips hide what the structure breaks.
        label_leaves(self.core, root, objective, flips=False)
        self.lagrangian.learn(Evaluation(self.core, root.raw()))
        self._offer(root, objective)
        self.grower.fold_broken(root)
        self._offer(root, objective)
        for _ in range(2):
            if self.incumbent.stopped():
                return
            self.grower.prune(root, objective)
            self._shrink(root, objective)
            self._offer(root, objective)
            alternate(self.grower, root, objective)
            self._offer(root, objective)

    def _offer(self, root: Node, objective: PenalizedObjective) -> bool:
        self.tables.work += NODE * len(root.nodes())
        label_leaves(self.core, root, objective)
        return self.incumbent.offer(root.raw())

    def _shrink(self, root: Node, objective: PenalizedObjective) -> None:
        """Fold the splits that lose least until the bound on leaves holds."""
        limit = self.tables.leaves
        if limit is None:
            return
        while len(root.leaves()) > limit and not self.incumbent.stopped():
            losses = []
            for index, node in enumerate(root.splits()):
                if any(child.children for child in node.children):
                    continue
                apart = sum(
                    int(objective.gains[child.rows].sum(axis=0).max(initial=0))
                    for child in node.children
                )
                alone = int(objective.gains[node.rows].sum(axis=0).max(initial=0))
                losses.append((apart - alone, index, node))
            min(losses, key=lambda item: item[:2])[2].fold()

    # ---- the best tree

    def _trim(self) -> None:
        """Fold single splits of the best tree while a fold makes it better."""
        improved = True
        while improved and self.incumbent.best is not None and not self.incumbent.stopped():
            improved = False
            root = self.tables.placed(self.incumbent.best)
            if len(root.splits()) > TRIMS:
                return
            for index in range(len(root.splits())):
                smaller = self.tables.placed(self.incumbent.best)
                smaller.splits()[index].fold()
                objective = self.lagrangian.current()
                if self._offer(smaller, objective):
                    improved = True
                    break


def _required(core: Core) -> list[int]:
    """Columns that a rule wants some split to test: the first of each such rule."""
    found: list[int] = []
    for clause in core.clauses:
        if clause.scope is Scope.MODEL:
            wanted = [x for x in clause.literals if isinstance(x.atom, Used) and x.positive]
            if wanted and len(wanted) == len(clause.literals):
                atom = wanted[0].atom
                assert isinstance(atom, Used)
                found.append(atom.column)
    return list(dict.fromkeys(found))
