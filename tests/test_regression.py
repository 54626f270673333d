"""Number targets from the text of a spec to the audited tree, against brute force.

`ODTDSL_SCALE=10` multiplies the random instances.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from random_cores import random_tree
from regression_oracle import Case, brute_force, random_case
from scale import SCALE, scaled

import odtdsl as odt
from odtdsl.backends.base import Limits
from odtdsl.backends.exact.backend import Exact
from odtdsl.driver.result import Result
from odtdsl.problem.ir.evaluate import Evaluation, violations
from odtdsl.problem.ir.regression import fitted
from odtdsl.problem.terms.normalize import normalize


def near(found: Any, expected: Fraction, case: Case) -> bool:
    """Equal up to a billionth of the loss of a single leaf."""
    assert found is not None
    scale = max(abs(expected), brute_force(case)(1), Fraction(1, 10**6))
    return abs(Fraction(found) - expected) <= scale / 10**9


def most(case: Case) -> int:
    return min(case.leaves or 99, 2**case.depth, len(case.frame["y"]))


def solved(case: Case, *args: str) -> Result:
    result = odt.solve(case.text(*args), using="exact", frame=case.frame)
    if result.tree is not None:
        assert result.audit is not None
        assert result.audit.holds
        assert result.tree.depth <= case.depth
        assert result.tree.n_leaves <= (case.leaves or 99)
    return result


@pytest.mark.parametrize("block", range(scaled(5)))
def test_the_optimum_is_that_of_brute_force(block: int) -> None:
    for seed in range(60):
        case = random_case(random.Random(f"regression {block} {seed}"))
        result = solved(case)
        assert result.status == "optimal"
        expected = brute_force(case)(most(case))
        assert near(result.objective, expected, case), (block, seed, case.text())
        assert near(result.bound, expected, case)


def test_then_leaves_takes_the_fewest_that_reach_the_optimum() -> None:
    fewer = 0
    for seed in range(scaled(60, least=6)):
        case = random_case(random.Random(f"then leaves {seed}"))
        case.price = Fraction(0)
        result = solved(case, f"{case.loss} then leaves")
        best = brute_force(case)
        optimum = best(most(case))
        fewest = next(k for k in range(1, 99) if near(best(k), optimum, case))
        assert result.status == "optimal"
        assert isinstance(result.objective, tuple)
        assert near(result.objective[0], optimum, case), (seed, case.text())
        assert result.objective[1] == fewest, (seed, case.text())
        fewer += fewest < most(case)
    assert fewer >= 10 * SCALE


def test_a_bound_on_the_loss_is_kept_or_refuted() -> None:
    statuses = []
    for seed in range(scaled(60, least=6)):
        rng = random.Random(f"bound {seed}")
        case = random_case(rng)
        case.price = Fraction(0)
        optimum = brute_force(case)(most(case))
        single = brute_force(case)(1)
        bound = optimum + (single - optimum) * Fraction(rng.randint(-3, 4), 4)
        rule = f"rule good: {case.loss} <= {float(bound):.12f}"
        result = solved(case, case.loss, rule)
        close = abs(bound - optimum) <= Fraction(1, 10**6) * (1 + single)
        if not close:
            assert result.status == ("optimal" if bound > optimum else "infeasible"), case.text()
            statuses.append(result.status)
    assert {"optimal", "infeasible"} <= set(statuses)


def test_what_is_predicted_has_the_claimed_loss() -> None:
    for seed in range(scaled(20)):
        case = random_case(random.Random(f"predict {seed}"), weights=False)
        case.price = Fraction(0)
        result = solved(case)
        assert result.tree is not None
        predicted = result.tree.predict({n: v for n, v in case.frame.items() if n != "y"})
        apart = np.abs(predicted - np.array(case.frame["y"]))
        loss = (apart**2 if case.loss == "mse" else apart).mean()
        assert near(result.objective, Fraction(float(loss)), case)


def test_a_stopped_search_gives_a_tree_and_a_true_bound() -> None:
    for seed in range(scaled(30)):
        case = random_case(random.Random(f"stopped {seed}"))
        text = case.text()
        analysis = odt.parse(text).analyse(frame=case.frame)
        core = normalize(analysis.rows)
        start = fitted(core, random_tree(random.Random(seed), core, case.depth))
        valid = not violations(core, start)
        stop = Limits(interrupted=lambda: True)
        answer = Exact().solve(core, stop, start if valid else None, None)
        assert answer.tree is not None
        assert not violations(core, answer.tree)
        outcome = answer.stages[0]
        assert outcome.value is not None
        assert outcome.bound is not None
        expected = brute_force(case)(most(case))
        assert outcome.value >= expected or near(outcome.value, expected, case)
        assert outcome.bound <= expected or near(outcome.bound, expected, case)
        if valid:
            assert outcome.value <= Evaluation(core, start).stage_value(core.objective[0])


def test_two_threads_and_a_gap_keep_their_promise() -> None:
    for seed in range(scaled(20)):
        case = random_case(random.Random(f"threads {seed}"))
        expected = brute_force(case)(most(case))
        two = odt.solve(case.text(), threads=2, frame=case.frame)
        assert near(two.objective, expected, case)
        loose = odt.solve(case.text(), gap="25%", frame=case.frame)
        assert loose.gap is not None
        assert loose.gap <= Fraction(1, 4)
        assert loose.bound is not None
        assert loose.bound <= expected or near(loose.bound, expected, case)  # type: ignore[operator]
