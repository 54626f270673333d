"""What is easily forgotten in clauses: trees without splits, alike rows, starts that are best."""

from __future__ import annotations

from itertools import product

import pytest
from pysat.solvers import Solver
from sat_trees import without_start

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.lowering import Lowered, shape_of
from odtdsl.backends.clauses.sums import Counter
from odtdsl.backends.sat.backend import Sat
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.problem.terms.normalize import normalize

pytestmark = pytest.mark.usefixtures("few_starts")

TABLE = {"a": [0, 1, 2, 3], "y": ["p", "p", "n", "p"]}
HEAD = "data frame target y tree depth <= 2 minimize errors\n"


@pytest.mark.parametrize(
    "rule",
    [
        "rule r: forall split: level >= 2",
        "rule r: forall split: threshold(a) > 7",
        "rule r: forall split: feature != a",
        "rule r: leaves <= 1",
        "rule r: depth <= 0",
        "rule r: forall path: not uses(a)",
    ],
)
def test_a_single_leaf_where_no_split_may_stand(rule: str) -> None:
    result = odtdsl.parse(HEAD + rule).solve(using="sat", frame=TABLE)
    assert (result.status, result.objective) == ("optimal", 1)


def test_a_single_leaf_where_there_is_nothing_to_test() -> None:
    table = {"a": [1, 1, 1, 1], "y": TABLE["y"]}
    result = odtdsl.parse(HEAD).solve(using="sat", frame=table)
    assert (result.status, result.objective) == ("optimal", 1)
    exactly = HEAD.replace("depth <= 2 minimize errors", "minimize depth rule r: errors <= 0")
    assert odtdsl.parse(exactly).solve(using="sat", frame=table).status == "infeasible"


def test_a_single_leaf_where_every_test_parts_rows_that_share_a_leaf() -> None:
    """Nodes that are not needed have no test then; without a start the formula alone finds it."""
    table = {"a": [0, 1, 1], "b": ["p", "q", "q"], "y": ["n", "n", "p"]}
    text = HEAD + "rule r: same_leaf(0, 1) and same_leaf(0, 2)"
    core = normalize(odtdsl.parse(text).analyse(frame=table).rows)
    answer = Sat().solve(core, Limits())
    assert (answer.status, answer.stages[0].value) == ("optimal", 1)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("never", ["no", "yes", "maybe"])
def test_a_single_leaf_where_rows_ask_for_several_classes_or_all_for_one(
    never: str, depth: int
) -> None:
    data = {"a": [1, 2, 3, 4], "y": ["no", "yes", "maybe", "yes"]}
    spec = f"""data frame target y: class tree depth <= {depth} minimize leaves
        rule never: count_predicted("{never}") <= 0"""
    with without_start():
        result = odtdsl.parse(spec).solve(using="sat", frame=data)
    assert (result.status, result.objective) == ("optimal", 1)
    alike = {"a": [1, 2], "y": ["no", "no"]}
    spec = f"""data frame target y: class {{"no", "yes"}} tree depth <= {depth} minimize leaves
        rule right: errors <= 0"""
    with without_start():
        result = odtdsl.parse(spec).solve(using="sat", frame=alike)
    assert (result.status, result.objective) == ("optimal", 1)


def test_rows_alike_of_two_classes_are_told_at_once() -> None:
    """No depth has a tree; 40 rows allow a depth of 39, beyond what formulas are built for."""
    table = {"a": [*range(39), 0], "y": ["p", "n"] * 20}
    spec = "data frame target y tree minimize depth rule r: errors <= 0"
    for encoding in ("ordered", "paper"):
        result = odtdsl.solve(spec, frame=table, using="sat", encoding=encoding)
        assert result.status == "infeasible"


def test_a_start_that_is_best_leaves_the_later_stages_to_the_search() -> None:
    """The bound of the first stage is then one that no tree of the search has had."""
    table = {"a": [0, 1, 2, 3, 4, 5], "y": ["p", "n", "n", "p", "n", "p"]}
    spec = "data frame target y tree depth <= 2 minimize errors then leaves"
    best = odtdsl.solve(spec, frame=table, using="exact")
    again = odtdsl.solve(spec, frame=table, using="sat", start=best.tree)
    assert again.status == "optimal"
    assert [x.value for x in again.stages] == [x.value for x in best.stages]


@pytest.mark.parametrize(
    ("size", "most"), [(size, most) for size in (1, 2, 5, 7) for most in range(size + 2)]
)
def test_a_counter_bounds_just_what_it_counts(size: int, most: int) -> None:
    formula = Formula()
    literals = [formula.variable("x") for _ in range(size)]
    counter = Counter(formula, literals, most)
    with Solver("minisat22", bootstrap_with=formula.clauses) as solver:
        for bound, bits in product(range(most + 1), product((0, 1), repeat=size)):
            chosen = [x if bit else -x for x, bit in zip(literals, bits, strict=True)]
            bounded = counter.at_most(bound)
            assumed = [*chosen, *([] if bounded is None else [bounded])]
            assert solver.solve(assumptions=assumed) == (sum(bits) <= bound)


def test_sums_beyond_the_encoder_are_refused() -> None:
    """pindakaas ended in a TypeError, or wrote clauses that admit something else."""
    frame = {
        "a": ["hi", "lo", "lo", "lo", "hi", "hi", "mid"],
        "y": ["p", "n", "p", "n", "p", "p", "p"],
        "w": [29999999999999, 200000000001, 2999999999999, 6, 200000000001, 20000000001, 10**10],
    }
    spec = """data frame target y weight w feature a: ordered {"mid", "hi", "lo"} tree depth <= 2
        minimize rate("p") + 1000000 * leaves rule r: different_leaf(1, 0)"""
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(spec, frame=frame, using="sat")
    assert caught.value.diagnostics[0].code == "B220"


def test_rows_that_no_test_tells_apart_go_the_same_way() -> None:
    """They have their variables in common, and demands of each still hold."""
    frame = {"a": [0, 1, 0, 1, 0], "b": [5, 5, 5, 5, 6], "y": ["p", "n", "n", "n", "p"]}
    spec = "data frame target y: class feature *: number tree depth <= 2 minimize errors"
    core = normalize(odtdsl.parse(spec).analyse(frame=frame).rows)
    lowered = Lowered(core, 2, shape_of(core))
    right = lowered.tree.right
    assert (right[2] == right[0]).all()
    assert (right[3] == right[1]).all()
    assert len({int(way[0]) for way in right.values()}) == 3
    said = [group.title for group in lowered.formula.groups]
    assert "row 2 goes where row 0 goes: no test tells them apart" in said
    for rule, status, errors in (
        ("", "optimal", 1),
        ("rule r: different_leaf(0, 2)", "infeasible", None),
        ("rule r: same_leaf(0, 2)", "optimal", 1),
        ("rule r: forall leaf: size >= 3", "optimal", 2),
    ):
        found = odtdsl.solve(f"{spec} {rule}", frame=frame, using="sat")
        other = odtdsl.solve(f"{spec} {rule}", frame=frame, using="exact")
        assert (found.status, found.status) == (status, other.status)
        assert errors is None or found.objective == other.objective == errors
