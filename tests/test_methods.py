"""Methods of values that are written above them find their functions."""

from __future__ import annotations

from importlib import import_module

import pytest

from odtdsl.base import methods
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.result import Result
from odtdsl.insight.explanations.curves import Curve
from odtdsl.insight.tuning.result import Tuning
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.tree import Tree

OF = {
    "OdtError": (OdtError,),
    "Model": (Tree, Diagram),
    "Result": (Result,),
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


def test_a_name_without_a_function_is_an_error() -> None:
    with pytest.raises(KeyError):
        methods.method("Tree.fly")
