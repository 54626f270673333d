"""How fast problems become programs: nonzeros per second of the processor, inside HiGHS and as LP
and MPS files in which every row has a name and comments say what all means, beside their legend;
`import odtdsl`, a spec of 200 rules, and how closely time limits are kept.

Prints a table and asserts nothing. Run it from the root of the repository:

    python benchmarks/compile.py [--rows 2000] [--repeat 3]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from odtdsl.backends.base import Limits
from odtdsl.backends.milp import Milp
from odtdsl.problem.ir.families import Family
from odtdsl.problem.ir.forms import Additive, Core, LinearStage
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawLeaf


def binary_core(n_rows: int, n_tests: int, depth: int) -> Core:
    """Random 0/1 columns, one test each, and labels that follow a few of them."""
    random = np.random.default_rng(0)
    cells = random.integers(0, 2, (n_tests, n_rows), dtype=np.int64)
    labels = (cells[:5].sum(axis=0) + random.integers(0, 2, n_rows) > 2).astype(np.int64)
    output = np.ones((n_rows, 2), dtype=np.int64)
    output[np.arange(n_rows), labels] = 0
    values = np.array([0.0, 1.0])
    return Core(
        n_rows=n_rows,
        n_classes=2,
        columns=tuple(f"x{i}" for i in range(n_tests)),
        families=tuple(
            Family(column=i, kind="equals", codes=codes, n_tests=1, values=values)
            for i, codes in enumerate(cells)
        ),
        labels=labels,
        skeleton=TreeSkeleton(depth=depth, leaves=None),
        filters=(),
        clauses=(),
        objective=(LinearStage(measure=Additive(output=output)),),
    )


def best_of(repeat: int, run: Callable[[], float]) -> float:
    return min(run() for _ in range(repeat))


def compile_seconds(core: Core, depth: int) -> tuple[int, dict[str, float]]:
    """Nonzeros, and seconds of every step from a core to a model inside HiGHS."""
    import highspy  # noqa: F401
    import pyomo.environ  # noqa: F401
    import scipy.sparse  # noqa: F401

    from odtdsl.backends.milp.formulation import PATTERN
    from odtdsl.backends.milp.highs import Solver
    from odtdsl.backends.milp.pyomo_model import build, standard_form

    steps: dict[str, float] = {}
    began = time.process_time()

    def step(name: str) -> None:
        steps[name] = time.process_time() - began - sum(steps.values())

    program = PATTERN.lower(core, depth).program
    step("lowering")
    built = build(program)
    step("Pyomo model")
    standard = standard_form(program, built)
    step("standard form")
    Solver(program, standard)
    step("HiGHS passModel")
    return program.n_nonzeros, steps


def file_seconds(n_rows: int, n_tests: int, depth: int, to: str) -> tuple[int, float]:
    """Nonzeros, and seconds from an analysed spec to a file with names, comments and legend."""
    from odtdsl.base.back_ends import variant
    from odtdsl.driver.formulas.formats import compile_to
    from odtdsl.interfaces.api import parse

    core = binary_core(n_rows, n_tests, depth)
    frame: dict[str, Sequence[int]] = {
        f"x{i}": family.codes.tolist() for i, family in enumerate(core.families)
    }
    frame["y"] = core.labels.tolist()
    text = f"data frame target y: class tree depth <= {depth} minimize errors then leaves"
    analysis = parse(text).analyse(frame=frame)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        size = compile_to(
            analysis, Path(folder, f"p.{to}"), to, variant(), legend=Path(folder, "legend.json")
        )
        return dict(size)["nonzeros"], time.process_time() - began


def child_seconds(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return time.perf_counter() - began


def check_seconds(n_rules: int) -> float | None:
    """Seconds to check a spec of many rules, imports aside; None without the front end."""
    try:
        from odtdsl.interfaces.api import check
    except ImportError:
        return None
    names = [f"x{i}" for i in range(20)]
    rules = [
        f"rule r{k}: forall path: {names[k % 20]} before {names[(k * 7 + 3) % 20]}"
        for k in range(n_rules)
        if names[k % 20] != names[(k * 7 + 3) % 20]
    ]
    with tempfile.TemporaryDirectory() as folder:
        rows = np.random.default_rng(0).integers(0, 9, (200, 20)).tolist()
        lines = [",".join([*names, "y"])]
        lines += [",".join([*map(str, row), "ab"[row[0] % 2]]) for row in rows]
        Path(folder, "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        text = 'data "data.csv"\ntarget y\ntree depth <= 3\nminimize errors\n' + "\n".join(rules)
        spec = Path(folder, "spec.odt")
        spec.write_text(text + "\n", encoding="utf-8")
        check(spec)  # the first call loads the grammar and the terms
        began = time.perf_counter()
        found = check(spec)
        seconds = time.perf_counter() - began
        for diagnostic in found[:3]:
            print("  ", diagnostic.code, diagnostic.message)
        return seconds


def limited_seconds(core: Core, limit: float) -> float:
    """Seconds until `milp` answers under a time limit, compiling included."""
    began = time.monotonic()
    Milp().solve(core, Limits(deadline=began + limit), RawLeaf(label=0))
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--tests", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'what':48} {'seconds':>9} {'nonzeros/s':>12}")
    for depth in (2, 3):
        core = binary_core(arguments.rows, arguments.tests, depth)
        found = [compile_seconds(core, depth) for _ in range(arguments.repeat)]
        nonzeros, steps = min(found, key=lambda pair: sum(pair[1].values()))
        title = f"{arguments.rows} rows x {arguments.tests} tests, depth {depth}"
        total = sum(steps.values())
        print(f"{title:48} {total:9.3f} {nonzeros / total:12,.0f}")
        for name, seconds in steps.items():
            print(f"  {name:46} {seconds:9.3f}")
        for to in ("lp", "mps"):
            size = (arguments.rows, arguments.tests, depth)
            files = [file_seconds(*size, to) for _ in range(arguments.repeat)]
            nonzeros, seconds = min(files, key=lambda pair: pair[1])
            title = f"  {to} file with comments, beside its legend"
            print(f"{title:48} {seconds:9.3f} {nonzeros / seconds:12,.0f}")
    bare = best_of(arguments.repeat, lambda: child_seconds("pass"))
    whole = best_of(arguments.repeat, lambda: child_seconds("import odtdsl"))
    print(f"{'import odtdsl (beyond starting Python)':48} {whole - bare:9.3f}")
    seconds = check_seconds(200)
    if seconds is not None:
        print(f"{'checking a spec of 200 rules':48} {seconds:9.3f}")
    for limit in (0.3, 1.0, 3.0):
        core = binary_core(15_000, 60, 4)
        spent = limited_seconds(core, limit)
        print(f"{f'milp within {limit} s: 15000 rows x 60 tests, depth 4':48} {spent:9.3f}")


if __name__ == "__main__":
    main()
