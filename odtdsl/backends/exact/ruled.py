"""A core with rules as the engine's search under rules reads it: components, facts, states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor

import numpy as np
import numpy.typing as npt

from odtdsl.backends.base import Objection
from odtdsl.backends.exact.components import (
    HUGE,
    Components,
    alike,
    clipped,
    denominator_of,
    empty_paths,
)
from odtdsl.backends.exact.feature_space import Rule, Space, space
from odtdsl.backends.exact.features import Features, ruled_features
from odtdsl.backends.exact.lowering import MAX_LOSS_SUM, constant_of, most_leaves
from odtdsl.backends.exact.path_states import TooManyStates
from odtdsl.backends.exact.paths import Paths, clauses_of, path_measures, paths
from odtdsl.backends.exact.refuted import hopeless
from odtdsl.base import engine
from odtdsl.base.frozen import dataclass
from odtdsl.base.kept import kept
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Clause,
    Core,
    Depth,
    DepthStage,
    Form,
    Linear,
    LinearStage,
    Link,
    Monotone,
    Origin,
    PathTotal,
    Root,
    SignedAtom,
    Used,
)
from odtdsl.problem.ir.problem import MAX_SEARCH_DEPTH, TreeSkeleton

MOST_FACTS = 64

ModelLiteral = tuple[str, int, int]
RowLiteral = tuple[list[int], int, int]
Term = tuple[int, tuple[int, ...], int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rules:
    """What the engine's search under rules reads beside the features: see its stub.

    `names` are those of the rules that `clauses` came from.
    """

    column: list[int]
    columns: int
    missing_low: list[bool]
    missing_high: list[bool]
    allowed_at: tuple[tuple[BoolArray | None, ...], ...]
    components: Components
    states: Paths
    facts: Facts
    leaf_clauses: list[list[RowLiteral]]
    split_clauses: list[list[RowLiteral]]
    clauses: list[list[ModelLiteral]]
    names: list[str]
    objective: list[Term]
    offset: int
    space: Space | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Digit:
    """A stage in the stacked objective: what one of its steps weighs, and where they lie.

    A value of the stage is (steps + `constant`) / `denominator`, with steps from `low` to `high`.
    """

    unit: int
    low: int
    high: int
    constant: int
    denominator: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ruled:
    """What the search gets, and how to read its values.

    Attributes
    ----------
    rules
        What the engine reads of them.
    possible
        False where a rule cannot hold for any tree.
    digits
        The stages of the objective, the first one weighing most.
    most
        No tree has a larger objective, in the numbers of the search: a bound above it proves
        that none keeps the rules.
    span
        The largest number of steps that the stacked objective can take.
    reach
        What the size of all numbers that the search adds up stays below.
    """

    features: Features
    depth: int
    rules: Rules
    possible: bool
    digits: tuple[Digit, ...]
    most: int
    span: int
    reach: int

    def problem(self, core: Core) -> engine.RuledProblem:
        """The core that was lowered, for the engine."""
        rules, found, states = self.rules, self.rules.components, self.rules.states
        return engine.RuledProblem(
            self.features.table(),
            core.n_classes,
            self.depth,
            max_leaves=most_leaves(core, self.depth),
            columns=engine.Columns(
                column=rules.column,
                columns=rules.columns,
                missing_low=rules.missing_low,
                missing_high=rules.missing_high,
                allowed_at=rules.allowed_at,
            ),
            components=engine.Components(
                value=found.table(),
                sum_of=[at for labels in found.sum_of for at in labels],
                leaf=found.leaf,
                split=_stacked(found.split, rules.columns),
                path_weight=found.path_weight,
                path_delta=[
                    None if path is None else np.ascontiguousarray(states.delta[path])
                    for path in found.path
                ],
            ),
            states=engine.PathStates(
                next=states.next,
                need=states.need,
                closed=states.closed,
                leaf_rules=states.leaf_rules,
                split_rules=states.split_rules,
            ),
            facts=engine.Facts(
                count=len(rules.facts),
                split=rules.facts.split.ravel().tolist(),
                pairs=rules.facts.pairs,
            ),
            clauses=engine.Clauses(
                leaf=rules.leaf_clauses, split=rules.split_clauses, model=rules.clauses
            ),
            objective=rules.objective,
            offset=rules.offset,
            space=None if rules.space is None else rules.space.given(),
        )

    def first(self, value: int) -> Fraction:
        """A value of the objective (or a bound of it) as one of its first stage."""
        return self.stage(value, 0)

    def stage(self, value: int, at: int) -> Fraction:
        """Of a tree's objective one of its stages."""
        for k, digit in enumerate(self.digits):
            rest = sum(later.low * later.unit for later in self.digits[k + 1 :])
            steps = (value - rest) // digit.unit
            if k == at:
                return Fraction(steps + digit.constant, digit.denominator)
            value -= steps * digit.unit
        raise IndexError(at)

    def at_most(self, bounds: Sequence[Fraction | None]) -> int:
        """The largest objective of trees whose stages are at most these; None: any value.

        Exact where every bound but the last one is the least value of its stage.
        """
        total = 0
        for digit, bound in zip(self.digits, bounds, strict=True):
            steps = digit.high
            if bound is not None:
                steps = min(steps, floor(bound * digit.denominator) - digit.constant)
            total += digit.unit * steps
        return total


class Facts:
    """Bits that splits set: a column is used, the root is wrong, a level is reached, rows part."""

    def __init__(self, core: Core, depth: int) -> None:
        self.core = core
        self.depth = depth
        self.split = np.zeros((depth, len(core.columns)), dtype=np.uint64)
        self.pairs: list[tuple[int, int, int]] = []
        self.monotone: list[Rule] = []
        self._known: dict[tuple[object, ...], int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def _new(self, *key: object) -> tuple[int, bool]:
        known = key in self._known
        return self._known.setdefault(key, len(self._known)), not known

    def _bit(self, index: int) -> np.uint64:
        if index >= MOST_FACTS:
            raise TooManyFacts
        return np.uint64(1 << index)

    def used(self, column: int) -> int:
        """The fact that some split of the path or model tests the column."""
        index, new = self._new("used", column)
        if new and self.depth:
            self.split[:, column] |= self._bit(index)
        return index

    def wrong_root(self, columns: tuple[int, ...]) -> int:
        """The fact that the root tests another column than these."""
        index, new = self._new("root", frozenset(columns))
        if new and self.depth:
            others = [c for c in range(len(self.core.columns)) if c not in columns]
            self.split[0, others] |= self._bit(index)
        return index

    def reached(self, level: int) -> int:
        """Whether a split stands at this level or below it: the tree is deeper than `level`."""
        index, new = self._new("reached", level)
        if new:
            self.split[level:, :] |= self._bit(index)
        return index

    def parted(self, first: int, second: int) -> int:
        """The fact that two training rows reach different leaves."""
        index, new = self._new("parted", min(first, second), max(first, second))
        if new:
            self._bit(index)
            self.pairs.append((index, first, second))
        return index

    def out_of_order(self, rule: Monotone) -> int:
        """Whether the labels of two points that agree but in a column break the rule."""
        index, new = self._new("order", rule.column, rule.increasing)
        if new:
            self._bit(index)
            self.monotone.append((index, rule.column, rule.increasing))
        return index


class TooManyFacts(Exception):
    """Rules ask for more than 64 facts of the tree."""


class _Assembly:
    def __init__(self, core: Core, depth: int) -> None:
        self.core, self.depth = core, depth
        self.leaves = max(1, most_leaves(core, depth))
        self.paths: Paths = paths(core, depth)
        self.components = Components(core)
        self.facts = Facts(core, depth)
        self.possible = True
        self.names: list[str] = []

    # ---- rules of the model

    def literal(self, literal: SignedAtom) -> ModelLiteral | bool:
        """A literal on components and facts; a truth value where it does not depend on the tree."""
        atom: Atom = literal.atom
        match atom:
            case Linear(measure=measure, at_most=bound):
                at_most = bound - constant_of(measure)
                if measure.is_constant:
                    return at_most >= 0
                return ("component", self.components.add(measure), clipped(at_most))
            case PathTotal(measure=measure, path_sum=total, at_most=bound):
                index = path_measures(self.core).index(total.measure)
                at_most = bound - constant_of(measure) - empty_paths(total)
                return ("component", self.components.add(measure, total, index), clipped(at_most))
            case Used(column=column):
                return ("fact", self.facts.used(column), literal.positive)
            case Root(columns=columns):
                return ("fact", self.facts.wrong_root(columns), not literal.positive)
            case Depth(at_most=bound):
                if bound < 0 or bound >= self.depth:
                    return (bound >= 0) == literal.positive
                return ("fact", self.facts.reached(bound), not literal.positive)
            case Link(first=first, second=second):
                if first == second:
                    return literal.positive
                return ("fact", self.facts.parted(first, second), not literal.positive)
            case Monotone():
                return ("fact", self.facts.out_of_order(atom), not literal.positive)
        raise AssertionError(f"objections() refuses {atom}")

    def model_clauses(self) -> list[list[ModelLiteral]]:
        found: list[list[ModelLiteral]] = []
        for clause in clauses_of(self.core, Scope.MODEL):
            literals = [self.literal(literal) for literal in clause.literals]
            if any(literal is True for literal in literals):
                continue
            found.append([literal for literal in literals if not isinstance(literal, bool)])
            self.names.append(clause.origin.rule)
            self.possible = self.possible and not self.beyond(found[-1])
        if self.core.tree.leaves is not None:
            count = self.components.add(Additive(leaves=1))
            found.append([("component", count, self.core.tree.leaves)])
            self.names.append("leaves")
        return found

    def beyond(self, literals: list[ModelLiteral]) -> bool:
        """Whether rows and skeleton alone put every tree above the one bound of a clause.

        Of several bounds the search tells, as their certificate looks at every tree.
        """
        if len(literals) != 1 or literals[0][0] != "component":
            return not literals
        _, component, at_most = literals[0]
        low, _ = self.components.range_of(component, self.leaves, self.paths.delta, self.depth)
        return low > at_most

    # ---- rules on rows of a leaf or split

    def row_clause(self, clause: Clause, labels: int) -> list[RowLiteral]:
        """The literals of a clause that ask rows; those on the path are the automaton's."""
        found: list[RowLiteral] = []
        for literal in clause.literals:
            if isinstance(literal.atom, Linear):
                found.append(self.row_literal(literal.atom, labels))
        return found

    def row_literal(self, atom: Linear, labels: int) -> RowLiteral:
        measure = atom.measure
        values = np.zeros((self.core.n_rows, labels), dtype=np.int64)
        if measure.rows is not None:
            values += measure.rows[:, None]
        if measure.output is not None:
            values += measure.output
        sums = [self.components.sum(values[:, label]) for label in range(labels)]
        if len(set(sums)) == 1:
            sums = sums[:1]
        return (sums, 0, clipped(atom.at_most - measure.constant))

    # ---- objective

    def stage(self, stage: LinearStage | DepthStage) -> tuple[list[Term], int, int]:
        """Terms of a stage, and the constant and denominator that make its value of them."""
        if isinstance(stage, DepthStage):
            return [(1, (), self.facts.reached(level)) for level in range(self.depth)], 0, 1
        common = denominator_of(stage)
        step = common // stage.measure.denominator
        terms: list[Term] = [(step, (self.components.add(stage.measure),), -1)]
        constant = constant_of(stage.measure) * step
        if (total := stage.path_sum) is not None:
            step = common // total.whole_denominator
            index = path_measures(self.core).index(total.measure)
            terms.append((step, (self.components.add(Additive(), total, index),), -1))
            constant += step * empty_paths(total)
        for factor, parts in stage.maxima:
            denominator, scaled = alike(parts)
            added = tuple(self.components.add(part, shift=True) for part in scaled)
            weight = factor * common / denominator
            assert weight.denominator == 1, "denominator_of covers all"
            terms.append((int(weight), added, -1))
        return terms, constant, common

    def range_of(self, terms: list[Term]) -> tuple[int, int]:
        low = high = 0
        for coefficient, components, fact in terms:
            if fact >= 0:
                high += coefficient
                continue
            ranges = [
                self.components.range_of(c, self.leaves, self.paths.delta, self.depth)
                for c in components
            ]
            low += coefficient * max(a for a, _ in ranges)
            high += coefficient * max(b for _, b in ranges)
        return low, high

    def reach_of(self, objective: list[Term]) -> int:
        """What all sums of the search stay below: of each component, and of the objective."""
        leaves = min(self.core.n_rows, 1 << self.depth)
        each = [
            self.components.reach(component, leaves, self.paths.delta, self.depth)
            for component in range(len(self.components))
        ]
        total = sum(
            coefficient * max((each[c] for c in components), default=1)
            for coefficient, components, _ in objective
        )
        return max([total, *each])

    def most(
        self,
        stages: list[tuple[list[Term], int, int]],
        ranges: list[tuple[int, int]],
        units: list[int],
        clauses: list[list[ModelLiteral]],
    ) -> int:
        """What no tree that keeps the rules passes; a rule may bound the objective itself."""
        bounds: dict[int, int] = {}
        for kind, index, at_most in (clause[0] for clause in clauses if len(clause) == 1):
            if kind == "component":
                bounds[index] = min(at_most, bounds.get(index, at_most))
        total = 0
        for (terms, _, _), (_, high), unit in zip(stages, ranges, units, strict=True):
            if len(terms) == 1 and len(terms[0][1]) == 1 and terms[0][1][0] in bounds:
                high = min(high, terms[0][0] * bounds[terms[0][1][0]])
            total += high * unit
        return total

    # ---- all of it

    def build(self) -> Ruled:
        clauses = self.model_clauses()
        self.possible = self.possible and not hopeless(self.core)
        leaf = [self.row_clause(c, self.core.n_classes) for c in clauses_of(self.core, Scope.LEAF)]
        split = [self.row_clause(c, 1) for c in clauses_of(self.core, Scope.SPLIT)]
        stages = [
            self.stage(stage)
            for stage in self.core.objective
            if isinstance(stage, LinearStage | DepthStage)
        ]
        ranges = [self.range_of(terms) for terms, _, _ in stages]
        units: list[int] = []
        unit = 1
        for low, high in reversed(ranges):
            units.insert(0, unit)
            unit *= high - low + 1
        objective = [
            (coefficient * weight, components, fact)
            for (terms, _, _), weight in zip(stages, units, strict=True)
            for coefficient, components, fact in terms
        ]
        found = ruled_features(self.core, self.depth)
        families = [self.core.families[family] for family, _ in found.tests]
        ranked = [family.kind == "threshold" for family in families]
        first = [r and f.missing == "left" for r, f in zip(ranked, families, strict=True)]
        last = [r and f.missing == "right" for r, f in zip(ranked, families, strict=True)]
        monotone = self.facts.monotone
        rules = Rules(
            column=[family.column for family in families] or [0],  # a feature without a cut
            columns=len(self.core.columns),
            missing_low=first or [False],
            missing_high=last or [False],
            allowed_at=found.by_level,
            components=self.components,
            states=self.paths,
            facts=self.facts,
            leaf_clauses=leaf,
            split_clauses=split,
            clauses=clauses,
            names=self.names,
            objective=objective,
            offset=stages[0][1],
            space=space(self.core, found, self.depth, monotone) if monotone else None,
        )
        digits = tuple(
            Digit(unit=unit, low=low, high=high, constant=constant, denominator=denominator)
            for unit, (low, high), (_, constant, denominator) in zip(
                units, ranges, stages, strict=True
            )
        )
        return Ruled(
            features=found,
            depth=self.depth,
            rules=rules,
            possible=self.possible,
            digits=digits,
            most=self.most(stages, ranges, units, clauses),
            span=unit,
            reach=self.reach_of(objective),
        )


def _stacked(rows: list[IntArray], width: int) -> npt.NDArray[np.int64]:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def assemble(core: Core, depth: int) -> Ruled:
    """Lower a core, whose forms `objections` has let pass, for trees of at most this depth.

    Raises
    ------
    TooManyStates
        Of the rules on paths.
    TooManyFacts
        The rules on the model ask for more than 64 facts.
    """
    made = _assembled(core, depth)
    _assembled.cache_clear()
    return made


@kept  # asked by `objections`, then by the search
def _assembled(core: Core, depth: int) -> Ruled:
    return _Assembly(core, depth).build()


def ruled_objections(core: Core) -> Iterator[Objection]:
    """What keeps the search under rules from a problem, in its numbers."""
    wrong = tuple(_below_splits(core))
    yield from wrong or _too_large(core)


def _below_splits(core: Core) -> Iterator[Objection]:
    for clause in core.clauses:
        for literal in clause.literals:
            atom = literal.atom
            if (
                clause.scope is Scope.SPLIT
                and isinstance(atom, Linear)
                and atom.measure.output is not None
            ):
                yield Objection(
                    form=Form.LINEAR_SPLIT,
                    origin=clause.origin,
                    reason="the search cannot bound the predictions below a split",
                )


def _too_large(core: Core) -> Iterator[Objection]:
    skeleton = core.skeleton
    assert isinstance(skeleton, TreeSkeleton), "supports() refuses diagrams"
    depth = skeleton.depth
    if depth is None:
        depth = min(MAX_SEARCH_DEPTH, max(0, most_leaves(core, MAX_SEARCH_DEPTH) - 1))
    origin = Origin(rule="objective")
    long = Objection(
        form=Form.LINEAR_MODEL,
        origin=origin,
        reason="the numbers of the rules and the objective add up to more than 18 digits",
    )
    try:
        made = _assembled(core, depth)
    except OverflowError:  # costs of paths beyond 64 bits
        yield long
    except TooManyStates:
        yield Objection(
            form=Form.BUDGET,
            origin=origin,
            reason="the rules on paths distinguish too many paths",
        )
    except TooManyFacts:
        yield Objection(
            form=Form.USED_MODEL,
            origin=origin,
            reason=f"the rules depend on more than {MOST_FACTS} facts about the tree",
        )
    else:
        if made.reach >= HUGE:
            yield long
        elif made.span >= MAX_LOSS_SUM:
            yield Objection(
                form=Form.OBJECTIVE_LINEAR,
                origin=origin,
                reason="the stages together need more than 15 digits",
            )
