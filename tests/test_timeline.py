"""The models of `Result.timeline`: every improvement of every back end can be asked for."""

from __future__ import annotations

import pickle
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scale import scaled

from odtdsl.auditor.audit import audit
from odtdsl.backends.base import Progress
from odtdsl.backends.progress import ProgressRelay
from odtdsl.driver.result import Result
from odtdsl.interfaces.api import parse, solve
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.raw import RawLeaf

pytestmark = pytest.mark.usefixtures("few_starts")

TREE = "data frame target y feature a, b, c, d: number\n"
LEVELS = TREE.replace("c, d: number\n", "d: number\nfeature c: category\n")
NUMBER = TREE.replace("target y", "target y: number")
PAIR = TREE.replace("target y", "target y, z: number")

SPECS = {
    "sorted": f"{TREE}tree depth <= 3\nminimize errors\nsolve using exact",
    "sides": f"{TREE}tree depth <= 4, leaves <= 6\nminimize 3 * errors + leaves\nsolve using exact",
    "stages": f"{TREE}tree depth <= 3\nminimize errors then leaves\nsolve using exact",
    "search": f"{TREE}tree depth <= 5\nminimize errors\nsolve using search(steps = 4)",
    "levels": f"{LEVELS}tree depth <= 3\nminimize errors\nsolve using exact",
    "leaf sizes": f"{TREE}tree depth <= 4\nrule r: forall leaf: size >= 4\nminimize errors\n"
    "solve using search(steps = 3)",
    "group": f"{TREE}group g = a >= 4\ntree depth <= 3\nrule r: accuracy(g) >= 60%\n"
    "minimize errors\nsolve using exact",
    "group, early": f"{TREE}group g = a >= 4\ntree depth <= 4\nrule r: accuracy(g) >= 60%\n"
    "minimize errors\nsolve using search(steps = 3)",
    "squared": f"{NUMBER}tree depth <= 3\nminimize mse\nsolve using exact",
    "squared, priced": f"{NUMBER}tree depth <= 4\nminimize mse + 0.1 * leaves\n"
    "solve using search(steps = 3)",
    "absolute": f"{NUMBER}tree depth <= 3\nminimize mae\nsolve using exact",
    "two numbers": f"{PAIR}tree depth <= 3\nminimize mse\nsolve using exact",
    "numbers under rules": f"{NUMBER}tree depth <= 3\nrule r: forall leaf: y <= 3\n"
    "minimize mse\nsolve using exact",
    "diagram": f"{TREE}diagram widths 1, 2, 2\nminimize errors\nsolve using exact",
    "grown": f"{TREE}tree depth <= 4\nminimize errors\nsolve using greedy",
    "grown diagram": f"{TREE}diagram widths 1, 2, 3\nminimize errors\nsolve using greedy",
    "program": f"{TREE}tree depth <= 2\nminimize errors\nsolve using milp, within 5 s",
    "formula": f"{TREE}tree depth <= 2\nminimize errors then leaves\nsolve using sat, within 5 s",
    "formula, diagram": f"{TREE}diagram widths 1, 2\nminimize errors\nsolve using sat, within 5 s",
    "constraints": f"{TREE}tree depth <= 2\nminimize errors\nsolve using cpsat, within 5 s",
}


def frame(seed: int, rows: int, *, numbers: bool, levels: bool) -> dict[str, list[Any]]:
    """Cells with many ties, equal rows with different targets among them."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 8, size=(rows, 4))
    found: dict[str, list[Any]] = {f: cells[:, i].tolist() for i, f in enumerate("abcd")}
    signal = (cells[:, 0] > 3) * 2 + (cells[:, 1] * cells[:, 2] > 12) + rng.integers(0, 2, rows)
    if levels:
        found["c"] = ["uvwxstqr"[c] for c in cells[:, 2]]
    if numbers:
        return found | {"y": (signal + 0.25).tolist(), "z": (7 - signal * cells[:, 3]).tolist()}
    return found | {"y": ["p" if one > 1 else "n" for one in signal]}


def asked(name: str, seed: int) -> Result:
    text = SPECS[name]
    rows = random.Random(seed).choice([12, 25, 40])
    given = frame(seed, rows, numbers="mse" in text or "mae" in text, levels="category" in text)
    if "y, z" not in text:
        given.pop("z", None)
    return solve(text, frame=given)


def check(result: Result, *, priced: bool = False) -> int:
    """Every incumbent is the value of its model, which satisfies all rules; how many there were."""
    assert result.rows is not None
    for at in result.timeline:
        model = at.model
        if model is None:
            assert at.incumbent is None or result.backend == "cpsat", "a model was not kept"
            continue
        assert isinstance(model, Diagram if result.diagram is not None else Tree)
        seen = audit(model, result.rows)
        assert all(line.holds for line in seen.lines)
        told = at.incumbent
        assert told is not None
        value = float(seen.objective[at.stage])
        if priced:  # a split that says nothing is left out, and its price with it
            assert value <= float(told) + 1e-9
        else:
            assert value == pytest.approx(float(told), rel=1e-9, abs=1e-9)
    return len({at.incumbent for at in result.timeline})


@pytest.mark.parametrize("name", SPECS)
def test_every_incumbent_has_its_model(name: str) -> None:
    several = 0
    for seed in range(3 if "within" in SPECS[name] else scaled(12, least=3)):
        result = asked(name, seed)
        assert result.timeline, "nothing is told"
        several = max(several, check(result, priced="* " in SPECS[name]))
        assert result.timeline[-1].model is not None
    assert several > 1, "no problem has two incumbents"


def test_what_is_told_while_it_is_searched_has_its_model_too() -> None:
    met: list[tuple[Fraction, int]] = []

    def hear(at: Progress) -> None:
        assert at.incumbent is not None
        assert isinstance(at.model, Tree)
        met.append((at.incumbent, at.model.n_leaves))

    result = solve(SPECS["search"], frame=frame(3, 200, numbers=False, levels=False), progress=hear)
    again = [(at.incumbent, at.model.n_leaves) for at in result.timeline if at.model is not None]
    assert met == again


def test_an_interrupt_keeps_the_models() -> None:
    given = frame(5, 400, numbers=False, levels=False)
    heard: list[Progress] = []
    model = parse(f"{TREE}tree depth <= 6\nminimize errors\nsolve using search")
    result = model.solve(frame=given, progress=heard.append, within="0.5 s")
    assert check(result) > 2
    assert result.timeline[-1].incumbent == result.objective
    assert len(result.timeline) == len(heard)


def test_models_survive_pickling_and_go_with_the_rows() -> None:
    result = asked("search", 4)
    told = [str(at.model) for at in result.timeline]
    copy = pickle.loads(pickle.dumps(result))
    assert [str(at.model) for at in copy.timeline] == told
    assert copy.timeline == result.timeline
    bare = result.without_rows()
    assert bare.rows is None
    assert [at.model for at in bare.timeline] == [None] * len(told)
    assert bare.timeline == result.timeline
    assert bare.to_json()["timeline"] == result.to_json()["timeline"]


def test_the_model_told_is_that_of_the_best_incumbent() -> None:
    one, two, three = (RawLeaf(label=label) for label in range(3))
    told = ProgressRelay(0.0, None)

    def tell(stage: int, incumbent: int | None, found: RawLeaf | None) -> RawLeaf | None:
        value = None if incumbent is None else Fraction(incumbent)
        told(
            Progress(
                stage=stage,
                incumbent=value,
                bound=Fraction(len(told.timeline)),
                seconds=0.0,
                found=found,
            )
        )
        last = told.timeline[-1].found
        assert last is None or isinstance(last, RawLeaf)
        return last

    assert tell(0, None, None) is None
    assert tell(0, 5, one) is one
    assert tell(0, 7, two) is one, "worse than what is known"
    assert tell(0, None, None) is one, "news of the bound"
    assert tell(0, 5, None) is one
    assert tell(0, 4, None) is None, "the better one was not kept"
    assert tell(0, 3, three) is three
    assert tell(1, 9, None) is three
    assert tell(1, 8, two) is two
