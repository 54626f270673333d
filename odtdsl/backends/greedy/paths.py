"""Path rules while a path grows: which columns it may still test, and whether it may end."""

from __future__ import annotations

from odtdsl.problem.ir.evaluate import order_holds, path_numerator
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Budget, Core, Order, PathMeasure, Root, SignedAtom, Used

Path = tuple[int, ...]


class PathRules:
    """The rules of a core on the columns that a path tests.

    A path that no further tests can make valid is not entered. The test is not complete: it
    never refuses a path that could become valid, and may admit one that cannot.
    """

    def __init__(self, core: Core) -> None:
        self.clauses = [c.literals for c in core.clauses if c.scope is Scope.PATH]
        self.columns = sorted({family.column for family in core.families if family.n_tests})
        self.roots: set[int] | None = None
        for clause in core.clauses:
            if clause.scope is Scope.MODEL and len(clause.literals) == 1:
                self._note(clause.literals[0])
        self._choices: dict[tuple[Path, int], list[int]] = {}

    def _note(self, literal: SignedAtom) -> None:
        match literal.atom:
            case Used(column=column) if not literal.positive:
                self.columns = [c for c in self.columns if c != column]
            case Root(columns=columns):
                of = set(columns) if literal.positive else set(self.columns) - set(columns)
                self.roots = of if self.roots is None else self.roots & of
            case _:
                pass

    def ends(self, path: Path) -> bool:
        """Whether a leaf may stand at the end of the path."""
        return all(any(_holds(x, path) for x in literals) for literals in self.clauses)

    def choices(self, path: Path, remaining: int) -> list[int]:
        """The columns that may be tested next, with `remaining` tests left, this one included."""
        key = (path, remaining)
        if key not in self._choices:
            self._choices[key] = (
                []
                if remaining <= 0
                else [
                    column
                    for column in self.columns
                    if (path or self.roots is None or column in self.roots)
                    and self._alive((*path, column), remaining - 1)
                ]
            )
        return self._choices[key]

    def _alive(self, path: Path, remaining: int) -> bool:
        wanted: set[int] = set()
        for literals in self.clauses:
            if any(_holds(x, path) for x in literals) and not remaining:
                continue
            if not any(self._possible(x, path, remaining) for x in literals):
                return False
            if len(literals) == 1 and literals[0].positive:
                atom = literals[0].atom
                if isinstance(atom, Used) and atom.column not in path:
                    wanted.add(atom.column)
        return len(wanted) <= remaining

    def _possible(self, literal: SignedAtom, path: Path, remaining: int) -> bool:
        match literal.atom:
            case Used(column=column):
                if not literal.positive:
                    return column not in path
                return column in path or (remaining > 0 and column in self.columns)
            case Order():
                held = order_holds(literal.atom, path)
                return not held if not literal.positive else held or remaining > 0
            case Budget(measure=measure, at_most=at_most):
                if not literal.positive:
                    return remaining > 0 or path_numerator(measure, path) > at_most
                return _least(measure, path, remaining) <= at_most
            case _:
                return True


def _holds(literal: SignedAtom, path: Path) -> bool:
    match literal.atom:
        case Used(column=column):
            return (column in path) == literal.positive
        case Order():
            return order_holds(literal.atom, path) == literal.positive
        case Budget(measure=measure, at_most=at_most):
            return (path_numerator(measure, path) <= at_most) == literal.positive
        case _:
            return True


def _least(measure: PathMeasure, path: Path, remaining: int) -> int:
    """A lower bound of the measure over what the path can become."""
    tests = remaining * min((0, *measure.per_test))
    if remaining == 0:
        return path_numerator(measure, path)
    once = sum(min(0, amount) for c, amount in enumerate(measure.once) if c not in path)
    shared = sum(min(0, s.amount) for s in measure.shared if not set(path) & set(s.columns))
    return path_numerator(measure, path) + tests + once + shared
