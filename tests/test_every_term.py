"""Every term of the language on `exact`, `milp`, `sat`, `cpsat`, against brute force over trees.

Specs are random texts on random tables (`tiny_tables`, `sentences`): a rule with the term, alone or
with other terms of its scope, and up to three rules beside it; missing cells, weights,
categories, ordered columns, bins, 2 to 4 classes, one to three stages. The brute force uses
nothing of the package but the names of the terms. `ODTDSL_SCALE=500` and running the file as
a program give long runs: `docs/how-to/verify.md`.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from goals import goals, plain_goals, row_groups, weighting
from larger import Larger, larger_case
from meanings import Goal, Rule, RuleChecker
from milp_trees import LoadedProgram, depth_cap
from sat_trees import (
    LazyFormula,
    all_rows_first,
    models_of,
    models_of_cpsat,
    partition_of,
    rows_of,
    without_start,
)
from scale import scaled
from sentences import MONOTONE, TERMS, Atoms, least_size, no_errors, rule
from tiny_tables import Model, TinyTable, TooMany, random_world

import odtdsl
from odtdsl.backends.cpsat.backend import installed
from odtdsl.backends.milp.formulation import formulation
from odtdsl.backends.milp.subtrees import Subtrees
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.driver.choice import choose
from odtdsl.driver.result import Stage
from odtdsl.language.parser import parse
from odtdsl.problem.ir.evaluate import goes_left
from odtdsl.problem.ir.families import admissible
from odtdsl.problem.ir.filters import threshold_set
from odtdsl.problem.ir.forms import Additive, Core, LinearStage
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree
from odtdsl.problem.terms.normalize import normalize

MOST_TREES = 1500
KINDS = [(scope, term) for scope, terms in TERMS.items() for term in terms]
NAMES = [f"{scope} {term}" for scope, term in KINDS]
MIXED = "up to four rules"
PLAIN = "no rule"
PLAIN_PATHS = "paths alone"
ONE_DIRECTION = "a direction alone"
ASIDE = (PLAIN, PLAIN_PATHS, ONE_DIRECTION)
DIFFERENT = "DIFFERENT"
MOST_LISTED = 2000
FORMULATIONS = ("pattern", "subtrees")
WHAT = ["exact", "milp", "subtrees", "sat", "cpsat", "sets", "sat-sets", "cpsat-sets", "larger"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A spec, and all trees of its table."""

    tiny: TinyTable
    rules: tuple[Rule, ...]
    stages: tuple[Goal, ...]
    models: list[Model]

    @property
    def text(self) -> str:
        sense = {1: "minimize", -1: "maximize"}
        stages = " then ".join(f"{sense[goal.sign]} {goal.text}" for goal in self.stages)
        written = [one.written(f"r{i}") for i, one in enumerate(self.rules)]
        rows = row_groups(self.tiny) if any(goal.of_rows for goal in self.stages) else []
        return "\n".join([*self.tiny.head(), *rows, stages, *written])

    @cached_property
    def spec(self) -> odtdsl.Model:
        return odtdsl.parse(self.text)

    @cached_property
    def _parted(self) -> tuple[list[Model], list[Model]]:
        admits = RuleChecker(self.tiny, self.rules).admits
        sides: dict[bool, list[Model]] = {True: [], False: []}
        for model in self.models:
            sides[admits(model)].append(model)
        return sides[True], sides[False]

    def kept(self) -> list[Model]:
        """The trees that satisfy the rules."""
        return self._parted[0]

    def broken(self) -> list[Model]:
        """The others."""
        return self._parted[1]

    @cached_property
    def optimum(self) -> tuple[Fraction, ...] | None:
        return self.best(self.kept())

    def best(self, kept: Sequence[Model]) -> tuple[Fraction, ...] | None:
        """The values of the stages, as the spec speaks of them, at the optimum."""
        found = (tuple(goal.sign * goal.value(model) for goal in self.stages) for model in kept)
        least = min(found, default=None)
        if least is None:
            return None
        return tuple(goal.sign * value for goal, value in zip(self.stages, least, strict=True))

    def __str__(self) -> str:
        return f"{self.text}\n{self.tiny.frame}"


def case(name: str, seed: object, *, most_rules: int = 4) -> Case:
    """A random spec with a term (`MIXED`: with any), and all trees of its table.

    `PLAIN` and `PLAIN_PATHS` have no rule, or such that `exact` takes in its plain search;
    `ONE_DIRECTION` asks of any trees at all, by numbers for rows and classes, one direction.
    """
    rng = random.Random(f"{name} {seed}")
    while True:
        terms = _terms(rng, name, most_rules)
        used = {term for _, term in terms}
        ranked = bool(used & {"threshold", *MONOTONE})
        if name == ONE_DIRECTION:
            second = rng.choice(["number", "category", "category", "ordered"])
            tiny = random_world(rng, kinds=["number", second], width=2)
            tiny.depth, tiny.leaves = 2, None
        else:
            kinds = [rng.choice(["number", "ordered"])] if ranked else []
            tiny = random_world(rng, kinds=kinds)
        if "threshold" in used and not any(c.ranked for c in tiny.columns):
            continue
        try:
            models = tiny.models(MOST_TREES, both_sides=bool(used & {*MONOTONE}))
        except TooMany:
            continue
        atoms = Atoms(rng, tiny, models, closed=bool(used & {*MONOTONE}))
        made = tuple(rule(atoms, scope, term) for scope, term in terms)
        if name == PLAIN and rng.random() < 0.2:
            made = (*made, no_errors(tiny))
        if name == PLAIN and rng.random() < 0.4:
            made = (*made, least_size(rng))
        match name:
            case _ if name in (PLAIN, PLAIN_PATHS):
                stages = plain_goals(rng, tiny)
            case _ if name == ONE_DIRECTION:
                stages = [weighting(rng, tiny)]
            case _:
                stages = goals(rng, tiny)
        return Case(tiny=tiny, rules=made, stages=tuple(stages), models=models)


def _terms(rng: random.Random, name: str, most: int) -> list[tuple[str, str]]:
    """The scopes and terms of a case's rules."""
    cut = ("split", "threshold")
    if name == ONE_DIRECTION:
        way = ("model", rng.choice(MONOTONE))
        return rng.choice([[way], [way], [way, cut]])
    if name == PLAIN:
        return rng.choice([[], [cut], [cut], [("model", "leaves")]])
    if name == PLAIN_PATHS:
        path, must = ("path", rng.choice(TERMS["path"])), ("model", "uses")
        return rng.choice([[path], [path], [path], [must], [path, must], [path, cut]])
    terms = [rng.choice(KINDS) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))]
    if name == MIXED:
        return [rng.choice(KINDS) for _ in range(rng.randint(1, 4))]
    scope, term = name.split()
    return [(scope, term), *terms][:most]


def solved(case_: Case, using: str, *, started: bool = False, **options: Any) -> str:
    """Whether the answer is that of brute force; its status, or `refused`.

    `exact` and `milp` begin without a greedy tree, which would often be the optimum already; where
    `started`, with one.
    """
    alone = without_start() if using in ("exact", "milp") and not started else nullcontext()
    try:
        with alone:
            result = case_.spec.solve(using=using, frame=case_.tiny.frame, **options)
    except OdtError as problem:
        return refused(problem, case_)
    expected = case_.optimum
    if expected is None:
        assert result.status == "infeasible", f"{result.status}\n{case_}"
        assert result.tree is None
        return "infeasible"
    assert result.audit is not None, f"{result.status}, best {expected}\n{case_}"
    assert result.audit.holds, str(case_)
    found = tuple(stage.value for stage in result.stages)
    if result.status == "feasible" and using == "milp" and case_.tiny.wide:
        honest(case_, result.stages, expected)
        return "open"
    assert result.status == "optimal", f"{result.status}, best {expected}\n{case_}"
    assert found == expected, f"{found}, best {expected}\n{case_}"
    assert all(stage.proven for stage in result.stages)
    return "optimal"


def sat_both_ways(case_: Case) -> Counter[str]:
    """`sat` with rows as they are needed and with all from the start, by the formula alone."""
    with without_start():
        found = Counter([f"lazy {solved(case_, 'sat')}"])
        with all_rows_first():
            return found + Counter([f"eager {solved(case_, 'sat')}"])


def cpsat_both_ways(case_: Case) -> Counter[str]:
    """`cpsat` with the start of `greedy`, and by the formula alone: errors by leaves, by rows."""
    found = Counter([f"started {solved(case_, 'cpsat')}"])
    with without_start():
        found[f"cold {solved(case_, 'cpsat')}"] += 1
        with patch("odtdsl.backends.cpsat.trees.FEW_TESTS", -1):
            found[f"by rows {solved(case_, 'cpsat')}"] += 1
    return found


def refused(problem: OdtError, case_: Case) -> str:
    """The back end may say that it cannot, or not in floats; a spec is never wrong."""
    codes = {one.code for one in problem.diagnostics}
    if case_.tiny.wide and codes <= {"B220", "B221"}:
        return "too many digits"
    assert codes == {"B102"}, f"{problem}\n{case_}"
    return "refused"


def honest(case_: Case, stages: Sequence[Stage], expected: tuple[Fraction, ...]) -> None:
    """With weights of many digits a proof on `milp` may fail; then nothing false is claimed."""
    for goal, stage, best in zip(case_.stages, stages, expected, strict=True):
        assert stage.value is not None
        if stage.proven:
            assert stage.value == best, str(case_)
            continue
        assert goal.sign * stage.value >= goal.sign * best, str(case_)
        assert stage.bound is None or goal.sign * stage.bound <= goal.sign * best, str(case_)
        return


# ---- admitted sets


def core_of(case_: Case) -> Core:
    source = Source(name="random", text=case_.text)
    return normalize(analyse(parse(source), source=source, frame=case_.tiny.frame).rows)


def raw_of(core: Core, case_: Case, model: Model, level: int = 0) -> RawTree | None:
    """The same tree in codes, found by which rows go left; None where a side tells them apart.

    Where several tests do the same, one that is permitted stands for them.
    """
    if not isinstance(model.root, tuple):
        return RawLeaf(label=_label(core, case_, model.root.label))
    split, first, second = model.root
    rows = np.array(case_.tiny.rows(split.rows))
    left = np.array([bool(split.left_rows >> row & 1) for row in rows.tolist()])
    sides = {None: None, True: "left", False: "right"}
    monotone = any(word in one.text for one in case_.rules for word in MONOTONE)
    for index, test in _tests_of(core, split.test.column, level):
        family = core.families[index]
        if monotone and family.missing != sides[split.test.missing_left]:
            continue
        goes = goes_left(family, test, family.codes[rows])
        turned = bool((goes != left).all())
        if turned and (monotone or family.kind == "threshold"):
            continue
        if turned or bool((goes == left).all()):
            kids = (second, first) if turned else (first, second)
            made = [raw_of(core, case_, kid, level + 1) for kid in kids]
            if made[0] is None or made[1] is None:
                return None
            return RawSplit(family=index, test=test, left=made[0], right=made[1])
    assert monotone, f"no test parts {rows} by {left}\n{case_}"
    return None


def _tests_of(core: Core, column: int, level: int) -> list[tuple[int, int]]:
    """Families and tests of a column, those that candidates and rules permit at a level first."""
    found = []
    for index, family in enumerate(core.families):
        if family.column == column:
            allowed = admissible(family, threshold_set(family, core.filters, level))
            found += [(not allowed[test], index, test) for test in range(family.n_tests)]
    return [(index, test) for _, index, test in sorted(found)]


def _label(core: Core, case_: Case, label: int) -> int:
    """The package's index of a class: by the rows that have it."""
    assert core.labels is not None
    return int(core.labels[case_.tiny.target.index(label)])


def by_subtrees(core: Core) -> list[LoadedProgram]:
    """The model by whole subtrees, where it is another one."""
    lowered = formulation("subtrees").lower(core, depth_cap(core))
    return [LoadedProgram(core, lowered)] if isinstance(lowered.encoding, Subtrees) else []


def set_on_milp(case_: Case, trees: int = scaled(15, least=8)) -> Counter[bool]:
    """Some trees that satisfy the rules, and some that do not: the model admits just the first."""
    core = core_of(replace(case_, stages=(case_.stages[0],)))
    if choose(core, "milp").name is None:
        return Counter()
    try:
        models = [LoadedProgram(core), *by_subtrees(core)]
    except OdtError as problem:
        refused(problem, case_)
        return Counter()
    seen = Counter[bool]()
    rng, kept, broken = random.Random(case_.text), case_.kept(), case_.broken()
    for model, keeps in [
        *((one, True) for one in rng.sample(kept, min(trees, len(kept)))),
        *((one, False) for one in rng.sample(broken, min(trees, len(broken)))),
    ]:
        raw = raw_of(core, case_, model)
        if raw is not None:
            for live in models:
                assert live.admits(raw) == keeps, f"{keeps}: {raw}\n{case_}"
            seen[keeps] += 1
    return seen


def set_on_exact(case_: Case, weightings: int = scaled(20, least=5)) -> Counter[str]:
    """The optimum under random numbers for rows and labels: a lost tree would be one's optimum."""
    rng, seen = random.Random(case_.text), Counter[str]()
    kept = case_.kept()
    for _ in range(weightings):
        again = replace(case_, stages=(weighting(rng, case_.tiny),))
        expected = again.best(kept)
        try:
            with without_start():
                result = odtdsl.parse(again.text).solve(using="exact", frame=case_.tiny.frame)
        except OdtError as problem:
            return Counter([refused(problem, again)])
        found = tuple(stage.value for stage in result.stages)
        assert result.status == ("infeasible" if expected is None else "optimal"), str(again)
        assert expected is None or found == expected, f"{found}, best {expected}\n{again}"
        seen[result.status] += 1
        if expected is None:
            break
    return seen


def set_on_sat(case_: Case, using: str = "sat") -> Counter[str]:
    """All trees of the clauses, each ruled out once it is seen: they are the admitted ones."""
    core = core_of(replace(case_, stages=(case_.stages[0],)))
    core = replace(core, objective=(LinearStage(measure=Additive()),))
    if choose(core, using).name is None:
        return Counter(["refused"])
    kept = case_.kept()
    if len(kept) > MOST_LISTED:
        return Counter(["many"])
    labels = [_label(core, case_, label) for label in range(len(case_.tiny.classes))]
    expected = {partition_of(model, labels) for model in kept}
    listed = {"sat": models_of, "cpsat": models_of_cpsat}[using]
    found = {rows_of(core, tree) for tree in listed(core)}
    assert found == expected, f"{len(found)} trees, {len(expected)} by brute force\n{case_}"
    return Counter({"instances": 1, "trees": len(found)})


def set_on_lazy_sat(case_: Case, trees: int = scaled(60, least=30)) -> Counter[str]:
    """Trees that satisfy the rules and trees that do not, in the formula as the search has it."""
    core = core_of(replace(case_, stages=(case_.stages[0],)))
    core = replace(core, objective=(LinearStage(measure=Additive()),))
    if choose(core, "sat").name is None:
        return Counter(["refused"])
    rng, sides = random.Random(case_.text), {True: case_.kept(), False: case_.broken()}
    labels = [_label(core, case_, label) for label in range(len(case_.tiny.classes))]
    kept = {partition_of(model, labels) for model in sides[True]}
    sides[False] = [model for model in sides[False] if partition_of(model, labels) not in kept]
    lazy = LazyFormula(core)
    seen = Counter({"instances": 1, "with few rows": not lazy.all_rows})
    for keeps, models in sides.items():
        for model in rng.sample(models, min(trees, len(models))):
            raw = raw_of(core, case_, model)
            if raw is not None:
                assert lazy.admits(raw) == keeps, f"{keeps}: {raw}\n{case_}"
                seen["keeps" if keeps else "breaks"] += 1
    lazy.live.close()
    return seen


# ---- the tests of every day


@pytest.mark.parametrize("name", [*NAMES, *ASIDE, MIXED])
def test_the_optimum_on_exact(name: str) -> None:
    count = scaled(30 if name in (*ASIDE, MIXED) else 6)
    found = Counter(
        solved(case(name, seed), "exact", started=seed % 2 == 1) for seed in range(count)
    )
    assert found["optimal"] >= count // 4 or found["refused"], found


@pytest.mark.parametrize("name", [*NAMES, MIXED])
def test_the_optimum_on_milp(name: str) -> None:
    count = scaled(6 if name == MIXED else 1)
    for model in FORMULATIONS:
        found = Counter(solved(case(name, seed), "milp", model=model) for seed in range(count))
        assert not found["refused"]


@pytest.mark.parametrize("name", [*NAMES, PLAIN, PLAIN_PATHS, MIXED])
def test_the_optimum_on_sat(name: str) -> None:
    for seed in range(scaled(20 if name == MIXED else 4)):
        sat_both_ways(case(name, f"sat {seed}"))


@pytest.mark.parametrize("name", [*NAMES, PLAIN, PLAIN_PATHS, MIXED])
def test_the_optimum_on_cpsat(name: str) -> None:
    pytest.importorskip("ortools")
    for seed in range(scaled(1)):
        one = _expressed(name, seed, "cpsat")
        if name in ASIDE or name == MIXED:
            cpsat_both_ways(one)
        by_rows = NAMES.index(name) % 2 if name in NAMES else False
        with without_start(), patch("odtdsl.backends.cpsat.trees.FEW_TESTS", -1 if by_rows else 50):
            solved(one, "cpsat")


@pytest.mark.parametrize("name", NAMES)
def test_the_admitted_trees(name: str) -> None:
    for seed in range(scaled(1)):
        one = case(name, f"set {seed}", most_rules=1)
        set_on_sat(one)
        if installed():
            set_on_sat(one, "cpsat")
        set_on_lazy_sat(one)
        set_on_exact(one)
        set_on_milp(one)


# ---- larger tables, where bounds prune


def solved_larger(case_: Larger) -> str:
    """Whether `exact` finds the best of all trees; its status."""
    with without_start():
        result = odtdsl.parse(case_.text).solve(using="exact", frame=case_.tiny.frame)
    expected = case_.best()
    assert result.status == ("infeasible" if expected is None else "optimal"), str(case_)
    found = tuple(stage.value for stage in result.stages)
    assert expected is None or found == expected, f"{found}, best {expected}\n{case_}"
    return result.status


@pytest.mark.parametrize("block", range(scaled(4)))
def test_larger_tables_on_exact(block: int) -> None:
    many = scaled(15, least=8)
    seeds = range(15 * block, 15 * block + many)
    found = Counter(solved_larger(larger_case(s)) for s in seeds)
    assert found["optimal"] >= many // 3


# ---- the long run


def _run(name: str, what: str, seed: int) -> Counter[str]:
    """One instance: its answers by status."""
    if what == "larger":
        return Counter([solved_larger(larger_case(seed))])
    if what == "sat-sets":
        one = case(name, f"set {seed}", most_rules=1)
        return set_on_sat(one) + Counter({f"lazy {k}": v for k, v in set_on_lazy_sat(one).items()})
    if what == "sat":
        return sat_both_ways(_expressed(name, seed, "sat"))
    if what == "cpsat":
        return cpsat_both_ways(_expressed(name, seed, "cpsat"))
    if what == "cpsat-sets":
        return set_on_sat(case(name, f"set {seed}", most_rules=1), "cpsat")
    if what == "subtrees":
        return Counter([solved(case(name, seed), "milp", model="subtrees")])
    if what != "sets":
        return Counter([solved(case(name, seed), what)])
    one = case(name, f"set {seed}", most_rules=1)
    found = Counter({f"exact {k}": v for k, v in set_on_exact(one).items()})
    seen = set_on_milp(one)
    return found + Counter({"instances": 1, "milp keeps": seen[True], "milp breaks": seen[False]})


def _expressed(name: str, seed: int, using: str, tries: int = 10) -> Case:
    """A case that clauses express, if some of the first have one: many objectives they do not."""
    for attempt in range(tries):
        found = case(name, f"{seed} {attempt}")
        if choose(core_of(found), using).name is not None:
            break
    return found


def _runs(names: Sequence[str], what: str, count: int) -> Iterator[tuple[str, Counter[str], float]]:
    for name in names:
        found, began = Counter[str](), time.monotonic()
        for seed in range(count):
            try:
                found += _run(name, what, seed)
            except AssertionError as difference:
                found[DIFFERENT] += 1
                print(f"# {name} {seed}: {difference}", flush=True)
        yield name, found, time.monotonic() - began


def main() -> None:
    """Counts by term as JSON lines; a difference is told with the spec and table that show it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--each", type=int, default=100, help="instances per term")
    parser.add_argument("--mixed", type=int, default=0, help="instances of up to four rules")
    parser.add_argument("--only", default="", help="terms whose name has this part")
    options = parser.parse_args()
    total = Counter[str]()
    names = [name for name in (*NAMES, *ASIDE) if options.only in name]
    if options.what == "larger":
        names = ["larger tables"]
    runs = [(names, options.each), ([MIXED] if options.mixed else [], options.mixed)]
    for some, count in runs:
        for name, found, seconds in _runs(some, options.what, count):
            total += found
            print(json.dumps({"term": name, **found, "seconds": round(seconds, 1)}), flush=True)
    print(json.dumps({"term": "all", **total}), flush=True)
    raise SystemExit(1 if total[DIFFERENT] else 0)


if __name__ == "__main__":
    main()
