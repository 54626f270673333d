"""The optimum that `milp` proves is the one of brute force, stage by stage."""

from __future__ import annotations

import random

import pytest
from milp_trees import SCALE, best, tiny

from odtdsl.backends.base import Limits
from odtdsl.ir.evaluate import stage_values, violations
from odtdsl.milp import Milp


@pytest.mark.parametrize("first", range(0, 50 * SCALE, 10))
def test_the_optimum_is_that_of_brute_force(first: int) -> None:
    for seed in range(first, first + 10):
        rng = random.Random(f"optimum {seed}")
        core = tiny(rng, most_rows=12, free_clauses=rng.randint(0, 2), stages=True)
        expected = best(core)
        answer = Milp().solve(core, Limits())
        if expected is None:
            assert answer.status == "infeasible", seed
            assert answer.tree is None
            continue
        assert answer.status == "optimal", seed
        assert answer.tree is not None
        assert not violations(core, answer.tree)
        assert stage_values(core, answer.tree) == expected, seed
        assert tuple(stage.value for stage in answer.stages) == expected
        assert all(stage.proven and stage.bound == stage.value for stage in answer.stages)
