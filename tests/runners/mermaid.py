"""The flowchart, read here by what its words mean."""

from __future__ import annotations

import re
from typing import Any

from exported import REFUSED, Model, Row, refuses

from odtdsl.presentation.exports.plan import plan_of
from runners.base import Runner, alone
from runners.text import condition, outputs, ranks_of

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


RUNNER = Runner(run=alone(by_mermaid), reads=str.isprintable)
