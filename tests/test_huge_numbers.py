"""Cells near the ends of floats: no command warns in numpy's words, or takes it for a mistake."""

from __future__ import annotations

import warnings
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scale import scaled

import odtdsl
from odtdsl.interfaces.cli.main import app

pytestmark = pytest.mark.usefixtures("few_starts")

CELLS = ("1e308", "-1e308", "1.7e308", "-1.7e308", "1", "0", "5e-324")
HEAD = 'data "h.csv", test "h.csv" target y '
SPECS = {
    "gaps": HEAD + "tree depth <= 2 minimize errors",
    "quantiles": HEAD + "candidates * at quantiles 3 tree depth <= 2 minimize errors",
    "bins": HEAD + "candidates * at bins 3 tree depth <= 2 minimize errors",
    "guessed": HEAD + "candidates * at guessed tree depth <= 2 minimize errors",
    "planes": HEAD + "tree depth <= 1 splits hyperplane minimize errors",
    "diagram": HEAD + "diagram widths 1, 2 minimize errors",
    "numbers": HEAD.replace("y", "a: number drop y") + "tree depth <= 1 minimize mse",
    "rule": HEAD + "tree depth <= 1 minimize errors rule r: accuracy(g) >= 10% group g = a > 3",
}
COMMANDS = (
    "check {0}",
    "plan {0}",
    "solve {0} --within 1 --out t.json --svg t.svg",
    "report {0} --force",
    "compare {0} --within 0.5",
    "explain {0} --within 0.5",
    "predict t.json h.csv",
    "audit t.json {0}",
    "export t.json --to python",
    "why t.json {0} --row 1",
)


@pytest.mark.parametrize("name", SPECS)
def test_no_command_warns_in_the_words_of_numpy(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{CELLS[i % 7]},{CELLS[(3 * i + 1) % 7]},{'pq'[i % 3 == 0]}" for i in range(40)]
    Path("h.csv").write_text("\n".join(["a,b,y", *rows]))
    Path("h.odt").write_text(SPECS[name])
    solved = False
    for command in COMMANDS:
        if "t.json" in command.split()[1] and not solved:
            continue
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            ran = CliRunner().invoke(app, command.format("h.odt").split())
        assert not [one for one in told if issubclass(one.category, RuntimeWarning)], command
        assert ran.exit_code in range(5), (command, ran.output)
        solved = solved or Path("t.json").exists()
    assert solved == (name not in ("planes", "numbers"))


def test_weights_in_whose_sums_others_drown_are_refused_for_numbers() -> None:
    rows = {"a": list(range(12)), "y": [0.0, 1.0] * 6}
    spec = "data frame target y: number weight w tree depth <= 2 minimize mse"
    for large, refused in ((1e14, False), (4e14, True)):
        frame = {**rows, "w": [large, 1.0] * 6}
        if refused:
            with pytest.raises(odtdsl.OdtError, match="D161"):
                odtdsl.solve(spec, frame=frame)
        else:
            assert odtdsl.solve(spec, frame=frame).status == "optimal"


def test_any_whole_number_of_trees_may_be_asked_for() -> None:
    frame = {"a": [1, 2, 3], "y": ["n", "p", "n"]}
    spec = odtdsl.parse("data frame target y tree depth <= 2 minimize errors")
    assert spec.alternatives(frame=frame, most=10**30).complete


@pytest.mark.parametrize("tiny", [5e-324, 1e-320, 2e-308, 1e-301])
def test_numbers_whose_digits_floats_lose_are_refused_before_a_search(tiny: float) -> None:
    rows = {"a": [0, 1, 2, 3] * 5, "y": [0.0, 1.0] * 10}
    weighed = "data frame target y: {} weight w tree depth <= 2 minimize {}"
    for kind, objective in (("class", "errors"), ("number", "mse")):
        spec = weighed.format(kind, objective)
        with pytest.raises(odtdsl.OdtError, match=r"D161.*too small"):
            odtdsl.solve(spec, frame={**rows, "w": [tiny] * 20})
    mixed = {**rows, "w": [tiny, 1.0] * 10}
    assert odtdsl.solve(weighed.format("class", "errors"), frame=mixed).status == "optimal"
    for loss in ("mse", "mae", "poisson"):
        spec = f"data frame target y: number tree depth <= 2 minimize {loss}"
        for beside in (0.0, 1.0):
            frame = {**rows, "y": [tiny, beside] * 10}
            with pytest.raises(odtdsl.OdtError, match=r"R301.*so near 0"):
                odtdsl.solve(spec, frame=frame)


def test_targets_whose_squares_are_too_small_are_refused_for_squared_errors_alone() -> None:
    for size, losses in ((1e-269, ("mae", "poisson")), (1e-134, ("mae", "poisson", "mse"))):
        rows = {"a": [0, 1, 2, 3] * 5, "b": [0, 1, 0, 1, 1] * 4}
        frame = {**rows, "y": [0.0, size, size, 0.0] * 5}
        for loss in ("mse", "mae", "poisson"):
            spec = f"data frame target y: number tree depth <= 2 minimize {loss}"
            if loss in losses:
                assert odtdsl.solve(spec, frame=frame).objective == 0
            else:
                with pytest.raises(odtdsl.OdtError, match=r"R301.*squares too small"):
                    odtdsl.solve(spec, frame=frame)


@pytest.mark.parametrize("kind", ["two targets", "missing cells", "rule"])
def test_deviances_of_large_counts_do_not_drown(kind: str) -> None:
    """Searches told them by differences of sums of y log y: they stopped, or found worse trees."""
    for seed in range(scaled(40)):
        rng = np.random.default_rng(seed)
        n, size = 12, 10.0 ** int(rng.integers(4, 9))
        x = {name: rng.integers(0, 2, n).tolist() for name in "abc"}
        y = {name: rng.poisson(size, n).tolist() for name in "yz"[: 1 + (kind == "two targets")]}
        missing = ""
        if kind == "missing cells":
            x["a"] = [
                None if one else cell for one, cell in zip(rng.random(n) < 0.2, x["a"], strict=True)
            ]
            missing = "missing {a} left"
        rule = "rule r: forall path: tests(a, b) = 1" if kind != "two targets" else ""
        spec = (
            f"data frame target {', '.join(y)}: number {missing} tree depth <= 2 "
            f"minimize poisson {rule}"
        )
        found = odtdsl.solve(spec, frame={**x, **y}, using="exact")
        least, alone = _least_deviance(x, y, once={"a", "b"} if rule else set())
        assert (found.objective is None) == (least is None)
        if least is not None:
            assert found.status == "optimal"
            near = max(Decimal("1e-9") * alone, Decimal("1e-13") * max(map(max, y.values())))
            assert abs(Decimal(float(found.stages[0].value)) - least) <= near


def _least_deviance(
    x: dict[str, list[Any]], y: dict[str, list[Any]], once: set[str]
) -> tuple[Decimal | None, Decimal]:
    """Of all trees of depth two, and of a leaf; paths test exactly one of some columns once."""
    every = range(len(next(iter(x.values()))))
    known: dict[tuple[int, ...], Decimal] = {}

    def leaf(rows: tuple[int, ...]) -> Decimal:
        if rows not in known:
            total = Decimal(0)
            for column in y.values():
                counts = [Decimal(column[row]) for row in rows]
                mean = sum(counts, Decimal(0)) / len(counts)
                total += sum((one * (one / mean).ln() - one + mean for one in counts), Decimal(0))
            known[rows] = total / len(every) / len(y)
        return known[rows]

    def least(rows: tuple[int, ...], depth: int, tested: int) -> Decimal | None:
        values = [leaf(rows)] if not once or tested == 1 else []
        for name, cells in x.items() if depth else ():
            left = tuple(row for row in rows if cells[row] in (0, None))
            right = tuple(row for row in rows if cells[row] == 1)
            if right and any(cells[row] == 0 for row in rows):
                sides = [least(one, depth - 1, tested + (name in once)) for one in (left, right)]
                if sides[0] is not None and sides[1] is not None:
                    values.append(sides[0] + sides[1])
        return min(values, default=None)

    with localcontext(prec=60):
        return least(tuple(every), 2, 0), leaf(tuple(every))


NEARLY_ALIKE: dict[str, list[Any]] = {
    "a": list("vvwwuwxuvxxwvxxx"),
    "b": [1, 0, 1, 0, 2, 2, 2, 1, 1, 2, 0, 1, 1, 0, 0, 0],
    "c": list("uwwuuvwuvuvuvwuw"),
    "y": [10**9 + more for more in [10, 4, 0, 132, 502, 10, 1, 9, 1, 5, 943, 0, 6, 4, 1, 32]],
    "w": [1.0, 0.0, 1.0, 2.0, 2.0, 2.0, 1.0, 2.0, 1.0, 1.0, 0.0, 2.0, 0.5, 1.0, 1.0, 1.0],
}


def test_counts_that_are_nearly_alike_contradict_no_bound() -> None:
    """Their deviance is less than the rounding of a count, by which a bound may pass it (X101)."""
    spec = """data frame target y: number feature a: category feature c: category weight w
        tree depth <= 3 minimize poisson
        rule uses: uses(b) rule sizes: forall leaf: size <= 6 or size >= 12"""
    found = odtdsl.solve(spec, frame=NEARLY_ALIKE, using="exact")
    assert found.status == "optimal"


@pytest.mark.parametrize(("size", "digits"), [(10**4, 9), (10**6, 9), (10**9, 6)])
def test_the_deviance_of_large_counts_is_told_to_many_digits(size: int, digits: int) -> None:
    """Of one leaf; by the search, and by the audit."""
    for seed in range(scaled(40)):
        rng = np.random.default_rng(seed)
        y = {"y": (size + rng.integers(0, [10, 1000][seed % 2], 25)).tolist()}
        spec = "data frame target y: number tree depth <= 1 minimize poisson rule r: leaves <= 1"
        found = odtdsl.solve(spec, frame={"a": [0, 1] * 12 + [0], **y}, using="exact")
        (stage,) = found.stages
        with localcontext(prec=60):
            mean = sum(map(Decimal, y["y"]), Decimal(0)) / 25
            each = (one * (one / mean).ln() - one + mean for one in map(Decimal, y["y"]))
            lost = sum(each, Decimal(0)) / 25
        assert stage.value is not None
        assert abs(Decimal(float(stage.value)) - lost) <= lost / 10**digits, seed
