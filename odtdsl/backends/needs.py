"""What a problem needs of a back end, form by form, and what keeps a back end from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from odtdsl.backends.base import BackEnd
from odtdsl.backends.quotients import linear
from odtdsl.base.frozen import dataclass
from odtdsl.base.kept import kept
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Atom,
    Budget,
    Core,
    Depth,
    DepthStage,
    Form,
    Linear,
    LinearStage,
    Link,
    LossBound,
    MaximaBound,
    Monotone,
    Order,
    Origin,
    OutputSet,
    PathTotal,
    QuotientStage,
    RegressionStage,
    Root,
    Used,
)
from odtdsl.problem.ir.problem import DiagramSkeleton, TreeSkeleton


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A core form that a problem uses, where, and whether inside a disjunction."""

    form: Form
    inside_or: bool
    origin: Origin

    @property
    def subject(self) -> str:
        """Whose need it is: `the skeleton`, ``rule `short` ``."""
        name = self.origin.rule
        return f"the {name}" if self.origin in (SKELETON, OBJECTIVE) else f"rule `{name}`"

    @property
    def described(self) -> str:
        """The same with the form, as in `the skeleton (hyperplane splits)`."""
        return f"{self.subject} ({self.form.value}{' inside `or`' * self.inside_or})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A need that a back end does not have.

    Or, if `of_form` is False, what it has and still cannot take here: numbers, shapes, sizes.
    """

    need: Need
    reason: str
    of_form: bool = True


SKELETON = Origin(rule="skeleton")
OBJECTIVE = Origin(rule="objective")


@kept  # asked for by the choice, then by a back end about itself
def needs(core: Core) -> tuple[Need, ...]:
    """All core forms of a problem, each once per rule."""
    return tuple(dict.fromkeys(_needs(core)))


def _needs(core: Core) -> Iterator[Need]:
    def plain(form: Form, origin: Origin) -> Need:
        return Need(form=form, inside_or=False, origin=origin)

    match core.skeleton:
        case DiagramSkeleton():
            yield plain(Form.DIAGRAM, SKELETON)
        case TreeSkeleton():
            bounded = core.skeleton.depth is not None
            yield plain(Form.TREE if bounded else Form.TREE_UNBOUNDED, SKELETON)
    if core.skeleton.splits == "hyperplane":
        yield plain(Form.HYPERPLANE, SKELETON)
    if core.targets is not None:
        yield plain(Form.REGRESSION, SKELETON)
    columns = [family.column for family in core.families]
    if len(set(columns)) < len(columns):
        yield plain(Form.MISSING_BRANCH, SKELETON)
    for split_filter in core.filters:
        yield plain(Form.SPLIT_FILTER, split_filter.origin)
    for clause in core.clauses:
        inside_or = len(clause.literals) > 1
        for literal in clause.literals:
            form = form_of(literal.atom, clause.scope)
            yield Need(form=form, inside_or=inside_or, origin=clause.origin)
    for stage in core.objective:
        match stage:
            case DepthStage():
                yield plain(Form.OBJECTIVE_DEPTH, OBJECTIVE)
            case RegressionStage():
                yield plain(Form.OBJECTIVE_LOSS, OBJECTIVE)
            case LinearStage():
                yield plain(Form.OBJECTIVE_LINEAR, OBJECTIVE)
                if stage.maxima:
                    yield plain(Form.OBJECTIVE_MAX, OBJECTIVE)
                if stage.path_sum is not None:
                    yield plain(Form.OBJECTIVE_PATH_SUM, OBJECTIVE)
            case QuotientStage():
                yield plain(Form.OBJECTIVE_QUOTIENT, OBJECTIVE)
                yield plain(Form.OBJECTIVE_LINEAR, OBJECTIVE)
                if stage is not core.objective[-1]:
                    yield plain(Form.LINEAR_MODEL, OBJECTIVE)


def form_of(atom: Atom, scope: Scope) -> Form:
    """The name of an atom's form in its scope."""
    match atom:
        case Used():
            return Form.USED_PATH if scope is Scope.PATH else Form.USED_MODEL
        case Order():
            return Form.ORDER
        case Root():
            return Form.ROOT
        case Budget():
            return Form.BUDGET
        case Linear():
            return {
                Scope.MODEL: Form.LINEAR_MODEL,
                Scope.LEAF: Form.LINEAR_LEAF,
                Scope.SPLIT: Form.LINEAR_SPLIT,
            }[scope]
        case Depth():
            return Form.DEPTH
        case Link():
            return Form.LINK
        case Monotone():
            return Form.MONOTONE
        case PathTotal():
            return Form.PATH_TOTAL
        case OutputSet():
            return Form.OUTPUT_SET
        case LossBound():
            return Form.LOSS_BOUND
        case MaximaBound():
            return Form.MAXIMA_BOUND
        case _:
            assert_never(atom)


def refusals(
    engine: BackEnd, core: Core, required: tuple[Need, ...] | None = None
) -> tuple[Refusal, ...]:
    """What keeps a back end from a problem; `required` are its `needs`."""
    required = needs(core) if required is None else required
    found: list[Refusal] = []
    kinds = [need for need in required if need.form is Form.REGRESSION]
    if kinds and engine.supports(Form.REGRESSION, inside_or=False).level == "unsupported":
        required = tuple(kinds)  # all else that has to do with them follows from it
    for need in required:
        support = engine.supports(need.form, inside_or=need.inside_or)
        if support.level == "unsupported":
            found.append(Refusal(need=need, reason=support.reason))
    if found:
        return tuple(found)
    return tuple(
        Refusal(
            need=Need(form=one.form, inside_or=False, origin=one.origin),
            reason=one.reason,
            of_form=False,
        )
        for one in engine.objections(linear(core))
    )
