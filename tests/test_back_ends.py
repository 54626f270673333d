"""A back end is one thing: its entry, its class, its options; a toy one is added and solves."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import pytest
from click.testing import CliRunner

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
    offered,
    preferred,
    read_variant,
    variant,
    wishes,
)
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.driver import comparison, pipeline
from odtdsl.interfaces import health
from odtdsl.interfaces.cli.commands import command
from odtdsl.interfaces.cli.solve import Solve
from odtdsl.interfaces.cli.specs import Plan
from odtdsl.interfaces.editor.keywords import MEANINGS
from odtdsl.language.parser import parse
from odtdsl.problem.ir.forms import Core, Form
from odtdsl.problem.ir.raw import RawLeaf, RawModel, RawSplit, RawTree
from odtdsl.problem.terms.normalize import normalize

ROOT = Path(__file__).resolve().parents[1]
ROWS = {"a": [1, 2, 3, 4, 5, 6], "b": [0, 1] * 3, "y": list("nnpnpp")}
SPEC = "data frame target y tree depth <= 1 minimize errors"


# ---- a toy


@dataclass(frozen=True, slots=True)
class Toy(BackEnd):
    """All trees of one split, one after the other, or the first few of them."""

    name: ClassVar[str] = "toy"

    order: Literal["up", "down"] = "up"
    tries: int = 10**6

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        known = form in (Form.TREE, Form.OBJECTIVE_LINEAR, Form.LINEAR_MODEL)
        return Support(level="exact" if known else "unsupported", reason="a stump is a stump")

    def solve(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> RawAnswer:
        every = list(stumps(core))[:: 1 if self.order == "up" else -1]
        tried = every[: self.tries]
        proven = len(tried) == len(every)
        best = min(tried, key=lambda tree: values_of(core, tree))
        stages = tuple(
            StageOutcome(value=value, bound=value if proven else None, proven=proven)
            for value in values_of(core, best)
        )
        return RawAnswer(
            status="optimal" if proven else "feasible",
            model=best,
            stages=stages,
            counters=(("tried", len(tried)), ("leaves first", self.order == "up")),
        )


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
        name="toy",
        home=f"{__name__}:Toy",
        options=(
            Option(name="order", what="direction", values=("up", "down")),
            Option(name="tries", what="number of tries", help="Trees.", kind="whole", most=10**6),
        ),
    )
    monkeypatch.setitem(ENTRIES, "toy", entry)
    return entry


@pytest.mark.usefixtures("toy")
def test_a_back_end_is_added_by_its_class_and_an_entry() -> None:
    best = odtdsl.solve(SPEC, frame=ROWS)
    for asked in ({"using": "toy"}, {}):
        spec = SPEC if asked else f"{SPEC} solve using toy"
        result = odtdsl.solve(spec, frame=ROWS, **asked)  # type: ignore[arg-type]
        assert (result.status, result.objective) == ("optimal", best.objective)
        assert result.backend == "toy"
        assert result.steps == ("start by greedy", "start by search", "toy")
    plan = odtdsl.plan(SPEC, frame=ROWS)
    assert "toy" in dict(plan.choice.refusals)
    assert [dict(one.by)["toy"].level for one in plan.support] == ["exact", "exact"]
    found = odtdsl.compare(SPEC, frame=ROWS)
    assert [entry.name for entry in found.entries][-2:] == ["toy", "toy (down)"]
    assert found.entries[-1].result is not None
    with pytest.raises(OdtError, match="a stump is a stump"):
        odtdsl.solve(SPEC.replace("depth <= 1", "leaves <= 2"), frame=ROWS, using="toy")
    with pytest.raises(OdtError, match="`order` is an option of `toy`, not of `exact`"):
        back_end("exact", variant(order="down"))
    for call in (odtdsl.solve, odtdsl.plan):
        with pytest.raises(OdtError, match="`order` is an option of `toy`, not of `auto`"):
            call(SPEC, frame=ROWS, using="auto", options={"order": "down"})
    assert {one.name: one.state for one in health.examine()}["back end toy"] == "ok"


def test_a_comparison_that_is_interrupted_names_what_did_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = ["exact", "search", "greedy"]

    def interrupted(*args: Any, **options: Any) -> Any:
        return replace(pipeline.solve(*args, **options), interrupted=True)

    whole = odtdsl.compare(SPEC, frame=ROWS, backends=asked)
    assert all(entry.result is not None for entry in whole.entries)
    monkeypatch.setattr(comparison, "solve", interrupted)
    found = odtdsl.compare(SPEC, frame=ROWS, backends=asked)
    assert [entry.name for entry in found.entries] == asked
    assert [entry.result is None for entry in found.entries] == [False, True, True]
    assert str(found).count("is left out: the comparison was interrupted before its turn") == 2


@pytest.mark.usefixtures("toy")
def test_an_option_of_the_entry_is_one_of_python_commands_and_specs(tmp_path: Path) -> None:
    def tried(spec: str = SPEC, **options: str | int) -> int:
        result = odtdsl.solve(spec, frame=ROWS, options=options)
        assert result.backend == "toy"
        return dict(result.counters)["tried"]

    assert tried(tries=3) == tried(tries="3") == tried(tries=3, order="down") == 3
    assert tried(f"{SPEC} solve using toy(tries = 5)") == 5
    assert tried(f"{SPEC} solve using toy(tries = 5, order = down)", tries=4) == 4
    down = odtdsl.parse(f"{SPEC} solve using toy(tries = 1, order = down)")
    up = down.solve(frame=ROWS, options={"order": "up"})
    assert dict(down.solve(frame=ROWS).counters) == {"tried": 1, "leaves first": 0}
    assert dict(up.counters) == {"tried": 1, "leaves first": 1}
    found = odtdsl.compare(SPEC, frame=ROWS, backends=["toy (down)", "toy (7)"])
    assert [one.result and dict(one.result.counters)["tried"] for one in found.entries][1] == 7
    assert down.plan(frame=ROWS, options={"tries": 2}).choice.name == "toy"

    (tmp_path / "rows.csv").write_text("a,b,y\n1,0,n\n2,1,p\n3,0,p\n")
    path = tmp_path / "s.odt"
    path.write_text(SPEC.replace("data frame", 'data "rows.csv"'))
    odt = CliRunner()
    assert "--tries" in odt.invoke(command(Solve), ["--help"]).stdout
    for kind in (Solve, Plan):
        shown = odt.invoke(command(kind), [str(path), "--tries", "2", "--json"])
        assert (shown.exit_code, json.loads(shown.stdout)["backend"]) == (0, "toy")
        assert odt.invoke(command(kind), [str(path), "--tries", "0"]).exit_code == 2
    shown = odt.invoke(command(Solve), [str(path), "--order", "left"])
    assert "it is `up` or `down`" in shown.output


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ({"tries": 0}, "U322", "`tries` must be a whole number from 1 to 1,000,000, not `0`"),
        ({"tries": "many"}, "U322", "give it a number such as 1"),
        ({"tries": "²"}, "U322", "a whole number"),
        ({"tries": 10**7}, "U322", "a whole number"),
        ({"tires": 5}, "U322", "did you mean `tries`?"),
        ({"split": 5}, "U322", "`order` of `toy`, `tries` of `toy`"),
        ({"split": 5}, "U322", "set it in the spec: `using greedy(split = optimal)`"),
        ({"solver": 5}, "U318", "`5`"),
        ({5: "rc2"}, "U322", "no back end has an option `5`"),
        ({"order": "left"}, "U302", "no value `left` = note: it is `up` or `down`"),
        ({"order": "up", "model": "odd"}, "U302", "are options of different back ends"),
    ],
)
def test_wrong_options(options: dict[str, str | int], code: str, told: str) -> None:
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(SPEC, frame=ROWS, options=options)
    assert [one.code for one in caught.value.diagnostics] == [code]
    assert told in " ".join(str(caught.value).split())


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ({"options": "solver"}, "U401", 'pass a mapping, such as `{"solver": "rc2"}`'),
        ({"options": ["solver"]}, "U401", "options cannot be ['solver']"),
        ({"options": {"solver": ["rc2"]}}, "U318", "['rc2']"),
        ({"model": ["odd"]}, "U302", "it is `pattern`, `subtrees`, `cptree` or `odd`"),
        ({"using": ["exact"]}, "B101", "the back ends are"),
        ({"using": 3}, "B101", "the back end `3`"),
        (
            {"using": "search(steps = 5)"},
            "B101",
            "write `solve using search(steps = 5)` in the spec",
        ),
        ({"using": "milp(mip=cbc)"}, "B101", "or `--using milp` with `--model` or `--mip`"),
        ({"using": "Gurobi"}, "B101", "write `--using milp --mip gurobi`"),
        ({"threads": "many"}, "U401", "threads cannot be 'many'"),
        ({"threads": 0}, "K116", "from 1 to 256"),
        ({"seed": 0.5}, "U401", "a seed cannot be 0.5"),
        ({"seed": 2**31}, "K116", "from 0 to 2147483647"),
    ],
)
def test_arguments_of_a_wrong_kind(given: dict[str, Any], code: str, told: str) -> None:
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(SPEC, frame=ROWS, **given)
    assert [one.code for one in caught.value.diagnostics] == [code]
    assert told in " ".join(str(caught.value).split())


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("using", "told"),
    [
        ("toy(tries = 0)", "`tries` must be a whole number from 1 to 1,000,000"),
        ("toy(tries = 1.5)", "write `using toy(tries = 1)`"),
        ("toy(tries = up)", "must be a whole number"),
        ("toy(order = left)", "there are: `up`, `down`"),
        ("toy(order = 5)", "direction `5` is unknown"),
        ("toy(order = up 5)", "`order` takes a word without a number"),
        ("toy(tires = 5)", "did you mean `tries`?"),
        ("exact(tries = 5)", "`using toy(order = up, tries = 1)`"),
        ("milp(modle = ood)", '`--model odd`, in Python `options={"model": "odd"}`'),
        ("sat(solver = 5)", "`solver` is set outside the spec: `--solver glucose4`"),
        ("greedy(split = 5)", "growth `5` is unknown"),
    ],
)
def test_wrong_settings(using: str, told: str) -> None:
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(f"{SPEC} solve using {using}", frame=ROWS)
    assert [one.code for one in caught.value.diagnostics] == ["K117"]
    assert told in " ".join(str(caught.value).split())


def test_no_two_options_have_one_name() -> None:
    listed = [option.name for entry in ENTRIES.values() for option in entry.options]
    assert len(listed) == len(set(listed))
    for kind in (Solve, Plan):
        made = command(kind).params
        for flags in ([one.name for one in made], [flag for one in made for flag in one.opts]):
            assert len(flags) == len(set(flags))


def test_it_is_gone_afterwards() -> None:
    with pytest.raises(OdtError, match="K115"):
        odtdsl.solve(f"{SPEC} solve using toy", frame=ROWS)
    with pytest.raises(OdtError, match="B101"):
        odtdsl.solve(SPEC, frame=ROWS, using="toy")


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
    for option in offered():
        if option not in entry.options:
            continue
        if option.what == "limit":  # stands with the other limits
            assert option.name in {field.name for field in fields(Limits)}
            continue
        assert known[option.name].type
        assert option.help
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


def test_what_users_read_lists_them_all() -> None:
    page = (ROOT / "docs" / "reference" / "language.md").read_text(encoding="utf-8")
    (line,) = (line for line in page.splitlines() if line.startswith("| `using auto` |"))
    for text in (line.split("|")[2], MEANINGS["using"]):
        assert re.findall("`(.+?)`", text) == list(wishes())


def test_nothing_but_the_list_asks_for_a_name() -> None:
    """What others ask is what a back end can do: none compares with names, none lists them."""
    listed, known = ROOT / "odtdsl" / "base" / "back_ends.py", set(names())
    found = []
    for path in sorted((ROOT / "odtdsl").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if path == listed or not isinstance(node, ast.Compare | ast.Tuple | ast.Set | ast.Dict):
                continue
            named = [
                one.value
                for one in ast.iter_child_nodes(node)
                if isinstance(one, ast.Constant) and one.value in known
            ]
            if len(named) > (0 if isinstance(node, ast.Compare) else 1):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {named}")
    assert not found
