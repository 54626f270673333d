"""Faults planted in the engine: does a certificate ever vouch for a wrong answer?

    python benchmarks/planted.py [--only WORD,WORD] [--problems 120] [--of few] [--docs]

Each fault is one edit of a copy of the sources, which is built in a temporary folder. The faulty
engine then answers problems whose optima the intact engine found, and `odtcheck` checks what it
certifies. A fault that changes answers must never get one of them certified as optimal; the
program fails if it does. `--docs` puts the table into `docs/explanation/certificates.md`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "certificates.md"
MARK = "<!-- benchmarks/planted.py -->"
HEAD = (
    "fault",
    "worse",
    "refused or not shown",
    "certified though worse",
    "same answer, certified",
)


@dataclass(frozen=True)
class Fault:
    """One edit of the engine: what it is in words, where, and the text before and after."""

    says: str
    file: str
    before: str
    after: str


BOUNDS, SEARCH = "include/odt/interval.hpp", "include/odt/search_impl.hpp"
TWO, CACHE = "include/odt/depth_two_impl.hpp", "include/odt/box_cache.hpp"
LOSS, SOLVE = "src/loss_model.cpp", "src/equal_rows.cpp"
FAULTS = (
    Fault(
        "an interval's bound forgets the rows between its ends",
        BOUNDS,
        "i.high_left + i.low_right - width);\n}\n\n// Under rules",
        "i.high_left + i.low_right);\n}\n\n// Under rules",
    ),
    Fault(
        "the left side carries its bound to fewer rows unpaid",
        BOUNDS,
        "i.low_left = std::max(i.low_left, i.high_left - width);",
        "i.low_left = std::max(i.low_left, i.high_left);",
    ),
    Fault(
        "the right side carries its bound to fewer rows unpaid",
        BOUNDS,
        "i.high_right = std::max(i.high_right, i.low_right - width);",
        "i.high_right = std::max(i.high_right, i.low_right);",
    ),
    Fault(
        "cuts near the lower end are dropped two rows too far",
        BOUNDS,
        "weights.beyond(i.low, i.high, low_radius)",
        "weights.beyond(i.low, i.high, low_radius + 2)",
    ),
    Fault(
        "cuts near the upper end are dropped two rows too far",
        BOUNDS,
        "weights.before(i.high, i.low, high_radius)",
        "weights.before(i.high, i.low, high_radius + 2)",
    ),
    Fault(
        "the lowest cut of an interval is never tried",
        BOUNDS,
        "OpenCuts open{i.low + 1, i.high - 1};",
        "OpenCuts open{i.low + 2, i.high - 1};",
    ),
    Fault(
        "the highest cut of an interval is never tried",
        BOUNDS,
        "OpenCuts open{i.low + 1, i.high - 1};",
        "OpenCuts open{i.low + 1, i.high - 2};",
    ),
    Fault(
        "a row outweighs its loss in no interval",
        BOUNDS,
        "return upto ? upto[high] - upto[low] : each * (high - low);",
        "return upto ? upto[high] - upto[low] : each * (high - low - 1);",
    ),
    Fault(
        "a node is given up one step too early",
        SEARCH,
        "  if (lower >= upper) {\n    ++counters.pruned_lower;",
        "  if (lower + 1 >= upper) {\n    ++counters.pruned_lower;",
    ),
    Fault(
        "a leaf is taken where one more error would have to be saved",
        SEARCH,
        "if (leaf <= lower || last) {",
        "if (leaf <= lower + 1 || last) {",
    ),
    Fault(
        "an interval is dropped one step above its bound",
        SEARCH,
        "  if (bound >= cutoff()) {\n    ++search_.counters.pruned_interval;\n    return;",
        "  if (bound + 1 >= cutoff()) {\n    ++search_.counters.pruned_interval;\n    return;",
    ),
    Fault(
        "a queued interval is dropped one step above its bound",
        SEARCH,
        "    if (open.bound >= cutoff()) {",
        "    if (open.bound + 1 >= cutoff()) {",
    ),
    Fault(
        "the last feature is never cut above depth two",
        SEARCH,
        "if (!view_.splittable(f) || p.after(ask_.state, f) < 0) continue;",
        "if (!view_.splittable(f) || p.after(ask_.state, f) < 0 || f + 1 == view_.features())"
        " continue;",
    ),
    Fault(
        "the first division of the leaves is left out",
        SEARCH,
        "for (int l = std::max(1, shape_.leaves - half);",
        "for (int l = std::max(1, shape_.leaves - half) + (shape_.leaves < 2 * half);",
    ),
    Fault(
        "leaves may be one row larger than asked at the upper end",
        SEARCH,
        ".within(ask_.least, static_cast<std::int32_t>(view_.rows()) - ask_.least);",
        ".within(ask_.least, static_cast<std::int32_t>(view_.rows()) - ask_.least - 1);",
    ),
    Fault(
        "a merged cut passes its left value to both sides",
        SEARCH,
        "std::max(i.low_left, value.any_left), value.right,",
        "std::max(i.low_left, value.any_left + 1), value.right,",
    ),
    Fault(
        "a bound on all rows is one too high for a side",
        SEARCH,
        "const Loss left = tests ? any_bound : all_left, right = tests ? any_bound : all_right;",
        "const Loss left = tests ? any_bound : all_left + 1, right = tests ? any_bound :"
        " all_right + 1;",
    ),
    Fault(
        "a side is asked for one less than would be an improvement",
        SEARCH,
        "const Loss limit = upper - (side == 0 ? around.high_right : around.low_left);",
        "const Loss limit = upper - 1 - (side == 0 ? around.high_right : around.low_left);",
    ),
    Fault(
        "depth two skips features one step above their bound",
        TWO,
        "if (floors.left[f] >= target[0] && floors.right[f] >= target[1]) {",
        "if (floors.left[f] + 1 >= target[0] && floors.right[f] + 1 >= target[1]) {",
    ),
    Fault(
        "depth two inherits bounds of more rows unpaid",
        TWO,
        "floor[f] = std::max(fewer[f], more[f] - apart);",
        "floor[f] = std::max(fewer[f], more[f]);",
    ),
    Fault(
        "depth two drops intervals one step above their bound",
        TWO,
        "if (interval_bound(interval, w) >= best) {",
        "if (interval_bound(interval, w) + 1 >= best) {",
    ),
    Fault(
        "depth two forgets the price of one leaf",
        TWO,
        "value[s] = best[s] + 2 * price_;",
        "value[s] = best[s] + price_;",
    ),
    Fault(
        "depth two does not leave a side a leaf",
        TWO,
        "inner.must[s] ? kInfinite : leaf[s] - price_;",
        "inner.must[s] ? kInfinite : leaf[s] - price_ + 1;",
    ),
    Fault(
        "windows of a least size begin one row late",
        TWO,
        "  std::int32_t rest = least_;",
        "  std::int32_t rest = least_ + 1;",
    ),
    Fault(
        "the box cache takes bounds of another box",
        CACHE,
        "return entry.answer.known && entry.box == box ? &entry.answer : nullptr;",
        "return entry.answer.known ? &entry.answer : nullptr;",
    ),
    Fault(
        "the box cache forgets the state of the path",
        CACHE,
        "return ranges == o.ranges && state == o.state;",
        "return ranges == o.ranges;",
    ),
    Fault(
        "the box cache stores bounds one too high",
        CACHE,
        "entry.answer = {out.value, true, out.exact, {}, false};",
        "entry.answer = {out.value + !out.exact, true, out.exact, {}, false};",
    ),
    Fault(
        "weights are taken for one",
        LOSS,
        "  if (p.weight.empty()) return 1;",
        "  return 1;",
    ),
    Fault(
        "a row of a kind loses one less than it should",
        LOSS,
        "row[c] -= least.back();",
        "row[c] -= least.back() + (row[c] > least.back() + 1);",
    ),
    Fault(
        "rows that a test parts count as equal",
        SOLVE,
        "while (at < to && place(row[at]) == one) ++at;",
        "while (at < to && place(row[at]) <= one + 1) ++at;",
    ),
)
BITS, DEPTHS, RULED = (
    "src/bit_search.cpp",
    "include/odt/bit_depths.hpp",
    "include/odt/ruled_weights.hpp",
)
OF_BIT_SETS = (
    Fault(
        "bit sets: a quarter that two tests make forgets rows",
        DEPTHS,
        "most[3] = std::max(most[3], view.totals[c] - a - b - ab);",
        "most[3] = std::max(most[3], view.totals[c] - a - b);",
    ),
    Fault(
        "bit sets: a test is skipped one step above its bound",
        BITS,
        "if (bound[0][t] + bound[1][t] + tolls[t] >= cutoff()) {",
        "if (bound[0][t] + bound[1][t] + tolls[t] + 1 >= cutoff()) {",
    ),
    Fault(
        "bit sets: a side is asked for one less than would be an improvement",
        BITS,
        "const Loss limit = upper - s.toll - s.value[1 - side];",
        "const Loss limit = upper - s.toll - s.value[1 - side] - 1;",
    ),
    Fault(
        "bit sets: a leaf is taken one step above the bound",
        BITS,
        "  if (leaf <= std::max(lower, least_split) ||",
        "  if (leaf <= std::max(lower, least_split) + 1 ||",
    ),
    Fault(
        "bit sets: rows that no test parts lose one more",
        BITS,
        "each_ * problem_.hopeless(view.members),",
        "each_ * (problem_.hopeless(view.members) + 1),",
    ),
    Fault(
        "bit sets: the first division of the leaves is left out",
        BITS,
        "for (int l = fewest; l <= most && best.value > lower; ++l) {",
        "for (int l = std::min(fewest + 1, most); l <= most && best.value > lower; ++l) {",
    ),
    Fault(
        "bit sets: depth three forgets the price of a leaf",
        DEPTHS,
        "loss[q] = std::min(loss[q] + 2 * price_,",
        "loss[q] = std::min(loss[q] + price_,",
    ),
    Fault(
        "bit sets: the last test above depth three is never tried",
        BITS,
        "while (k < n && best.value > lower) {",
        "while (k + 1 < n && best.value > lower) {",
    ),
)
OF_RULES = (
    Fault(
        "rules: the bound of multipliers is one too high",
        RULED,
        "return round_up(sum + offset - multipliers.constant, multipliers.scale);",
        "return round_up(sum + offset - multipliers.constant, multipliers.scale) + 1;",
    ),
    Fault(
        "rules: budgets are one step too small",
        RULED,
        "return objective * multipliers.scale + multipliers.constant - offset;",
        "return (objective - 1) * multipliers.scale + multipliers.constant - offset;",
    ),
)


# ---- what a faulty engine answers


def problems(count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Random specs and rows, the same ones each time."""
    import numpy as np

    stages = ("errors", "errors then leaves", "errors + 2 * leaves", "errors + leaves")
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(20, 120)), int(rng.integers(2, 5))
        frame: dict[str, Any] = {
            f"x{i}": rng.integers(0, int(rng.integers(4, 40)), n).astype(float) for i in range(p)
        }
        kinds = rng.integers(0, int(rng.integers(2, 4)), n)
        frame["y"] = [f"c{k}" for k in np.where(frame["x0"] > 3, kinds, kinds * 0)]
        frame["y"][:2] = ["c0", "c1"]
        lines = [
            f"data frame target y: class tree depth <= {rng.integers(2, 5)}",
            f"minimize {stages[seed % 4]}",
        ]
        if rng.random() < 0.4:
            lines.append(f"rule big: forall leaf: size >= {rng.integers(2, 6)}")
        if rng.random() < 0.4:
            lines.append(f"rule few: leaves <= {rng.integers(3, 9)}")
        if rng.random() < 0.3:
            lines.append("rule order: forall path: x0 before x1")
        yield "\n".join(lines), frame


def small_problems(count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same with few rows and values, so that least sizes, path rules and costs decide."""
    import numpy as np

    paths = (
        "x0 before x1",
        "not (uses(x0) and uses(x1))",
        "tests(x0, x1) <= 2",
        "not uses(x0) or not uses(x2)",
    )
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(12, 40))
        frame: dict[str, Any] = {
            f"x{i}": rng.integers(0, int(rng.integers(2, 9)), n).astype(float) for i in range(3)
        }
        frame["y"] = [f"c{k}" for k in rng.integers(0, 3, n)]
        frame["y"][:3] = ["c0", "c1", "c2"]
        lines = [f"data frame target y: class tree depth <= {rng.integers(3, 5)}"]
        if rng.random() < 0.5:
            lines += [f'loss predict "c{k}" when "c{(k + 1) % 3}" = {k + 2}' for k in range(3)]
            lines.append("minimize loss" + (" then leaves" if rng.random() < 0.5 else ""))
        else:
            lines.append(f"minimize errors + {rng.integers(1, 3)} * leaves")
        if rng.random() < 0.6:
            lines.append(f"rule big: forall leaf: size >= {rng.integers(2, 5)}")
        if rng.random() < 0.5:
            lines.append(f"rule order: forall path: {paths[int(rng.integers(4))]}")
        yield "\n".join(lines), frame


def few_valued(count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Features of two values, which are searched on bit sets."""
    import numpy as np

    stages = ("errors", "errors then leaves", "errors + 2 * leaves")
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(30, 150)), int(rng.integers(4, 9))
        frame: dict[str, Any] = {f"x{i}": rng.integers(0, 2, n).astype(float) for i in range(p)}
        frame["y"] = [f"c{k}" for k in rng.integers(0, int(rng.integers(2, 4)), n)]
        frame["y"][:2] = ["c0", "c1"]
        lines = [f"data frame target y: class tree depth <= {rng.integers(3, 6)}"]
        lines.append(f"minimize {stages[seed % 3]}")
        if rng.random() < 0.4:
            lines.append(f"rule few: leaves <= {rng.integers(4, 12)}")
        yield "\n".join(lines), frame


def under_rules(count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rules on a measure of a class and of a group."""
    import numpy as np

    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 60))
        frame: dict[str, Any] = {f"x{i}": rng.integers(0, 6, n).astype(float) for i in range(3)}
        frame["g"] = rng.integers(0, 2, n).astype(float)
        frame["y"] = [f"c{k}" for k in rng.integers(0, 2, n)]
        frame["y"][:2] = ["c0", "c1"]
        lines = [
            "data frame target y: class group these = g = 1",
            f"tree depth <= {rng.integers(1, 4)}",
            "minimize errors" + (" then leaves" if seed % 2 else ""),
            f'rule one: recall("c0") >= {rng.integers(50, 90)}%',
        ]
        if seed % 3:
            lines.append(f"rule two: accuracy(these) >= {rng.integers(50, 90)}%")
        yield "\n".join(lines), frame


PROBLEMS = {"all": problems, "small": small_problems, "few": few_valued, "rules": under_rules}


def answers(engine: Path, count: int, out: Path, kind: str) -> None:
    """Solve with an engine, and write value and verdict of each problem."""
    import odtdsl.base

    spec = importlib.util.spec_from_file_location("odtdsl.base._engine", engine)
    assert spec is not None, "there is a file"
    assert spec.loader is not None, "there is a file"
    module = importlib.util.module_from_spec(spec)
    sys.modules["odtdsl.base._engine"] = module
    spec.loader.exec_module(module)
    import odtdsl

    checker = engine.with_name("odtcheck")
    found: list[tuple[list[str] | None, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.cert"
        for text, frame in PROBLEMS[kind](count):
            path.unlink(missing_ok=True)
            try:
                result = odtdsl.solve(
                    text, frame=frame, using="exact", threads=1, proof=path, within=20
                )
            except Exception as failure:  # a faulty engine may do anything
                found.append((None, f"no answer: {type(failure).__name__}"))
                continue
            value = [str(stage.value) for stage in result.stages]
            told = "no certificate"
            if path.exists():
                ran = subprocess.run(
                    [checker, path, f"{path}.csv"], capture_output=True, text=True, check=False
                )
                told = ran.stdout.splitlines()[-1] if ran.stdout else ran.stderr
            found.append(([result.status, *value], told))
            out.write_text(json.dumps(found), encoding="utf-8")


# ---- building


def configured(folder: Path) -> Path:
    """A copy of the sources with a build folder beside it."""
    shutil.copytree(ROOT / "solvers", folder / "solvers")
    build = folder / "build"
    command: list[str | Path] = ["cmake", "-S", folder / "solvers", "-B", build, "-DODT_ONCE=OFF"]
    command += ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O0 -DNDEBUG"]  # building takes long
    command += [f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run(command, check=True, capture_output=True)
    return build


def built(build: Path) -> Path:
    """The module, with the checker beside it."""
    command: list[str | Path] = ["cmake", "--build", build, "--parallel", str(os.cpu_count() or 1)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stdout[-2000:])
    (engine,) = (build / "bindings").glob("_engine*.so")
    shutil.copy(build / "odtcheck", engine.with_name("odtcheck"))
    return engine


def answered(engine: Path, count: int, kind: str) -> list[tuple[list[str] | None, str]]:
    """The answers of an engine, in a process of its own; fewer where it crashes or hangs."""
    out = engine.with_name("answers.json")
    out.unlink(missing_ok=True)
    command: list[str | Path] = [sys.executable, __file__, "--engine", engine]
    command += ["--problems", str(count), "--of", kind]
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run([*command, "--out", out], timeout=300, capture_output=True, check=False)
    found: list[tuple[list[str] | None, str]] = []
    if out.exists():
        found = [(value, told) for value, told in json.loads(out.read_text(encoding="utf-8"))]
    return found + [(None, "no answer: crash or time")] * (count - len(found))


def judged(
    fault: Fault,
    intact: list[tuple[list[str] | None, str]],
    faulty: list[tuple[list[str] | None, str]],
) -> tuple[str, ...]:
    """A line of the table."""
    kinds: Counter[tuple[bool, bool]] = Counter()
    for (right, _), (value, told) in zip(intact, faulty, strict=True):
        certified = told in ("certified: the tree is optimal", "certified: no tree keeps the rules")
        kinds[value == right, certified] += 1
    worse = kinds[False, True] + kinds[False, False]
    return (
        fault.says,
        str(worse),
        str(kinds[False, False]),
        str(kinds[False, True]),
        str(kinds[True, True]),
    )


def main() -> int:
    """Print the table; 1 if a wrong answer was certified."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="faults whose text has one of these, by commas")
    parser.add_argument("--problems", type=int, default=120)
    parser.add_argument("--of", choices=PROBLEMS, default="all", help="kind of problems")
    parser.add_argument("--docs", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--engine", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.engine is not None:
        answers(args.engine, args.problems, args.out, args.of)
        return 0
    lines = [HEAD, ("---",) * len(HEAD)]
    with tempfile.TemporaryDirectory() as name:
        build = configured(Path(name))
        intact = answered(built(build), args.problems, args.of)
        print("intact:", Counter(told for _, told in intact), flush=True)
        for line in lines:
            print("| " + " | ".join(line) + " |", flush=True)
        for fault in {"few": OF_BIT_SETS, "rules": OF_RULES}.get(args.of, FAULTS):
            if not any(word in fault.says for word in args.only.split(",")):
                continue
            file = Path(name) / "solvers" / fault.file
            text = file.read_text(encoding="utf-8")
            assert fault.before in text, fault
            file.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
            lines.append(judged(fault, intact, answered(built(build), args.problems, args.of)))
            print("| " + " | ".join(lines[-1]) + " |", flush=True)
            file.write_text(text, encoding="utf-8")
    if args.docs:
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        before, _, after = PAGE.read_text(encoding="utf-8").split(MARK)
        PAGE.write_text(f"{before}{MARK}\n\n{table}\n\n{MARK}{after}", encoding="utf-8")
    return int(any(line[3] != "0" for line in lines[2:]))


if __name__ == "__main__":
    sys.exit(main())
