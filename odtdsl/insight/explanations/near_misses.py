"""How near an explanation without an answer came: the rules that the nearest tree breaks."""

from __future__ import annotations

import time
from dataclasses import replace

from odtdsl.auditor.audit import audit
from odtdsl.auditor.results import AuditLine
from odtdsl.backends.decode import to_tree
from odtdsl.base.back_ends import able
from odtdsl.driver.choice import back_end, choose
from odtdsl.insight.explanations.oracle import Oracle
from odtdsl.problem.ir.rows import Rows

SECONDS = 1.0
"""For all trees that are grown for this: the time of the explanation itself is over then."""


def near_miss(oracle: Oracle, rows: Rows) -> tuple[AuditLine, ...]:
    """What the tree breaks that breaks the fewest rules, of those grown under all rules but one.

    Nothing is proven of it. Empty where no tree was grown in time.
    """
    grower, end = able("grow"), time.monotonic() + SECONDS
    engine = back_end(grower)
    rules = frozenset(i for i in oracle.all_members if oracle.constraints[i].kind == "rule")
    fewest: tuple[AuditLine, ...] = ()
    for dropped in (rules, *(frozenset({i}) for i in sorted(oracle.all_members))):
        core = oracle.without(dropped)
        if oracle.limits.interrupted() or time.monotonic() > end or len(fewest) == 1:
            break
        if choose(core, grower).name is None:
            continue
        tree = engine.solve(core, replace(oracle.limits, deadline=end), None, None).tree
        if tree is not None:
            lines = audit(to_tree(core, rows, tree), rows).lines
            broken = tuple(line for line in lines if not line.holds)
            fewest = broken if not fewest or len(broken) < len(fewest) else fewest
    return fewest


__all__ = ["near_miss"]
