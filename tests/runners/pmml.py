"""JPMML evaluates the document, on a Java machine inside this process."""

from __future__ import annotations

from functools import cache, partial
from typing import Any
from unittest.mock import patch

from exported import REFUSED, Model, Row, written

from odtdsl.presentation.exports.plan import plan_of
from runners.base import Runner, alone


def by_pmml(model: Model, rows: list[Row]) -> list[Any]:
    """The document in JPMML, on a Java machine inside this process."""
    import jpmml_evaluator

    written = model.export("pmml")
    assert isinstance(written, str)
    builder = jpmml_evaluator.LoadingModelEvaluatorBuilder(_machine())
    evaluator = builder.loadString(written).build()
    plan = plan_of(model)
    assert [field.getName() for field in evaluator.getTargetFields()] == list(model.targets)
    return [_pmml_one(evaluator, plan, row, model) for row in rows]


@cache
def _machine() -> Any:
    """A Java machine that does not compile at length what runs once: a third of the time."""
    import jpmml_evaluator
    import jpype

    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
    with patch.object(jpype, "startJVM", partial(jpype.startJVM, *quick)):
        return jpmml_evaluator.make_backend("jpype")


def _pmml_one(evaluator: Any, plan: Any, row: Row, model: Model) -> Any:
    cells = {
        c.name: None
        if row.get(c.name) is None
        else float(row[c.name])
        if c.kind == "number"
        else str(row[c.name])
        for c in plan.columns
    }
    try:
        found = evaluator.evaluate(cells)
    except Exception as failure:
        if "ValueCheckException" not in str(failure):
            raise
        return REFUSED
    said = found[model.targets[0]]
    if isinstance(said, str):  # also of integers that are no doubles
        return next(label for label in model.classes if written(label) == said)
    return said


def carries(model: Model) -> bool:
    """A TreeModel predicts one target."""
    return len(model.targets) == 1


def reads(name: str) -> bool:
    """Fields have names, of characters that XML has."""
    return name != "" and "\x1b" not in name


RUNNER = Runner(
    run=alone(by_pmml),
    programs=("java",),
    packages=("jpmml_evaluator", "jpype"),
    cases=12,
    most_rows=200,
    carries=carries,
    reads=reads,
)
