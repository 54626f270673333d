"""The five case studies of `models/cases`: accuracy, group accuracy, parity, seconds, proof.

    ODTDSL_DATA=... python benchmarks/cases.py [--depth 3] [--limit 60] [options]

As the tables of the CPTree study's section 5: CART (scikit-learn), the optimal tree without the
rules and with them, over several draws of training and test rows, mean and standard deviation.
Each spec is solved as it stands, and again with every midpoint where it names candidates. Both
answers are audited: how often the free tree satisfies the rules is a column too. `--docs` puts the
table into `docs/explanation/cases-measured.md`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from measures import sets
from measures.report import CASES_PAGE, ROOT, Table
from measures.sets import Array
from measures.specs import analysed

from odtdsl.auditor.audit import audit
from odtdsl.compiler import Analysis
from odtdsl.datasets.dataset import Dataset
from odtdsl.driver.pipeline import solve
from odtdsl.problem.ir.rows import holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A spec of `models/cases`.

    Attributes
    ----------
    rows
        How many there are to draw from, missing cells dropped where the spec says so.
    group
        The one whose accuracy is shown.
    parity
        The class and the two groups whose shares of it are compared.
    without
        A column that CART is also fitted without.
    """

    name: str
    rows: int
    group: str | None = None
    parity: tuple[str, str, str] | None = None
    without: str | None = None


CASES = (
    Case(name="haberman", rows=306),
    Case(name="pima", rows=768),
    Case(name="post_operative", rows=90, without="l_core"),
    Case(name="heart", rows=297, group="sick_women"),
    Case(name="compas", rows=6172, parity=("yes", "african_american", "caucasian")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One tree on one draw; shares in per cent, NaN where a case has none."""

    train: tuple[float, float, float]
    """Accuracy, accuracy of the group, difference of the shares; on training rows."""
    test: tuple[float, float, float]
    seconds: float = float("nan")
    proven: bool = False
    keeps: bool = False


# ---- specs


@cache
def _spec(name: str) -> str:
    return (ROOT / "models" / "cases" / f"{name}.odt").read_text(encoding="utf-8")


def _drawn(text: str, depth: int, seed: int) -> str:
    """The spec for another depth and another draw; 33% where it has no test rows of its own."""
    line = re.search(r"^data .*$", text, re.MULTILINE)
    assert line is not None, "every spec has data"
    drawn, count = re.subn(r"\bseed \d+", f"seed {seed}", line[0])
    if not count:
        drawn = f"{line[0]}, test 33% stratified seed {seed}"
    return re.sub(r"\bdepth <= \d+", f"depth <= {depth}", text.replace(line[0], drawn))


def _without(text: str, keyword: str) -> str:
    return re.sub(rf"^{keyword} .*\n", "", text, flags=re.MULTILINE)


# ---- scores


def _scores(case: Case, problem: Any, data: Dataset, predicted: Array) -> tuple[float, ...]:
    """Accuracy, accuracy of the group, difference of shares, in per cent; `predicted`: classes."""
    assert data.labels is not None
    right = predicted == data.labels
    masks = {group.name: holds(group.condition, data) for group in problem.groups}
    group = parity = float("nan")
    if case.group is not None:
        group = 100 * float(right[masks[case.group]].mean())
    if case.parity is not None:
        label, *names = case.parity
        chosen = predicted == problem.target.classes.index(label)
        first, second = (chosen[masks[name]].mean() for name in names)
        parity = 100 * abs(float(first - second))
    return 100 * float(right.mean()), group, parity


def _scored(
    case: Case, analysis: Analysis, predict: Callable[[Dataset], Array], **more: Any
) -> Scored:
    assert analysis.test is not None
    train, test = (
        _scores(case, analysis.problem, data, predict(data))
        for data in (analysis.rows.data, analysis.test)
    )
    return Scored(train=train, test=test, **more)  # type: ignore[arg-type]


def _optimal(case: Case, asked: Analysis, ruled: Analysis, limit: float) -> Scored | None:
    """The tree of `asked`, held against the rules of `ruled`; None where none was found."""
    result = solve(asked, backend="exact", seconds=limit, threads=1)
    if result.tree is None:
        print(f"{case.name}: {result.status} after {result.seconds:.1f} s", file=sys.stderr)
        return None
    tree, found = result.tree, audit(result.tree, ruled.rows)
    labels = np.asarray([leaf.label for leaf in tree.leaves])
    of_rules = {rule.name for rule in ruled.problem.rules}
    return _scored(
        case,
        asked,
        lambda data: labels[tree.apply(data.table)],
        seconds=result.seconds,
        proven=result.status == "optimal",
        keeps=all(line.holds for line in found.lines if line.rule in of_rules),
    )


def _cart(case: Case, analysis: Analysis, depth: int, without: str | None = None) -> Scored:
    """scikit-learn's tree by entropy; categories one-hot, missing numbers as it treats them."""
    from sklearn.tree import DecisionTreeClassifier

    names = [f.name for f in analysis.problem.features if f.name != without]

    def cells(data: Dataset) -> Array:
        columns = []
        for name in names:
            column = data.columns[name]
            if column.numbers is not None:
                columns.append(column.numbers)
            elif column.type.kind == "category":
                columns += [column.codes == code for code in range(len(column.type.levels))]
            else:
                assert column.codes is not None
                columns.append(np.where(column.codes < 0, np.nan, column.codes))
        return np.column_stack(columns).astype(float)

    data = analysis.rows.data
    model = DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0)
    model.fit(cells(data), data.labels)
    return _scored(case, analysis, lambda rows: model.predict(cells(rows)))


# ---- the table


def _of(
    case: Case, data: Path, depth: int, args: argparse.Namespace
) -> Iterator[tuple[str, str, list[Scored | None]]]:
    """Candidates, method, what each draw gave."""
    text = _spec(case.name)
    seeds = range(1, args.seeds + 1)

    def drawn(text: str, seed: int) -> Analysis:
        return analysed(case.name, _drawn(text, depth, seed), data)

    plain = [drawn(text, seed) for seed in seeds]
    yield "", "CART", [_cart(case, a, depth) for a in plain]
    if case.without is not None:
        name = f"CART without `{case.without}`"
        yield "", name, [_cart(case, a, depth, case.without) for a in plain]
    ways = {"midpoints": _without(text, "candidates")}
    if ways["midpoints"] != text:
        ways = {"of the spec": text} | ways
    for candidates, way in ways.items():
        ruled = [drawn(way, seed) for seed in seeds]
        free = [drawn(_without(way, "rule"), seed) for seed in seeds]
        pairs = list(zip(free, ruled, strict=True))
        yield candidates, "free", [_optimal(case, f, r, args.limit) for f, r in pairs]
        yield candidates, "under rules", [_optimal(case, r, r, args.limit) for _, r in pairs]


def _spread(values: list[float]) -> str:
    """Mean and standard deviation over the draws."""
    if not values or np.isnan(values).any():
        return ""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.1f} ± {spread:.1f}"


def _row(found: list[Scored | None], limit: float) -> list[object]:
    """Shares over the trees that were found, then what the audit and the proof said."""
    scored = [s for s in found if s is not None]
    cells: list[object] = [
        _spread([getattr(s, side)[which] for s in scored])
        for which in range(3)
        for side in ("train", "test")
    ]
    if any(np.isnan(s.seconds) for s in scored):  # of CART nothing is claimed
        return [*cells, "", "", ""]
    proven, kept = (sum(getattr(s, what) for s in scored) for what in ("proven", "keeps"))
    longest = f"{max(s.seconds for s in scored):.2f}" if proven == len(found) else f"over {limit:g}"
    return [*cells, f"{kept}/{len(found)}", f"{proven}/{len(found)}", longest]


def measure(args: argparse.Namespace) -> None:
    """One table for a depth."""
    table = Table(
        f"cases-{args.depth}",
        (
            "case",
            "candidates",
            "tree",
            "training",
            "test",
            "group, training",
            "group, test",
            "parity, training",
            "parity, test",
            "keeps rules",
            "proven",
            "longest, s",
        ),
    )
    open_runs = 0
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in CASES:
            if args.sets and case.name not in args.sets.split(","):
                continue
            data = sets.case(case.name, Path(scratch))
            if data is None:
                continue
            for candidates, method, found in _of(case, data, args.depth, args):
                cells = _row(found, args.limit)
                if cells[-1]:
                    open_runs += sum(s is None or not s.proven for s in found)
                shown = case.name if method == "CART" else ""
                table.add(shown, candidates, method, *cells)
    table.note(
        f"Depth {args.depth}, {args.seeds} draws (seeds 1 to {args.seeds}), per cent, mean ±"
        f" standard deviation; one thread, limit {args.limit:g} s a solve;"
        + (" every solve is proven." if not open_runs else f" {open_runs} solves are not proven.")
    )
    if args.docs:
        table.publish(CASES_PAGE)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60, help="seconds")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", default=None, help="names, by commas")
    parser.add_argument("--docs", action="store_true", help="put the table into the page")
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
