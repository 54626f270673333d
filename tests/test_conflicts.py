"""The ten specs without a tree under `grammar/conflicts`, each subset of rules solved afresh.

One of them by default, all with `--nightly`; `ODTDSL_SCALE=2` also asks all subsets of as many
rules and bounds as the conflict has, less one: so it is the smallest too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import pytest
from scale import SCALE, scaled

import odtdsl
from odtdsl.insight.explanations import Explanation, explain

SPECS = sorted((Path(__file__).resolve().parents[1] / "grammar" / "conflicts").glob("*.odt"))
ALL = SCALE > 1
SOME = ("orders_and_root", "parity_and_recall", "scan_too_dear")[: scaled(3)]
DEEPER = 1


@pytest.fixture
def data() -> str:
    folder = os.environ.get("ODTDSL_DATA")
    if folder is None:
        pytest.skip("ODTDSL_DATA does not name the folder of public data")
    return f"{folder}/cases/heart.csv"


def names_of(text: str) -> list[str]:
    """All that may be to blame, as `odt explain` calls it."""
    rules = re.findall(r"^rule (\w+):", text, re.MULTILINE)
    bounds = re.findall(r"(?:tree |, )(depth|leaves) <=", text)
    return rules + [f"tree {bound}" for bound in bounds]


def without(text: str, dropped: Iterable[str]) -> str:
    """The spec with some rules out, the depth a level more, or leaves free."""
    for name in dropped:
        if name == "tree leaves":
            text = re.sub(r"^(tree .*), leaves <= \d+", r"\1", text, flags=re.MULTILINE)
        elif name == "tree depth":
            text = re.sub(
                r"depth <= (\d+)", lambda found: f"depth <= {int(found[1]) + DEEPER}", text
            )
        else:
            text, count = re.subn(rf"^rule {name}:.*\n?", "", text, flags=re.MULTILINE)
            assert count == 1
    return text


def feasible(text: str, members: Iterable[str], data: str) -> bool:
    """By a search of its own that knows of no other; a tree of any objective will do."""
    asked = without(text, set(names_of(text)) - set(members))
    found = odtdsl.parse(asked).solve(data=data, using="exact", gap="90%")
    assert found.status != "unknown"
    return found.status != "infeasible"


def explained(path: Path, data: str) -> tuple[str, Explanation]:
    text = path.read_text(encoding="utf-8")
    return text, odtdsl.parse(text).explain(data=data, using="exact")


def test_there_are_ten_of_two_to_nine_rules() -> None:
    assert len(SPECS) == 10
    counts = sorted(path.read_text(encoding="utf-8").count("\nrule ") for path in SPECS)
    assert (counts[0], counts[-1]) == (2, 9)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_conflict_is_minimal_by_fresh_searches(path: Path, data: str) -> None:
    if SCALE < 1 and path.stem not in SOME:
        pytest.skip("only some: `python -m tests --nightly` takes all")
    text, found = explained(path, data)
    assert found.status == "infeasible"
    (conflict,) = found.conflicts
    assert conflict.minimal
    assert conflict.smallest
    assert not feasible(text, conflict.names, data)
    largest = combinations(conflict.names, len(conflict.names) - 1)
    if ALL:
        largest = combinations(names_of(text), len(conflict.names) - 1)
    for members in largest:
        assert feasible(text, members, data), members
    assert found.drop is not None
    dropped = {one.name for one in found.drop}
    assert feasible(text, set(names_of(text)) - dropped, data)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_nearest_bounds_do(path: Path, data: str) -> None:
    """With the bound that is told a tree satisfies all rules."""
    if SCALE < 1 and path.stem not in SOME:
        pytest.skip("only some: `python -m tests --nightly` takes all")
    text, found = explained(path, data)
    for one in found.nearest:
        if one.others != "spec" or one.constraint.kind != "rule":
            continue
        said = re.search(r"(?:at least|at most) ([\d.]+%?)", one.text)
        assert said is not None
        rule = rf"(^rule {one.constraint.name}:.*[<>]= )[\d.]+%?$"
        moved, count = re.subn(rule, rf"\g<1>{said[1]}", text, flags=re.MULTILINE)
        assert count == 1, one
        assert feasible(moved, names_of(moved), data), one


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_milp_tells_the_same_of_two_levels_and_few_cuts(path: Path, data: str) -> None:
    """`exact` is the other opinion; no question stays open on either."""
    if SCALE < 1 and path.stem not in SOME:
        pytest.skip("only some: `python -m tests --nightly` takes all")
    text = re.sub(r"depth <= \d", "depth <= 2", path.read_text(encoding="utf-8"))
    analysis = odtdsl.parse(f"{text}\ncandidates * at quantiles 4\n").analyse(data=data)
    told = [explain(analysis, backend=name, deeper=0, most=20) for name in ("milp", "exact")]
    for found in told:
        assert found.undecided == 0
        assert found.complete
    milp, exact = told
    assert [one.names for one in milp.conflicts] == [one.names for one in exact.conflicts]
    assert all(one.minimal for one in milp.conflicts)
    assert milp.drop == exact.drop
    assert [one.text for one in milp.nearest] == [one.text for one in exact.nearest]
