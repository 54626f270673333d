"""Rules on the exact search, measured.

    ODTDSL_DATA=... python benchmarks/rules.py WHAT [--depth 3] [--limit 60] [--runs 3] [options]

`cost`: one rule at a time on the ten sets of numbers, against the free problem in the same run.
`fairness`: rules on groups on heart, COMPAS and german-credit, and, on 0/1 columns, against
pystreed's group fairness. `early`: errors after 3 and 10 s of processor time, and of `greedy`.
`beside-growth`: ten ruled specs at depths 5 to 8 after 1, 3 and 10 s, beside `greedy`; what is
worse is listed. `against-milp`: the same ruled problems (iris, wine, haberman, heart,
numbers in three bins) on `exact` and on `milp`: equal optima wherever both prove one, and the
ratio of their times. All go through the language, from the spec with its data to the audited
answer. `--docs` puts the tables into `docs/explanation/cases-measured.md`.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measures import cost, early, fairness, growth, sets
from measures.report import CASES_PAGE, Table, geometric
from measures.specs import analysed

from odtdsl.compiler import Analysis
from odtdsl.driver.pipeline import solve
from odtdsl.driver.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """A data set as a spec without a skeleton, and rules by name; `file`: in `cases/`."""

    name: str
    spec: str
    rules: dict[str, str]
    file: str | None = None


PROBLEMS = (
    Ruled(
        name="iris",
        spec='data sklearn "iris"  target target',
        rules={
            "order": "forall path: `sepal width (cm)` before `petal width (cm)`",
            "must use": "uses(`sepal length (cm)`)",
            "leaf size": "forall leaf: size >= 15%",
            "class rate": 'rate("versicolor") <= 30%',
        },
    ),
    Ruled(
        name="wine",
        spec='data sklearn "wine"  target target  cost * = 1, proline = 10, flavanoids = 8',
        rules={
            "exclusion": "forall path: not (uses(proline) and uses(flavanoids))",
            "budget": "forall path: cost <= 9",
            "few leaves": "leaves <= 3 and not uses(alcohol)",
            "recall": 'recall("class_1") >= 97%',
        },
    ),
    Ruled(
        name="haberman",
        file="haberman.csv",
        spec='data "haberman.csv"  target survived positive "yes"  group old = age >= 60',
        rules={
            "order": "forall path: age before positive_nodes",
            "requires": "forall path: age requires op_year",
            "parity": 'abs(rate("yes", old) - rate("yes")) <= 5% and recall("no") >= 30%',
            "purity": "forall leaf: purity >= 60%",
        },
    ),
    Ruled(
        name="heart",
        file="heart.csv",
        spec='''data "heart.csv", na {"?"}  target disease positive "yes"  missing drop
            feature sex, cp, restecg, slope, thal: category  feature fbs, exang: binary
            cost * = 1, chol = 7.27, exang = 87.3, oldpeak = 87.3, slope = 87.3, ca = 100.9
            cost {thal, thalach} shared = 101.9
            group sick_women = sex == "female" and disease == "yes"''',
        rules={
            "budget": "forall path: cost <= 150",
            "sick women": "accuracy(sick_women) >= 90%",
            "leaf size": "forall leaf: size >= 10%",
            "order": "forall path: age before thal",
        },
    ),
)


def _analysed(problem: Ruled, rule: str, depth: int) -> Analysis | None:
    data = None
    if problem.file is not None:
        data = sets.folder() / "cases" / problem.file
        if not data.exists():
            print(f"{data} is missing: left out", file=sys.stderr)
            return None
    text = (
        f"{problem.spec}\ncandidates * at bins 3\ntree depth <= {depth}\nminimize errors\n"
        f"rule asked: {rule}\n"
    )
    return analysed(problem.name, text, data)


def _shown(result: Result) -> str:
    return f"{result.seconds:.3f}" + ("" if result.status != "feasible" else " (open)")


def against_milp(args: argparse.Namespace) -> None:
    """Equal optima, or both infeasible; ratio of times."""
    table = Table(
        f"against-milp-{args.depth}",
        (
            "set",
            "rows",
            "rule",
            "optimal errors",
            "exact, s",
            "milp, s",
            "ratio",
        ),
    )
    ratios: list[float] = []
    still_open = 0
    for problem in PROBLEMS:
        if args.sets and problem.name not in args.sets.split(","):
            continue
        for rule in problem.rules.values():
            analysis = _analysed(problem, rule, args.depth)
            if analysis is None:
                break
            mine, other = (
                solve(analysis, backend=name, seconds=args.limit, threads=1)
                for name in ("exact", "milp")
            )
            proofs = {"optimal", "infeasible"}
            both = mine.status in proofs and other.status in proofs
            if both:
                same = (mine.status, mine.objective) == (other.status, other.objective)
                assert same, (problem.name, rule, mine, other)
                ratios.append(other.seconds / mine.seconds)
            still_open += mine.status not in proofs
            value = mine.objective if mine.status == "optimal" else mine.status
            table.add(
                problem.name,
                analysis.rows.n_rows,
                f"`` {rule} ``",
                value,
                _shown(mine),
                _shown(other) if other.status in proofs else f"{other.status}, {other.bound} <=",
                f"{other.seconds / mine.seconds:.0f}" if both else "",
            )
    if ratios:
        table.note(
            f"Depth {args.depth}, limit {args.limit:g} s, one thread. Equal optima on all"
            f" {len(ratios)} problems that both decided; ratio of times, geometric mean"
            f" {geometric(ratios):.0f}, least {min(ratios):.0f}."
            + (f" {still_open} undecided by `exact`." if still_open else "")
        )
    if args.docs:
        table.publish(CASES_PAGE)


MEASURES: dict[str, tuple[Callable[[argparse.Namespace], None], int]] = {
    "against-milp": (against_milp, 2),
    "beside-growth": (growth.beside_growth, 8),
    "cost": (cost.cost, 3),
    "early": (early.early, 6),
    "fairness": (fairness.fairness, 3),
}
"""What runs, and at which depth where none is asked for."""


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=list(MEASURES))
    parser.add_argument("--depth", type=int, default=None)
    parser.add_argument("--limit", type=float, default=60, help="seconds")
    parser.add_argument("--runs", type=int, default=3, help="medians of so many")
    parser.add_argument("--no-peer", dest="peer", action="store_false")
    parser.add_argument("--sets", default=None, help="names, by commas")
    parser.add_argument("--docs", action="store_true", help="put the table into the page")
    args = parser.parse_args()
    measure, depth = MEASURES[args.what]
    args.depth = depth if args.depth is None else args.depth
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure(args)


if __name__ == "__main__":
    main()
