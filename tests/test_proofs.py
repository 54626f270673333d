"""Proofs that nothing better exists: written, checked, and rejected where they prove nothing."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pysat.solvers import Solver
from random_cores import random_sample
from scale import SCALE, scaled

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.sat.search import DepthSolver
from odtdsl.base import engine
from odtdsl.driver.choice import back_end, choose
from odtdsl.insight.proofs.check import check, reached
from odtdsl.insight.proofs.claims import Claim, depth_of, formula, optimum
from odtdsl.insight.proofs.file import Proof, from_bytes, to_bytes
from odtdsl.insight.proofs.log import prove, refute
from odtdsl.problem.ir.forms import Core, LinearStage

DATA = os.environ.get("ODTDSL_DATA")

Clauses = list[list[int]]


# ---- the checker on formulas of any kind


def flat(clauses: Clauses) -> np.ndarray:
    return np.array([x for clause in clauses for x in (*clause, 0)], dtype=np.int32)


def random_3cnf(rng: random.Random) -> Clauses:
    n = rng.randint(8, 40)
    return [
        [v * rng.choice((1, -1)) for v in rng.sample(range(1, n + 1), 3)]
        for _ in range(int(n * rng.uniform(4.4, 6.5)))
    ]


def refutation(clauses: Clauses, solver: str) -> list[str] | None:
    with Solver(name=solver, bootstrap_with=clauses, with_proof=True) as live:
        return None if live.solve() else live.get_proof()


def run(clauses: Clauses, steps: list[str]) -> engine.RupAnswer:
    return engine.check_rup(flat(clauses), "\n".join(steps).encode())


def literals(step: str) -> list[int]:
    return [int(x) for x in step.removeprefix("d").split()[:-1]]


def follows(clauses: Clauses, lemma: list[int]) -> bool:
    """By unit propagation, as minisat has it."""
    if any(-x in lemma for x in lemma):
        return True
    with Solver("minisat22", bootstrap_with=clauses) as solver:
        fine, _ = solver.propagate([-x for x in dict.fromkeys(lemma)])
    return not fine


def there(clauses: Clauses, steps: list[str], *, deletions: bool) -> Clauses:
    """What is known after some steps."""
    now = Counter(tuple(sorted(set(clause))) for clause in clauses)
    for step in steps:
        key = tuple(sorted(set(literals(step))))
        if not step.startswith("d"):
            now[key] += 1
        elif deletions and now[key]:
            now[key] -= 1
    return [list(key) for key, count in now.items() if count]


@pytest.mark.parametrize("solver", ["glucose4", "glucose3", "cadical153", "lingeling"])
def test_refutations_of_solvers_are_accepted(solver: str) -> None:
    rng = random.Random(f"accepted {solver}")
    accepted = 0
    while accepted < 100 * SCALE:
        clauses = random_3cnf(rng)
        steps = refutation(clauses, solver)
        if steps is None:
            continue
        found = run(clauses, steps)
        assert (found.status, found.conflict) == ("verified", True)
        accepted += 1


@pytest.mark.parametrize("solver", ["glucose4", "cadical153"])
def test_a_step_that_does_not_follow_is_found(solver: str) -> None:
    """A literal is left out of a step. Another solver's propagation says whether it follows."""
    rng = random.Random(f"mutant {solver}")
    rejected = still = 0
    while rejected < scaled(60, least=30):
        clauses = random_3cnf(rng)
        steps = refutation(clauses, solver)
        wide = (
            []
            if steps is None
            else [
                i
                for i, step in enumerate(steps)
                if not step.startswith("d") and step.strip() != "0"
            ]
        )
        if steps is None or not wide:
            continue
        at = rng.choice(wide)
        lemma = literals(steps[at])
        lemma.pop(rng.randrange(len(lemma)))
        if not lemma:
            continue  # the empty clause before its time: see below
        mutant = [*steps[:at], " ".join(map(str, [*lemma, 0])), *steps[at + 1 :]]
        found = run(clauses, mutant)
        if not follows(there(clauses, steps[:at], deletions=False), lemma):
            assert (found.status, found.line) == ("not_implied", at + 1)
            rejected += 1
        elif follows(there(clauses, steps[:at], deletions=True), lemma):
            assert found.line == 0 or found.line > at + 1
            still += 1
    assert still, "no changed step was still implied: the mutants are too plain"


def test_the_empty_clause_has_to_follow_and_to_be_there() -> None:
    rng = random.Random(8)
    for _ in range(scaled(100)):
        clauses = random_3cnf(rng)
        steps = refutation(clauses, "glucose4")
        if steps is None:
            assert run(clauses, ["0"]).status == "not_implied"
            continue
        assert run(clauses, [step for step in steps if step != "0"]).status == "no_empty"
        early = run(clauses, ["0"])
        assert (early.status == "verified") == follows(clauses, [])


def test_a_refutation_never_refutes_what_can_be_satisfied() -> None:
    """Proofs of other formulas: clauses are left out until an assignment satisfies the rest."""
    rng = random.Random(9)
    tried = 0
    while tried < 60 * SCALE:
        clauses = random_3cnf(rng)
        steps = refutation(clauses, rng.choice(["glucose4", "cadical153"]))
        if steps is None:
            continue
        while refutation(clauses, "glucose4") is not None:
            clauses.pop(rng.randrange(len(clauses)))
        assert run(clauses, steps).status == "not_implied"
        tried += 1


# ---- claims


def takes(core: Core, name: str) -> bool:
    return choose(core, name).name is not None


def grid(core: Core, stage: int) -> Fraction:
    """The least step between values of a stage."""
    form = core.objective[stage]
    return Fraction(1, form.measure.denominator) if isinstance(form, LinearStage) else Fraction(1)


def satisfiable(core: Core, claim: Claim) -> bool:
    if depth_of(core, claim) < 0:
        return False
    live = DepthSolver(formula(core, claim, ()), Limits())
    try:
        return live.tree([]) is not None
    finally:
        live.close()


def test_claims_are_refuted_where_they_hold_and_only_there() -> None:
    """Against the values of `exact`: those below are refuted, those next to them are not."""
    rng = random.Random(21)
    refuted = infeasible = 0
    while refuted < 150 * SCALE:
        core = random_sample(rng, monotone=False).core
        if not takes(core, "sat") or not takes(core, "exact"):
            continue
        answer = back_end("exact").solve(core, Limits(), None, None)
        if answer.status == "infeasible":
            holds(core, Claim(stage=None))
            infeasible += 1
            continue
        assert answer.status == "optimal"
        assert satisfiable(core, Claim(stage=None))
        for claim in optimum([stage.value for stage in answer.stages]):
            holds(core, claim)
            above = replace(claim, below=claim.below + grid(core, claim.stage))
            assert satisfiable(core, above), (core, above)
            refuted += 1
    assert infeasible > 5 * SCALE


def holds(core: Core, claim: Claim) -> None:
    """A claim is refuted, and the checker takes it."""
    made = refute(core, claim, Limits())
    if made is not None:
        assert engine.check_rup(made.formula, made.steps).status == "verified"


@pytest.mark.parametrize("rule", ["level <= 0", "level != 1", "feature in {a} and level != 1"])
def test_trees_that_end_early_are_in_the_formula(rule: str) -> None:
    """Where no node of a level may split, trees of less depth are no reason to say infeasible."""
    rows = {"a": [1, 2, 3, 4], "b": [1, 2, 1, 1], "y": ["n", "n", "y", "y"]}
    text = f"data frame target y tree depth <= 2 minimize errors rule r: forall split: {rule}"
    core = normalized(odtdsl.parse(text).analyse(frame=rows))
    assert satisfiable(core, Claim(stage=None))
    assert satisfiable(core, Claim(stage=0, below=Fraction(1)))
    assert not satisfiable(core, Claim(stage=0, below=Fraction(0)))


def normalized(analysis) -> Core:
    from odtdsl.problem.terms.normalize import normalize

    return normalize(analysis.rows)


# ---- files


ROWS: dict[str, list[Any]] = {
    "a": [1, 1, 2, 2, 3, 3, 4, 4, 1, 4],
    "b": [1, 2, 1, 2, 1, 2, 1, 2, 1, 1],
    "c": [1, 2, 3, 1, 2, 3, 1, 2, 3, 3],
    "y": ["n", "y", "y", "n", "n", "y", "y", "n", "n", "y"],
}
XOR = "data frame target y tree minimize depth then leaves rule exact: errors <= 0"


@pytest.fixture(scope="module")
def written() -> tuple[object, bytes]:
    """An analysis, and the text of a proof of its answer."""
    model = odtdsl.parse(XOR)
    analysis = model.analyse(frame=ROWS)
    result = model.solve(using="sat", frame=ROWS)
    return analysis, to_bytes(prove(analysis, result))


def rejected(text: bytes, analysis) -> str:
    """The code of the error that a text earns."""
    with pytest.raises(odtdsl.OdtError) as failure:
        check(from_bytes(text), analysis)
    return failure.value.diagnostics[0].code


def test_what_is_written_is_read_and_proves_the_optimum(written) -> None:
    analysis, text = written
    proof = from_bytes(text)
    assert to_bytes(proof) == text
    found = check(proof, analysis)
    result = odtdsl.parse(XOR).solve(using="exact", frame=ROWS)
    values = [stage.value for stage in result.stages]
    core = normalized(analysis)
    assert reached(core, values, found) == (True, True)
    assert reached(core, [values[0], values[1] + 1], found) == (True, False)
    assert reached(core, [values[0] + 1, values[1]], found) == (False, False)
    assert [one.statement for one in found] == [
        f"no tree that satisfies all rules has depth below {values[0]}",
        f"no tree that satisfies all rules has depth at most {values[0]}"
        f" and leaves below {values[1]}",
    ]


def test_the_same_answer_has_the_same_proof(written) -> None:
    analysis, text = written
    model = odtdsl.parse(XOR)
    assert to_bytes(prove(analysis, model.solve(using="sat", frame=ROWS))) == text


def test_no_empty_clause(written) -> None:
    analysis, text = written
    assert rejected(text.replace(b"\n0\nc end of part 1", b"\nc end of part 1"), analysis) == "P107"


def test_other_data_and_specs(written) -> None:
    _, text = written
    model = odtdsl.parse(XOR)
    other = model.analyse(frame={**ROWS, "c": ROWS["c"][::-1]})
    assert rejected(text, other) == "P103"
    looser = odtdsl.parse(XOR.replace("errors <= 0", "errors <= 1"))
    assert rejected(text, looser.analyse(frame=ROWS)) == "P104"
    with pytest.raises(odtdsl.OdtError, match=r"only in the spec: rule exact .*errors <= 1"):
        check(from_bytes(text), looser.analyse(frame=ROWS))


def test_another_claim_needs_another_formula(written) -> None:
    """The claim is raised: the formula that is refuted is no longer its own."""
    analysis, text = written
    proof = from_bytes(text)
    depth = proof.parts[0].claim.below
    higher = text.replace(
        f"stage 1 below {depth}\n".encode(), f"stage 1 below {depth + 1}\n".encode()
    )
    assert higher != text
    assert rejected(higher, analysis) == "P105"


def test_another_formula(written) -> None:
    """Each clause of a part in turn is made stronger: what differs is named by its line."""
    analysis, text = written
    lines = text.split(b"\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(b"p cnf")) + 1
    end = lines.index(b"c refuted by")
    for at in range(start, end, 7):
        words = lines[at].split()
        if len(words) < 3:
            continue
        changed = b"\n".join([*lines[:at], b" ".join(words[1:]), *lines[at + 1 :]])
        with pytest.raises(odtdsl.OdtError, match=rf"(?s)P105.*line {at + 1} is"):
            check(from_bytes(changed), analysis)


def test_every_cut_is_seen(written) -> None:
    analysis, text = written
    ends = [i + 1 for i, byte in enumerate(text) if byte == 10]
    for end in [0, 5, *ends[:-1:11], len(text) - 1]:
        assert rejected(text[:end], analysis) in ("P101", "P102", "P104"), end


def test_steps_that_do_not_follow(written) -> None:
    """Steps with a literal left out, those that another solver says are not implied."""
    analysis, text = written
    proof = from_bytes(text)
    made = proof.parts[0].refutation
    ends = [-1, *np.flatnonzero(made.formula == 0).tolist()]
    clauses = [made.formula[a + 1 : b].tolist() for a, b in pairwise(ends)]
    steps = made.steps.decode().splitlines()
    lines = text.split(b"\n")
    tried = 0
    for at, step in enumerate(steps):
        lemma = [] if step.startswith("d") else literals(step)
        for gone in lemma if len(lemma) > 1 else []:
            short = [x for x in lemma if x != gone]
            if follows(there(clauses, steps[:at], deletions=False), short):
                continue
            place = made.first_step - 1 + at
            changed = [
                *lines[:place],
                " ".join(map(str, [*short, 0])).encode(),
                *lines[place + 1 :],
            ]
            with pytest.raises(odtdsl.OdtError, match=rf"(?s)P106.*line {place + 1}:"):
                check(from_bytes(b"\n".join(changed)), analysis)
            tried += 1
    assert tried >= 3


def test_any_change_is_an_error_or_proves_the_same(written) -> None:
    """Random bytes: never another exception, never another claim."""
    analysis, text = written
    rng = random.Random(3)
    statement = {one.statement for one in check(from_bytes(text), analysis)}
    for _ in range(scaled(400)):
        changed = bytearray(text)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(changed))
            kind = rng.randrange(3)
            if kind == 0:
                changed[at] = rng.choice(b"0123456789 -d\nc/x\xff")
            elif kind == 1:
                del changed[at : at + rng.randint(1, 30)]
            else:
                changed[at:at] = bytes(rng.choices(b"0123456789 -\ndc", k=rng.randint(1, 8)))
        assert outcome(bytes(changed), analysis) <= statement | {"P1"}


def outcome(text: bytes, analysis) -> set[str]:
    """What a text proves, or the kinds of its errors."""
    try:
        return {one.statement for one in check(from_bytes(text), analysis)}
    except odtdsl.OdtError as failure:
        return {one.code[:2] for one in failure.diagnostics}


def test_claims_without_sense(written) -> None:
    analysis, text = written
    proof = from_bytes(text)
    below = f"c claim stage 1 below {proof.parts[0].claim.below}\n".encode()
    assert below in text
    for claim in (
        b"stage 1 below 5/2",
        b"stage 3 below 1 after 1 1",
        b"stage 2 below 1",
        b"stage 0 below 1",
        b"stage 1 below -1",
        b"stage 1 below 1/0",
        b"stage 1 below 40",
        b"nothing",
        b"none after",
        b"stage 1 below " + b"9" * 90,
        b"stage 2 below 3/2 after 2",
        b"stage 1 below 0",
    ):
        assert rejected(text.replace(below, b"c claim " + claim + b"\n"), analysis) == "P101", claim


def test_what_holds_by_itself_and_what_cannot() -> None:
    pure = {"a": [1, 2, 3], "y": ["n", "n", "n"]}
    model = odtdsl.parse('data frame target y: class {"n", "y"} tree minimize depth then leaves')
    analysis = model.analyse(frame=pure)
    proof = prove(analysis, model.solve(using="sat", frame=pure))
    assert proof.parts[0].refutation is None
    assert to_bytes(from_bytes(to_bytes(proof))) == to_bytes(proof)
    found = check(proof, analysis)
    assert [one.clauses > 0 for one in found] == [False, True]
    unfounded = to_bytes(proof).replace(b"stage 1 below 0", b"stage 1 below 1")
    assert rejected(unfounded, analysis) == "P101"


def test_infeasible_and_maximized() -> None:
    text = "data frame target y tree depth <= 1 maximize accuracy then minimize leaves"
    model = odtdsl.parse(text)
    analysis = model.analyse(frame=ROWS)
    result = model.solve(using="sat", frame=ROWS)
    statement = [one.statement for one in check(prove(analysis, result), analysis)]
    assert statement == [
        "no tree that satisfies all rules has accuracy above 0.7",
        "no tree that satisfies all rules has accuracy at least 0.7 and leaves below 2",
    ]
    model.rule("all", "errors <= 2")
    analysis = model.analyse(frame=ROWS)
    result = model.solve(using="sat", frame=ROWS)
    assert result.status == "infeasible"
    found = check(prove(analysis, result), analysis)
    assert [one.statement for one in found] == ["no tree satisfies all rules"]


def test_a_limit_leaves_no_proof() -> None:
    model = odtdsl.parse(XOR)
    analysis = model.analyse(frame=ROWS)
    result = model.solve(using="sat", frame=ROWS)
    with pytest.raises(odtdsl.OdtError, match="P202"):
        prove(analysis, result, deadline=0.0)
    with pytest.raises(odtdsl.OdtError, match="P202"):
        prove(analysis, result, interrupted=lambda: True)
    nothing = replace(result, stages=tuple(replace(one, proven=False) for one in result.stages))
    with pytest.raises(odtdsl.OdtError, match="P201"):
        prove(analysis, nothing)


# ---- the study's sets


def study(name: str, objective: str) -> odtdsl.Model:
    path = Path(str(DATA)) / "sat" / f"{name}.csv"
    target = path.read_text(encoding="utf-8-sig").splitlines()[0].split(",")[-1]
    return odtdsl.parse(
        f'data "{path}" target {target}: class tree minimize {objective} rule exact: errors <= 0'
    )


@pytest.mark.skipif(DATA is None, reason="ODTDSL_DATA does not name the folder of public data")
@pytest.mark.parametrize(
    ("name", "depth", "leaves"),
    [
        ("mouse", 4, 8),
        ("monk1", 5, 8),
        pytest.param("monk2", 6, None, marks=pytest.mark.nightly),
        ("iris", 4, 8),
        pytest.param("wine", 3, 8, marks=pytest.mark.nightly),
    ],
)
def test_nothing_smaller_on_the_sets_of_the_study(
    name: str, depth: int, leaves: int | None
) -> None:
    """Written and checked; without its end, with a step changed, and of another set: rejected."""
    model = study(name, "depth" if leaves is None else "depth then leaves")
    analysis = model.analyse()
    result = model.solve(using="sat")
    values = [depth, *([] if leaves is None else [leaves])]
    assert [stage.value for stage in result.stages] == values
    text = to_bytes(prove(analysis, result))
    found = check(from_bytes(text), analysis)
    assert found[0].statement == f"no tree that satisfies all rules has depth below {depth}"
    assert all(reached(normalized(analysis), [Fraction(v) for v in values], found))

    assert rejected(text.replace(b"\n0\nc end of part 1", b"\nc end of part 1"), analysis) == "P107"
    assert rejected(_with_a_step_changed(from_bytes(text)), analysis) == "P106"
    assert rejected(_with_the_formula_of(text, depth), analysis) == "P105"
    other = study("mouse" if name != "mouse" else "iris", "depth then leaves").analyse()
    assert rejected(text, other) in ("P103", "P104")


def _with_a_step_changed(proof: Proof) -> bytes:
    """A literal is left out of a step, which by another solver's propagation no longer follows."""
    made = proof.parts[0].refutation
    ends = [-1, *np.flatnonzero(made.formula == 0).tolist()]
    clauses = [made.formula[a + 1 : b].tolist() for a, b in pairwise(ends)]
    steps = made.steps.decode().splitlines()
    for at, step in enumerate(steps):
        lemma = [] if step.startswith("d") else literals(step)
        for gone in lemma if len(lemma) > 1 else []:
            short = [x for x in lemma if x != gone]
            if not follows(there(clauses, steps[:at], deletions=False), short):
                steps[at] = " ".join(map(str, [*short, 0]))
                changed = replace(made, steps="".join(f"{one}\n" for one in steps).encode())
                part = replace(proof.parts[0], refutation=changed)
                return to_bytes(replace(proof, parts=(part, *proof.parts[1:])))
    raise AssertionError("every shorter step follows")


def _with_the_formula_of(text: bytes, depth: int) -> bytes:
    """The refutation for one level less, under the claim for this one."""
    return text.replace(
        f"stage 1 below {depth}\n".encode(), f"stage 1 below {depth - 1}\n".encode()
    )
