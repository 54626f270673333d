"""A back end is one thing: its entry, its class, its options; a toy one is added and solves."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import pytest

import odtdsl
from odtdsl.backends.answers import values_of
from odtdsl.backends.base import (
    BackEnd,
    Limits,
    ProgramWriter,
    RawAnswer,
    Report,
    StageOutcome,
    Support,
)
from odtdsl.backends.registry import back_end
from odtdsl.base.back_ends import (
    AUTO,
    ENTRIES,
    Ability,
    Entry,
    Option,
    able,
    entry_of,
    names,
    preferred,
    read_variant,
    variant,
    wishes,
)
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.interfaces import health
from odtdsl.language.parser import parse
from odtdsl.problem.ir.forms import Core, Form
from odtdsl.problem.ir.raw import RawLeaf, RawModel, RawSplit, RawTree
from odtdsl.problem.terms.normalize import normalize

ROOT = Path(__file__).resolve().parents[1]
ROWS = {"a": [1, 2, 3, 4, 5, 6], "b": [0, 1] * 3, "y": list("nnpnpp")}
SPEC = "data frame target y tree depth <= 1 minimize errors"


# ---- a toy


@dataclass(frozen=True, slots=True)
class Stump(BackEnd):
    """All trees of one split, one after the other."""

    name: ClassVar[str] = "stump"

    order: Literal["up", "down"] = "up"

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        known = form in (Form.TREE, Form.OBJECTIVE_LINEAR, Form.LINEAR_MODEL)
        return Support(level="exact" if known else "unsupported", reason="a stump is a stump")

    def solve(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> RawAnswer:
        best = min(stumps(core), key=lambda tree: values_of(core, tree))
        stages = tuple(
            StageOutcome(value=value, bound=value, proven=True) for value in values_of(core, best)
        )
        return RawAnswer(status="optimal", model=best, stages=stages)


def stumps(core: Core) -> Iterator[RawTree]:
    labels = range(core.n_classes)
    yield from (RawLeaf(label=label) for label in labels)
    for family, one in enumerate(core.families):
        for test, (left, right) in product(range(one.n_tests), product(labels, labels)):
            yield RawSplit(
                family=family, test=test, left=RawLeaf(label=left), right=RawLeaf(label=right)
            )


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Entry:
    """The entry is all that the package is told."""
    entry = Entry(
        name="stump",
        home=f"{__name__}:Stump",
        options=(Option(name="order", what="direction", values=("up", "down")),),
    )
    monkeypatch.setitem(ENTRIES, "stump", entry)
    return entry


@pytest.mark.usefixtures("toy")
def test_a_back_end_is_added_by_its_class_and_an_entry() -> None:
    best = odtdsl.solve(SPEC, frame=ROWS)
    for asked in ({"using": "stump"}, {}):
        spec = SPEC if asked else f"{SPEC} solve using stump"
        result = odtdsl.solve(spec, frame=ROWS, **asked)  # type: ignore[arg-type]
        assert (result.status, result.objective) == ("optimal", best.objective)
        assert result.backend == "stump"
        assert result.steps == ("start by greedy", "start by search", "stump")
    plan = odtdsl.plan(SPEC, frame=ROWS)
    assert "stump" in dict(plan.choice.refusals)
    assert [dict(one.by)["stump"].level for one in plan.support] == ["exact", "exact"]
    found = odtdsl.compare(SPEC, frame=ROWS)
    assert [entry.name for entry in found.entries][-2:] == ["stump", "stump (down)"]
    assert found.entries[-1].result is not None
    with pytest.raises(OdtError, match="a stump is a stump"):
        odtdsl.solve(SPEC.replace("depth <= 1", "leaves <= 2"), frame=ROWS, using="stump")
    with pytest.raises(OdtError, match="`--order down` is a direction of `stump`"):
        back_end("exact", variant(order="down"))
    assert {one.name: one.state for one in health.examine()}["back end stump"] == "ok"


def test_it_is_gone_afterwards() -> None:
    with pytest.raises(OdtError, match="K115"):
        odtdsl.solve(f"{SPEC} solve using stump", frame=ROWS)
    with pytest.raises(OdtError, match="B101"):
        odtdsl.solve(SPEC, frame=ROWS, using="stump")


# ---- entries


@pytest.mark.parametrize("name", wishes())
def test_a_back_end_is_what_its_entry_says(name: str) -> None:
    entry, made = entry_of(name), back_end(name)
    small = normalize(analyse(parse(Source(name="small", text=SPEC)), frame=ROWS).rows)
    assert (entry.name, made.name) == (name, name)
    assert is_dataclass(made)
    assert isinstance(made, ProgramWriter) == ("write programs" in entry.abilities)
    assert pickle.loads(pickle.dumps(made)) == made
    known = {field.name: field for field in fields(made)}
    for option in entry.options:
        assert known[option.name].type
        if option.values:
            assert getattr(made, option.name) == option.values[0]
            for value in option.values:
                varied = back_end(name, variant(**{option.name: value}))
                assert getattr(varied, option.name) == value
                with suppress(OdtError):  # of what this one does not express
                    varied.check(small)
                assert read_variant(f"{name} ({value})")[1].given == ((option.name, value),)


def test_every_ability_is_somebodys_and_proofs_come_first() -> None:
    assert all(able(ability) in names() for ability in get_args(Ability))
    assert preferred(diagrams=False) == ("exact", "milp", "sat", "cpsat")
    assert preferred(diagrams=True) == ("cpsat", "milp", "sat", "exact")
    assert AUTO not in names()


def test_auto_is_a_back_end_that_takes_the_steps_of_the_plan() -> None:
    for skeleton in ("tree depth <= 2", "diagram widths 1, 2"):
        spec = SPEC.replace("tree depth <= 1", skeleton)
        plan = odtdsl.plan(spec, frame=ROWS)
        auto = back_end(AUTO)
        assert auto.steps(plan.core) == plan.choice.steps
        answer = auto.solve(plan.core, Limits(), None, None)
        assert answer.steps == plan.choice.steps[: len(answer.steps)]
        result = odtdsl.solve(spec, frame=ROWS)
        assert (answer.status, tuple(map(str, answer.steps))) == (result.status, result.steps)
        value: Any = answer.stages[0].value
        assert value == result.objective
        assert not auto.objections(plan.core)


def test_nothing_but_the_list_asks_for_a_name() -> None:
    """What others ask is what a back end can do: none compares with names, none lists them."""
    listed = ROOT / "odtdsl" / "base" / "back_ends.py"
    found = []
    for path in sorted((ROOT / "odtdsl").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if path == listed or not isinstance(node, ast.Compare | ast.Tuple | ast.Set | ast.Dict):
                continue
            named = [
                one.value
                for one in ast.iter_child_nodes(node)
                if isinstance(one, ast.Constant) and one.value in names()
            ]
            if len(named) > (0 if isinstance(node, ast.Compare) else 1):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {named}")
    assert not found
