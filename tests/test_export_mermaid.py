"""The flowchart of a model, read back by what its words mean, predicts what `predict` does."""

from __future__ import annotations

import re
from typing import Any

from exported import REFUSED, Model, Row, condition, outputs, predicted, ranks_of, refuses
from test_exports import cases

import odtdsl
from odtdsl.presentation.exports.plan import plan_of

NODE = re.compile(r"  ([nr]\d+)(?:\[|\(\[|>)\"(.*)\"(?:\]|\]\))")
ARROW = re.compile(r"  (n\d+) -- (yes|no) --> (n\d+)")


def by_mermaid(model: Model, rows: list[Row]) -> list[Any]:
    """What the flowchart says of each row."""
    head, title, *lines = str(model.export("mermaid")).splitlines()
    assert head == "flowchart TD"
    assert title.startswith("  %% ")
    nodes = {m[1]: _read(m[2]) for line in lines if (m := NODE.fullmatch(line))}
    arrows = {(m[1], m[2]): m[3] for line in lines if (m := ARROW.fullmatch(line))}
    assert len(nodes) + len(arrows) == len(lines)
    ranks = ranks_of([label for name, label in nodes.items() if name.startswith("r")])
    refusing = plan_of(model).refusing

    def said(row: Row) -> Any:
        at = "n0"
        while (at, "yes") in arrows:
            passed = condition("if " + nodes[at], ranks).holds(row)
            at = arrows[at, "yes" if passed else "no"]
        return outputs(nodes[at].split("<br>")[0], len(model.targets))

    return [REFUSED if refuses(refusing, row) else said(row) for row in rows]


def _read(label: str) -> str:
    assert not set(label.replace("<br>", "")) & set('<>"`{}[]')
    return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), label)


def test_mermaid_agrees() -> None:
    for model, rows in cases("mermaid", 60):
        assert by_mermaid(model, rows) == predicted(model, rows)


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
