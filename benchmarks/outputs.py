"""The output-constrained study's sets: errors, infeasible predictions and seconds of its ways.

    ODTDSL_DATA=... python benchmarks/outputs.py [--sets scores,manifold500x5] [--exact] [--docs]

The study's folds, at least 5 rows a leaf. A fit goes from the compiled problem to the judged
tree; its time is processor time of this process, the median over folds. `--exact` proves trees of
all rows instead. `--docs` puts the tables into `docs/explanation/outputs-measured.md`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

import odtdsl as odt
from odtdsl.backends.base import Limits
from odtdsl.backends.decode import to_tree
from odtdsl.backends.greedy.backend import GreedyBackEnd
from odtdsl.problem.ir.problem import Growth
from odtdsl.problem.outputs.feasible import FeasibleSet, anything, feasible_set
from odtdsl.problem.terms.normalize import normalize

PENALTY = 100
WAYS = {"O": "optimal", "R": f"relaxed {PENALTY}", "M": "medoid", "A": "average"}
VARIANTS = (
    "O:O",
    "R:O",
    "M:O",
    "A:O",
    "O:M",
    "R:M",
    "M:M",
    "A:M",
    "R:R",
    "A:A",
)
"""Splits and leaves."""
PAGE = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "outputs-measured.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Set:
    """Rows, targets, rules, folds, and the study's mean error of S(O):L(O) and seconds."""

    name: str
    frame: pd.DataFrame
    targets: tuple[str, ...]
    rules: tuple[str, ...]
    depth: int
    seed: int
    step: str = ""
    published: tuple[float, float] | None = None
    exact: int = 0


def sets(folder: Path) -> Iterator[Set]:
    """The sets of `data/outputs`."""
    frame = pd.read_csv(folder / "constrained_exams.csv")
    features = pd.get_dummies(frame.iloc[:, :5], drop_first=True).astype(float)
    features.columns = [f"x{k}" for k in range(features.shape[1])]
    scores = frame.iloc[:, 5:].set_axis(["math", "reading", "writing"], axis=1)
    yield Set(
        name="scores",
        frame=pd.concat([features, scores], axis=1),
        depth=9,
        seed=0,
        exact=4,
        targets=("math", "reading", "writing"),
        published=(486.6, 1010),
        rules=(
            *(f"0 <= {name} <= 100" for name in ("math", "reading", "writing")),
            "if reading < 50 then writing = 0",
            "if reading + writing < 110 then math = 0",
        ),
    )
    yield _cars(folder)
    for rows, n, published in (
        (500, 3, (2055.7, 132)),
        (1000, 5, (1328.4, 725)),
        (2000, 7, (934.9, 5149)),
    ):
        frame = pd.read_csv(folder / f"class_df_size_{rows}_targets_{n}.csv")
        names = tuple(f"Course{k + 1}" for k in range(n))
        above = ", ".join(f"{name} > 0" for name in names)
        yield Set(
            name=f"class {rows} x {n}",
            frame=frame,
            targets=names,
            depth=15,
            seed=0,
            rules=(*(f"0 <= {name} <= 110" for name in names), f"count({above}) <= 1"),
            published=published,
            exact=3 if n == 3 else 0,
        )
    for rows, n, published in ((500, 5, (0.5334, 12.1)), (1000, 9, (0.9375, 38.4))):
        frame = pd.read_csv(folder / f"synthetic_manifold_df_size_{rows}_targets_{n}_seed_0.csv")
        names, half = tuple(f"y{k + 1}" for k in range(n)), n // 2
        apart = (
            f"y{half + 2 * j} - y{half + 2 * j + 1} = {(j + 1) / 10}"
            for j in range((n - half + 1) // 2)
        )
        yield Set(
            name=f"manifold {rows} x {n}",
            frame=frame,
            targets=names,
            depth=5,
            seed=10,
            rules=(*(f"{name} >= 0" for name in names), f"{' + '.join(names[:half])} = 1", *apart),
            published=published,
            exact=3,
        )
    frame = pd.read_csv(folder / "hts_df_size_500_seed_0_v2.csv")
    names = tuple(f"y{k + 1}" for k in range(13))
    above = ", ".join(f"{name} > 0" for name in names)
    yield Set(
        name="time series",
        frame=frame,
        targets=names,
        depth=5,
        seed=10,
        step=" step 1",
        rules=(
            *(f"0 <= {name} <= 100" for name in names),
            f"{' + '.join(names)} = 15",
            f"count({above}) <= 4",
        ),
        published=(7.0025, 113),
        exact=3,
    )


def _cars(folder: Path) -> Set:
    frame = pd.read_csv(folder / "insurance_evaluation_data.csv")
    numbers = [
        "KIDSDRIV",
        "AGE",
        "HOMEKIDS",
        "YOJ",
        "INCOME",
        "HOME_VAL",
        "TRAVTIME",
        "BLUEBOOK",
        "TIF",
        "OLDCLAIM",
        "CLM_FREQ",
        "MVR_PTS",
        "CAR_AGE",
    ]
    frame = frame.dropna().head(500)[[*numbers, "TARGET_FLAG", "TARGET_AMT"]].copy()
    for name in frame.columns:
        cells = frame[name].astype(str).str.replace(r"[$,]", "", regex=True)
        frame[name] = cells.astype(float)
    return Set(
        name="cars",
        frame=frame.reset_index(drop=True),
        targets=("TARGET_FLAG", "TARGET_AMT"),
        rules=("TARGET_FLAG in {0, 1}", "TARGET_FLAG <= TARGET_AMT <= 100000 * TARGET_FLAG"),
        depth=9,
        seed=0,
        published=(1.313e7, 107),
    )


def spec(of: Set, depth: int) -> str:
    lines = [f"rule r{k}: forall leaf: {rule}" for k, rule in enumerate(of.rules)]
    return "\n".join(
        [
            "data frame",
            f"target {', '.join(of.targets)}: number{of.step}",
            "feature *: number",
            f"tree depth <= {depth}",
            "minimize mse",
            "candidates * at midpoints exact",
            *lines,
            "rule size: forall leaf: size >= 5",
        ]
    )


def grown(
    of: Set, rows: pd.DataFrame, variant: str, depth: int | None = None
) -> tuple[Any, float, FeasibleSet]:
    """The tree of a variant, its seconds, and the outputs that the rules admit."""
    split, leaf = (WAYS[letter].split(" ")[0] for letter in variant.split(":"))
    growth = Growth(split=split, leaf=leaf, split_penalty=PENALTY, leaf_penalty=PENALTY)  # type: ignore[arg-type]
    analysis = odt.parse(spec(of, depth or of.depth)).analyse(frame=rows)
    core = normalize(analysis.rows)
    began = time.process_time()
    answer = GreedyBackEnd(growth).solve(core, Limits(), None, None)
    seconds = time.process_time() - began
    assert answer.tree is not None
    return (
        to_tree(core, analysis.rows, answer.tree),
        seconds,
        feasible_set(core) or anything(len(of.targets)),
    )


def measured(of: Set, variant: str) -> tuple[float, int, float, float, list[float]]:
    """Mean squared error, infeasible predictions and largest distance to the set, seconds."""
    errors: list[float] = []
    times: list[float] = []
    wrong, far = 0, 0.0
    features = [name for name in of.frame.columns if name not in of.targets]
    admitted = anything(len(of.targets))
    for train, test in KFold(5, shuffle=True, random_state=of.seed).split(of.frame):
        rows, others = of.frame.iloc[train], of.frame.iloc[test]
        if variant == "scikit-learn":
            model = DecisionTreeRegressor(
                max_depth=of.depth, min_samples_leaf=5, min_samples_split=10, random_state=0
            )
            began = time.process_time()
            model.fit(rows[features], rows[list(of.targets)])
            times.append(time.process_time() - began)
            predicted = model.predict(others[features])
        else:
            tree, seconds, admitted = grown(of, rows, variant)
            times.append(seconds)
            predicted = tree.predict({name: others[name].to_numpy() for name in features})
        truth = others[list(of.targets)].to_numpy(dtype=float)
        errors.append(float(((predicted - truth) ** 2).mean()))
        if variant == "scikit-learn":
            admitted = grown_set(of)
        wrong += int((~admitted.contains(predicted)).sum())
        apart = float(np.sqrt(admitted.project(predicted)[0].max()))
        far = max(far, apart if apart > 1e-9 else 0.0)
    return statistics.fmean(errors), wrong, far, statistics.median(times), errors


def grown_set(of: Set) -> FeasibleSet:
    core = normalize(odt.parse(spec(of, 1)).analyse(frame=of.frame).rows)
    return feasible_set(core) or anything(len(of.targets))


def table(chosen: list[Set]) -> Iterator[str]:
    for of in chosen:
        best = (
            ""
            if of.published is None
            else f"; published S(O):L(O): {of.published[0]:g} in {of.published[1]:g} s"
        )
        yield f"\n### {of.name}, depth {of.depth}{best}\n"
        yield "| splits:leaves | MSE | infeasible | largest distance | s |"
        yield "| --- | --- | --- | --- | --- |"
        for variant in (*VARIANTS, "scikit-learn"):
            error, wrong, far, seconds, _ = measured(of, variant)
            print(
                of.name,
                variant,
                f"{error:.6g}",
                wrong,
                f"{far:.3g}",
                f"{seconds:.4f}",
                file=sys.stderr,
            )
            yield f"| {variant} | {error:.6g} | {wrong} | {far:.3g} | {seconds:.4f} |"


def proofs(chosen: list[Set]) -> Iterator[str]:
    yield "\n### Optimal trees, all rows, at least 5 a leaf\n"
    yield "| set | depth | best grown | optimal | status | s |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for of in chosen:
        if not of.exact:
            continue
        text = spec(of, of.exact)
        began = time.process_time()
        result = odt.solve(f"{text}\nsolve using exact", frame=of.frame, within="280s")
        seconds = time.process_time() - began
        ways = [f"split = {WAYS[v[0]]}, leaf = {WAYS[v[2]]}" for v in VARIANTS[:8]]
        best = min(
            float(
                odt.solve(f"{text}\nsolve using greedy({way})", frame=of.frame).stages[0].value or 0
            )
            for way in ways
        )
        value = float(result.stages[0].value or 0)
        cells = (of.name, of.exact, f"{best:.6g}", f"{value:.6g}", result.status, f"{seconds:.2f}")
        line = f"| {' | '.join(map(str, cells))} |"
        print(line, file=sys.stderr)
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="", help="names without blanks, separated by commas")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--docs", action="store_true")
    args = parser.parse_args()
    if "ODTDSL_DATA" not in os.environ:
        sys.exit("set ODTDSL_DATA to the folder of public data")
    warnings.simplefilter("ignore")
    wanted = [name for name in args.sets.split(",") if name]
    every = list(sets(Path(os.environ["ODTDSL_DATA"]) / "outputs"))
    chosen = [of for of in every if not wanted or of.name.replace(" ", "") in wanted]
    lines = list((proofs if args.exact else table)(chosen))
    sys.stdout.write("\n".join(lines) + "\n")
    if args.docs:
        mark = "<!-- exact -->" if args.exact else "<!-- growth -->"
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(mark)
        _, _, after = rest.partition("<!-- end -->")
        body = "\n".join(lines)
        PAGE.write_text(f"{before}{mark}\n{body}\n\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
