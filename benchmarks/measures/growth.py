"""Ruled specs at depth 5 and more: a default `solve` under a limit, beside `greedy`."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measures import sets
from measures.early import after
from measures.report import CASES_PAGE, Table
from measures.specs import analysed

LIMITS = (1.0, 3.0, 10.0)
MODELS = Path(__file__).resolve().parents[2] / "models" / "cases"


@dataclass(frozen=True, slots=True)
class Ruled:
    """A spec without its tree, time and way; `text` of its own, or `model` in `models/cases`."""

    name: str
    data: str
    text: str = ""
    model: str = ""

    def at(self, depth: int) -> str:
        """The spec at a depth, on all rows that the file has."""
        if not self.model:
            return f"{self.text}\ntree depth <= {depth}\n"
        text = (MODELS / self.model).read_text(encoding="utf-8")
        assert text.count("tree depth <= 3\n") == 1
        return text.replace("tree depth <= 3\n", f"tree depth <= {depth}\n")


def _numbers(name: str, rule: str) -> str:
    return (
        f'data "{name}.txt", separator " ", header none  target c1: class  feature *: number\n'
        f"minimize errors\n{rule}\n"
    )


SPECS = (
    Ruled("haberman", "cases/haberman.csv", model="haberman.odt"),
    Ruled("heart", "cases/heart.csv", model="heart.odt"),
    Ruled("pima", "cases/pima.csv", model="pima.odt"),
    Ruled("post-operative", "cases/post_operative.csv", model="post_operative.odt"),
    Ruled("compas", "cases/compas_train.csv", model="compas.odt"),
    Ruled(
        "bean, leaf sizes and leaves",
        "continuous/bean.txt",
        _numbers("bean", "rule a: forall leaf: size >= 1%\nrule b: leaves <= 24"),
    ),
    Ruled(
        "eeg, order and recall",
        "continuous/eeg.txt",
        _numbers("eeg", 'rule a: forall path: c2 before c5\nrule b: recall("1") >= 85%'),
    ),
    Ruled(
        "magic, budget and price",
        "continuous/magic.txt",
        'data "magic.txt", separator " ", header none  target c1: class  feature *: number\n'
        "cost * = 1, c10 = 3  minimize error_rate + 0.0005 * leaves\n"
        "rule a: forall path: cost <= 7\nrule b: forall leaf: purity >= 60%\n",
    ),
    Ruled(
        "magic, gap of rates",
        "continuous/magic.txt",
        _numbers(
            "magic", 'group a = c2 >= 0.1  group b = c2 < 0.1  rule c: gap(rate("1"), a, b) <= 10%'
        ),
    ),
    Ruled(
        "fault, precision and exclusion",
        "continuous/fault.txt",
        _numbers(
            "fault",
            "rule a: forall path: not (uses(c3) and uses(c9))\nrule b: accuracy >= 40%\n"
            "rule c: uses(c4)",
        ),
    ),
)


def _value(one: Ruled, depth: int, using: str, limit: float) -> Any:
    """The objective of the answer; None without a model."""
    analysis = analysed(one.name, one.at(depth), sets.folder() / one.data)
    result = after(analysis, using, limit)
    return None if result.model is None else result.objective


def beside_growth(args: Namespace) -> None:
    """Objectives after seconds of processor time, beside those of `greedy`; exceptions last."""
    table = Table(
        "beside-growth",
        ("spec", "depth", "greedy", *(f"{limit:g} s" for limit in LIMITS)),
    )
    worse: list[str] = []
    for one in SPECS:
        if args.sets and one.name.split(",")[0] not in args.sets.split(","):
            continue
        for depth in range(5, args.depth + 1):
            grown = _value(one, depth, "greedy", 600.0)
            found = [_value(one, depth, "auto", limit) for limit in LIMITS]
            for limit, value in zip(LIMITS, found, strict=True):
                if grown is not None and (value is None or value > grown):
                    worse.append(f"{one.name}, depth {depth}, {limit:g} s")
            table.add(one.name, depth, *(_shown(value) for value in (grown, *found)))
    table.note(
        "The objective on the training rows (errors, or their rate), one thread, seconds of"
        f" processor. Worse than `greedy`: {'; '.join(worse) or 'none'}."
    )
    if args.docs:
        table.publish(CASES_PAGE)


def _shown(value: Any) -> str:
    if value is None:
        return "no model"
    return f"{float(value):.5g}"
