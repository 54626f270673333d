"""What `milp` proves within a limit, and how long it takes: the table of `docs/how-to/limits.md`.

Each line is the better of some runs, in seconds from the start of compiling to the audited answer.
Prints the table; with `--docs` it goes into the page. Run it from the root of the repository:

    python benchmarks/milp.py [--runs 2] [--limit 60] [--docs]
"""

from __future__ import annotations

import argparse
import os
import runpy
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measures.report import ROOT, Table

import odtdsl
from odtdsl.driver.result import Result

PAGE = ROOT / "docs" / "how-to" / "limits.md"
MODELS = ROOT / "models"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A problem: its spec, and what the table says of it."""

    data: str
    thresholds: str
    depth: int
    rules: str
    spec: str | Path


def lines(folder: Path) -> Iterator[Line]:
    """The problems of the table; those of data that are not there are left out."""
    quartiles = "candidates * at quantiles 4"
    yield Line(
        data="iris (150, 4)",
        thresholds="all",
        depth=2,
        rules="root, leaf size",
        spec=MODELS / "iris.odt",
    )
    iris = 'data sklearn "iris" target target tree depth <= 3 minimize errors'
    yield Line(data="iris", thresholds="all", depth=3, rules="", spec=iris)
    yield Line(
        data="wine (178, 13)",
        thresholds="quartiles",
        depth=2,
        rules="cost, order, leaf size; then leaves",
        spec=MODELS / "wine.odt",
    )
    wine = 'data sklearn "wine" target target minimize errors tree depth <='
    yield Line(data="wine", thresholds="all", depth=2, rules="", spec=f"{wine} 2")
    yield Line(data="wine", thresholds="quartiles", depth=3, rules="", spec=f"{wine} 3 {quartiles}")
    yield Line(
        data="digits 3 and 8 (267, 64)",
        thresholds="quartiles",
        depth=3,
        rules="top level, count of tests; half an error per leaf",
        spec=folder / "digits.odt",
    )
    haberman = Path(os.environ.get("ODTDSL_DATA", ""), "cases", "haberman.csv").absolute()
    if haberman.is_file():
        yield Line(
            data="haberman (306, 3)",
            thresholds="3 bins",
            depth=3,
            rules="order",
            spec=(
                f'data "{haberman}" target survived candidates * at bins 3 tree depth <= 3'
                " minimize errors rule order: forall path: age before positive_nodes"
            ),
        )
    high = f'data "{folder / "diabetes_high.csv"}" target high positive "yes"'
    diabetes = (
        f"{high} {quartiles} feature sex: category group young = age < 40"
        " tree depth <= 2 minimize errors"
    )
    group = f"{diabetes} rule young_too: accuracy(young) >= accuracy - 10%"
    for rules, spec in (("", diabetes), ("accuracy of a group", group)):
        name = "diabetes" if rules else "diabetes (442, 10)"
        yield Line(data=name, thresholds="quartiles", depth=2, rules=rules, spec=spec)
    yield Line(
        data="diabetes (331)",
        thresholds="fifths",
        depth=3,
        rules="paths, group, leaf size",
        spec=folder / "diabetes.odt",
    )
    cancer = 'data sklearn "breast_cancer" target target minimize errors tree depth <='
    for name, thresholds, depth in (
        ("breast cancer (569, 30)", "quartiles", 2),
        ("breast cancer", "all", 2),
        ("breast cancer", "quartiles", 3),
    ):
        cut = quartiles if thresholds == "quartiles" else ""
        spec = f"{cancer} {depth} {cut}"
        yield Line(data=name, thresholds=thresholds, depth=depth, rules="", spec=spec)


def solved(line: Line, limit: float, runs: int) -> Result:
    """The better of some runs: proven, else of the closer bound; then the quicker one."""
    model = odtdsl.load(line.spec) if isinstance(line.spec, Path) else odtdsl.parse(line.spec)
    found = [model.solve(using="milp", threads=1, within=limit) for _ in range(runs)]
    return min(found, key=lambda one: (one.status != "optimal", one.gap or 0, one.seconds))


def proof(result: Result) -> str:
    """Yes, or how far the bound is."""
    stage = result.stages[0]
    if result.status == "optimal":
        return "yes"
    if not stage.bound or stage.gap is None:
        return f"no, bound {stage.bound or 0}"
    return f"no, gap {float(stage.gap):.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--docs", action="store_true")
    asked = parser.parse_args()
    head = ("data (rows, features)", "thresholds", "depth", "rules", "errors", "proof", "seconds")
    table = Table("milp", head)
    odtdsl.load(MODELS / "iris.odt").solve(using="milp")  # what is loaded once counts in no line
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in ("digits", "diabetes"):
            (folder / f"{name}.odt").write_text((MODELS / f"{name}.odt").read_text())
            runpy.run_path(str(MODELS / "prepare.py"))[name](folder)
        for line in lines(folder):
            result = solved(line, asked.limit, asked.runs)
            assert result.model is not None, line.data
            wrong = result.to_json()["errors"]
            words = (line.data, line.thresholds, line.depth, line.rules)
            table.add(*words, wrong, proof(result), f"{result.seconds:.1f}")
    if asked.docs:
        table.publish(PAGE)


if __name__ == "__main__":
    main()
