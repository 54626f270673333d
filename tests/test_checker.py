"""The audit: a second opinion on a finished model, from raw cells."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import odtdsl
from odtdsl import Model
from odtdsl.auditor import audit
from odtdsl.auditor.audit import audit_rows
from odtdsl.auditor.meanings import BASES, IN_FLOATS, MEANINGS
from odtdsl.auditor.targets import AuditPart
from odtdsl.base.tasks import tasks
from odtdsl.compiler import Analysis
from odtdsl.predictors.nodes import Branch, Leaf
from odtdsl.predictors.saving import from_json, to_json
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.terms.registry import TERMS

HERE = {"x": [1, 2, 3, 4], "g": ["a", "b", "a", "b"], "y": ["no", "no", "yes", "yes"]}


def test_rules_and_objective_on_rows_that_were_held_out() -> None:
    model = Model().data(HERE, test={"x": [1, 4, 4], "g": ["a", "a", "a"], "y": ["no", "no", "no"]})
    model = model.target("y").add('group of_b = g == "b"').tree(depth=1).minimize("error_rate")
    model = model.rule("few", "errors <= 1").rule("b", "accuracy(of_b) >= 1")
    analysis = model.analyse()
    assert analysis.test is not None
    found = audit_rows(model.solve().model, analysis.problem, analysis.test)
    assert found.n_rows == 3
    assert found.objective == (Fraction(2, 3),)
    few, of_b = found.lines
    assert (few.holds, few.value, few.bound) == (False, 2, 1)
    assert (of_b.holds, of_b.value, of_b.note) == (None, None, "no value: no row to measure")


# ---- a second opinion


SPEC = """
target y positive "yes"
feature x: number
feature c: category
missing branch
cost x = 2, c = 1
weight w
group all_a = c == "a"
tree depth <= 2
minimize error_rate then leaves
rule found: recall("yes") >= 50%
rule alike: gap(rate("yes"), c) <= 100%
rule paths: forall path: cost <= 3
rule large: forall leaf: size >= 1
rule cuts:  forall split: threshold(x) <= 9
"""
FRAME = {
    "x": [1, 2, 3, 4, 5, None],
    "c": ["a", "b", "a", "b", "a", "b"],
    "w": [0.1, 0.2, 0.3, 1, 2, 1],
    "y": ["no", "no", "yes", "yes", "yes", "no"],
}


def _called(model: Tree, analysis: Analysis) -> set[str]:
    """The files of the package whose code an audit runs."""
    root, files = Path(odtdsl.__file__).parent, set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and root in path.parents:
            files.add(path.relative_to(root).with_suffix("").as_posix())

    sys.setprofile(note)
    try:
        found = audit.audit(model, analysis.rows)
    finally:
        sys.setprofile(None)
    assert found.holds
    return files


def test_an_audit_runs_no_code_of_terms_masks_or_back_ends() -> None:
    """Directly or not: what runs while a model is judged, for all kinds of rules at once."""
    spec = odtdsl.parse(SPEC).data(FRAME)
    result = spec.solve()
    assert result.tree is not None
    ran = _called(result.tree, spec.analyse())
    allowed = {"problem/ir/expr", "problem/ir/problem"}
    allowed |= {"base/modules", "base/tasks", "tasks/classes/audit", "tasks/classes/leaf"}
    predictors = ("leaves", "predictor", "structure", "tree", "validation")
    allowed |= {f"predictors/{name}" for name in predictors}
    values = ("auditor/", "datasets/")
    assert {"auditor/meanings", "tasks/classes/audit"} <= ran
    assert {name for name in ran - allowed if not name.startswith(values)} == set()


def test_every_term_has_a_meaning_for_the_audit() -> None:
    for kind in tasks():
        AuditPart.of(kind)  # where the meanings of a task's own terms are entered
    for term in TERMS:
        assert term.name in MEANINGS, (
            f"the audit does not know `{term.name}`: write what it means on a finished model, from"
            f' the language reference alone, as a function under @means("{term.name}") in'
            " odtdsl/auditor/meanings.py; it must not use the code of odtdsl/problem/terms"
        )
    assert set(MEANINGS) == {term.name for term in TERMS}
    assert {term.name for term in TERMS if term.in_floats} == IN_FLOATS


def test_every_measure_of_rows_says_which_rows_it_is_taken_over() -> None:
    """The audit shows how many these are, in a column of its own."""
    for kind in tasks():
        AuditPart.of(kind)
    for term in TERMS:
        if Scope.MODEL in term.scopes and term.takes_group:
            assert term.name in BASES, f"add `over=` to @means of `{term.name}`"


# ---- what a model says of its rows


def _nodes(saved: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All objects of a saved model that hold counts."""
    for value in saved.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield from _nodes(one)
            elif isinstance(one, list):
                yield from (node for item in one for node in _nodes(item))
    if "size" in saved:
        yield saved


@pytest.mark.parametrize("skeleton", ["tree depth <= 2", "diagram widths 1, 2"])
def test_no_count_of_a_saved_model_can_be_changed(skeleton: str) -> None:
    text = SPEC.replace("tree depth <= 2", skeleton)
    if "diagram" in skeleton:
        text = text.replace("forall leaf", "forall split")
    spec = odtdsl.parse(text).data(FRAME)
    analysis, model = spec.analyse(), spec.solve().model
    assert model is not None
    assert audit.audit(model, analysis.rows).holds
    tried = 0
    for place in range(len(list(_nodes(to_json(model))))):
        for key in ("size", "class_weights"):
            saved = json.loads(json.dumps(to_json(model)))
            node = list(_nodes(saved))[place]
            if key not in node:
                continue
            weights = node.get("class_weights", [])
            node[key] = node["size"] + 1 if key == "size" else [*weights[1:], weights[0] + 1]
            broken = [
                line
                for line in audit.audit(from_json(saved), analysis.rows).lines
                if not line.holds
            ]
            assert [line.rule.split()[-1] for line in broken] == ["counts"]
            assert "counted" in broken[0].note
            tried += 1
    assert tried >= 5


def test_columns_and_sides_of_missing_cells_of_a_saved_model_are_those_of_the_spec() -> None:
    frame = {"o": ["lo", "mid", "hi", "hi"], "x": [1, 2, 3, 4], "y": ["n", "n", "p", "p"]}
    spec = (
        Model().data(frame).add('feature o: ordered {"lo", "mid", "hi"}').target("y").tree(depth=1)
    )
    spec = spec.minimize("errors")
    analysis, tree = spec.analyse(), spec.solve().tree
    assert tree is not None
    assert isinstance(tree.root, Branch)
    other = "left" if tree.root.missing == "right" else "right"
    turned = tuple(replace(one, levels=one.levels[::-1]) for one in tree.features)
    for changed, part in (
        (replace(tree, features=tree.features[::-1]), "columns"),
        (replace(tree, features=turned), "columns"),
        (replace(tree, root=replace(tree.root, size=0), features=tree.features), "counts"),
        (replace(tree, root=replace(tree.root, missing=other)), "missing"),  # type: ignore[arg-type]
    ):
        lines = audit.audit(changed, analysis.rows).lines
        assert f"tree {part}" in {line.rule for line in lines if not line.holds}
    silent = Branch(
        feature=tree.root.feature,
        test=tree.root.test,
        missing=tree.root.missing,
        left=Leaf(label=0),
        right=Leaf(label=1),
    )
    assert audit.audit(replace(tree, root=silent), analysis.rows).holds, "it says no counts"
