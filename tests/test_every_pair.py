"""Every rule for every kind of target, proven by `exact`, against brute force over all trees.

The pairs are those that the table of proofs (`docs/proofs.py`) says to be proven, from the registry
of terms: a new term fails here until specs with it can be drawn. Few specs of each are drawn by
day, since most are drawn elsewhere too; `ODTDSL_SCALE=50` draws 500 of each. As a program, which
goes on behind a difference: `python tests/test_every_pair.py --each 500 --target choices`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import test_choice
import test_every_term
from number_worlds import KINDS, LOSSES, number_case
from scale import scaled
from survival_worlds import KINDS as SURVIVAL
from survival_worlds import survival_case
from test_number_rules import solved

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs import proofs
from odtdsl.base.diagnostics.model import OdtError

pytestmark = pytest.mark.usefixtures("few_starts")

TREES = "Trees of axis-parallel splits"
ELSEWHERE = {("leaf", "output"): "tests/test_outputs_trees.py"}
"""Rules whose specs are drawn, and compared with brute force, by another file."""


def pairs(target: str) -> Iterator[tuple[str, str]]:
    """The scopes and terms that are proven for a target."""
    for scope, terms in proofs.RULES.items():
        for term in terms:
            rule = proofs.written(scope, term, target)
            if proofs.cell(target, TREES, rule).proving and (scope, term) not in ELSEWHERE:
                yield scope, term


def answered(target: str, scope: str, term: str, seed: int) -> str:
    """The status of a random spec of the pair; an answer other than that of brute force fails."""
    match target:
        case "classes":
            return test_every_term.solved(
                test_every_term.case(f"{scope} {term}", f"pair {seed}"), "exact"
            )
        case "choices":
            return test_choice.solved(
                test_choice.case(seed, (scope, term)), "exact", started=seed % 3 == 0
            )
        case "survival":
            assert (scope, term) in SURVIVAL, "tests/survival_worlds.py draws no such rule"
            return solved(survival_case(scope, term, f"pair {seed}"))
    assert (scope, term) in KINDS, "tests/number_worlds.py draws no such rule"
    many = 1 if target == "a number" else 2
    return solved(number_case(scope, term, LOSSES[seed % len(LOSSES)], many, f"pair {seed}"))


@pytest.mark.parametrize("target", proofs.TARGETS)
def test_the_optimum_is_that_of_brute_force(target: str) -> None:
    for scope, term in pairs(target):
        found = Counter(answered(target, scope, term, seed) for seed in range(scaled(10)))
        assert found.total() == scaled(10)
        assert found["refused"] < found.total() or scaled(10) < 10, (target, scope, term)


def main() -> None:
    """Counts by pair as JSON lines; a difference is told with the spec that shows it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=500, help="specs of each pair")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--target", default="", help="targets whose name begins so")
    parser.add_argument("--only", default="", help="rules whose name has this part")
    options = parser.parse_args()
    wrong = 0
    for target in proofs.TARGETS:
        for scope, term in pairs(target) if target.startswith(options.target) else ():
            if options.only not in f"{scope} {term}":
                continue
            found = Counter[str]()
            for seed in range(options.first, options.first + options.each):
                try:
                    found[answered(target, scope, term, seed)] += 1
                except (AssertionError, OdtError, RuntimeError) as difference:
                    found["DIFFERENT"] += 1
                    print(f"# {target} {scope} {term} {seed}: {difference}", flush=True)
            wrong += found["DIFFERENT"]
            print(json.dumps({"target": target, "rule": f"{scope} {term}", **found}), flush=True)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
