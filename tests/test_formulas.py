"""Formulas for other solvers: what they say, what they admit, and models read back as trees."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pysat.examples.rc2 import RC2
from pysat.formula import CNF, WCNF
from pysat.pb import EncType, PBEnc
from pysat.solvers import Solver
from scale import SCALE, scaled
from test_every_term import MIXED, NAMES, PLAIN, PLAIN_PATHS, Case, case

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.sat.backend import Sat
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.formulas import assignment as assignments
from odtdsl.driver.formulas.assignment import parse
from odtdsl.interfaces.cli.main import app
from odtdsl.problem.ir.raw import depth_of
from odtdsl.problem.terms.normalize import normalize

ROWS = {
    "age": [20, 30, 40, 50, 60, 70, 45, 35],
    "color": ["red", "green", "blue", "red", "green", "blue", "red", "red"],
    "sick": ["no", "no", "yes", "yes", "no", "yes", "no", "yes"],
}
SPEC = """
data frame
target sick
tree depth <= 3
minimize errors then leaves
rule first: forall path: age before color
rule large: forall leaf: size >= 2
"""


def odt(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def model_of(clauses: Iterable[Iterable[int]]) -> list[int] | None:
    with Solver("cadical153", bootstrap_with=list(clauses)) as solver:
        return solver.get_model() if solver.solve() else None


# ---- a reader of OPB of our own


def read_opb(text: str) -> tuple[list[tuple[int, int]], list[tuple[list[tuple[int, int]], int]]]:
    """The objective, and the left and right sides of the constraints, as weights by variable."""
    goal: list[tuple[int, int]] = []
    rows = []
    for line in text.splitlines():
        if line.startswith("*"):
            continue
        assert line.endswith(" ;")
        terms = [(int(w), int(v)) for w, v in re.findall(r"([+-]\d+) x(\d+)", line)]
        if line.startswith("min:"):
            goal = terms
        else:
            rows.append((terms, int(line.split(" >= ")[1].removesuffix(" ;"))))
    head = re.match(r"\* #variable= (\d+) #constraint= (\d+)\n", text)
    assert head is not None
    assert int(head[2]) == len(rows)
    assert int(head[1]) >= max(v for terms, _ in rows for _, v in terms)
    return goal, rows


def least_of_opb(text: str) -> tuple[list[int], int] | None:
    """A best assignment of a pseudo-Boolean problem by RC2 and python-sat's adders, checked on the
    file's own lines, and its value."""
    goal, rows = read_opb(text)
    wide = max(v for terms, _ in rows for _, v in terms)
    found = WCNF()
    top = wide
    for terms, least in rows:
        literals = [v if w > 0 else -v for w, v in terms if w]
        weights = [abs(w) for w, _ in terms if w]
        bound = least - sum(w for w, _ in terms if w < 0)
        if bound == 1:
            found.append(literals)
        elif bound > sum(weights):
            found.append([])
        elif bound > 1:
            made = PBEnc.atleast(
                lits=literals, weights=weights, bound=bound, top_id=top, encoding=EncType.best
            )
            found.extend(made.clauses)
            top = max(top, made.nv)
    if model_of(found.hard) is None:
        return None
    for weight, variable in goal:
        found.append([-variable if weight > 0 else variable], weight=abs(weight))
    with RC2(found) as solver:
        model = solver.compute()
    true = {x for x in model if 0 < x <= wide}
    for terms, least in rows:
        assert sum(w for w, v in terms if v in true) >= least
    literals = [v if v in true else -v for v in range(1, wide + 1)]
    return literals, sum(w for w, v in goal if v in true)


# ---- round trips


def compiled(one: Case, folder: Path, to: str, **options: Any) -> str | None:
    """The text of the file; None where clauses do not express the problem."""
    path = folder / f"model.{to}"
    try:
        one.spec.compile(path, frame=one.tiny.frame, **options)
    except OdtError as problem:
        if {d.code for d in problem.diagnostics} != {"B102"}:
            raise
        return None
    return path.read_text()


def decoded(one: Case, model: list[int], **options: Any) -> tuple[Fraction, ...]:
    result = one.spec.decode(model, frame=one.tiny.frame, **options)
    assert result.audit is not None
    assert result.audit.holds, str(one)
    return tuple(stage.value for stage in result.stages)


def round_trip(one: Case, folder: Path) -> str:
    """Every format admits a tree where there is one, and the best values are those of brute force;
    a bound that is better than these leaves nothing."""
    expected = one.optimum
    text = compiled(one, folder, "cnf")
    if text is None:
        return "refused"
    model = model_of(CNF(from_string=text).clauses)
    assert (model is None) == (expected is None), str(one)
    soft = WCNF(from_string=compiled(one, folder, "wcnf"))
    least = least_of_opb(compiled(one, folder, "opb") or "")
    if expected is None or model is None:
        assert model_of(soft.hard) is None, str(one)
        assert least is None, str(one)
        return "infeasible"
    decoded(one, model)
    with RC2(soft) as solver:
        assert decoded(one, solver.compute(), to="wcnf") == expected, str(one)
    assert least is not None
    assert decoded(one, least[0], to="opb") == expected, str(one)
    text = compiled(one, folder, "cnf", bound=expected)
    model = model_of(CNF(from_string=text).clauses)
    assert model is not None, str(one)
    assert decoded(one, model, bound=expected) == expected, str(one)
    better = expected[0] - one.stages[0].sign * Fraction(1, 10**9)
    if better >= 0 or one.stages[0].text != "depth":
        text = compiled(one, folder, "cnf", bound=better)
        assert model_of(CNF(from_string=text).clauses) is None, str(one)
    return "optimal"


@pytest.mark.parametrize("name", [MIXED, PLAIN, PLAIN_PATHS])
def test_formulas_admit_what_the_rules_do_and_their_best_is_the_best(
    name: str, tmp_path: Path
) -> None:
    """The nightly tests try 300 by each of the solvers of CNF, WCNF and OPB."""
    count = scaled(100, part=0.5)
    found = [round_trip(case(name, f"formula {seed}"), tmp_path) for seed in range(count)]
    assert found.count("optimal") >= count // 12


def test_formulas_of_one_rule_with_every_term(tmp_path: Path) -> None:
    found = Counter(
        round_trip(case(name, f"formula {seed}", most_rules=1), tmp_path)
        for name in NAMES
        for seed in range(scaled(1))
    )
    assert found["optimal"] >= SCALE * len(NAMES) // 2


def test_least_errors_by_maxsat_are_those_of_the_exact_search(tmp_path: Path) -> None:
    path = tmp_path / "iris.wcnf"
    for depth, seed in ((1, 3), (2, 4), (2, 5)):
        text = (
            f'data sklearn "iris", test 60% seed {seed} target target tree depth <= {depth}'
            " minimize errors"
        )
        spec = odtdsl.parse(text)
        spec.compile(path)
        with RC2(WCNF(from_file=str(path))) as solver:
            result = spec.decode(solver.compute(), to="wcnf")
            assert result.objective == solver.cost == spec.solve(using="exact").objective


# ---- what the files say


def test_every_variable_and_group_is_told_in_the_words_of_the_spec(tmp_path: Path) -> None:
    path = tmp_path / "model.cnf"
    size = odtdsl.compile(SPEC, path, frame=ROWS, bound=[1, 4])
    text = path.read_text()
    said = dict(re.findall(r"^c v (\d+) (.+)$", text, re.MULTILINE))
    head = re.search(r"^p cnf (\d+) (\d+)$", text, re.MULTILINE)
    assert head is not None
    assert [int(v) for v in said] == list(range(1, int(head[1]) + 1))
    clauses = re.findall(r"^[-\d][-\d ]* 0$", text, re.MULTILINE)
    assert (len(clauses), size["clauses"]) == (int(head[2]), int(head[2]))
    for meaning in (
        "node 3 tests `age`, threshold 48 or below",
        "node 1 tests `color`",
        'node 2 tests `color`, value "green" or one before it',
        'slot 8 predicts "no"',
        "row 5 goes right at level 2",
        "not: row 1 comes to slot 9",
        "node 1 is no split",
        "`color` is tested at node 2 or above",
    ):
        assert meaning in said.values()
    groups = re.findall(r"^c group \d+: (.+)$", text, re.MULTILINE)
    for title in (
        "rule `first`",
        "rule `large`",
        "row 0 goes where the tests send it",
        "bound of the objective: errors <= 1",
        "bound of the objective: leaves <= 4",
    ):
        assert title in groups
    assert "c rule large: forall leaf: size >= 2" in text.splitlines()


def test_other_tests_are_told_by_their_levels_bins_and_sides(tmp_path: Path) -> None:
    rows = {
        "a": [1, 2, 3, 4, 5, 6],
        "b": ["lo", "mid", "hi", "hi", "lo", "mid"],
        "c": ["x\ny", "z", None, "z", "z", "x\ny"],
        "t": ["n", "p", "n", "p", "n", "p"],
    }
    text = """
    data frame target t: class {"n", "p"} positive "p" drop t
    feature b: ordered {"lo", "mid", "hi"} candidates a at bins 3 missing {c} left
    tree depth <= 1 minimize errors rule right: forall split: if level = 0 then feature in {a, b}
    rule none: errors = 0
    """.replace("drop t", "")
    path = tmp_path / "model.cnf"
    odtdsl.compile(text, path, frame=rows)
    said = path.read_text()
    for line in (
        'tests `b`, threshold "lo" or below',
        "tests `a`, bin [1, 2.66",
        'slot 3 predicts "p"',
        'tests `c` (missing cells left), value "x y"',
        "(rule `right`)",
        "(rule `none`)",
        'row 1 is predicted as "p"',
    ):
        assert line in said
    assert all(re.match(r"c |p cnf |-?\d", line) for line in said.splitlines())


def test_the_cost_of_a_file_is_the_objective(tmp_path: Path) -> None:
    spec = SPEC.replace("minimize errors then leaves", "maximize accuracy then minimize leaves")
    for to in ("wcnf", "opb"):
        path = tmp_path / f"model.{to}"
        odtdsl.compile(spec, path, frame=ROWS)
        text = path.read_text()
        if to == "wcnf":
            with RC2(WCNF(from_string=text)) as solver:
                model, cost = solver.compute(), solver.cost
        else:
            found = least_of_opb(text)
            assert found is not None
            model, cost = found
        told = re.search(r"(\d+) \* s1 \+ (\d+) \* s2 = the file's cost(?: \+ (\d+))?\n", text)
        parts = re.findall(r": \((-?\d+) \+ (-?\d+) \* s\d\) / (\d+)\n", text)
        assert told is not None
        (m1, m2), room = map(int, told.groups()[:2]), int(told[3] or 0)
        s1, s2 = divmod(cost + room, m1)
        assert m2 == 1
        values = [
            Fraction(int(c) + int(g) * s, int(d))
            for s, (c, g, d) in zip((s1, s2), parts, strict=True)
        ]
        result = odtdsl.decode(spec, model, to=to, frame=ROWS)
        assert values == [stage.value for stage in result.stages]


def test_the_same_problem_gives_the_same_bytes(tmp_path: Path) -> None:
    program = (
        f"import odtdsl\nspec = odtdsl.parse({SPEC + 'rule used: uses(color)'!r})\n"
        f"for to in ('cnf', 'wcnf', 'opb'): spec.compile('m.' + to, frame={ROWS!r})"
    )
    written = []
    for seed in ("1", "2"):
        (folder := tmp_path / seed).mkdir()
        home = str(Path(odtdsl.__file__).parent.parent)
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": home},
        )
        written.append([(folder / f"m.{to}").read_bytes() for to in ("cnf", "wcnf", "opb")])
    assert written[0] == written[1]


# ---- depths


def test_the_depth_is_said_by_the_skeleton_an_option_or_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "model.cnf"
    rows = {**ROWS, "x": list(range(8))}
    text = "data frame target sick tree minimize depth then leaves rule r: errors = 0"
    size = {depth: odtdsl.compile(text, path, frame=rows, depth=depth)["depth"] for depth in (2, 3)}
    assert size == {2: 2, 3: 3}
    assert odtdsl.compile(text, path, frame=rows, bound=3)["depth"] == 3
    model = model_of(CNF(from_file=str(path)).clauses)
    result = odtdsl.decode(text, model, frame=rows, bound=3)
    assert result.audit is not None
    assert result.audit.holds
    many = {"x": list(range(40)), "y": [i % 2 for i in range(40)]}
    with pytest.raises(OdtError) as caught:
        odtdsl.compile(text.replace("sick", "y"), path, frame=many)
    assert caught.value.diagnostics[0].code == "B223"


def test_the_least_depth_is_a_least_cost(tmp_path: Path) -> None:
    text = "data frame target sick tree depth <= 4 minimize depth then leaves rule r: errors = 0"
    expected = odtdsl.solve(text, frame=ROWS, using="exact")
    path = tmp_path / "model.wcnf"
    odtdsl.compile(text, path, frame=ROWS)
    with RC2(WCNF(from_file=str(path))) as solver:
        result = odtdsl.decode(text, solver.compute(), to="wcnf", frame=ROWS)
    assert result.objective == expected.objective


def test_a_level_that_rules_leave_no_test_for_may_be_left_out() -> None:
    """Perfect trees alone would say that there is no tree at all."""
    text = "data frame target sick tree depth <= 2 minimize errors rule r: forall split: level = 0"
    core = normalize(odtdsl.parse(text).analyse(frame=ROWS).rows)
    answer = Sat().solve(core, Limits())
    assert answer.status == "optimal"
    assert answer.tree is not None
    assert depth_of(answer.tree) == 1


# ---- what cannot be compiled


def test_what_clauses_do_not_express_is_refused_as_by_the_back_end(tmp_path: Path) -> None:
    text = SPEC.replace("rule large", "rule up: increasing(age)\nrule large")
    text = text.replace("target sick", 'target sick positive "yes"')
    with pytest.raises(OdtError) as caught:
        odtdsl.compile(text, tmp_path / "model.cnf", frame=ROWS)
    assert {d.code for d in caught.value.diagnostics} == {"B102"}
    assert not caught.value.diagnostics[0].helps  # no other back end writes clauses
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("code", "path", "options"),
    [
        ("U302", "m.cnf", {"model": "pattern"}),
        ("U320", "m.cnf", {"weighted": True}),
        ("U320", "m.mps", {"depth": 2}),
        ("U321", "m.cnf", {"bound": [1, 2, 3]}),
        ("F301", "no/m.cnf", {}),
        ("U401", "m.cnf", {"bound": "x"}),
        ("U303", "m", {"to": "aig"}),
        ("U303", "m.aig", {}),
    ],
)
def test_options_that_do_not_fit(
    code: str, path: str, options: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(OdtError) as caught:
        odtdsl.compile(SPEC, tmp_path / path, frame=ROWS, **options)
    assert caught.value.diagnostics[0].code == code


def test_the_command_says_that_python_makes_pyomo_models(tmp_path: Path) -> None:
    spec = tmp_path / "a.odt"
    spec.write_text('data sklearn "iris" target target tree depth <= 1 minimize errors')
    told = odt("compile", spec, "--to", "pyomo").stderr
    assert "U303" in told
    assert 'odtdsl.compile("spec.odt", to="pyomo")' in told


def test_weights_that_solvers_cannot_hold_are_refused(tmp_path: Path) -> None:
    rows = {**ROWS, "w": [1 + i * 1e-9 for i in range(8)]}
    text = SPEC.replace("errors then leaves", "errors then errors then errors")
    text = text.replace("data frame", "data frame weight w")
    with pytest.raises(OdtError) as caught:
        odtdsl.compile(text, tmp_path / "m.wcnf", frame=rows)
    assert caught.value.diagnostics[0].code == "B224"


# ---- assignments


@pytest.mark.parametrize(
    ("text", "to", "true"),
    [
        ("SAT\n1 -2 3 0\n", "cnf", {1, 3}),
        ("c x\ns SATISFIABLE\nv 1 -2\nv 3 0\n", "cnf", {1, 3}),
        ("v 1 -2 3 0\n", "cnf", {1, 3}),
        ("1 -2 3", "cnf", {1, 3}),
        ("v 1 -2 -3 0\no 5\nc Answer: 2\nv -1 -2 3 0\no 2\ns OPTIMUM FOUND", "wcnf", {3}),
        ("o 2\ns OPTIMUM FOUND\nv 101\n", "wcnf", {1, 3}),
        ("o 2\nv x1 -x2 x3\ns OPTIMUM FOUND\n", "opb", {1, 3}),
        (
            "c RoundingSat\nc #variables=3 #constraints=2\no 3\no 2\ns OPTIMUM FOUND\n"
            "v x1 -x2 x3\nc cpu time 0.01 s\n",
            "opb",
            {1, 3},
        ),
        ("v x1 ~x2\r\nv x3\r\n", "opb", {1, 3}),
    ],
)
def test_what_solvers_print_is_read(text: str, to: str, true: set[int]) -> None:
    read = parse(text, Path("answer"))
    assert {variable for variable, value in read.values.items() if value} == true
    assert set(read.values) == {1, 2, 3}
    assert read.to == to


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("UNSAT\n", "U210"),
        ("s UNSATISFIABLE\n", "U210"),
        ("INDET\n", "U210"),
        ("s SATISFIABLE\n", "U210"),
        ("s UNKNOWN\n", "U210"),
        ("", "F221"),
        ("c x\n", "F221"),
        ("v 1 -2 three 0\n", "F221"),
        ("Traceback (most recent call last):\n", "F221"),
    ],
)
def test_files_without_a_model(text: str, code: str) -> None:
    with pytest.raises(OdtError) as caught:
        parse(text, Path("answer"))
    assert caught.value.diagnostics[0].code == code


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path, code in (
        (tmp_path / "none", "F220"),
        (tmp_path, "F220"),
        (tmp_path / "binary", "F221"),
    ):
        with pytest.raises(OdtError) as caught:
            assignments.read(path)
        assert caught.value.diagnostics[0].code == code


def test_an_assignment_that_is_no_model_is_told_by_its_clause(tmp_path: Path) -> None:
    path = tmp_path / "model.cnf"
    odtdsl.compile(SPEC, path, frame=ROWS)
    clauses = CNF(from_file=str(path)).clauses
    model = model_of(clauses)
    assert model is not None
    assert decode_code(model[:-20]) == "U211"
    assert decode_code([*model, len(model) + 500]) == "U211"
    for flipped in range(0, len(model), 7):
        wrong = [-x if i == flipped else x for i, x in enumerate(model)]
        broken = [n for n, clause in enumerate(clauses, start=1) if set(wrong).isdisjoint(clause)]
        if not broken:
            continue
        with pytest.raises(OdtError) as caught:
            odtdsl.decode(SPEC, wrong, frame=ROWS)
        found = caught.value.diagnostics[0]
        assert found.code == "U212"
        assert f"clause {broken[0]}," in found.message
        assert len(found.notes) >= 1
    sums = tmp_path / "model.opb"
    odtdsl.compile(SPEC, sums, frame=ROWS)
    best = least_of_opb(sums.read_text())
    assert best is not None
    assert decode_code([-x for x in best[0]], to="opb") == "U212"


def decode_code(model: list[int], **options: Any) -> str:
    with pytest.raises(OdtError) as caught:
        odtdsl.decode(SPEC, model, frame=ROWS, **options)
    return caught.value.diagnostics[0].code


def test_a_broken_sum_is_told(tmp_path: Path) -> None:
    """All clauses hold, and only a sum does not: every error is one too many."""
    text = "data frame target sick tree depth <= 1 minimize errors rule r: errors <= 3"
    path = tmp_path / "model.opb"
    odtdsl.compile(text, path, frame=ROWS)
    goal, rows = read_opb(path.read_text())
    clauses = [[v if w > 0 else -v for w, v in terms] for terms, least in rows if least != -3]
    assert len(clauses) == len(rows) - 1
    wrong = [[v] for _, v in goal]
    model = model_of([*clauses, *wrong])
    assert model is not None
    with pytest.raises(OdtError) as caught:
        odtdsl.decode(text, model, to="opb", frame=ROWS)
    assert "sum of group" in caught.value.diagnostics[0].message
    assert "rule `r`" in caught.value.diagnostics[0].message


# ---- the command line


def test_compile_and_decode_as_commands(tmp_path: Path) -> None:
    spec, out, answer = tmp_path / "a.odt", tmp_path / "a.cnf", tmp_path / "answer.txt"
    (tmp_path / "a.csv").write_text(
        "age,sick\n20,no\n30,no\n40,yes\n50,yes\n60,no\n70,no\n", encoding="utf-8"
    )
    spec.write_text('data "a.csv" target sick tree depth <= 2 minimize errors then leaves')
    run = odt("compile", spec, "--to", "cnf", "--bound", "0", "--bound", "3")
    assert run.exit_code == 0, run.output
    assert re.fullmatch(
        rf"{re.escape(str(out))}: \d+ variables, \d+ clauses, \d+ literals, depth 2\n", run.stdout
    )
    model = model_of(CNF(from_file=str(out)).clauses)
    answer.write_text("s SATISFIABLE\nv " + " ".join(map(str, model)) + " 0\n")
    bounds = ("--bound", "0", "--bound", "3")
    saved = tmp_path / "tree.json"
    run = odt("decode", spec, "--assignment", answer, *bounds, "--out", saved)
    assert run.exit_code == 0, run.output
    assert "minimize errors: 0\n  minimize leaves: 3\n" in run.stdout
    assert "audit, by code that shares nothing with the solver" in run.stdout
    assert odt("audit", spec, saved).exit_code == 0
    told = odt("decode", spec, "--assignment", answer, *bounds, "--json")
    assert '"status": "feasible"' in told.stdout
    other = odt("decode", spec, "--assignment", answer)
    assert (other.exit_code, "U211" in other.stderr) == (1, True)
    answer.write_text("UNSAT\n")
    assert odt("decode", spec, "--assignment", answer).exit_code == 1
    for wrong in (("--bound", "x"), ("--to", "aig"), ("--bound", "1e9999999")):
        assert odt("decode", spec, "--assignment", answer, *wrong).exit_code == 2
    assert odt("compile", spec, "--to", "lp", "--depth", "2").exit_code == 2
    assert odt("compile", spec, "--to", "cnf", "--model", "pattern").exit_code == 2
    assert odt("compile", spec, "--out", spec, "--to", "cnf").exit_code == 2
