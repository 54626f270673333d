"""Limits that are met while a formula is written end that: large data take minutes to write."""

from __future__ import annotations

import pytest

from odtdsl.analysis import analyse
from odtdsl.backends.base import Limits, RawAnswer
from odtdsl.backends.choice import back_end
from odtdsl.ir.forms import Core
from odtdsl.source import Source
from odtdsl.syntax.parser import parse
from odtdsl.terms.normalize import normalize

SPEC = 'data sklearn "breast_cancer" target target candidates * at quantiles 4 minimize errors '


def core(skeleton: str) -> Core:
    source = Source(name="limits.odt", text=SPEC + skeleton)
    return normalize(analyse(parse(source), source=source).rows)


def cut(backend: str, core: Core, looks: int) -> tuple[RawAnswer, int]:
    """The answer where the limit is met at that look, and how many looks there were."""
    asked = 0

    def soon() -> bool:
        nonlocal asked
        asked += 1
        return asked > looks

    return back_end(backend).solve(core, Limits(interrupted=soon), None, None), asked


@pytest.mark.parametrize("skeleton", ["tree depth <= 4", "diagram widths 1, 2, 4, 4"])
@pytest.mark.parametrize("backend", ["cpsat", "sat"])
def test_the_writing_of_a_formula_ends(
    backend: str, skeleton: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if backend == "cpsat":
        pytest.importorskip("ortools")

    def finished(*_: object) -> None:
        raise AssertionError("the formula was written to its end")

    monkeypatch.setattr("odtdsl.cpsat.search.Program", finished)
    monkeypatch.setattr("odtdsl.sat.search.Asking.true", finished)
    answer, asked = cut(backend, core(skeleton), 60)
    assert (answer.status, answer.interrupted) == ("unknown", True)
    assert asked < 66, "some looks more to tell what is left"


def test_the_giving_of_a_formula_to_a_solver_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from odtdsl.sat import search
    from odtdsl.sat.formula import Formula

    monkeypatch.setattr(search, "OFTEN", 10)
    formula = Formula()
    formula.extend((formula.variable("one"),) for _ in range(100))
    looks = iter([False] * 5 + [True] * 5)
    asking = search.Asking(formula, Limits(interrupted=lambda: next(looks)))
    with pytest.raises(search.Stopped):
        asking.true([])
    assert asking.sent == 0
    asking.close()
