"""The trees that a certificate of a list names, and how many of them predict differently."""

from __future__ import annotations

from odtdsl.backends.decode import unrouted
from odtdsl.compiler import Analysis
from odtdsl.insight.proofs.problem_text import Cell, cells_of
from odtdsl.predictors.function import function_of
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree
from odtdsl.problem.terms.normalize import normalize


def distinct(analysis: Analysis, text: str) -> int | None:
    """How many of the trees of a certificate predict differently; None where it names none."""
    core = normalize(analysis.rows)
    cells = cells_of(core)
    lines = [
        line.split("\t") for line in text.split("\n") if line.startswith(("leaf\t", "split\t"))
    ]
    if not lines:
        return None
    lines.reverse()
    missing = frozenset(
        core.columns[family.column] for family in core.families if family.missing is not None
    )
    functions = set()
    while lines:
        raw = _raw(core, analysis, cells, lines)
        functions.add(function_of(unrouted(analysis.rows, Evaluation(core, raw)), missing))
    return len(functions)


def _raw(core: Core, analysis: Analysis, cells: list[Cell], lines: list[list[str]]) -> RawTree:
    """The tree whose lines come next, the last ones first."""
    word, at, *threshold = lines.pop()
    if word == "leaf":
        return RawLeaf(label=int(at))
    cell = cells[int(at)]
    family, test = core.families[cell.family], cell.test
    if test < 0:
        column = analysis.rows.data.columns[core.columns[family.column]]
        if column.numbers is not None:
            test = int((family.values <= float(threshold[0])).sum()) - 1
        else:
            place = int(threshold[0])
            test = place if cell.cuts is None else int(cell.cuts[place])
    left = _raw(core, analysis, cells, lines)
    right = _raw(core, analysis, cells, lines)
    return RawSplit(family=cell.family, test=test, left=left, right=right)
