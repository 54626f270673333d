"""The words of flowcharts; that they predict what `predict` does is tested with all formats."""

from __future__ import annotations

from dataclasses import replace

from test_exports_names import hostile

import odtdsl
from odtdsl.predictors.nodes import Branch


def test_a_flowchart_of_a_leaf_with_a_title() -> None:
    rows = {"a": [1, 2], "y": ["n", "n"]}
    tree = odtdsl.parse("data frame target y tree depth <= 1 minimize errors").solve(frame=rows)
    assert tree.tree is not None
    assert tree.tree.export("mermaid", name='my "tree"') == (
        "---\n"
        'title: "my #34;tree#34;"\n'
        "---\n"
        "flowchart TD\n"
        "  %% y by a decision tree of 0 splits.\n"
        '  n0(["#96;y#96; = #34;n#34;<br>(2 rows, 0 errors)"])\n'
    )


def test_a_question_that_no_cell_passes_is_whole() -> None:
    """Cells are read without the blank that the level ends with."""
    tree = hostile("a ")
    assert isinstance(tree.root, Branch)
    roots = replace(tree.root, missing="left"), tree.root
    charts = [str(replace(tree, root=root).export("mermaid")) for root in roots]
    asked = [chart.splitlines()[2] for chart in charts]
    assert asked == ['  n0["#96;a #96; missing"]', '  n0["#96;a #96; = nothing"]']
