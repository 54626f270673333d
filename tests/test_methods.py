"""Methods of values that are written above them find their functions."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import odtdsl
from odtdsl.auditor.results import Audit
from odtdsl.base import methods
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.driver.alternatives import Alternatives
from odtdsl.driver.comparison import Comparison
from odtdsl.driver.pipeline import Plan
from odtdsl.driver.result import Result
from odtdsl.driver.scoring import TestScore
from odtdsl.insight.explanations.curves import Curve
from odtdsl.insight.explanations.explanation import Explanation
from odtdsl.insight.tuning.result import Tuning
from odtdsl.interfaces.api import Model, load_model
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.tree import Tree

OF = {
    "Audit": (Audit,),
    "Diagnostic": (Diagnostic,),
    "TestScore": (TestScore,),
    "Model": (Tree, Diagram),
    "Result": (Result,),
    "Explanation": (Explanation,),
    "Plan": (Plan,),
    "Comparison": (Comparison,),
    "Alternatives": (Alternatives,),
    "Curve": (Curve,),
    "Tuning": (Tuning,),
}


@pytest.mark.parametrize(("name", "home"), methods.registered().items())
def test_every_method_has_its_function(name: str, home: str) -> None:
    module, function = home.split(":")
    assert callable(getattr(import_module(module), function))
    assert methods.method(name) is getattr(import_module(module), function)
    owner, _, attribute = name.partition(".")
    assert all(callable(getattr(kind, attribute)) for kind in OF[owner])


@pytest.mark.parametrize(
    ("given", "told"), [({"age": [1, 2]}, "Model().data(rows)"), ("data frame", "odtdsl.parse")]
)
def test_a_model_of_rows_or_of_a_text_says_what_to_write(given: object, told: str) -> None:
    with pytest.raises(OdtError) as raised:
        Model(given)  # type: ignore[arg-type]
    assert raised.value.diagnostics[0].code == "U401"
    assert told in raised.value.diagnostics[0].helps[0]


@pytest.mark.parametrize("skeleton", ["tree depth <= 1", "diagram widths 1, 2"])
def test_a_model_is_saved_and_loaded(skeleton: str, tmp_path: Path) -> None:
    rows = {"age": [20, 30, 40, 50], "ill": ["no", "yes", "no", "yes"]}
    model = Model().data(rows).target("ill").add(skeleton).minimize("errors").solve().model
    assert model is not None
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json") == model
    with pytest.raises(OdtError, match="F301"):
        model.save(tmp_path / "none" / "model.json")


def test_a_name_without_a_function_is_an_error() -> None:
    with pytest.raises(KeyError):
        methods.method("Tree.fly")


def test_values_print_as_their_commands_do() -> None:
    rows = {"age": [20, 30, 40, 50], "ill": ["no", "yes", "no", "yes"]}
    model = Model().data(rows).target("ill").tree(depth=1).minimize("errors")
    model.rule("few", "leaves <= 2")
    for told, first in (
        (model.plan(), "back end: exact"),
        (model.explain(), "feasible: a tree satisfies all rules"),
        (model.curve("few"), "the best tree for every bound of `few`"),
        (model.compare(backends=["exact"]), "back end  status"),
        (model.alternatives(), "tree 1: 1; 2 leaves"),
    ):
        assert str(told).startswith(first), str(told)


def test_what_calls_return_is_printed_for_people() -> None:
    rows = {"age": [20, 30, 40, 50] * 3, "one": [1] * 12, "ill": ["no", "no", "yes", "yes"] * 3}
    text = "data frame target ill tree depth <= 1 minimize errors rule big: forall leaf: size >= 2"
    result = odtdsl.solve(text, frame=rows, test_frame=rows)
    audit = odtdsl.audit(result, text, frame=rows)
    assert str(audit) == str(result.audit)
    assert str(audit) in str(result)
    assert "forall leaf: size >= 2" in str(audit)
    shown = str(result.test)
    assert shown.startswith("here: 0 errors on 12 rows, accuracy 100.00%")
    assert "always predicting no: 6 errors" in shown
    assert "forall leaf: size >= 2" in shown
    (doubt,) = odtdsl.check(text, frame=rows)
    assert str(doubt).startswith("warning[D213]: no split can test `one`")
    assert "write `drop one`" in str(doubt)
    tuned = odtdsl.tune(text, {"depth": [0, 1]}, frame=rows, cv=2)
    assert "chosen: depth 1" in str(tuned)
