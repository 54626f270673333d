"""Automata of path rules against what holds on finished paths: all paths to depth four."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from random_cores import HERE, random_sample

from odtdsl.backends.exact import path_states
from odtdsl.backends.exact import paths as exact_paths
from odtdsl.backends.greedy.paths import PathRules
from odtdsl.problem.ir.automata import (
    PathRule,
    Payments,
    columns_of_splits,
    on_paths,
    rules_of_paths,
)
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Atom,
    Budget,
    Clause,
    Core,
    Depth,
    Order,
    PathMeasure,
    Root,
    Shared,
    SignedAtom,
    Used,
)
from odtdsl.problem.ir.paths import path_holds, path_numerator

Path = tuple[int, ...]
DEEPEST = 4


def random_measure(rng: random.Random, n: int) -> PathMeasure:
    """Prices and rebates, per test, once, and for sets."""
    low = rng.choice([0, 0, -2])
    shared = tuple(
        Shared(columns=tuple(rng.sample(range(n), k=rng.randint(1, n))), amount=rng.randint(low, 3))
        for _ in range(rng.randint(0, 2))
    )
    return PathMeasure(
        per_test=tuple(rng.randint(low, 2) for _ in range(n)),
        once=tuple(rng.randint(low, 3) for _ in range(n)),
        shared=shared,
        constant=rng.randint(-1, 1),
    )


def random_literal(rng: random.Random, n: int) -> SignedAtom:
    column, positive = rng.randrange(n), rng.random() < 0.5
    match rng.randrange(5):
        case 0:
            return SignedAtom(atom=Used(column=column), positive=positive)
        case 1:
            atom = Order(here=column, above=rng.randrange(n), absent=rng.random() < 0.5)
            return SignedAtom(atom=atom, positive=positive)
        case 2:
            columns = tuple(rng.sample(range(n), k=rng.randint(0, n)))
            return SignedAtom(atom=Root(columns=columns), positive=positive)
        case 3:
            return SignedAtom(atom=Depth(at_most=rng.randint(0, 3)), positive=positive)
        case _:
            return SignedAtom(
                atom=Budget(measure=random_measure(rng, n), at_most=rng.randint(-2, 6))
            )


def random_rule(rng: random.Random, n: int) -> PathRule:
    literals = [random_literal(rng, n) for _ in range(rng.choice([1, 1, 2, 3]))]
    return PathRule(literals, range(n))


def holds(atom: Atom, path: Path) -> bool:
    """What holds on a finished path."""
    match atom:
        case Root():
            return not path or path[0] in atom.columns
        case Depth():
            return len(path) <= atom.at_most
        case Used() | Order() | Budget():
            return path_holds(atom, tuple((column,) for column in path))
    raise AssertionError(atom)


def keeps(literals: tuple[SignedAtom, ...], path: Path) -> bool:
    return any(holds(one.atom, path) == one.positive for one in literals)


def all_paths(n: int, depth: int = DEEPEST) -> Iterator[Path]:
    for length in range(depth + 1):
        yield from itertools.product(range(n), repeat=length)


@pytest.mark.parametrize("seed", range(40))
def test_every_path_is_judged_as_when_it_is_finished(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        n = rng.randint(1, 4)
        rule = random_rule(rng, n)
        for path in all_paths(n):
            expected = keeps(rule.literals, path)
            assert rule.holds(rule.after(path)) == expected
            state = rule.settled(rule.start, DEEPEST)
            for level, column in enumerate(path):
                state = rule.step(state, column, DEEPEST - level - 1)
            assert rule.holds(state) == expected


@pytest.mark.parametrize("seed", range(40))
def test_what_is_given_up_is_lost_and_what_is_settled_holds(seed: int) -> None:
    rng = random.Random(100 + seed)
    for _ in range(5):
        n = rng.randint(1, 3)
        rule = random_rule(rng, n)
        for path in all_paths(n, 3):
            left = DEEPEST - len(path)
            kept = [keeps(rule.literals, path + more) for more in all_paths(n, left)]
            state = rule.after(path)
            assert rule.may_hold(state, left) or not any(kept)
            assert rule.may_hold(state) or not any(kept)
            assert rule.settled(state, left) is not None or all(kept)
            assert state is not None or all(kept)


@pytest.mark.parametrize("seed", range(60))
def test_a_single_literal_without_prices_is_given_up_as_soon_as_it_is_lost(seed: int) -> None:
    """Not too late: but for sums, what may hold holds on some path."""
    rng = random.Random(200 + seed)
    n = rng.randint(1, 3)
    literal = random_literal(rng, n)
    if isinstance(literal.atom, Budget | Root) or not literal.positive:
        return
    rule = PathRule([literal], range(n))
    for path in all_paths(n, 3):
        left = DEEPEST - len(path)
        some = any(keeps((literal,), path + more) for more in all_paths(n, left))
        assert rule.may_hold(rule.after(path), left) == some


@pytest.mark.parametrize("seed", range(60))
def test_bounds_on_sums_hold_on_every_path_that_goes_on(seed: int) -> None:
    rng = random.Random(300 + seed)
    n = rng.randint(1, 3)
    measure = random_measure(rng, n)
    columns = rng.sample(range(n), k=rng.randint(1, n))
    for path in all_paths(n, 2):
        payments = Payments(measure, columns)
        total = payments.start
        for column in path:
            total = payments.add(total, column)
        assert total[0] == path_numerator(measure, path)
        for left in range(DEEPEST - len(path) + 1):
            values = [
                path_numerator(measure, path + more)
                for length in range(left + 1)
                for more in itertools.product(columns, repeat=length)
            ]
            assert payments.least(total, left) <= min(values)
            assert payments.most(total, left) >= max(values)
            assert payments.least(total, None) <= min(values)
            assert payments.most(total, None) >= max(values)


def walked(automaton: exact_paths.Paths, path: Path) -> int:
    """The state at the end of a path; -1 where it may not stand."""
    state = 0
    for column in path:
        state = int(automaton.next[state, column])
        if state < 0:
            return -1
    return state


def finished(core: Core, path: Path) -> bool:
    """Whether a path may end, by the clauses on paths and on leaves without rows, and the root."""
    return all(
        keeps(clause.literals, path)
        for clause in core.clauses
        if on_paths(clause) or clause in root_rules(core)
    )


def root_rules(core: Core) -> tuple[Clause, ...]:
    return tuple(c for c in rules_of_paths(core) if isinstance(c.literals[0].atom, Root))


def with_budgets(rng: random.Random, core: Core) -> Core:
    """The core under one or two budgets more."""
    budgets = [
        Clause(
            scope=Scope.PATH,
            literals=tuple(
                SignedAtom(
                    atom=Budget(
                        measure=random_measure(rng, len(core.columns)), at_most=rng.randint(-2, 9)
                    ),
                    positive=rng.random() < 0.7,
                )
                for _ in range(rng.choice([1, 1, 1, 2]))
            ),
            origin=HERE,
        )
        for _ in range(rng.randint(1, 2))
    ]
    return replace(core, clauses=(*core.clauses, *budgets))


def charged(rng: random.Random, core: Core) -> Core:
    """The core under a budget of prices that are none below zero, paid by test, once, or shared."""
    columns = len(core.columns)
    measure = PathMeasure(
        per_test=tuple(rng.choice([0, 0, 1, 2]) for _ in range(columns)),
        once=tuple(rng.choice([0, 1, 2, 5]) for _ in range(columns)),
        per_split=rng.choice([0, 0, 1]),
        shared=tuple(
            Shared(columns=tuple(rng.sample(range(columns), 2)), amount=rng.randint(1, 3))
            for _ in range(rng.choice([0, 1]) if columns > 1 else 0)
        ),
        constant=0,
    )
    budget = SignedAtom(atom=Budget(measure=measure, at_most=rng.randint(0, 9)))
    clause = Clause(scope=Scope.PATH, literals=(budget,), origin=HERE)
    return replace(core, clauses=(*core.clauses, clause))


@pytest.mark.parametrize("most", [exact_paths.MOST_COMPARED, 0])
@pytest.mark.parametrize("seed", range(150))
def test_the_automaton_of_the_exact_search_lets_pass_what_may_stand(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With states of whole paths, and with those of a level where they are many."""
    monkeypatch.setattr(exact_paths, "MOST_COMPARED", most)
    rng = random.Random(400 + seed)
    core = random_sample(rng, rules=rng.randint(1, 4), monotone=False).core
    if most == 0:
        core = rng.choice([with_budgets, charged])(rng, core)
    tests, columns = exact_paths.tests_of(core), columns_of_splits(core)
    automaton = exact_paths.paths(core, 3)
    for path in all_paths(len(core.columns), 3):
        if set(path) - set(columns) or any(path.count(c) > tests[c] for c in path):
            continue  # no reduced tree has such a path
        state = walked(automaton, path)
        ends = state >= 0 and automaton.need[state] == 0
        assert ends == finished(core, path)
        if ends:
            needs = [automaton.need[walked(automaton, path[:k])] for k in range(len(path) + 1)]
            assert all(need <= len(path) - k for k, need in enumerate(needs))


@pytest.mark.parametrize("seed", range(60))
def test_what_a_column_costs_again_is_not_forgotten(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Budgets of a level, where a path may test a column again and again."""
    monkeypatch.setattr(exact_paths, "MOST_COMPARED", 0)
    rng = random.Random(800 + seed)
    core = random_sample(rng, rules=0, monotone=False).core
    columns = columns_of_splits(core)
    monkeypatch.setattr(exact_paths, "tests_of", lambda _: Counter([*columns] * 9))
    for _ in range(5):
        prices = tuple(rng.randint(0, 6) for _ in core.columns)
        measure = PathMeasure(per_test=prices, once=(rng.randint(0, 2),) * len(core.columns))
        budget = SignedAtom(atom=Budget(measure=measure, at_most=rng.randint(5, 18)))
        clause = Clause(scope=Scope.PATH, literals=(budget,), origin=HERE)
        ruled = replace(core, clauses=(clause,))
        automaton = exact_paths.paths(ruled, 3)
        for path in all_paths(len(core.columns), 3):
            if set(path) <= set(columns):
                assert (walked(automaton, path) >= 0) == finished(ruled, path)


@pytest.mark.parametrize("seed", range(150))
def test_greedy_never_refuses_a_path_that_can_be_finished(seed: int) -> None:
    rng = random.Random(600 + seed)
    core = random_sample(rng, rules=rng.randint(1, 4), monotone=False).core
    rules = PathRules(core)
    unconditional = [c for c in rules_of_paths(core) if not isinstance(c.literals[0].atom, Depth)]
    for path in all_paths(len(core.columns), 3):
        if set(path) - set(rules.columns):
            continue
        whole = all(keeps(clause.literals, path) for clause in unconditional)
        kept = whole and all(
            keeps(c.literals, path)
            for c in rules_of_paths(core)
            if isinstance(c.literals[0].atom, Depth)
        )
        assert rules.ends(path) == kept
        if kept:
            for level, column in enumerate(path):
                assert column in rules.choices(path[:level], 3 - level)


def test_a_clause_about_rows_is_not_of_paths() -> None:
    rng = random.Random(7)
    for _ in range(50):
        for clause in random_sample(rng, rules=4).core.clauses:
            assert on_paths(clause) == (clause.scope is Scope.PATH)
    assert on_paths(Clause(scope=Scope.PATH, literals=(), origin=HERE))


@pytest.mark.parametrize("seed", range(100))
def test_sums_are_stepped_many_at_once_as_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same states in the same order, whether sums are numbers or Python's own."""
    rng = random.Random(500 + seed)
    core = random_sample(rng, rules=rng.randint(1, 4), monotone=False).core
    core = with_budgets(rng, core)
    found = exact_paths.paths(core, 4)
    monkeypatch.setattr(path_states.SumLane, "fits", staticmethod(lambda *_: False))
    exact_paths.tried.cache_clear()
    alone = exact_paths.paths(core, 4)
    assert (found.next == alone.next).all()
    assert found.need == alone.need
    assert (found.leaf_rules, found.split_rules) == (alone.leaf_rules, alone.split_rules)
    assert found.closed == alone.closed
    assert len(found.delta) == len(alone.delta)
    assert all((a == b).all() for a, b in zip(found.delta, alone.delta, strict=True))


@pytest.mark.parametrize("seed", range(100))
def test_whether_tests_may_be_left_out_is_told_of_many_states_as_of_few(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By each rule alone: never where it does not hold, and always for budgets of charges."""
    rng = random.Random(700 + seed)
    core = random_sample(rng, rules=rng.randint(0, 2), monotone=False).core
    core = charged(rng, core)
    told = exact_paths.paths(core, 3).closed
    alone = replace(core, clauses=core.clauses[-1:])
    monkeypatch.setattr(exact_paths, "MOST_COMPARED", 0)
    exact_paths.tried.cache_clear()
    assert exact_paths.paths(core, 3).closed <= told
    assert exact_paths.paths(alone, 3).closed
