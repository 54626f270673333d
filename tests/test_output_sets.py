"""The sets of outputs that rules admit: shown, counted on grids, and put in words."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_outputs_trees import Frame, errors_of, spec

import odtdsl as odt
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler.analysis import analyse
from odtdsl.interfaces.cli.main import app
from odtdsl.language.parser import parse
from odtdsl.problem.outputs.feasible import FeasibleSet, feasible_lines
from odtdsl.problem.outputs.union import OutputUnion, Piece, Range


def test_the_outputs_that_rules_admit_are_shown(tmp_path: Path) -> None:
    columns = odt.datasets.elective_grades(60, 3, seed=1)
    frame = {name: [*map(str, values)] for name, values in columns.items()}
    lines = [",".join(frame), *map(",".join, zip(*frame.values(), strict=True))]
    (tmp_path / "grades.csv").write_text("\n".join(lines), encoding="utf-8")
    each = [f"0 <= Course{k} <= 100" for k in (1, 2, 3)]
    spec_file = tmp_path / "grades.odt"
    spec_file.write_text(
        "\n".join(
            (
                'data "grades.csv"',
                "target Course1, Course2, Course3: number",
                "tree depth <= 1",
                "minimize mse",
                f"rule bounds: forall leaf: {' and '.join(each)}",
                "rule one: forall leaf: count(Course1 > 0, Course2 > 0, Course3 > 0) <= 1",
                "rule pair: forall leaf: if Course1 > 50 then 2 * Course2 - Course3 <= 1",
            )
        ),
        encoding="utf-8",
    )
    result = odt.solve(spec_file)
    assert result.outputs is not None
    base = f"{'; '.join(each)}"
    said = "at most 1 of (Course1 > 0, Course2 > 0, Course3 > 0)"
    assert result.outputs.feasible == (
        f"{base.replace('0 <= Course1 <= 100', '0 <= Course1 <= 50')}; {said}",
        f"{base}; Course2 - 0.5 * Course3 <= 0.5; {said}",
    )
    assert result.to_json()["outputs"]["feasible"] == list(result.outputs.feasible)
    picture = tmp_path / "grades.svg"
    told = CliRunner().invoke(app, ["solve", str(spec_file), "--svg", str(picture)])
    assert told.exit_code == 0, told.output
    assert "outputs in one of:" in told.stdout
    assert f"    {result.outputs.feasible[0]}" in told.stdout
    drawn = picture.read_text(encoding="utf-8")
    assert "outputs in one of:" in drawn
    assert "Course1 &gt; 0" in drawn


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        (("y0 + y1 = 2.5",), ["R112"]),
        (("2 * y0 + 4 * y1 = 3",), ["R112"]),
        (("y0 - 2 * y1 = 0", "y0 - 4 * y1 = 1"), ["R112"]),
        (("0.1 <= y0 - 1.5 * y1 <= 0.4",), ["R112"]),
        (("0.1 <= y0 - y1 - 0.5 * y0 <= 0.2",), ["R112"]),
    ],
)
def test_grids_without_bounds_end(rules: tuple[str, ...], codes: list[str]) -> None:
    frame: Frame = {"a": [1.0, 2.0], "y0": [1.0, 4.0], "y1": [2.0, 3.0]}
    with pytest.raises(OdtError) as caught:
        odt.solve(spec(rules, "mse", 1).replace("number", "number step 1"), frame=frame)
    assert errors_of(caught.value) == codes


def test_a_grid_of_which_nothing_is_decided_asks_for_bounds() -> None:
    """Far out: no sum of it lies on a grid that tells, and no bound ends the cases."""
    ends = (Fraction(1, 4), Fraction(3, 4))
    ray = Range(factors=((0, Fraction(1)), (1, Fraction(-2))), low=ends[0], high=ends[1])
    union = OutputUnion(
        steps=(Fraction(1),) * 2, pieces=(Piece(bounds=((None, None),) * 2, ranges=(ray,)),)
    )
    with pytest.raises(OdtError) as caught:
        FeasibleSet(union)
    assert errors_of(caught.value) == ["R306"]
    assert "bound the output of every target" in caught.value.diagnostics[0].helps[0]


@pytest.mark.parametrize(
    ("rules", "step", "said"),
    [
        (("y0 = 1", "y1 >= 2"), "", ("y0 = 1; 2 <= y1",)),
        (("y0 in {0, 2}",), "", ("0 <= y0 <= 2; y0 not between 0 and 2",)),
        (("y0 + y1 = 3", "y0 >= 0"), " step 1", ("0 <= y0; y0 + y1 = 3; multiples of 1",)),
        (("count(y0 = 0, y1 = 0) >= 1",), "", ("y0 = 0", "y1 = 0")),
        ((), "", ()),
    ],
)
def test_sets_are_said_in_words(rules: tuple[str, ...], step: str, said: tuple[str, ...]) -> None:
    frame: Frame = {"a": [1.0, 2.0], "y0": [1.0, 4.0], "y1": [2.0, 3.0]}
    text = spec(rules, "mse", 1).replace("number", f"number{step}")
    assert feasible_lines(analyse(parse(Source(name="t", text=text)), frame=frame).rows) == said
