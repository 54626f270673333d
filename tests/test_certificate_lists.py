"""Certificates of lists: no tree is missing that is as good as the best, or nearly so."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scale import blocks, scaled
from test_certificate_rules import Forgery, as_bytes, numbers
from test_certificates import checked, few_valued, measured, odt, pieces, spec_of
from test_certificates_damaged import damaged
from test_every_term import MIXED, NAMES, PLAIN, PLAIN_PATHS, Case, case
from test_near_optimal import MOST_TREES, OPEN_ENDS, within
from tiny_tables import Leaf, Model, TooMany

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.alternatives import alternatives
from odtdsl.driver.near import parse_near
from odtdsl.insight.proofs import listing
from odtdsl.insight.proofs.certificate import MAGIC
from odtdsl.insight.proofs.covered import uncovered_lists
from odtdsl.problem.terms.normalize import normalize

NEARS = [None, None, Fraction(0), Fraction(1, 4), Fraction(1), Fraction(2), Fraction(4)]


def idle(model: Model) -> bool:
    """Whether a split has two leaves of one class."""
    if isinstance(model.root, Leaf):
        return False
    _, left, right = model.root
    if isinstance(left.root, Leaf) and isinstance(right.root, Leaf):
        return left.root.label == right.root.label
    return idle(left) or idle(right)


def shape(model: Model) -> tuple[object, ...]:
    """The same for trees that are one: where no cell is missing, its side says nothing."""
    if isinstance(model.root, Leaf):
        return (model.root.label,)
    split, left, right = model.root
    test = (split.test.column, split.test.kind, split.test.low, split.test.high, split.left_rows)
    return (test, shape(left), shape(right))


def certified(one: Case, near: Fraction | None, path: Path) -> str:
    """Whether the certificate of a random problem's list has as many trees as brute force."""
    if OPEN_ENDS.search(one.text):
        return "passed over"
    analysis = one.spec.analyse(frame=one.tiny.frame)
    if uncovered_lists(normalize(analysis.rows)):
        return "passed over"
    tolerance = None if near is None else parse_near(str(float(near)))
    try:
        found = alternatives(analysis, near=tolerance, most=10_000)
    except OdtError as problem:
        if {d.code for d in problem.diagnostics} <= {"B102", "B103"}:
            return "refused"
        raise
    try:
        one = replace(one, models=one.tiny.models(MOST_TREES, both_sides=True))
    except TooMany:
        return "passed over"
    models = within(one, near)
    if not models:
        with pytest.raises(OdtError, match="P201"):
            found.certify(path)
        return "infeasible"
    shown = found.certify(path).certificate
    said = f"near {near}\n{one}"
    assert shown is not None, said
    assert shown.certified, said
    told = checked(path).stdout
    assert told.endswith("certified: these are all the trees\n"), f"{told}\n{said}"
    if "splits of two leaves of one class" in told:
        models = [model for model in models if not idle(model)]
    count = sum(int(line.split()[2]) for line in told.splitlines() if line.startswith("count: "))
    expected = len({shape(model) for model in models})
    assert (count, count) == (expected, found.raw), f"{told}\n{said}"
    return "several" if count > 1 else "one"


@pytest.mark.parametrize("seeds", blocks(200, 2, part=0.1), ids=lambda seeds: f"{seeds[0]}")
def test_certified_lists_are_those_of_brute_force(seeds: range, tmp_path: Path) -> None:
    """Under a rule of each term, under several, and without any."""
    told = []
    for seed in seeds:
        for name in (*NAMES, MIXED, PLAIN, PLAIN_PATHS):
            rng = random.Random(f"{name} {seed}")
            told.append(certified(case(name, f"all {seed}"), rng.choice(NEARS), tmp_path / "a"))
    assert told.count("several") > 2 * len(seeds), told


@pytest.mark.parametrize("seed", range(scaled(200)))
def test_lists_of_larger_tables_are_certified(seed: int, tmp_path: Path) -> None:
    """Where bounds leave out tests: of more rows, levels and classes, with weights and prices."""
    rng = np.random.default_rng(seed)
    spec, frame = (spec_of, few_valued)[seed % 2](rng)
    spec = re.sub("depth <= [45]", "depth <= 3", spec)
    near = ["0.5", "1", "0.02"][seed % 3]
    path = tmp_path / "a.cert"
    found = odtdsl.alternatives(spec, frame=frame, near=near, only_count=True, proof=path, most=1)
    if found.status == "infeasible" or not found.raw or found.raw > 100_000:
        return
    told = checked(path).stdout
    assert told.endswith("certified: so many trees are all there are\n"), f"{told}\n{spec}"
    assert f"claim: {found.raw} tree" in told
    counts = [line.split()[2] for line in told.splitlines() if line.startswith("count: ")]
    assert counts == [str(trees) for _, trees in found.counts], f"{told}\n{found.counts}"


def trees_of(lines: list[str]) -> list[list[str]]:
    """The lines of each tree of a certificate."""
    own = [line for line in lines if line.startswith(("leaf\t", "split\t"))]
    own.reverse()

    def tree() -> list[str]:
        line = own.pop()
        return [line] if line.startswith("leaf") else [line, *tree(), *tree()]

    found = []
    while own:
        found.append(tree())
    return found


def without_trees(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith(("leaf\t", "split\t"))]


def left_out(lines: list[str], _: list[int]) -> None:
    trees = trees_of(lines)
    del trees[len(trees) // 2]
    lines[:] = [*without_trees(lines), *(line for tree in trees for line in tree)]


def told_twice(lines: list[str], _: list[int]) -> None:
    lines.extend(trees_of(lines)[-1])


def a_worse_one_added(lines: list[str], _: list[int]) -> None:
    """Of an admitted tree the classes are turned round."""
    for line in trees_of(lines)[0]:
        word, label = line.split("\t")[:2]
        lines.append(f"leaf\t{1 - int(label)}\n" if word == "leaf" else line)


def altered(lines: list[str], _: list[int]) -> None:
    at = next(i for i, line in enumerate(lines) if line.startswith("leaf\t"))
    lines[at] = f"leaf\t{1 - int(lines[at].split()[1])}\n"


def altered_test(lines: list[str], _: list[int]) -> None:
    at = next(i for i, line in enumerate(lines) if line.startswith("split\t"))
    lines[at] = "\t".join([*lines[at].split("\t")[:2], "-7.0\n"])


def none_told(lines: list[str], _: list[int]) -> None:
    lines[:] = without_trees(lines)


def of_better_ones(lines: list[str], _: list[int]) -> None:
    at = next(i for i, line in enumerate(lines) if line.startswith("all\t"))
    fields = lines[at].split("\t")
    fields[3] = f"{int(fields[3]) - 1}\n"
    lines[at] = "\t".join(fields)


def of_shallower_ones(lines: list[str], _: list[int]) -> None:
    at = next(i for i, line in enumerate(lines) if line.startswith("all\t"))
    fields = lines[at].split("\t")
    fields[1] = str(int(fields[1]) - 1)
    lines[at] = "\t".join(fields)


def counted_more(lines: list[str], _: list[int]) -> None:
    count = len(trees_of(lines)) + 1
    lines[:] = [*without_trees(lines), f"count\t{count}\n"]


def counted_less(lines: list[str], _: list[int]) -> None:
    count = len(trees_of(lines)) - 1
    lines[:] = [*without_trees(lines), f"count\t{count}\n"]


def steps_left_out(_: list[str], values: list[int]) -> None:
    values.pop()


def steps_that_go_on(_: list[str], values: list[int]) -> None:
    values.append(1)


FORGED: dict[str, tuple[Forgery, str]] = {
    "a tree left out": (left_out, "missing from the list"),
    "a tree told twice": (told_twice, "listed twice"),
    "a worse tree added": (a_worse_one_added, ""),
    "a leaf altered": (altered, ""),
    "a test altered": (altered_test, "parts nothing"),
    "no tree told": (none_told, "missing from the list"),
    "a better value": (of_better_ones, ""),
    "less depth": (of_shallower_ones, ""),
    "a count of one more": (counted_more, "more trees than counted"),
    "a count of one less": (counted_less, "more trees than counted"),
    "steps left out": (steps_left_out, "ends too early"),
    "steps that go on": (steps_that_go_on, "bytes follow"),
}


def rewritten(path: Path, text: str, values: list[int]) -> None:
    body = text.encode()
    path.write_bytes(MAGIC + f"{len(body)}\n".encode() + body + as_bytes(values))


def two_classes(rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """A spec without rules, or under rules on sizes, leaves, thresholds and measures."""
    if rng.random() < 0.3:
        return measured(rng)
    frame: dict[str, Any] = {f"x{i}": rng.integers(0, 5, 24).tolist() for i in range(3)}
    frame["y"] = [f"c{k}" for k in rng.integers(0, 2, 24)]
    rules = ("", "rule a: forall leaf: size >= 3", "rule b: leaves <= 3", "rule c: leaves <= 5")
    cut = "rule d: forall split: threshold(x0) <= 3" if rng.random() < 0.3 else ""
    depth, some = rng.integers(1, 4), rules[int(rng.integers(4))]
    return f"data frame target y: class tree depth <= {depth} minimize errors {some} {cut}", frame


def count(spec: str, frame: dict[str, Any], near: str | None) -> int:
    """How many trees are listed: to count them takes less than to audit each."""
    return odtdsl.alternatives(spec, frame=frame, near=near, only_count=True).raw or 0


@pytest.mark.parametrize("seed", range(scaled(100)))
def test_forged_lists_are_refused(seed: int, tmp_path: Path) -> None:
    """A tree left out, added or altered, another value or count, and other steps."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "a.cert"
    spec, frame = two_classes(rng)
    near = [None, "1 error", "3 errors"][int(rng.integers(3))]
    if not 0 < count(spec, frame, near) <= 5000:
        return
    found = odtdsl.alternatives(spec, frame=frame, near=near, proof=path, most=5000)
    assert (found.complete, found.status) == (True, "optimal")
    assert odtdsl.check_proof(path, spec, frame=frame)
    _, text, steps = pieces(path)
    if "count\t" in text.decode():  # too many to be told
        return
    for what, (forge, why) in FORGED.items():
        lines, values = text.decode().splitlines(keepends=True), numbers(steps)
        if what == "a test altered" and not any(line.startswith("split\t") for line in lines):
            continue
        forge(lines, values)
        rewritten(path, "".join(lines), values)
        told = checked(path)
        assert told.returncode != 0, f"{what}: {told}\n{spec}"
        assert "certified" not in told.stdout, f"{what}: {told}"
        assert why in told.stdout + told.stderr, f"{what}: {told}"


@pytest.mark.parametrize("seed", range(scaled(100)))
def test_a_larger_value_is_certified_only_with_its_trees(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    path = tmp_path / "a.cert"
    spec, frame = two_classes(rng)
    if "then" in spec:
        spec = spec.replace(" then leaves", "")
    if not 0 < (best := count(spec, frame, None)) <= 5000:
        return
    odtdsl.alternatives(spec, frame=frame, proof=path, most=5000)
    more = count(spec, frame, "1 error")
    _, text, steps = pieces(path)
    lines = text.decode().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith("all\t"))
    fields = lines[at].split("\t")
    lines[at] = "\t".join([*fields[:3], f"{int(fields[3]) + 1}\n"])
    rewritten(path, "".join(lines), numbers(steps))
    told = checked(path)
    assert ("certified: these" in told.stdout) == (more == best), told
    assert told.returncode == int(more != best), told


FLOWERS = """data "rows.csv" target y tree depth <= 2 minimize errors then leaves"""


def test_lists_are_certified_by_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written, told and audited; of a list that is not complete it is said why not."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    lines = ["a,b,y", *(f"{rng.integers(9)},{rng.integers(9)},{k % 2}" for k in range(40))]
    Path("rows.csv").write_text("\n".join(lines))
    Path("s.odt").write_text(FLOWERS)
    near = ("--near", "2 errors")
    ran = odt("solve", "s.odt", *near, "--proof", "a.cert")
    found = odtdsl.load("s.odt").alternatives(near="2 errors")
    assert found.complete
    assert found.raw is not None
    assert found.raw > found.distinct > 5
    assert f"certificate that these are all {found.raw} trees: a.cert" in ran.stdout
    audited = odt("audit", "s.odt", "--proof", "a.cert")
    assert f"{found.raw} trees of depth at most 2 are no worse than errors" in audited.stdout
    assert f"{found.distinct} where those that predict alike count once" in audited.stdout
    for value, trees in found.counts:
        assert f"{trees} of them with errors = {value}\n" in audited.stdout
    assert "certified: these are all the trees" in audited.stdout
    sampled = odt("audit", "s.odt", "--proof", "a.cert", "--sample", "20%")
    assert "sampled: of the tests that were tried" in sampled.stdout
    assert odt("solve", "s.odt", "--out", "best.json").exit_code == 0
    assert (
        "so the tree is optimal" in odt("audit", "s.odt", "best.json", "--proof", "a.cert").stdout
    )
    told = json.loads(odt("solve", "s.odt", *near, "--proof", "b.cert", "--json").stdout)
    assert told["proof"]["trees"] == found.raw
    assert told["proof"]["named"]
    counted = odt("solve", "s.odt", *near, "--count", "--proof", "c.cert")
    assert f"certificate that there are {found.raw} trees: c.cert" in counted.stdout
    audited = odt("audit", "s.odt", "--proof", "c.cert")
    assert "certified: so many trees are all there are" in audited.stdout
    assert "count once" not in audited.stdout
    fewer = odt("solve", "s.odt", *near, "--most", "3", "--proof", "d.cert")
    assert (fewer.exit_code, "P201" in fewer.stderr, "`--most`" in fewer.stderr) == (0, True, True)
    assert not Path("d.cert").exists()
    Path("s.odt").write_text(FLOWERS + " rule one: same_leaf(0, 1)")
    refused = odt("solve", "s.odt", *near, "--proof", "e.cert")
    assert (refused.exit_code, "rule `one`: rows that" in refused.stderr) == (1, True)
    Path("s.odt").write_text(FLOWERS)
    assert "also of lists" in odt("plan", "s.odt").stdout


def test_lists_are_certified_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame: dict[str, Any] = {"a": [0, 0, 1, 1, 2], "b": [0, 1, 0, 1, 1], "y": list("npnpp")}
    spec = "data frame target y tree depth <= 2 minimize errors"
    found = odtdsl.alternatives(spec, frame=frame, near=1)
    shown = found.certify(within="1 min")
    assert shown.certificate is not None
    assert shown.certificate.certified
    assert "certified by odtcheck" in str(shown)
    assert shown.to_json()["certificate"]["certified"]
    assert found.certificate is None
    counted = odtdsl.alternatives(spec, frame=frame, near=1, only_count=True).certify()
    assert counted.certificate is not None
    assert counted.certificate.certified
    assert found.raw is not None
    with pytest.raises(OdtError, match="trees were counted"):
        replace(found, raw=found.raw + 1).certify()
    few = odtdsl.alternatives(spec, frame=frame, near=1, most=1, proof=tmp_path / "a.cert")
    assert [one.code for one in few.result.warnings] == ["P201"]
    with pytest.raises(OdtError, match="P201"):
        few.certify()
    with pytest.raises(OdtError, match="P203"):
        odtdsl.alternatives(
            f"{spec} rule r: same_leaf(0, 1)", frame=frame, proof=tmp_path / "b.cert"
        )
    monkeypatch.setattr(listing, "MOST_NAMED", 3)
    shown = found.certify(tmp_path / "c.cert")
    assert shown.certificate is not None
    assert shown.certificate.certified
    assert f"count\t{found.raw}\n".encode() in (tmp_path / "c.cert").read_bytes()


@pytest.mark.parametrize("leaves", [1, 2, 3])
def test_lists_of_few_leaves_are_checked_soon(leaves: int, tmp_path: Path) -> None:
    """Many trees of more leaves are as good, but none of them is looked at."""
    rng = np.random.default_rng(0)
    frame: dict[str, Any] = {f"x{i}": rng.permutation(60).tolist() for i in range(3)}
    frame["y"] = [f"c{k}" for k in rng.integers(0, 2, 60)]
    spec = f"""data frame target y: class tree depth <= 3, leaves <= {leaves} minimize errors
    rule r: forall path: length != 1"""
    path = tmp_path / "a.cert"
    found = odtdsl.alternatives(spec, frame=frame, proof=path)
    assert found.raw == 1
    assert checked(path).stdout.endswith("certified: these are all the trees\n")


@pytest.mark.parametrize("seed", range(scaled(100)))
def test_lists_of_the_least_depth_and_of_several_stages(seed: int, tmp_path: Path) -> None:
    """No shallower tree is claimed not to exist; later stages are free beside a tolerance."""
    rng = np.random.default_rng(seed)
    frame: dict[str, Any] = {f"x{i}": rng.integers(0, 3, 14).tolist() for i in range(2)}
    frame["y"] = [f"c{k}" for k in rng.integers(0, 2, 14)]
    frame["y"] = [f"c{int(a + b > 2)}" for a, b in zip(frame["x0"], frame["x1"], strict=True)]
    stages = ("depth then leaves", "depth", "errors then leaves", "leaves then errors")
    stage = stages[int(rng.integers(4))]
    rule = "rule right: errors = 0" if "errors" not in stage else ""
    spec = f"data frame target y: class tree depth <= 4 minimize {stage} {rule}"
    near = [None, 1][int(rng.integers(2))]
    path = tmp_path / "a.cert"
    found = odtdsl.alternatives(spec, frame=frame, near=near, most=10**6, proof=path)
    assert found.status in ("optimal", "infeasible")
    if found.status == "infeasible" or not path.exists():
        assert found.result.warnings
        return
    told = checked(path).stdout
    assert told.endswith(("certified: these are all the trees\n", "all there are\n")), told
    assert f"claim: {found.raw} tree" in told
    assert ("values: " in told) == ("depth then" not in stage and stage != "depth"), told


@pytest.mark.nightly
def test_bytes_crash_nothing_with_sanitizers(tmp_path: Path) -> None:
    for seed in range(40):
        spec, frame = two_classes(np.random.default_rng(seed))
        near = [None, "1 error"][seed % 2]
        odtdsl.alternatives(spec, frame=frame, near=near, proof=tmp_path / f"{seed}.cert", most=300)
    damaged(tmp_path, scaled(50_000))


def test_a_list_of_trees_of_numbers_is_refused_before_the_search(tmp_path: Path) -> None:
    """There is none, with or without a certificate."""
    (tmp_path / "rows.csv").write_text("x,y\n1,1\n2,2\n3,2\n")
    spec = tmp_path / "s.odt"
    spec.write_text('data "rows.csv" target y: number tree depth <= 1 minimize mse')
    words = ("solve", str(spec), "--all-optimal")
    assert "listed only for class targets" in odt(*words).output
    told = odt(*words, "--proof", str(tmp_path / "a.cert")).output
    assert "only trees of classes can be listed" in told
    assert "omit" not in told
    assert "only trees of classes can be listed" in odt("plan", str(spec)).output
