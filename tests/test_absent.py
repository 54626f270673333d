"""Where missing cells go is told by every picture, with the rows that had one; and only there."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import odtdsl
from odtdsl.interfaces.cli.main import app
from odtdsl.predictors.missing_values import missing_notes
from odtdsl.predictors.saving import save
from odtdsl.presentation.pictures.graphviz import to_dot
from odtdsl.presentation.report.node_facts import facts_of, notes_of

SPEC = """data frame target y
missing {a} branch
tree depth <= 2
minimize errors
rule both: uses(a) and uses(b)
solve using exact
"""
FRAME: dict[str, list[Any]] = {
    "a": [1.0, 1.0, math.nan, math.nan, math.nan, 2.0, 2.0, 2.0],
    "b": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0],
    "y": ["n", "n", "n", "n", "n", "y", "n", "y"],
}
NOTE = "missing: yes, 3 of 8"


@pytest.fixture(name="result", scope="module")
def _result() -> odtdsl.Result:
    found = odtdsl.solve(SPEC, frame=FRAME)
    assert found.tree is not None
    assert found.tree.root.feature == "a"
    return found


def test_the_counts_are_of_the_rows_that_reach_the_split(result: odtdsl.Result) -> None:
    assert result.tree is not None
    assert result.rows is not None
    assert result.rows.problem.may_miss == {"a"}
    table = result.rows.data.table
    assert missing_notes(result.tree, table, {"a"}) == {0: (NOTE,)}
    assert missing_notes(result.tree, table, ()) == {}
    # The split of `b` below has none of the missing cells of `a`, and no missing cells of its own.
    told = missing_notes(result.tree, table, {"a", "b"})
    assert (
        sorted(told.values()) == [("missing: no",), (NOTE,)] or ("missing: yes",) in told.values()
    )


def test_pictures_and_text_tell_it(result: odtdsl.Result, tmp_path: Path) -> None:
    assert result.tree is not None
    assert result.rows is not None
    for drawn in (result.to_svg(), result._repr_html_()):
        assert NOTE in drawn
        assert drawn.count("missing: ") >= 2
    facts = facts_of(result.tree, result.rows)
    assert notes_of(facts, ())[0] == (NOTE,)
    first, *others = str(result).split("\n\n")[0].splitlines()
    assert first.endswith("(missing: yes)")
    assert not any("missing" in line for line in others)


def test_files_of_the_command_tell_it(tmp_path: Path) -> None:
    cells = (["" if x != x else f"{x:g}" for x in FRAME["a"]], FRAME["b"], FRAME["y"])
    lines = ["a,b,y", *(",".join(map(str, row)) for row in zip(*cells, strict=True))]
    (tmp_path / "d.csv").write_text("\n".join(lines), encoding="utf-8")
    spec = tmp_path / "s.odt"
    spec.write_text(SPEC.replace("data frame", 'data "d.csv"'), encoding="utf-8")
    svg, dot = tmp_path / "t.svg", tmp_path / "t.dot"
    done = CliRunner().invoke(app, ["solve", str(spec), "--svg", str(svg), "--dot", str(dot)])
    assert done.exit_code == 0, done.output
    assert NOTE in svg.read_text(encoding="utf-8")
    assert f"\\n{NOTE}" in dot.read_text(encoding="utf-8")
    assert dot.read_text(encoding="utf-8").count("missing") == 1


def test_a_saved_model_is_drawn_with_it_without_its_rows(
    result: odtdsl.Result, tmp_path: Path
) -> None:
    assert result.tree is not None
    save(result.tree, tmp_path / "t.json")
    tree = odtdsl.load_tree(tmp_path / "t.json")
    assert tree.to_svg().count(">missing: ") == tree.n_splits > 1
    assert ">missing: yes</text>" in tree._repr_html_()
    assert to_dot(tree).count("missing: ") == tree.n_splits
    spec = SPEC.replace("tree depth <= 2", "diagram widths 1, 2").replace("solve using exact", "")
    diagram = odtdsl.solve(spec, frame=FRAME).diagram
    assert diagram is not None
    assert diagram.to_svg().count(">missing: ") == diagram.n_splits > 1
    assert to_dot(diagram).count("missing: ") == diagram.n_splits


def test_matplotlib_draws_it_too(result: odtdsl.Result) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert result.tree is not None
    said = {text.get_text() for text in result.plot().texts}
    assert NOTE in said
    assert "missing: yes" in {text.get_text() for text in result.tree.plot().texts}
