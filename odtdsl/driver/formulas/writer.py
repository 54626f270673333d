"""Formulas as files of SAT, MaxSAT and pseudo-Boolean solvers, with comments for people.

Formats: DIMACS `cnf`; `wcnf` with a `p` line, the older of its two forms, which clasp and
python-sat read alike; linear `opb` without negated literals. The text depends on the problem
alone: the same problem gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from odtdsl.backends.clauses.formula import Bound
from odtdsl.base.files import write_text
from odtdsl.driver.formulas.encoding import Encoding

Line = Callable[[tuple[int, ...]], str]


def write(encoding: Encoding, path: Path) -> None:
    """Write a formula; the file appears whole or not at all.

    Raises
    ------
    OdtError
        F301: the file cannot be written.
    """
    write_text(path, text_of(encoding))


def text_of(encoding: Encoding) -> str:
    """The whole file."""
    body = {"cnf": _cnf, "wcnf": _wcnf, "opb": _opb}[encoding.to]
    return "\n".join(body(encoding)) + "\n"


def legend_of(encoding: Encoding) -> dict[str, object]:
    """What every variable and group of clauses says, for programs."""
    formula, problem = encoding.formula, encoding.rows.problem
    ends = [group.first for group in formula.groups[1:]] + [len(formula.clauses)]
    return {
        "format": encoding.to,
        "objective": list(_objective(encoding)),
        "rules": {rule.name: rule.text for rule in problem.rules},
        "variables": {str(v): formula.meaning(v) for v in range(1, formula.top + 1)},
        "groups": [
            {
                "group": number,
                "says": encoding.title(number),
                "rule": group.rule,
                "clauses": [group.first + 1, end],
            }
            for number, (group, end) in enumerate(zip(formula.groups, ends, strict=True), start=1)
        ],
    }


def rows_of(encoding: Encoding, rule: str) -> Iterator[str]:
    """The groups of clauses and sums of a rule, as a file has them."""
    mark, line = ("*", _at_least_one) if encoding.to == "opb" else ("c", _zero_ended)
    yield from (
        _comment(mark, f"rule {one.name}: {one.text}")
        for one in encoding.rows.problem.rules
        if one.name == rule
    )
    yield from _body(encoding, mark, line, rule)


def _zero_ended(clause: tuple[int, ...]) -> str:
    return " ".join(map(str, (*clause, 0)))


def _cnf(encoding: Encoding) -> Iterator[str]:
    formula = encoding.formula
    yield from _head(encoding, "c")
    yield f"p cnf {formula.top} {len(formula.clauses)}"
    yield from _body(encoding, "c", _zero_ended)


def _wcnf(encoding: Encoding) -> Iterator[str]:
    formula, (_, soft) = encoding.formula, encoding.terms.positive()
    top = 1 + sum(weight for _, weight in soft)
    yield from _head(encoding, "c")
    yield f"p wcnf {formula.top} {len(formula.clauses) + len(soft)} {top}"
    yield from _body(encoding, "c", lambda clause: " ".join(map(str, (top, *clause, 0))))
    yield "c soft clauses: each weight counts where the clause is broken"
    yield from (f"{weight} {-literal} 0" for literal, weight in soft)


def _opb(encoding: Encoding) -> Iterator[str]:
    formula, weights = encoding.formula, encoding.terms.weights
    assert formula.bounds is not None, "sums are kept for this format"
    yield f"* #variable= {formula.top} #constraint= {len(formula.clauses) + len(formula.bounds)}"
    yield from _head(encoding, "*")
    terms = [f"{weight:+d} x{variable}" for variable, weight in weights.items() if weight]
    if terms:
        yield f"min: {' '.join(terms)} ;"
    yield from _body(encoding, "*", _at_least_one)


# ---- comments


def _head(encoding: Encoding, mark: str) -> Iterator[str]:
    """What the file is, the objective, the rules, and every variable."""
    tree, problem = encoding.lowered.tree, encoding.rows.problem
    for line in (
        f"a decision tree of depth {tree.depth} at most, by clauses; all"
        f" {encoding.lowered.core.n_rows} training rows are in it",
        "node 1 is the root; below node q are 2q, left, and 2q + 1, right;"
        f" from {2**tree.depth} on they are slots, which predict",
        *_objective(encoding),
        *(f"rule {rule.name}: {rule.text}" for rule in problem.rules),
        "variables",
        *(f"v {v} {encoding.formula.meaning(v)}" for v in range(1, encoding.formula.top + 1)),
    ):
        yield _comment(mark, line)


def _objective(encoding: Encoding) -> Iterator[str]:
    """How the values of the stages follow from the sum that is made least."""
    stages = encoding.rows.problem.objective
    if not encoding.goals:
        yield "what is asked for, which is not in it but for bounds: " + " then ".join(
            stage.text for stage in stages
        )
        return
    terms = encoding.terms
    constant = terms.constant if encoding.to == "opb" else terms.positive()[0]
    names = ["cost"] if len(stages) == 1 else [f"s{i + 1}" for i in range(len(stages))]
    if len(stages) > 1 or constant:
        parts = zip(names, encoding.goals, strict=True)
        total = " + ".join(f"{goal.weight} * {name}" for name, goal in parts)
        yield f"{total} = the file's cost" + (f" + {constant}" if constant else "")
    for name, goal, stage in zip(names, encoding.goals, stages, strict=True):
        yield f"{stage.text}: ({goal.constant} + {goal.grid} * {name}) / {goal.denominator}"


def _comment(mark: str, text: str) -> str:
    return f"{mark} {' '.join(text.split())}"


# ---- clauses


def _body(encoding: Encoding, mark: str, line: Line, rule: str | None = None) -> Iterator[str]:
    """Clauses and sums in order, and before each group what it says; of one rule, or of all."""
    formula = encoding.formula
    bounds = list(formula.bounds or ())[::-1]
    ends = [group.first for group in formula.groups[1:]] + [len(formula.clauses)]
    for number, (group, end) in enumerate(zip(formula.groups, ends, strict=True), start=1):
        sums = []
        while bounds and bounds[-1].groups == number:
            sums.append(_sum(bounds.pop()))
        if rule is not None and rule not in group.rule.split(", "):
            continue
        if end > group.first or sums:
            yield _comment(mark, f"group {number}: {encoding.title(number)}")
        yield from map(line, formula.clauses[group.first : end])
        yield from sums


def _at_least_one(clause: tuple[int, ...]) -> str:
    """A clause as a sum without negated literals."""
    terms = [f"+1 x{x}" if x > 0 else f"-1 x{-x}" for x in clause]
    return f"{' '.join(terms or ['+0 x1'])} >= {1 - sum(x < 0 for x in clause)} ;"


def _sum(bound: Bound) -> str:
    """-(the sum) >= -most, with room where a literal of the guard is true."""
    slack = sum(weight for _, weight in bound.weighted) - bound.most
    weights: dict[int, int] = {}
    least = -bound.most
    for literal, weight in (
        *((literal, -weight) for literal, weight in bound.weighted),
        *((literal, slack) for literal in bound.guard),
    ):
        sign = 1 if literal > 0 else -1
        least -= 0 if literal > 0 else weight
        weights[abs(literal)] = weights.get(abs(literal), 0) + sign * weight
    terms = [f"{weight:+d} x{variable}" for variable, weight in weights.items() if weight]
    return f"{' '.join(terms or ['+0 x1'])} >= {least} ;"
