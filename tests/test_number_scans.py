"""Rules on paths and sizes in the search by scans, against the search that knows all rules.

The two share nothing but the automaton of paths. Tables are larger than those of brute force in
`test_number_rules`, so that sums over pairs of cuts, intervals of cuts, and bounds are in use.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from scale import scaled

import odtdsl
from odtdsl.backends.exact import number_rules, regression
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.result import Result
from odtdsl.problem.terms.normalize import normalize

RULES = (
    "forall path: x0 before x1",
    "forall path: x0 requires x1",
    "forall path: uses(x0)",
    "forall path: uses(x0) or uses(x1)",
    "forall path: not (uses(x0) and uses(x1))",
    "forall path: if uses(x1) then uses(x0)",
    "forall path: cost <= 4",
    "forall path: tests(x0) <= 1",
    "forall path: tests(x0, x1) >= 1",
    "forall path: length >= 2",
    "root in {x1}",
    "forall leaf: size >= 3",
    "forall leaf: size >= 10%",
    "forall leaf: size(g) >= 1",
    "forall leaf: size(g) >= 10%",
    "forall split: size >= 6",
    "forall split: size >= 30%",
    "forall split: size(g) >= 2",
)


def drawn(seed: int) -> tuple[dict[str, list[float]], str]:
    """A frame, and a spec with one to three rules."""
    rng = random.Random(f"scans {seed}")
    rows, columns = rng.choice([8, 20, 40, 80]), rng.choice([2, 3, 4, 7])
    pools = rng.choice([([0, 1],), ([0, 1], [0, 1, 2]), (range(9), range(40), [0, 1])])
    frame: dict[str, list[float]] = {}
    for column in range(columns):
        pool = rng.choice(pools)
        frame[f"x{column}"] = [float(rng.choice(pool)) for _ in range(rows)]
        frame[f"x{column}"][:2] = [0.0, 1.0]
    frame["y"] = [float(rng.choice([0, 1, 2, 7, 11])) for _ in range(rows)]
    frame["y"][0] = 3.0
    lines = ["data frame", "target y: number"]
    if rng.random() < 0.3:
        weights = rng.choice([[0.5, 1.0, 2.0], [0.0, 1.0, 2.0], [0.0, 1.0], [0.0, 0.25, 3.0]])
        frame["w"] = [rng.choice(weights) for _ in range(rows)]
        frame["w"][-1] = weights[-1]
        lines.append("weight w")
    lines += [f"cost x{column} = {column + 1}" for column in range(columns)]
    lines.append("group g = x1 <= 0")
    leaves = rng.choice(["", "", ", leaves <= 3", ", leaves <= 6"])
    lines.append(f"tree depth <= {rng.choice([1, 2, 3, 3, 3, 4])}{leaves}")
    loss = rng.choice(["mse", "mse", "mae", "poisson"])
    lines.append(f"minimize {loss}{rng.choice(['', '', ' + 0.05 * leaves', ' then leaves'])}")
    for index, rule in enumerate(rng.sample(RULES, rng.randint(1, 3))):
        lines.append(f"rule r{index}: {rule}")
    return frame, "\n".join(lines)


@contextmanager
def without_scans() -> Iterator[None]:
    """Only the search that knows all rules, not even free of them."""
    kept = regression.RegressionSearch._free
    with pytest.MonkeyPatch.context() as patch:
        for module in (number_rules, regression):
            patch.setattr(module, "scans", lambda core: False)
        patch.setattr(regression.RegressionSearch, "_free", lambda self, leaves: None)
        clear()
        yield
    clear()
    assert regression.RegressionSearch._free is kept


def clear() -> None:
    """What cores are known to be is asked again."""
    number_rules._ruled.cache_clear()


def both(seed: int) -> tuple[Result, Result]:
    frame, text = drawn(seed)
    clear()
    mine = odtdsl.solve(text, using="exact", frame=frame)
    with without_scans():
        other = odtdsl.solve(text, using="exact", frame=frame)
    return mine, other


def compared(seed: int) -> str:
    """The status, which both have; values and bounds are equal."""
    mine, other = both(seed)
    about = "\n".join(map(str, drawn(seed)[::-1]))
    assert mine.status == other.status, f"{mine.status}, {other.status}\n{about}"
    if mine.status == "infeasible":
        return mine.status
    assert mine.audit is not None
    assert mine.audit.holds, about
    for a, b in zip(mine.stages, other.stages, strict=True):
        assert a.value is not None
        assert b.value is not None
        assert float(a.value) == pytest.approx(float(b.value), rel=1e-8, abs=1e-9), about
        assert a.bound == pytest.approx(a.value, rel=1e-8, abs=1e-9), about
    return mine.status


def test_both_searches_have_the_same_optimum() -> None:
    found = Counter(compared(seed) for seed in range(scaled(1000, least=20, part=0.2)))
    assert found["optimal"] > found["infeasible"] > 0


def test_which_problems_are_scanned() -> None:
    """Not other rules, and sizes that count two sums; with rows without weight as without."""
    frame = {"x0": [0.0, 1.0, 2.0, 2.0], "y": [1.0, 2.0, 4.0, 4.0], "w": [1.0, 2.0, 0.0, 1.0]}
    head = "data frame target y: number group g = x0 <= 1 tree depth <= 2 minimize mse"
    for rules, scanned in {
        ("forall path: uses(x0)",): True,
        ("forall leaf: size >= 2",): True,
        ("forall split: size >= 2",): True,
        ("forall leaf: size(g) >= 1",): True,
        ("forall leaf: size(g) >= 1", "forall leaf: size >= 2"): False,
        ("forall split: size(g) >= 1",): False,
        ("forall leaf: size <= 2",): False,
        ("uses(x0)",): False,
    }.items():
        for weights in ("", "weight w"):
            lines = [f"rule r{index}: {rule}" for index, rule in enumerate(rules)]
            spec = odtdsl.parse("\n".join([head, weights, *lines]))
            core = normalize(spec.analyse(frame=frame).rows)
            assert number_rules.scans(core) == scanned, (rules, weights)


def main() -> None:
    """Long runs; a difference is told with the spec that shows it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    options = parser.parse_args()
    found = Counter[str]()
    for seed in range(options.first, options.first + options.count):
        try:
            found[compared(seed)] += 1
        except (AssertionError, OdtError, RuntimeError) as difference:
            found["DIFFERENT"] += 1
            print(f"# {seed}: {difference}\n{drawn(seed)[1]}", flush=True)
    print(dict(found))
    raise SystemExit(1 if found["DIFFERENT"] else 0)


if __name__ == "__main__":
    main()
