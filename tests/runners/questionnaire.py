"""The page's questions, read from what it holds and answered by what their exact words mean."""

from __future__ import annotations

import html
import json
import re
from typing import Any

from exported import REFUSED, Model, Row, refuses

from odtdsl.presentation.exports.plan import plan_of
from runners.base import Runner, alone
from runners.text import condition, outputs, ranks_of


def by_questionnaire(model: Model, rows: list[Row]) -> list[Any]:
    """Where the answers lead; `unknown` must lead where the exact words send missing cells."""
    page = str(model.export("questionnaire"))
    held = re.search(r'<script type="application/json" id="model">(.*)</script>', page)
    assert held is not None
    nodes = json.loads(held[1])["nodes"]
    plan = plan_of(model)
    found = re.findall(r"^<p>(rank.*)</p>$", page, re.MULTILINE)
    ranks = ranks_of([html.unescape(line) for line in found])

    def said(row: Row) -> Any:
        node = nodes[0]
        while "asks" in node:
            passed = condition("if " + node["exact"], ranks).holds(row)
            if "no" in node:
                node = nodes[node["yes" if passed else "no"]]
            else:  # whether the cell is there
                there = node["yes"]
                node = nodes[node["unknown"] if passed else there]
        return outputs(node["exact"], len(model.targets))

    return [REFUSED if refuses(plan.refusing, row) else said(row) for row in rows]


RUNNER = Runner(run=alone(by_questionnaire), reads=str.isprintable)
