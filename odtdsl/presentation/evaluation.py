"""What `odt evaluate` prints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from odtdsl.base.numbers import counted
from odtdsl.driver.scoring import TestScore
from odtdsl.insight.evaluation import Evaluation
from odtdsl.insight.measured.parts import LEVEL, Measure, Part
from odtdsl.presentation.console import audited_test, score_line, table, test_lines, trained_line

MOST_SIDE_BY_SIDE = 5
"""Parts in one table of measures: 160 characters, which a terminal has and a page prints."""


def lines(found: Evaluation, stages: Sequence[str] = ()) -> Iterator[str]:
    """An evaluation of a model, as text; `stages` are those of the spec's objective."""
    first, *groups = found.parts
    said = f"; {counted(found.left_out, 'row')} left out: no truth, or an unknown class"
    weighed = "" if found.weight is None else f", weighted by `{found.weight}`"
    yield f"{counted(first.rows, 'row')}{weighed}{said if found.left_out else ''}"
    if found.trained:
        yield trained_line(found.trained)
    yield ""
    yield from _measures([first, *groups], found)
    if found.left_beside:
        yield ""
        yield "no greedy tree or CART beside: on so many rows they take long; --beside grows them"
    if found.groups:
        yield ""
        yield "groups of the spec:"
        yield from _table([part.group or "" for part in found.groups], found.groups)
    if first.confusion:
        yield ""
        aside = "" if found.weight is None else ", without weights"
        yield f"rows by true class (left) and prediction (above){aside}:"
        head = ["", *found.classes]
        body = [
            [c, *map(str, line)] for c, line in zip(found.classes, first.confusion, strict=True)
        ]
        yield from table([head, *body], indent="  ")
        yield ""
        yield "leaves: what they predict, its share in training, and its share here"
        head = ["leaf", "predicts", "rows", "training", "here"]
        rows = [
            [str(leaf), label, str(n), f"{expected:.1%}", f"{observed:.1%}"]
            for leaf, n, label, expected, observed in first.calibration
        ]
        yield from table([head, *rows], indent="  ")
    if found.score is not None:
        yield from _under_rules(found.score, stages, "rows" if found.trained else "test")


def _under_rules(score: TestScore, stages: Sequence[str], of: str) -> Iterator[str]:
    """The objective and the rules of the spec on these rows, beside the best constant."""
    yield ""
    yield score_line(score, of)
    yield from test_lines(score, stages)
    if score.audit is not None and score.audit.lines:
        yield ""
        yield from audited_test(score.audit, "row" if of == "rows" else "test row")


def _measures(parts: list[Part], found: Evaluation) -> Iterator[str]:
    interval = f"{LEVEL:.0%} interval"
    if len(parts) == 1 and not found.beside:
        rows = [[m.name, value_text(m.value), interval_text(m)] for m in parts[0].measures]
        yield from table([["measure", "value", interval], *rows])
        return
    names = ["all rows", *(f"{found.by} = {part.group}" for part in parts[1:])]
    names += [name for name, _ in found.beside]
    yield from _table(names, [*parts, *(part for _, part in found.beside)])


def _table(names: list[str], parts: Sequence[Part]) -> Iterator[str]:
    """A column for each part, each measure with its interval; many parts in several tables."""
    if len(names) > MOST_SIDE_BY_SIDE:
        for at in range(0, len(names), MOST_SIDE_BY_SIDE):
            if at:
                yield ""
            here = slice(at, at + MOST_SIDE_BY_SIDE)
            yield from _table(names[here], parts[here])
        return
    yield from table(
        [
            ["measure", *names],
            ["rows", *(str(part.rows) for part in parts)],
            *(
                [same[0].name, *(f"{value_text(m.value)} {interval_text(m)}" for m in same)]
                for same in zip(*(part.measures for part in parts), strict=True)
            ),
        ]
    )


def value_text(value: float) -> str:
    """A value with four digits; `-` where it is undefined."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def interval_text(measure: Measure) -> str:
    """The interval of a measure; nothing where it has none."""
    if math.isnan(measure.low):
        return ""
    return f"[{measure.low:.4g}, {measure.high:.4g}]"
