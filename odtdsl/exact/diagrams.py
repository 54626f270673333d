"""Diagrams on `exact`, in two steps: by trees, then shape by shape."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.backends.base import Limits, Objection, RawAnswer, Report
from odtdsl.base.engine import engine
from odtdsl.exact.lower import about_objective, size_of
from odtdsl.exact.unrolled import Unrolled, as_trees
from odtdsl.ir.forms import Core, Form, LinearStage, Origin
from odtdsl.ir.problem import DiagramSkeleton
from odtdsl.ir.raw import RawDiagram


def diagram_objections(core: Core) -> Iterator[Objection]:
    """What keeps both searches from a problem of diagrams."""
    if not unrolls(core):
        yield Objection(
            form=Form.DIAGRAM, origin=Origin(rule="skeleton"),
            reason="the search for diagrams is for one additive stage, without a reward for splits",
        )  # fmt: skip
        return
    yield from about_objective(as_trees(core))


def diagram_size(core: Core) -> tuple[tuple[str, int], ...]:
    """Rows, features and cuts that the searches look at."""
    return size_of(as_trees(core)) if unrolls(core) else ()


def unrolls(core: Core) -> bool:
    """Whether bounds by trees say something: axis splits, one additive stage, prices >= 0."""
    if not isinstance(core.skeleton, DiagramSkeleton) or core.skeleton.splits != "axis":
        return False
    if len(core.objective) != 1:
        return False
    (stage,) = core.objective
    if not isinstance(stage, LinearStage) or stage.maxima or stage.path_sum is not None:
        return False
    measure = stage.measure
    return measure.columns is None and not measure.leaves and measure.splits >= 0


class DiagramSearch:
    """One solve. Each step answers with the best diagram and the bound of all steps so far.

    Parameters
    ----------
    core
        A problem without `diagram_objections`.
    limits
        Time is that of the step by trees; `by_shapes` is given its own.
    start
        A diagram that keeps all rules, or None.
    """

    def __init__(
        self, core: Core, limits: Limits, start: RawDiagram | None, report: Report | None
    ) -> None:
        self.trees = Unrolled(core, limits, start, report, engine())
        self.bound = 0

    def by_trees(self) -> RawAnswer:
        """The best tree that is a diagram, and the bound by the trees that diagrams unroll to."""
        self.bound = self.trees.bound()
        return self.trees.answer(self.bound)

    def by_shapes(self, deadline: float | None) -> RawAnswer:
        """The shapes that trees leave open; `deadline` as in `Limits`."""
        self.bound = max(self.bound, self.trees.by_shapes(deadline))
        return self.trees.answer(self.bound)
