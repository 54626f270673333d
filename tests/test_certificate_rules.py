"""Certificates under rules on rows, levels and the whole tree: DUAL and FRONT."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scale import blocks, scaled
from test_certificates import checked, pieces, refused
from test_every_term import MIXED, NAMES, case, core_of, solved

import odtdsl
from odtdsl.insight.proofs.certificate import MAGIC, checker
from odtdsl.insight.proofs.covered import uncovered


def numbers(steps: bytes | bytearray) -> list[int]:
    """The numbers of the steps."""
    found, value, shift = [], 0, 0
    for byte in steps:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value = shift = 0
    return found


def as_bytes(values: list[int]) -> bytes:
    found = bytearray()
    for value in values:
        left = value
        while left >= 128:
            found.append(left & 127 | 128)
            left >>= 7
        found.append(left)
    return bytes(found)


@pytest.mark.parametrize("seeds", blocks(100, 2, part=0.2), ids=lambda seeds: f"{seeds[0]}")
def test_every_term_is_certified_where_it_is_covered(seeds: range, tmp_path: Path) -> None:
    """What is certified is the least of all trees, and a claim of one step more is refused."""
    path = tmp_path / "a.cert"
    shown = 0
    for seed in seeds:
        for name in (*NAMES, MIXED):
            case_ = case(name, seed)
            if uncovered(core_of(case_)):
                continue
            status = solved(case_, "exact", proof=path)
            if not path.exists():  # refused before any search
                assert status in ("infeasible", "refused"), case_
                continue
            told = checked(path).stdout
            wanted = "the tree is optimal" if status == "optimal" else "no tree keeps the rules"
            assert told.endswith(f"certified: {wanted}\n"), f"{told}\n{case_}"
            shown += 1
            head, text, steps = pieces(path)
            values = numbers(steps)
            if status == "optimal" and values[0] == 1:
                values[2] += 1  # after the number of claims and the depth
                path.write_bytes(head + text + as_bytes(values))
                refused(path)
            path.unlink()
    assert shown > 5 * len(seeds)


def test_multipliers_of_long_objectives_are_small_enough(tmp_path: Path) -> None:
    """Three stages of thousands make a step of the first one weigh ten digits."""
    path, case_ = tmp_path / "a.cert", case("path uses", 248)
    assert solved(case_, "exact", proof=path) == "optimal"
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")


LONG = {
    "recalls and prices": ("maximize balanced_accuracy - 0.01 * leaves then minimize leaves", 7),
    "recalls and losses": ("maximize balanced_accuracy then minimize expected_loss", 7),
    "no tree": ("maximize balanced_accuracy - 0.01 * leaves then minimize leaves", 10),
}


@pytest.mark.parametrize("name", LONG)
def test_what_has_long_sums_is_certified_or_refused_before_a_search(
    name: str, tmp_path: Path
) -> None:
    objective, share = LONG[name]
    seen: Counter[str] = Counter()
    for digits in range(8):
        rng = np.random.default_rng(digits)
        frame: dict[str, list[Any]] = {k: rng.integers(0, 5, 70).tolist() for k in "ab"}
        frame["y"] = ["nnpq"[k] for k in rng.integers(0, 4, 70)]
        frame["w"] = (rng.integers(10**digits, 10 ** (digits + 1), 70) / 10**digits).tolist()
        spec = "data frame target y weight w tree depth <= 2 "
        spec += 'loss predict "n" when "p" = 1.5 ' if "loss" in objective else ""
        spec += f'{objective} rule r: recall("p") >= {share}0% solve using exact'
        path = tmp_path / f"{digits}.cert"
        try:
            odtdsl.solve(spec, frame=frame, proof=path)
        except odtdsl.OdtError as refused:
            code = refused.diagnostics[0].code
            assert code in ("P203", "R301")
            assert not path.exists()
            seen[code] += 1
            continue
        assert odtdsl.check_proof(path, spec, frame=frame)
        seen["certified"] += 1
    assert min(seen["certified"], seen["P203"]) >= 1, seen


SPEC = """data frame target y: class drop g
group these = g = 1
tree depth <= 3
minimize errors then leaves
rule few: leaves <= 6
rule fair: accuracy(these) >= 70%
rule either: recall("c0") >= 60% or recall("c1") >= 90%
rule asked: uses(x2)
rule first: root in {x0, x1}
rule cut: forall split: threshold(x0) <= 5
rule big: forall leaf: size >= 3"""


def frame_of(seed: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    frame: dict[str, list[Any]] = {f"x{i}": rng.integers(0, 9, 60).tolist() for i in range(3)}
    frame["g"] = rng.integers(0, 2, 60).tolist()
    frame["y"] = [f"c{k}" for k in rng.integers(0, 2, 60)]
    return frame


Forgery = Callable[[list[str], list[int]], None]


def without(word: str) -> Forgery:
    def forge(lines: list[str], _: list[int]) -> None:
        at = next(i for i, line in enumerate(lines) if line.startswith(word))
        del lines[at]

    return forge


def changed(word: str, old: str, new: str) -> Forgery:
    def forge(lines: list[str], _: list[int]) -> None:
        at = next(i for i, line in enumerate(lines) if line.startswith(word) and old in line)
        lines[at] = lines[at].replace(old, new, 1)

    return forge


def claimed_more(_: list[str], values: list[int]) -> None:
    values[2] += 1


def no_tree(lines: list[str], values: list[int]) -> None:
    """A claim, higher than all values, that no tree keeps the rules."""
    lines[:] = [line for line in lines if not line.startswith(("leaf\t", "split"))]
    values[2] = 1 << 30


def other_label(lines: list[str], _: list[int]) -> None:
    at = next(i for i, line in enumerate(lines) if line.startswith("leaf\t"))
    lines[at] = "leaf\t1\n" if lines[at] == "leaf\t0\n" else "leaf\t0\n"


def one_leaf(lines: list[str], _: list[int]) -> None:
    lines[:] = [line for line in lines if not line.startswith(("leaf\t", "split"))]
    lines.append("leaf\t0\n")


def too_deep(lines: list[str], _: list[int]) -> None:
    at = max(i for i, line in enumerate(lines) if line.startswith("leaf\t"))
    lines[at:] = ["split\t0\t1.5\n", "leaf\t0\n", "split\t1\t1.5\n", "leaf\t0\n", "leaf\t1\n"]


def no_candidate(lines: list[str], _: list[int]) -> None:
    at = next(i for i, line in enumerate(lines) if line.startswith("split"))
    lines[at] = "\t".join([*lines[at].split("\t")[:2], "-0.5\n"])


def of_less_depth(_: list[str], values: list[int]) -> None:
    values[1] -= 1


def cut_short(_: list[str], values: list[int]) -> None:
    values.pop()


def more_bytes(_: list[str], values: list[int]) -> None:
    values.append(1)


def priced_alternative(lines: list[str], values: list[int]) -> None:
    """A multiplier for a rule of which any of two conditions is enough."""
    rules = [line for line in lines if line.startswith("rule\ttree")]
    at = next(i for i, line in enumerate(rules) if line.startswith("rule\ttree\teither"))
    values[4 + at] = 7


FORGED = {
    "a bound that is one too high": claimed_more,
    "the claim that there is no tree": no_tree,
    "a worse tree": other_label,
    "a tree that breaks the rules": one_leaf,
    "a tree that is too deep": too_deep,
    "a test that may not stand": no_candidate,
    "a bound of shallower trees": of_less_depth,
    "steps that end too early": cut_short,
    "steps that go on": more_bytes,
    "a multiplier of an alternative": priced_alternative,
}

OF_ANOTHER_PROBLEM = {
    "a feature left out": without("feature\tnumber"),
    "a cut left out": changed("feature\tcuts", "\t5.0", ""),
    "a rule left out": without("rule\ttree\tfair"),
    "a rule on leaves left out": without("rule\tleaf"),
    "a bound loosened": changed("rule\ttree\tfew", " <= 6", " <= 7"),
    "a fact that another feature sets": without("fact"),
    "a test opened at a level": changed("path", "\t0", "\t1"),
    "an end opened": changed("asks", "asks\t", "asks"),
    "a loss made less": changed("loss", "1", "0"),
    "a level less": changed("depth", "3", "2"),
}


@pytest.mark.parametrize("seed", range(scaled(30)))
def test_forgeries_are_refused(seed: int, tmp_path: Path) -> None:
    frame, path, problem = frame_of(seed), tmp_path / "a.cert", tmp_path / "problem"
    result = odtdsl.solve(SPEC, frame=frame, using="exact", proof=path)
    assert result.status == "optimal"
    assert odtdsl.check_proof(path, SPEC, result, frame=frame)
    _, text, steps = pieces(path)
    problem.write_bytes(text)
    given = text.decode().splitlines(keepends=True)

    def write(forge: Forgery) -> None:
        lines, values = list(given), numbers(steps)
        forge(lines, values)
        assert (lines, values) != (given, numbers(steps))
        body = "".join(lines).encode()
        path.write_bytes(MAGIC + f"{len(body)}\n".encode() + body + as_bytes(values))

    for what, forge in FORGED.items():
        write(forge)
        told = checked(path)
        weaker = told.stdout.endswith("the bounds above, not that the tree is optimal\n")
        assert told.returncode == 1 or (what == "a worse tree" and weaker), f"{what}: {told}"
    for what, forge in OF_ANOTHER_PROBLEM.items():
        write(forge)
        ran: list[str | Path] = [checker(), problem, f"{path}.csv", path]
        told = subprocess.run(ran, capture_output=True, text=True, check=False)
        assert (told.returncode, "of another problem" in told.stdout) == (1, True), what
        with pytest.raises(odtdsl.OdtError, match="P104"):
            odtdsl.check_proof(path, SPEC, result, frame=frame)


def test_missing_cells_levels_and_facts_are_certified(tmp_path: Path) -> None:
    """Of a learned side, of tests by level, and of features that must be used; and by Python."""
    rng = np.random.default_rng(1)
    frame: dict[str, list[Any]] = {f"x{i}": rng.integers(0, 6, 40).tolist() for i in range(3)}
    for at in range(0, 40, 7):
        frame["x0"][at] = None
    frame["o"] = [("lo", "mid", "hi", None)[k] for k in rng.integers(0, 4, 40)]
    frame["y"] = [f"c{k}" for k in rng.integers(0, 2, 40)]
    head = (
        'data frame target y: class missing branch feature o: ordered {"lo", "mid", "hi"}'
        " tree depth <= 2 minimize errors"
    )
    for rule in (
        "",
        "rule level: forall split: if level = 0 then threshold(x1) >= 3",
        "rule used: uses(o) and uses(x2)",
        "rule first: root in {o}",
        "rule pure: forall leaf: purity >= 60%",
        "rule split: forall split: size >= 8",
        "rule needs: forall path: x1 requires x2",
        "rule one: forall path: length >= 1",
        "rule deep: depth >= 2",
    ):
        path = tmp_path / "a.cert"
        result = odtdsl.solve(f"{head} {rule}", frame=frame, using="exact", proof=path)
        assert result.status == "optimal", rule
        told = checked(path).stdout
        assert told.endswith("certified: the tree is optimal\n"), f"{rule}\n{told}"
        shown = result.certify()
        assert shown.certificate is not None, rule
        assert shown.certificate.certified, rule
        beginning, text, steps = pieces(path)
        values = numbers(steps)
        values[2] += 1  # after the number of claims and the depth
        path.write_bytes(beginning + text + as_bytes(values))
        refused(path)


@pytest.mark.parametrize("side", [0, 1])
def test_a_feature_may_be_used_on_one_side_only(side: int, tmp_path: Path) -> None:
    """Behind `a`, one side is told by `b` and the other by `c`: no other tree loses nothing."""
    rows = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    frame: dict[str, Any] = dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))
    frame["y"] = ["nm"[b if a == side else c] for a, b, c in rows]
    spec = "data frame target y: class feature a, b, c: number tree depth <= 2 minimize errors"
    path = tmp_path / "a.cert"
    result = odtdsl.solve(f"{spec} rule used: uses(b)", frame=frame, using="exact", proof=path)
    assert result.objective == 0
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")
    head, text, _ = pieces(path)
    path.write_bytes(
        head + text + as_bytes([1, 2, 1, 1, 0])
    )  # one claim, of value 1; no multiplier
    assert "a tree that keeps the rules loses less than is claimed" in refused(path).stdout


@pytest.mark.parametrize(
    ("rule", "steps"),
    [("forall path: length >= 2", [1, 2, 1, 1]), ("leaves >= 4", [1, 2, 1, 1, 5])],
)
def test_fewer_rows_may_have_no_tree_or_fewer_leaves(
    rule: str, steps: list[int], tmp_path: Path
) -> None:
    """First `a <= 1` is tried, with one row behind it; the only tree begins with `a <= 0`."""
    frame: dict[str, Any] = {"a": [0, 0, 1, 2], "b": [0, 1, 1, 1], "y": list("pqqp")}
    spec = "data frame target y: class feature a, b: number tree depth <= 2 minimize errors"
    path = tmp_path / "a.cert"
    result = odtdsl.solve(f"{spec} rule r: {rule}", frame=frame, using="exact", proof=path)
    assert result.objective == 0
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")
    head, text, _ = pieces(path)
    path.write_bytes(head + text + as_bytes(steps))  # a claim of value 1, a scale, a multiplier
    assert "a tree that keeps the rules loses less than is claimed" in refused(path).stdout


@pytest.mark.parametrize("seeds", blocks(250, 25), ids=lambda seeds: f"{seeds[0]}")
def test_bounds_of_many_tests_are_carried_no_further_than_they_hold(
    seeds: range, tmp_path: Path
) -> None:
    """Two columns of numbers tell most classes together: a claim of one error more is refused."""
    spec = "data frame target y: class feature a, b: number tree depth <= 2 minimize errors"
    path = tmp_path / "a.cert"
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 40))
        x = rng.integers(0, n, (n, 2))
        y = (x[:, 0] > n // 2) ^ (x[:, 1] > n // 3) ^ (rng.random(n) < 0.15)
        frame: dict[str, Any] = {"a": x[:, 0].tolist(), "b": x[:, 1].tolist()}
        frame["y"] = ["nm"[int(one)] for one in y]
        odtdsl.solve(f"{spec} rule used: uses(a)", frame=frame, using="exact", proof=path)
        assert checked(path).stdout.endswith("certified: the tree is optimal\n")
        head, text, steps = pieces(path)
        values = numbers(steps)
        if values[2] == 0:  # of a tree without errors nothing else is told
            continue
        values[2] += 1
        path.write_bytes(head + text + as_bytes(values))
        assert "loses less than is claimed" in refused(path).stdout, f"seed {seed}"


def test_a_problem_must_say_its_depth(tmp_path: Path) -> None:
    path = tmp_path / "a.cert"
    frame = {"x": [1, 2, 3, 4], "y": ["n", "p", "n", "p"]}
    spec = "data frame target y tree depth <= 1 minimize depth"
    odtdsl.solve(spec, frame=frame, using="exact", proof=path)
    _, text, steps = pieces(path)
    body = text.replace(b"depth\t1\n", b"")
    path.write_bytes(MAGIC + f"{len(body)}\n".encode() + body + steps)
    told = checked(path)
    assert (told.returncode, "are missing" in told.stderr) == (2, True)
