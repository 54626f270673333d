"""Certificates as pseudo-Boolean proofs: formula and steps in the format of VeriPB, and a checker.

Each rule of the calculus becomes a few cutting planes: sums, multiples, divisions rounded up, and
"a literal is at least 0". So it is shown that the rules are sound by something that knows nothing
of trees. Classes, weights, leaves of any size.

Variables: a choice of a test or a leaf per node, the one class of a leaf, and the error of each row
if it were dropped into the subtree of a node; a row that goes left at the chosen test loses what it
loses in the left subtree. MONO and DEL are then "an error is at least 0" and "is at most 1". For
SPLIT a fresh variable says whether the errors of some rows reach a bound: the two constraints that
define it stand behind those of the problem, and exclude no tree. For CLASSES the rows that a bound
is carried over are shown to lose what they do by SPLIT: what two sides lose for want of leaves is
no less than what their rows lose together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

Terms = list[tuple[int, int]]
"""Of (coefficient, literal); literals are numbers of variables, negative ones negated."""

Token = str | int | tuple[str, int]
"""Of a step in postfix notation; tuples are constraints that are numbered in the end."""


@dataclass(frozen=True)
class Bound:
    """A bound on one side of a cut, of a certificate."""

    feature: int
    cut: int
    right: bool
    value: int
    steps: Steps | None


@dataclass(frozen=True)
class Steps:
    """SPLIT: a bound on all rows at one level less, and bounds at cuts. Or POINTS, or CLASSES."""

    points: bool = False
    classes: bool = False
    flat: int = 0
    flat_steps: Steps | None = None
    bounds: tuple[Bound, ...] = ()


@dataclass
class Tiny:
    """A problem: ranks per row and feature, classes, weights."""

    ranks: list[tuple[int, ...]]
    classes: list[int]
    weights: list[int]

    def __post_init__(self) -> None:
        self.rows = frozenset(range(len(self.classes)))
        self.cuts = [
            (f, r)
            for f in range(len(self.ranks[0]))
            for r in range(max(rank[f] for rank in self.ranks))
        ]
        self.best = cache(self._best)

    def left(self, rows: frozenset[int], cut: tuple[int, int]) -> frozenset[int]:
        return frozenset(i for i in rows if self.ranks[i][cut[0]] <= cut[1])

    def weight(self, rows: frozenset[int]) -> int:
        return sum(self.weights[i] for i in rows)

    def of_two_values(self) -> bool:
        return all(rank <= 1 for ranks in self.ranks for rank in ranks)

    def by_class(self, rows: frozenset[int]) -> list[int]:
        """What the rows of each class weigh."""
        found = [0] * (max(self.classes) + 1)
        for i in rows:
            found[self.classes[i]] += self.weights[i]
        return found

    def lost(self, rows: frozenset[int], leaves: int) -> int:
        """CLASSES: what all but the heaviest classes of the rows weigh."""
        return sum(sorted(self.by_class(rows), reverse=True)[leaves:])

    def leaf(self, rows: frozenset[int]) -> int:
        return self.lost(rows, 1)

    def _best(self, rows: frozenset[int], depth: int) -> int:
        found = self.leaf(rows)
        for cut in self.cuts if depth and found else ():
            left = self.left(rows, cut)
            if left and left != rows:
                found = min(found, self.best(left, depth - 1) + self.best(rows - left, depth - 1))
        return found

    def points(self, rows: frozenset[int]) -> int:
        groups: dict[tuple[int, ...], set[int]] = {}
        for i in rows:
            groups.setdefault(self.ranks[i], set()).add(i)
        return sum(self.leaf(frozenset(group)) for group in groups.values())


def parsed(tiny: Tiny, numbers: Iterator[int], rows: frozenset[int], depth: int) -> Steps | None:
    """The steps of a claim of a certificate, as docs/reference/proof.md has them."""
    if depth < 3:
        return None
    how = next(numbers)
    if how == 0:
        return Steps(points=True)
    if how == 2:  # THREE
        assert depth == 3, "a sweep over other levels"
        assert tiny.of_two_values(), "a sweep over other features"
        return None
    flat = next(numbers)
    flat_steps = parsed(tiny, numbers, rows, depth - 1) if flat else None
    bounds = []
    for f in range(len(tiny.ranks[0])):
        if len({tiny.ranks[i][f] for i in rows}) == 1:
            continue
        cut = -1
        for _ in range(next(numbers)):
            cut += next(numbers) + 1
            mask, left = next(numbers), tiny.left(rows, (f, cut))
            for right in (False, True):
                if mask >> right & 1:
                    value, part = next(numbers), rows - left if right else left
                    steps = parsed(tiny, numbers, part, depth - 1) if value else None
                    bounds.append(Bound(f, cut, right, value, steps))
    return Steps(flat=flat, flat_steps=flat_steps, bounds=tuple(bounds))


@dataclass
class Expansion:
    """The formula that a tree loses less than a bound, and the steps that refute it."""

    tiny: Tiny
    depth: int
    formula: list[tuple[Terms, int]] = field(default_factory=list)
    defined: list[tuple[Terms, int]] = field(default_factory=list)
    steps: list[list[Token]] = field(default_factory=list)
    lost: int = 0
    """How often a bound rose by CLASSES."""

    def __post_init__(self) -> None:
        self.names: dict[tuple[object, ...], int] = {}
        self.clause: dict[tuple[int, object, int], tuple[str, int]] = {}
        self.one: dict[int, tuple[str, int]] = {}
        self.none: dict[int, tuple[str, int]] = {}
        self.known: dict[tuple[int, frozenset[int], int], tuple[str, int]] = {}
        self._node(1, self.depth)

    def variable(self, *name: object) -> int:
        return self.names.setdefault(name, len(self.names) + 1)

    def error(self, node: int, row: int) -> int:
        """The literal of the error of a row in the subtree of a node."""
        if self.depth - node.bit_length() + 1 == 0:
            return self.label(node, row)
        return self.variable("error", node, row)

    def label(self, node: int, row: int) -> int:
        return -self.variable("class", node, self.tiny.classes[row])

    def _add(self, terms: Terms, least: int) -> tuple[str, int]:
        self.formula.append((terms, least))
        return "formula", len(self.formula) - 1

    def _node(self, node: int, depth: int) -> None:
        classes = range(max(self.tiny.classes) + 1)
        of_none = [(1, -self.variable("class", node, c)) for c in classes]
        self.none[node] = self._add(of_none, len(classes) - 1)
        if depth == 0:
            return
        choices: list[object] = [*self.tiny.cuts, "leaf"]
        self.one[node] = self._add([(1, self.variable(node, c)) for c in choices], 1)
        for choice in choices:
            for i in range(len(self.tiny.classes)):
                below = self.label(node, i)
                if isinstance(choice, tuple):
                    right = self.tiny.ranks[i][choice[0]] > choice[1]
                    below = self.error(2 * node + right, i)
                terms = [(1, -self.variable(node, choice)), (1, -below), (1, self.error(node, i))]
                self.clause[node, choice, i] = self._add(terms, 1)
        self._node(2 * node, depth - 1)
        self._node(2 * node + 1, depth - 1)

    # ---- the rules

    def refute(self, steps: Steps | None, bound: int) -> None:
        """No tree loses less than a bound; ends with 0 >= 1."""
        rows, weights = self.tiny.rows, self.tiny.weights
        less = [(weights[i], -self.error(1, i)) for i in rows]
        wanted = self._add(less, self.tiny.weight(rows) - bound + 1)
        self.steps.append([*self.shown(1, rows, self.depth, bound, steps), wanted, "+"])

    def shown(
        self, node: int, rows: frozenset[int], depth: int, bound: int, steps: Steps | None
    ) -> list[Token]:
        """A constraint: the errors of the rows in this subtree reach a bound."""
        if bound <= 0:
            return self.sum([(self.tiny.weights[i], self.error(node, i)) for i in rows])
        if depth == 0:
            return self.leaf(node, rows, bound)
        key = node, rows, bound
        if key not in self.known:
            self.known[key] = self.split(node, rows, depth, bound, steps)
        return [self.known[key]]

    def leaf(self, node: int, rows: frozenset[int], bound: int) -> list[Token]:
        """LEAF: the errors of the rows under the class of a node, which is one at most."""
        assert self.tiny.leaf(rows) >= bound, "a leaf loses less"
        weights = self.tiny.by_class(rows)
        less = [(max(weights) - w, self.variable("class", node, c)) for c, w in enumerate(weights)]
        return [self.none[node], max(weights), "*", *self.sum(less), "+"]

    def sum(self, terms: Terms) -> list[Token]:
        """A sum of literals, which are at least 0."""
        found: list[Token] = []
        for factor, literal in terms:
            if factor:
                found += [_name(literal), factor, "*", *(["+"] if found else [])]
        return found or [_name(1), 0, "*"]

    def split(
        self, node: int, rows: frozenset[int], depth: int, bound: int, steps: Steps | None
    ) -> tuple[str, int]:
        errors = [(self.tiny.weights[i], self.error(node, i)) for i in sorted(rows)]
        total = self.tiny.weight(rows)
        reached = self.variable("reached", node, rows, bound)
        self.defined.append(([(bound, -reached), *errors], bound))
        yes = "defined", len(self.defined) - 1
        missing = total - bound + 1
        self.defined.append(([(missing, reached), *((w, -e) for w, e in errors)], missing))
        no = "defined", len(self.defined) - 1
        cases: list[Token] = [self.one[node]]
        choices: list[tuple[int, int] | str] = [*self.tiny.cuts, "leaf"]
        for choice in choices:
            made: list[Token] = [no]
            for i in rows:
                made += [self.clause[node, choice, i], self.tiny.weights[i], "*", "+"]
            if isinstance(choice, str):
                made += [*self.leaf(node, rows, bound), "+"]
            else:
                for part in self.sides(node, rows, depth, bound, steps, choice):
                    made += [*part, "+"]
            self.steps.append([*made, 2 * total + 1, "d"])
            cases += [("step", len(self.steps) - 1), "+"]
        self.steps.append([*cases, len(self.tiny.cuts) + 1, "d", bound, "*", yes, "+"])
        return "step", len(self.steps) - 1

    def sides(
        self,
        node: int,
        rows: frozenset[int],
        depth: int,
        bound: int,
        steps: Steps | None,
        cut: tuple[int, int],
    ) -> Iterator[list[Token]]:
        """What the sides of a test lose: together at least the bound."""
        tiny, left = self.tiny, self.tiny.left(rows, cut)
        for right, part in ((False, left), (True, rows - left)):
            if part == rows:  # a test that parts nothing
                yield self.shown(2 * node + right, rows, depth - 1, bound, steps)
        if left in (rows, frozenset()):
            return
        if depth <= 2 or steps is None or steps.points or steps.classes:
            values = []
            for part in (left, rows - left):
                if steps and steps.points:
                    values.append(tiny.points(part))
                elif steps and steps.classes:
                    values.append(tiny.lost(part, 2 ** (depth - 1)))
                else:
                    values.append(tiny.best(part, depth - 1))
            assert sum(values) >= bound, "the sides lose less"
            yield self.shown(2 * node, left, depth - 1, values[0], steps)
            yield self.shown(2 * node + 1, rows - left, depth - 1, values[1], steps)
            return
        carried = [self.carried(node, rows, depth, steps, cut, right) for right in (False, True)]
        assert sum(value for value, _ in carried) >= bound, "a test is left open"
        for _, tokens in carried:
            yield tokens

    def carried(
        self,
        node: int,
        rows: frozenset[int],
        depth: int,
        steps: Steps,
        cut: tuple[int, int],
        right: bool,
    ) -> tuple[int, list[Token]]:
        """STAIR, NEAR, CLASSES: the largest of the bounds that are carried to a side of a test."""
        tiny = self.tiny

        def side(at: int) -> frozenset[int]:
            below = tiny.left(rows, (cut[0], at))
            return rows - below if right else below

        here = side(cut[1])
        offers: list[tuple[int, frozenset[int], Steps | None]] = [(0, frozenset(), None)]
        if steps.flat:
            offers.append((steps.flat, rows, steps.flat_steps))  # WHOLE
        for one in steps.bounds:
            if one.feature == cut[0] and one.right == right:
                offers.append((one.value, side(one.cut), one.steps))
            elif tiny.of_two_values():
                below = tiny.left(rows, (one.feature, one.cut))
                offers.append((one.value, rows - below if one.right else below, one.steps))

        def lost(there: frozenset[int]) -> int:
            return tiny.lost(here - there, 2 ** (depth - 1)) if there <= here else 0

        best = max(
            offers, key=lambda offer: offer[0] - tiny.weight(offer[1] - here) + lost(offer[1])
        )
        child, more, there = 2 * node + right, lost(best[1]), best[1]
        tokens = self.shown(child, there, depth - 1, best[0], best[2])
        if more:
            self.lost += 1
            of_rest = self.shown(child, here - there, depth - 1, more, Steps(classes=True))
            return best[0] + more, [*tokens, *of_rest, "+"]
        errors = [(tiny.weights[i], self.error(child, i)) for i in sorted(here - there)]  # MONO
        errors += [(tiny.weights[i], -self.error(child, i)) for i in sorted(there - here)]  # DEL
        if errors:
            tokens = [*tokens, *self.sum(errors), "+"]
        return best[0] - tiny.weight(there - here), tokens

    # ---- as text

    def texts(self) -> tuple[str, str]:
        """The formula in OPB, and the steps as VeriPB reads them."""
        constraints = [*self.formula, *self.defined]
        opb = [f"* #variable= {len(self.names)} #constraint= {len(constraints)}"]
        opb += [
            " ".join(f"+{factor} {_name(literal)}" for factor, literal in terms) + f" >= {least} ;"
            for terms, least in constraints
        ]
        offset = {"formula": 1, "defined": len(self.formula) + 1, "step": len(constraints) + 1}
        proof = ["pseudo-Boolean proof version 2.0", f"f {len(constraints)}"]
        for step in self.steps:
            told = (str(offset[t[0]] + t[1]) if isinstance(t, tuple) else str(t) for t in step)
            proof.append("pol " + " ".join(told))
        last = len(constraints) + len(self.steps)
        proof += ["output NONE", f"conclusion UNSAT : {last}", "end pseudo-Boolean proof"]
        return "\n".join(opb) + "\n", "\n".join(proof) + "\n"


def _name(literal: int) -> str:
    return f"x{literal}" if literal > 0 else f"~x{-literal}"


# ---- a checker of such steps, which knows nothing of trees


class Wrong(Exception):
    """A step that is none, or a proof that ends without a contradiction."""


Constraint = tuple[dict[str, int], int]
"""Factors above 0 of literals, never of both of a variable, and what they are at least."""


def _opposite(literal: str) -> str:
    return literal[1:] if literal.startswith("~") else f"~{literal}"


def _sum(one: Constraint, other: Constraint) -> Constraint:
    factors, least = dict(one[0]), one[1] + other[1]
    for literal, factor in other[0].items():
        against = factors.pop(_opposite(literal), 0)
        least -= min(factor, against)
        if factor > against:
            factors[literal] = factors.get(literal, 0) + factor - against
        elif against > factor:
            factors[_opposite(literal)] = against - factor
    return factors, least


def read_formula(text: str) -> list[Constraint]:
    found = []
    for line in text.splitlines()[1:]:
        left, right = line.removesuffix(" ;").split(" >= ")
        constraint: Constraint = ({}, int(right))
        words = left.split()
        for factor, literal in zip(words[::2], words[1::2], strict=True):
            if int(factor) < 0:
                raise Wrong("a factor below 0")
            if int(factor):
                constraint = _sum(constraint, ({literal: int(factor)}, 0))
        found.append(constraint)
    return found


def check(formula: str, proof: str) -> None:
    """Raise `Wrong` unless the steps derive 0 >= 1 from the formula."""
    known = read_formula(formula)
    lines = proof.splitlines()
    if lines[0] != "pseudo-Boolean proof version 2.0" or lines[1] != f"f {len(known)}":
        raise Wrong("another head")
    for line in lines[2:-3]:
        word, *tokens = line.split()
        if word != "pol":
            raise Wrong(f"a step {word}")
        known.append(_evaluated(known, tokens))
    last = int(lines[-2].removeprefix("conclusion UNSAT : "))
    factors, least = known[last - 1]
    if sum(factors.values()) >= least:
        raise Wrong("no contradiction")


def _evaluated(known: Sequence[Constraint], tokens: Sequence[str]) -> Constraint:
    stack: list[Constraint | int] = []

    def constraint() -> Constraint:
        top = stack.pop()
        if isinstance(top, int):
            if not 1 <= top <= len(known):
                raise Wrong("a constraint that there is not")
            return known[top - 1]
        return top

    def number() -> int:
        top = stack.pop()
        if not isinstance(top, int) or top < 0:
            raise Wrong("no number")
        return top

    for token in tokens:
        if token == "+":
            stack.append(_sum(constraint(), constraint()))
        elif token == "*":
            factor = number()
            factors, least = constraint()
            scaled = {literal: factor * f for literal, f in factors.items() if factor}
            stack.append((scaled, factor * least))
        elif token == "d":
            divisor = number()
            if not divisor:
                raise Wrong("a division by 0")
            factors, least = constraint()
            stack.append(({x: -(-f // divisor) for x, f in factors.items()}, -(-least // divisor)))
        elif token.lstrip("~").startswith("x"):
            stack.append(({token: 1}, 0))
        else:
            stack.append(int(token))
    found = constraint()
    if stack:
        raise Wrong("a step with something left over")
    return found


def satisfied(formula: str, true: set[str]) -> bool:
    """Whether all constraints hold where these variables are 1 and all others 0."""
    return all(
        sum(f for x, f in factors.items() if (x.lstrip("~") in true) != x.startswith("~")) >= least
        for factors, least in read_formula(formula)
    )
