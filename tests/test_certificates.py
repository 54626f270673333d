"""Certificates of `exact`: right ones are accepted, forged ones refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scale import blocks, scaled
from test_every_term import PLAIN, PLAIN_PATHS, case, core_of, solved

import odtdsl
from odtdsl.driver import pipeline
from odtdsl.insight.proofs.certificate import MAGIC, checker
from odtdsl.insight.proofs.covered import uncovered
from odtdsl.interfaces.cli.main import app
from odtdsl.problem.terms.normalize import normalize

STAGES = ("errors", "errors then leaves", "errors + 2 * leaves", "accuracy", "depth then errors")


def checked(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    rows = f"{path}.csv"
    return subprocess.run(
        [checker(), path, rows, *words], capture_output=True, text=True, errors="replace"
    )


def odt(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def spec_of(rng: np.random.Generator) -> tuple[str, dict[str, list[float | str]]]:
    n, p = int(rng.integers(8, 50)), int(rng.integers(1, 4))
    frame: dict[str, list[float | str]] = {
        f"x{i}": rng.integers(0, int(rng.integers(2, 15)), n).astype(float).tolist()
        for i in range(p)
    }
    frame["y"] = [f"c{k}" for k in rng.integers(0, int(rng.integers(2, 4)), n)]
    frame["y"][:2] = ["c0", "c1"]
    stage = STAGES[int(rng.integers(4))]
    direction = "maximize" if stage == "accuracy" else "minimize"
    lines = [
        f"data frame target y: class tree depth <= {rng.integers(1, 5)}",
        f"{direction} {stage}",
    ]
    if rng.random() < 0.4:
        lines.append(f"rule big: forall leaf: size >= {rng.integers(2, 6)}")
    if rng.random() < 0.4:
        lines.append(f"rule few: leaves <= {rng.integers(2, 9)}")
    if rng.random() < 0.3:
        lines.append("rule cut: forall split: threshold(x0) <= 5")
    return "\n".join(lines), frame


def measured(rng: np.random.Generator, least: str = "60%") -> tuple[str, dict[str, Any]]:
    """Rules on a measure of a group, leaves, and features that must be used."""
    frame: dict[str, Any] = {f"x{i}": rng.integers(0, 5, 30).tolist() for i in range(3)}
    frame["y"] = [f"c{k}" for k in rng.integers(0, 2, 30)]
    frame["y"][:4] = ["c0", "c1", "c0", "c1"]
    for i in range(3):
        frame[f"x{i}"][:4] = [2, 2, 2, 2]  # no tree parts them
    lines = [
        "data frame target y: class group these = x0 >= 2",
        "tree depth <= 2 minimize errors then leaves",
        f'rule one: recall("c0") >= {least} rule two: accuracy(these) >= 50% or uses(x1)',
        "rule three: forall leaf: size >= 2",
    ]
    return "\n".join(lines), frame


def without_a_tree(rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """Rules that no tree keeps."""
    spec, frame = measured(rng, "100%")
    return f'{spec} rule four: recall("c1") >= 100%', frame


def squared(rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """Two numbers, and a rule on what leaves predict."""
    frame: dict[str, Any] = {f"x{i}": rng.integers(0, 5, 20).tolist() for i in range(2)}
    frame |= {name: np.round(rng.normal(2, 2, 20), 1).tolist() for name in "yz"}
    head = "data frame target y, z: number tree depth <= 2 minimize mse"
    return f"{head} rule r: forall leaf: if y < 2 then z = 0", frame


def pieces(path: Path) -> tuple[bytes, bytes, bytearray]:
    """Head, text and steps of a certificate."""
    raw = path.read_bytes()
    head, _, rest = raw[len(MAGIC) :].partition(b"\n")
    return MAGIC + head + b"\n", rest[: int(head)], bytearray(rest[int(head) :])


@pytest.mark.parametrize("seed", range(scaled(400)))
def test_random_optima_are_certified_and_forged_ones_refused(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    spec, frame = spec_of(rng)
    path = tmp_path / "a.cert"
    result = odtdsl.solve(spec, frame=frame, using="exact", proof=path)
    told = checked(path)
    if result.status == "infeasible":
        assert "certified: no tree keeps the rules" in told.stdout or "refused" in told.stdout
        return
    assert result.status == "optimal"
    assert told.stdout.endswith("certified: the tree is optimal\n"), told.stdout
    forged(path)


def forged(path: Path) -> None:
    """A certificate of one claim is refused with a bound that is one too high."""
    head, text, steps = pieces(path)
    if steps[0] != 1 or steps[2] >= 127:
        return
    steps[2] += 1  # after the number of claims and the depth
    path.write_bytes(head + text + steps)
    refused(path)


def refused(path: Path) -> subprocess.CompletedProcess[str]:
    """What is said of a false claim, which is refused by the rules.

    A bound that they let pass is refused only because a better tree stands in the same file.
    """
    told = checked(path)
    assert (told.returncode, "refused" in told.stdout) == (1, True), told.stdout
    assert "a mistake of this checker" not in told.stdout, told.stdout
    return told


def few_valued(rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """A spec of 0/1 features, some of them twice or negated, or of features with a few values."""
    n, p = int(rng.integers(8, 70)), int(rng.integers(2, 7))
    values = 2 if rng.random() < 0.7 else int(rng.integers(2, 5))
    frame: dict[str, Any] = {f"x{i}": rng.integers(0, values, n).tolist() for i in range(p)}
    frame["same"] = frame["x0"]
    frame["other"] = [values - 1 - value for value in frame["x1"]]
    frame["w"] = rng.integers(1, 4, n).tolist()
    frame["y"] = [f"c{k}" for k in rng.integers(0, int(rng.integers(2, 4)), n)]
    frame["y"][:2] = ["c0", "c1"]
    numbers = "feature " + ", ".join(f"x{i}" for i in range(p)) + ", same, other: number"
    heavy = "weight w" if rng.random() < 0.3 else "drop w"
    lines = [
        f"data frame target y: class {numbers} {heavy} tree depth <= {rng.integers(3, 6)}",
        f"minimize {STAGES[int(rng.integers(3))]}",
    ]
    if rng.random() < 0.3:
        lines.append(f"rule few: leaves <= {rng.integers(4, 12)}")
    return "\n".join(lines), frame


@pytest.mark.parametrize("seed", range(scaled(400)))
def test_optima_on_bit_sets_are_certified(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "a.cert"
    spec, frame = few_valued(np.random.default_rng(seed))
    result = odtdsl.solve(spec, frame=frame, using="exact", proof=path)
    assert result.status == "optimal"
    told = checked(path)
    assert told.stdout.endswith("certified: the tree is optimal\n"), told.stdout
    forged(path)


@pytest.mark.parametrize("seed", range(scaled(300)))
def test_what_several_threads_find_is_certified(seed: int, tmp_path: Path) -> None:
    """By scans, on bit sets, under rules, and of numbers."""
    path = tmp_path / "a.cert"
    rng = np.random.default_rng(seed)
    spec, frame = (spec_of, few_valued, measured, squared)[seed % 4](rng)
    one = odtdsl.solve(spec, frame=frame, using="exact", threads=1)
    result = odtdsl.solve(spec, frame=frame, using="exact", threads=3, proof=path)
    assert result.status == one.status
    assert result.objective == pytest.approx(one.objective)
    if result.status == "optimal":
        assert checked(path).stdout.endswith("certified: the tree is optimal\n"), spec
        if seed % 4 < 2:
            forged(path)


@pytest.mark.parametrize("seed", range(scaled(60, least=8)))
def test_what_the_search_for_good_trees_ends_is_certified(seed: int, tmp_path: Path) -> None:
    """A tree that loses no more than rows do which no test parts: often before any proof begins."""
    path = tmp_path / "a.cert"
    rng = np.random.default_rng(seed)
    x = rng.random((int(rng.integers(30, 200)), 3)).round(2)
    label = (x[:, 0] > 0.4) ^ (x[:, 1] > 0.6)
    x[:2] = x[2]
    label[:3] = [False, True, bool(rng.integers(2))]
    frame: dict[str, Any] = {f"x{i}": x[:, i].tolist() for i in range(3)}
    frame["y"] = [f"c{int(one)}" for one in label]
    spec = f"data frame target y: class tree depth <= {4 + seed % 2} minimize errors"
    result = odtdsl.solve(spec, frame=frame, using="exact", proof=path)
    assert (result.status, result.objective) == ("optimal", 1)
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")


@pytest.mark.parametrize("seed", range(scaled(40, least=8)))
def test_the_log_of_several_threads_does_not_depend_on_their_speed(
    seed: int, tmp_path: Path
) -> None:
    """At depth three, where no other search tells its trees in between."""
    rng = np.random.default_rng(seed)
    frame: dict[str, Any] = {f"x{i}": rng.integers(0, 50, 100).tolist() for i in range(3)}
    frame["y"] = [f"c{k}" for k in rng.integers(0, 2, 100)]
    spec = "data frame target y: class tree depth <= 3 minimize errors"
    if seed % 2:
        spec += " rule big: forall leaf: size >= 3"
    told: list[bytes] = []
    for threads in (2, 3, 3, 3):
        path = tmp_path / "a.cert"
        result = odtdsl.solve(spec, frame=frame, using="exact", threads=threads, proof=path)
        assert result.status == "optimal"
        assert checked(path).stdout.endswith("certified: the tree is optimal\n")
        told.append(bytes(pieces(path)[2]))
    assert len(told[1]) > 10
    assert told[1] == told[2] == told[3]


@pytest.mark.parametrize("name", [PLAIN, PLAIN_PATHS])
@pytest.mark.parametrize("seeds", blocks(1000, 50, part=0.25), ids=lambda seeds: f"{seeds[0]}")
def test_certificates_agree_with_brute_force(name: str, seeds: range, tmp_path: Path) -> None:
    """Weights, costs, prices, sizes and paths: what is certified is the least of all trees."""
    path = tmp_path / "a.cert"
    shown = 0
    for seed in seeds:
        case_ = case(name, seed)
        if uncovered(core_of(case_)):
            continue
        status = solved(case_, "exact", proof=path)
        if not path.exists():  # refused before any search
            assert status in ("infeasible", "refused"), case_
            continue
        told = checked(path).stdout
        wanted = "the tree is optimal" if status == "optimal" else "no tree keeps the rules"
        assert told.endswith(f"certified: {wanted}\n") or status == "refused", f"{told}\n{case_}"
        shown += status == "optimal"
        path.unlink()
    assert shown > len(seeds) / 10


def test_where_nothing_writes_a_proof_the_certificate_says_why(tmp_path: Path) -> None:
    """Not `sat`, which nobody asked for, and which other back ends stand in for without a proof."""
    frame: dict[str, list[Any]] = {"x": [1, 2, 3, 4], "z": [1, 1, 2, 2], "y": list("abab")}
    spec = "data frame target y cost * = 1 tree depth <= 2 minimize errors then expected_cost"
    with pytest.raises(odtdsl.OdtError, match="P203") as refused:
        odtdsl.solve(spec, frame=frame, proof=tmp_path / "a.cert")
    assert "the expected cost of paths in the objective" in str(refused.value)


def test_results_and_estimators_are_certified(tmp_path: Path) -> None:
    """The tree of another back end is, too; what is not covered is refused before the search."""
    from odtdsl import OptimalTreeClassifier

    rng = np.random.default_rng(3)
    x = rng.integers(0, 9, (40, 2))
    y = (x[:, 0] + x[:, 1] + rng.integers(0, 5, 40) > 9).astype(int)
    frame = {"a": x[:, 0].tolist(), "b": x[:, 1].tolist(), "y": [f"c{k}" for k in y]}
    spec = "data frame target y: class tree depth <= 2 minimize errors"
    result = odtdsl.solve(spec, frame=frame, using="milp")
    shown = result.certify(tmp_path / "a.cert", within="1 min")
    assert shown.certificate is not None
    assert shown.certificate.certified
    assert "certified by odtcheck" in str(shown)
    assert "certified by odtcheck" not in str(result)
    assert checked(tmp_path / "a.cert").stdout.endswith("certified: the tree is optimal\n")
    shown.report(tmp_path / "r.html")
    assert "certified by odtcheck" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert shown.to_json()["certificate"]["file"] == str(tmp_path / "a.cert")
    assert "certificate" not in result.to_json()
    with patch("odtdsl.driver.pipeline.solve", wraps=pipeline.solve) as searched:
        tree = OptimalTreeClassifier(max_depth=2, certify=True).fit(x, y)
    assert searched.call_count == 1
    assert tree.result_.certificate is not None
    assert tree.result_.certificate.certified
    with pytest.raises(odtdsl.OdtError, match="P203"):
        OptimalTreeClassifier(["increasing(x0)"], max_depth=2, certify=True).fit(x, y)
    with pytest.raises(odtdsl.OdtError, match="P204"):
        odtdsl.solve(spec, frame=frame, using="greedy").certify()
    with pytest.raises(odtdsl.OdtError, match="P204"):
        result.without_rows().certify()


def test_only_optimal_trees_are_certified() -> None:
    """A tree that is worse, or a result that claims more than there is, is not."""
    from dataclasses import replace

    frame: dict[str, list[Any]] = {"a": [1, 2, 3, 4, 5, 6], "y": list("ababbb")}
    spec = "data frame target y: class tree depth <= 2 minimize errors"
    better = odtdsl.solve(spec, frame=frame)
    worse = odtdsl.solve(spec.replace("2", "1"), frame=frame)
    with pytest.raises(odtdsl.OdtError, match="P109"):
        replace(better, model=worse.model).certify()


def test_a_third_party_reads_of_which_rows_it_is_and_the_tree_in_words(tmp_path: Path) -> None:
    """Tests of each kind; a name with a line end cannot pass for a verdict."""
    frame: dict[str, Any] = {
        "size": list("smlsmlsl"),
        "job": list("pqpqpqqp"),
        "n": [1, 2, 3, 4, 5, 6, 7, 8],
        "y": ["a\ncertified: x" if one == "a" else "b" for one in "abababba"],
    }
    lines: dict[str, None] = {}
    path = tmp_path / "a.cert"
    for feature in (
        'feature size: ordered {"s", "m", "l"} drop job, n',
        "drop size, n",
        "drop size, job",
    ):
        spec = f"data frame target y: class {feature} tree depth <= 3 minimize errors"
        odtdsl.solve(spec, frame=frame, using="exact", proof=path)
        told = checked(path).stdout.splitlines()
        assert told[0] == f"data: {path}.csv; what follows is about the rows of this file"
        assert told[-1] == "certified: the tree is optimal"
        lines |= dict.fromkeys(line.strip() for line in told)
    words = " / ".join(lines)
    for one in ("size is one of s", "job is ", "n <= ", "predicts a?certified: x"):
        assert one in words, words


def test_what_is_not_covered_is_said_by_the_names_of_its_rules(tmp_path: Path) -> None:
    frame: dict[str, Any] = {"a": [1, 2, 3, 4, 5, 6], "b": list("xyxyxz"), "y": list("ababab")}
    for rule, reason in (
        ("tests(a) <= 1", "prices of tests"),
        ("same_leaf(0, 1)", "rows that are compared with each other"),
    ):
        spec = f"data frame target y: class tree depth <= 2 minimize errors rule one: {rule}"
        with pytest.raises(odtdsl.OdtError, match="P203") as refused:
            odtdsl.solve(spec, frame=frame, using="exact", proof=tmp_path / "a.cert")
        assert f"rule `one`: {reason}" in str(refused.value), rule


def test_a_conflict_is_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a file that `odtcheck` checks; of what is not covered it is said why there is none."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    lines = ["a,b,y"]
    lines += [f"{rng.integers(9)},{rng.integers(9)},{'nm'[rng.integers(2)]}" for _ in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    head = (
        'data "rows.csv" target y tree depth <= 1 minimize leaves rule big: forall leaf: size >= 2'
    )

    def explained(rules: str) -> tuple[int, dict[str, Any]]:
        (tmp_path / "s.odt").write_text(f"{head} {rules}")
        ran = odt("explain", "s.odt", "--proof", "c.cert", "--json")
        return ran.exit_code, json.loads(ran.stdout)

    code, told = explained("rule right: errors = 0")
    assert (code, told["proof"]) == (3, {"file": "c.cert", "rows": "c.cert.csv"})
    path = tmp_path / "c.cert"
    assert checked(path).stdout.endswith("certified: no tree keeps the rules\n")
    assert (b"leaf rows\t2" in path.read_bytes()) == ("big" in str(told["conflicts"]))
    path.unlink()
    Path(f"{path}.csv").unlink()
    two = 'rule half: recall("n") >= 90% rule other: recall("m") >= 90%'
    code, told = explained(two)
    assert (code, told["proof"]) == (3, {"file": "c.cert", "rows": "c.cert.csv"})
    assert checked(path).stdout.endswith("certified: no tree keeps the rules\n")

    def audited(rules: str) -> Result:
        (tmp_path / "s.odt").write_text(f"{head} {rules}")
        return odt("audit", "s.odt", "--proof", "c.cert")

    ran = audited(two)
    assert (ran.exit_code, "of these rules only: half, other" in ran.stdout) == (0, True)
    assert "certified: no tree keeps the rules" in ran.stdout
    assert "only in the spec: rule `" in " ".join(audited(two.replace("90%", "80%")).stderr.split())
    assert "P104" in audited(two.replace("90%", "80%")).stderr
    assert "P104" in audited(two.replace("other", "another")).stderr
    path.unlink()
    Path(f"{path}.csv").unlink()
    code, told = explained("rule one: same_leaf(0, 1) rule other: different_leaf(0, 1)")
    assert (code, told["status"], told["proof"]) == (1, "infeasible", None)
    assert not path.exists()


def test_a_forbidden_category_has_no_test(tmp_path: Path) -> None:
    """Its equality tests stand in no certificate, or the tree would be worse than what they do."""
    frame: dict[str, Any] = {"c": list("ppqq"), "x": [1, 2, 1, 2], "y": list("aabb")}
    spec = "data frame target y: class tree depth <= 2 minimize errors rule no: not uses(c)"
    path = tmp_path / "a.cert"
    result = odtdsl.solve(spec, frame=frame, using="exact", proof=path)
    assert result.objective == 2
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")


def test_a_plan_says_whether_certificates_cover_a_spec(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("x,y\n1,a\n2,b\n3,b\n")
    spec = 'data "rows.csv" target y tree depth <= 1 minimize errors'
    for rule, says in (
        ("", "`--using exact --proof FILE` writes one"),
        (" rule kept: same_leaf(0, 1)", "not covered, rule `kept`"),
    ):
        (tmp_path / "s.odt").write_text(spec + rule)
        told = odt("plan", str(tmp_path / "s.odt"))
        assert told.exit_code == 0
        assert f"certificate: {says}" in told.stdout


LARGE = 2**53 - 1
"""What values of stages together reach at most: beyond that `--proof` is refused."""


@pytest.mark.parametrize(
    ("stages", "most", "rule"),
    [
        ("loss", LARGE // 4, ""),
        ("loss then leaves", (LARGE // 4 - 1) // 4, ""),
        ("loss + 2 * leaves", (LARGE - 6) // 4, "rule few: leaves <= 3"),
        ("{most} * leaves", (LARGE - 4) // 2, "rule few: leaves <= 2"),
        ("errors then {most} * leaves", (LARGE // 5 - 1) // 3, "rule few: leaves <= 3"),
        ("loss then errors", LARGE // 5 // 4 - 1, "rule used: uses(z)"),
    ],
)
def test_stages_are_certified_as_far_as_they_are_solved(
    stages: str, most: int, rule: str, tmp_path: Path
) -> None:
    """What is beyond the sums of the checker is refused before the search, nothing short of it."""
    frame: dict[str, Any] = {
        "x": list(range(8)),
        "z": [1, 1, 2, 2, 3, 3, 1, 1],
        "y": list("abbabaab"),
    }
    path = tmp_path / "a.cert"

    def written(most: int) -> str:
        costs = f'loss predict "b" when "a" = {most}' if "loss" in stages else ""
        spec = f"data frame target y: class tree depth <= 2 minimize {stages.format(most=most)}"
        return f"{spec} {costs} {rule}"

    def covered(most: int) -> bool:
        return not uncovered(normalize(odtdsl.parse(written(most)).analyse(frame=frame).rows))

    def certified(most: int) -> None:
        result = odtdsl.solve(written(most), frame=frame, using="exact", proof=path)
        assert result.status == "optimal"
        told = checked(path)
        assert told.stdout.endswith("certified: the tree is optimal\n"), told.stdout + told.stderr

    low, high = 1, 2 * most
    while high - low > 1:  # the largest that is covered
        middle = (low + high) // 2
        low, high = (middle, high) if covered(middle) else (low, middle)
    assert low > most // 4
    for amount in (1, low // 3, low - 1, low):
        certified(amount)


def test_rows_that_lose_nothing_are_certified_with_the_others(tmp_path: Path) -> None:
    """A test may part such a row only; bit sets do not know it, so they keep no log then."""
    frame: dict[str, Any] = {
        "a": [0, 0, 0.5, 0],
        "b": [1, 0, 0, 1],
        "y": list("nyzz"),
        "w": [1, 2, 0, 2],
    }
    spec = (
        "data frame target y: class weight w candidates b at bins 2"
        " tree depth <= 3 minimize errors + leaves"
    )
    path = tmp_path / "a.cert"
    assert odtdsl.solve(spec, frame=frame, using="exact", proof=path).status == "optimal"
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")


@pytest.mark.parametrize("seed", range(scaled(60, least=20)))
def test_rows_without_weight_leave_no_hole(seed: int, tmp_path: Path) -> None:
    """Also where a search ends as soon as it is down to rows that no test parts."""
    rng = np.random.default_rng(seed)
    n, depth = int(rng.integers(40, 90)), int(rng.integers(1, 5))
    features = {f"x{k}": rng.integers(0, 2, n).tolist() for k in range(4)}
    y = [f"c{k}" for k in (0, 1, 2, *rng.integers(0, 3, n - 3))]
    frame: dict[str, Any] = {**features, "y": y, "w": [1, 1, 1, *rng.integers(0, 4, n - 3)]}
    spec = f"data frame target y: class weight w tree depth <= {depth} minimize errors"
    path = tmp_path / "a.cert"
    assert odtdsl.solve(spec, frame=frame, using="exact", proof=path).status == "optimal"
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")
