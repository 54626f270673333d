"""Good trees early under rules: `exact` with a limit of processor time against `greedy`."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path

from measures import sets
from measures.fairness import SETS, Social
from measures.report import Table
from measures.specs import analysed
from odtdsl.compiler import Analysis
from odtdsl.driver.pipeline import solve
from odtdsl.driver.result import Result

MAGIC = Social(
    name="magic",
    folder="continuous",
    spec="""data "magic.txt", separator " ", header none
        target c1: class {"0", "1"} positive "1"  feature *: number
        group long = c2 >= 0.1  group small = c10 <= 0.2  group hard = c2 >= 0.15 and c1 == "1" """,
    rules={
        "recall": 'recall("1") >= 90%',
        "demographic parity": 'gap(rate("1"), small, long) <= 5%',
        "group accuracy": "accuracy(hard) >= 80%",
        "leaf size": "forall leaf: size >= 1%",
        "purity": "forall leaf: purity >= 70%",
        "leaves": "leaves <= 20",
        "must use": "uses(c5)",
        "must use two": 'uses(c5) and uses(c6) and recall("1") >= 85%',
        "exclusion on a path": "forall path: not (uses(c10) and uses(c2))",
    },
)


def after(analysis: Analysis, using: str, limit: float) -> Result:
    """What a back end has after seconds of processor time, on one thread."""
    began = time.process_time()
    return solve(
        analysis,
        backend=using,
        seconds=100 * limit,
        threads=1,
        stop=lambda: time.process_time() - began >= limit,
    )


def _value(one: Social, rule: str, depth: int, data: Path, using: str, limit: float) -> str:
    text = f"{one.spec}\ntree depth <= {depth}\nminimize errors\nrule asked: {rule}\n"
    analysis = analysed(one.name, text, data)
    result = after(analysis, using, limit)
    return str(result.objective) + (" (proven)" if result.status == "optimal" else "")


def early(args: Namespace) -> None:
    """Errors after seconds of processor time, beside those of growth."""
    table = Table(f"early-{args.depth}", ("set", "rule", "greedy", "3 s", "10 s"))
    for one in (MAGIC, *SETS):
        if args.sets and one.name not in args.sets.split(","):
            continue
        if one.name == "compas":
            data = sets.folder() / "cases" / "compas_train.csv"
        else:
            ending = "txt" if one.folder == "continuous" else "csv"
            data = sets.folder() / one.folder / f"{one.name}.{ending}"
        for kind, rule in one.rules.items():
            found = [
                _value(one, rule, args.depth, data, using, limit)
                for using, limit in (("greedy", 60.0), ("exact", 3.0), ("exact", 10.0))
            ]
            table.add(one.name, kind, *found)
