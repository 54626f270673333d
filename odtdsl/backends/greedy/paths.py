"""Path rules while a path grows: which columns it may still test, and whether it may end."""

from __future__ import annotations

from odtdsl.problem.ir.automata import PathRule, State, columns_of_splits, rules_of_paths
from odtdsl.problem.ir.forms import Core, Used

Path = tuple[int, ...]
States = tuple[State, ...]
"""By rule what it knows of a path. Paths that differ in nothing else have the same choices."""


class PathRules:
    """The rules of a core on the columns that a path tests.

    A path that no further tests can make valid is not entered. The test is not complete: it
    never refuses a path that could become valid, and may admit one that cannot.
    """

    def __init__(self, core: Core) -> None:
        self.columns = columns_of_splits(core)
        clauses = rules_of_paths(core)
        self.rules = [PathRule(clause.literals, self.columns) for clause in clauses]
        self._wanted = [_wanted(rule) for rule in self.rules]
        self._every = list(self.columns)
        self._states: dict[Path, States] = {(): tuple(rule.start for rule in self.rules)}
        self._choices: dict[tuple[States, int], list[int]] = {}

    def ends(self, path: Path) -> bool:
        """Whether a leaf may stand at the end of the path."""
        return all(
            rule.holds(state) for rule, state in zip(self.rules, self._at(path), strict=True)
        )

    def choices(self, path: Path, remaining: int) -> list[int]:
        """The columns that may be tested next, with `remaining` tests left, this one included."""
        if remaining <= 0:
            return []
        if not self.rules:
            return self._every
        states = self._at(path)
        key = (states, remaining)
        if key not in self._choices:
            self._choices[key] = [
                column
                for column in self.columns
                if self._alive(self._after(states, column), remaining - 1)
            ]
        return self._choices[key]

    def _at(self, path: Path) -> States:
        if path not in self._states:
            self._states[path] = self._after(self._at(path[:-1]), path[-1])
        return self._states[path]

    def _after(self, states: States, column: int) -> States:
        return tuple(
            rule.step(state, column) for rule, state in zip(self.rules, states, strict=True)
        )

    def _alive(self, states: States, remaining: int) -> bool:
        wanted: set[int] = set()
        for rule, state, column in zip(self.rules, states, self._wanted, strict=True):
            if not rule.may_hold(state, remaining):
                return False
            if column is not None and state is not None:
                wanted.add(column)
        return len(wanted) <= remaining


def _wanted(rule: PathRule) -> int | None:
    """The column that a rule asks every path to test."""
    if len(rule.literals) == 1 and rule.literals[0].positive:
        atom = rule.literals[0].atom
        return atom.column if isinstance(atom, Used) else None
    return None
