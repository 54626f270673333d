"""The benchmark programs run, and what they measure has its place in the docs."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
import runpy
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from scale import scaled

from odtdsl.predictors.nodes import Branch, Leaf, Threshold, TreeNode
from odtdsl.predictors.tree import Tree

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "benchmarks" / "exact.py"
sys.path.insert(0, str(ROOT / "benchmarks"))

from measures import chart, cost, fairness, peers, published, report, specs, study  # noqa: E402
from stats import ranks  # noqa: E402


def printed_by(program: str, words: list[str], data: Path) -> str:
    """What a program of the folder prints: run in this process, where imports are paid once."""
    gc.freeze()  # the benchmarks look for garbage before each run, through all that is not frozen
    path, text = ROOT / "benchmarks" / program, io.StringIO()
    with (
        patch.dict(os.environ, {"ODTDSL_DATA": str(data)}),
        patch.object(sys, "argv", [str(path), *words]),
        patch.object(sys, "path", [str(path.parent), *sys.path]),
        contextlib.redirect_stdout(text),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # of means over a single split
        runpy.run_path(str(path), run_name="__main__")
    return text.getvalue()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one small set of every kind."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 9, (60, 5))
    for kind, cells, suffix in (
        ("continuous", numbers, "txt"),
        ("binary", numbers > 4, "csv"),
    ):
        (folder / kind).mkdir()
        labels = (numbers[:, 0] > 3) ^ (rng.random(60) < 0.1)
        np.savetxt(folder / kind / f"tiny.{suffix}", np.c_[labels, cells].astype(int), fmt="%d")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "continuous --no-peer --runs 1",
        "binary --no-peer --runs 1",
        "threads --runs 2",
        "gap --no-peer",
        "gap --no-peer --of rows --gap 0.2",
        "memory --no-peer --runs 1",
        "accuracy --splits 2 --depth 2",
        "accuracy --splits 1 --depth 2 --tune",
        "scaling --no-peer --rows 1000 --runs 1",
    ],
)
def test_a_measurement_prints_its_table(words: str, data: Path) -> None:
    what, *options = words.split()
    if what == "memory" and not Path("/proc/self/clear_refs").exists():
        pytest.skip("this system has no /proc/self/clear_refs, from which peaks of memory are read")
    chosen = [] if what == "scaling" else ["--sets", "tiny"]
    printed = printed_by("exact.py", [what, *chosen, *options], data)
    rows = [line.count("|") for line in printed.splitlines() if line.startswith("|")]
    assert len(rows) >= 3, printed
    assert rows[0] == rows[1] == rows[2]


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_regression_prints_its_table(loss: str, data: Path) -> None:
    options = ["--no-peer", "--runs", "1", "--depth", "2", "--loss", loss, "--sets", "tiny"]
    printed = printed_by("regression.py", options, data)
    assert sum(line.startswith("| tiny") for line in printed.splitlines()) == 1


def test_survival_trees_are_timed(data: Path) -> None:
    options = ["--no-peer", "--runs", "1", "--depth", "2", "--sets", "made up"]
    printed = printed_by("survival.py", options, data)
    assert sum(line.startswith("| made up | 1000 x") for line in printed.splitlines()) == 1


def test_policy_trees_of_numbers_are_timed(data: Path) -> None:
    printed = printed_by("policy.py", ["numbers", "--rows", "150", "--limit", "20"], data)
    assert printed.count("optimal") == 6


def test_policy_trees_are_as_good_as_those_of_pystreed(data: Path) -> None:
    pytest.importorskip("pystreed")
    count = scaled(200, least=4)
    printed = printed_by("policy.py", ["peers", "--count", str(count)], data)
    assert printed.count(f"| {count // 2} | {count // 2} |") == 4, printed


def test_forms_of_objective_are_all_proven(data: Path) -> None:
    printed = printed_by("objectives.py", ["--no-peer", "--runs", "1", "--depth", "2"], data)
    assert sum(line.startswith("| tiny") for line in printed.splitlines()) == 1
    assert "Depth 2; all 13 proven." in printed


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The CPTree study's folders with one small set, small case studies, and a set of numbers."""
    folder = tmp_path_factory.mktemp("studied")
    rng = np.random.default_rng(0)
    (folder / "cptree" / "tiny").mkdir(parents=True)
    for part in [f"{side}_{i}" for side in ("train", "test") for i in range(1, 6)]:
        numbers = rng.integers(0, 9, (40, 3))
        labels = (numbers[:, 0] > 3) ^ (rng.random(40) < 0.1)
        for kind, cells in (("cat_dis_holdout", numbers > 4), ("cat_num", numbers)):
            path = folder / "cptree" / "tiny" / f"tiny_{kind}_{part}.csv"
            table = np.c_[cells, labels].astype(int)
            np.savetxt(path, table, fmt="%d", delimiter=";", header="a;b;c;class", comments="")
    header = "dataset_name,step, time_taken,K,dl8.5_train,dl8.5_test\n"
    rows = "tiny,1,0.1,2,1.0,0.5\n"  # no tree of depth 2 is right about all rows
    path = folder / "cptree" / "tiny" / "published_DL85_cat_dis_holdout_tiny.csv"
    path.write_text(header + rows, encoding="utf-8")
    (folder / "cases").mkdir()
    cells = np.c_[rng.integers(30, 80, 60), rng.integers(58, 70, 60), rng.integers(0, 20, 60)]
    lines = [",".join(map(str, row)) + (",no" if row[2] > 6 else ",yes") for row in cells]
    text = "\n".join(["age,op_year,positive_nodes,survived", *lines]) + "\n"
    (folder / "cases" / "haberman.csv").write_text(text, encoding="utf-8")
    header = "race,age_cat,sex,priors_count,c_charge_degree,length_of_stay,recidivism"
    values = (
        ("african_american", "caucasian", "other"),
        ("under_25", "25_to_45", "over_45"),
        ("male", "female"),
        "1234",
        ("felony", "misdemeanor"),
        "12345",
        ("yes", "no"),
    )
    for part in ("train", "test"):
        cells = [",".join(str(rng.choice(list(of))) for of in values) for _ in range(40)]  # type: ignore[assignment]
        path = folder / "cases" / f"compas_{part}.csv"
        path.write_text("\n".join([header, *cells]) + "\n", encoding="utf-8")
    (folder / "continuous").mkdir()
    table = np.c_[labels, numbers].astype(int)
    np.savetxt(folder / "continuous" / "tiny.txt", table, fmt="%d")
    return folder


@pytest.mark.parametrize(
    ("words", "first", "says"),
    [
        ("cases.py --seeds 2 --depth 2 --sets haberman", "haberman", "every solve is proven"),
        ("cptree.py optima --depth 2 --no-peer", "tiny", "tiny: DL8.5, split 1 (100.00 >"),
        ("cptree.py numbers --depth 2 --no-peer", "tiny", "5 of 5 runs proven"),
        ("cptree.py accuracy --depth 2", "tiny", "Every optimal tree is proven"),
        ("rules.py against-milp --depth 1 --sets haberman", "haberman", "Equal optima on all 4"),
        pytest.param(
            "rules.py cost --depth 2 --sets tiny --runs 1",
            "tiny",
            "All proven",
            marks=pytest.mark.nightly,
        ),
        ("rules.py fairness --depth 2 --sets compas --no-peer", "compas", "All 6 decided"),
    ],
)
def test_a_study_prints_its_table(words: str, first: str, says: str, studied: Path) -> None:
    program, *options = words.split()
    printed = printed_by(program, options, studied)
    tables = _tables(printed)
    assert tables[0][2].startswith(f"| {first} |"), printed
    for table in tables:
        assert len(table) > 2, printed
        assert len({row.count("|") for row in table}) == 1, printed
    assert says in printed


def _tables(text: str) -> list[list[str]]:
    """The lines of each table; the second says `---`."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    heads = [at - 1 for at, row in enumerate(rows) if row.startswith("| --- ")]
    ends = [*heads[1:], len(rows)]
    return [rows[head:end] for head, end in zip(heads, ends, strict=True)]


def test_every_measured_table_has_its_place() -> None:
    page = (ROOT / "docs" / "explanation" / "cases-measured.md").read_text(encoding="utf-8")
    for depth in (2, 3, 4):
        for name in ("cptree-optima", "cptree-numbers", "cptree-test", "cptree-train"):
            assert page.count(f"<!-- measured {name}-{depth} -->") == 1
    for name in (
        "cases-3",
        "cases-4",
        "against-milp-2",
        "against-milp-3",
        "cost-3",
        "cost-rules-3",
        "fairness-3",
        "fairness-peer-3",
    ):
        assert page.count(f"<!-- measured {name} -->") == 1


def _tree(text: str) -> Tree:
    """`a(b, c)`: a split on a, below it on b and on c; `.` is a leaf."""

    def node(at: int) -> tuple[TreeNode, int]:
        if text[at] == ".":
            return Leaf(label=0, size=10), at + 1
        if at + 1 >= len(text) or text[at + 1] != "(":
            leaf = Leaf(label=0, size=10)
            return _branch(text[at], leaf, leaf), at + 1
        left, after = node(at + 2)
        right, after = node(after + 2)
        return _branch(text[at], left, right), after + 1

    return Tree(root=node(0)[0], features=(), targets=("y",), classes=(0, 1))


def _branch(feature: str, left: TreeNode, right: TreeNode) -> Branch:
    return Branch(
        feature=feature, test=Threshold(value=0.5), left=left, right=right, missing="left", size=80
    )


@pytest.mark.parametrize(
    ("tree", "pair", "together", "out_of_order"),
    [
        ("a(b, c)", "ab", True, False),
        ("a(b, c)", "ba", True, True),
        ("a(b, c)", "bc", False, False),
        ("a(b(a, .), c)", "ab", True, True),
        ("a(a(b, .), .)", "ab", True, False),
        ("a(., .)", "ab", False, False),
    ],
)
def test_what_a_tree_keeps(tree: str, pair: str, together: bool, out_of_order: bool) -> None:
    first, second = pair  # type: ignore[str-unpack]
    assert cost._together(_tree(tree), (first, second)) == together
    assert cost._out_of_order(_tree(tree), (first, second)) == out_of_order


def test_the_rules_whose_cost_is_measured_follow_from_the_free_optimum() -> None:
    cells = {name: np.arange(80) / 80 for name in "abcd"} | {"e": np.zeros(80)}
    found = [(rule.text, rule.breaks) for rule in cost.rules(_tree("a(b, c)"), cells)]
    low, high = (float(q) for q in np.quantile(cells["a"], [0.25, 0.75]))
    assert found == [
        ("forall path: not (uses(a) and uses(b))", True),
        ("forall path: not (uses(a) and uses(d))", False),
        ("forall path: b before a", True),
        ("forall path: a before b", False),
        (f"forall split: threshold(a) in [{low!r}, {high!r}]", False),
        ("forall leaf: size >= 1%", False),
        ("uses(d)", True),
        ("uses(a)", False),
        ("leaves <= 6", False),
    ]


def test_pystreed_s_limit_and_ours_mean_the_same_but_for_rounding(tmp_path: Path) -> None:
    pytest.importorskip("pystreed")
    # yes for 1 of 2 and for 2 of 5: exactly 10% apart, which its floats take for more
    member = np.array([0, 0, 1, 1, 1, 1, 1])
    right = np.array([1, 0, 1, 1, 0, 0, 0], dtype=np.int32)
    x = np.column_stack([right, np.arange(7) % 2])
    for most, errors in ((0.1, 3), (0.1 + fairness.ROUNDED, 0)):
        other = peers.streed_fair("group-fairness", member, x, right, most, 1, 10)
        assert (other.value, other.proven) == (errors, True)
    one = fairness.Grouped(name="tiny", group="some", x=x, y=right, member=member)
    mine = specs.run(fairness.ours(one, "rate", 1, tmp_path, "10%"), 10)
    assert (mine.value, mine.proven) == (0, True)


def test_pystreed_does_not_split_on_what_tells_the_group(tmp_path: Path) -> None:
    pytest.importorskip("pystreed")
    member = np.array([1, 1, 0, 0, 0, 0, 0], dtype=np.int32)
    for x in (np.c_[member, np.arange(7) % 2], np.c_[1 - member, np.arange(7) % 2]):
        other = peers.streed_fair("group-fairness", member, x, member, 1.0, 2, 10)
        assert other.value == 2
        one = fairness.Grouped(name="tiny", group="some", x=x, y=member, member=member)
        assert specs.run(fairness.ours(one, "rate", 2, tmp_path, "100%"), 10).value == 0
    with pytest.raises(AssertionError):
        fairness.without("tiny", "some", x, member, member == 1, set())


def test_ranks_are_shared_and_differences_are_those_of_the_tables() -> None:
    found = ranks({"a": [0.9, 0.8, 0.7], "b": [0.9, 0.7, 0.6], "c": [0.5, 0.7, 0.1]})
    assert found.means == pytest.approx({"a": 3.5 / 3, "b": 6 / 3, "c": 8.5 / 3})
    # Demšar's table 5 has 2.569 for four classifiers: 2.569 * sqrt(4 * 5 / (6 * 14))
    rng = np.random.default_rng(0)
    four = ranks({name: rng.random(14) for name in "abcd"})
    assert four.difference == pytest.approx(1.25, abs=0.005)
    better = np.arange(20) / 100
    clear = ranks({"a": better + 0.2, "b": better + 0.1, "c": better})
    assert clear.means == {"a": 1, "b": 2, "c": 3}
    assert clear.p_value < 1e-6
    assert ("a", "c") in clear.apart()
    assert ranks(dict.fromkeys("abc", better)).p_value == 1
    for wrong in ({"a": [1.0], "b": [1.0]}, {"a": [1.0], "b": [1.0], "c": [np.nan]}):
        with pytest.raises(ValueError, match="method"):
            ranks(wrong)


@pytest.mark.parametrize(
    ("train", "test", "verdict"),
    [
        (0.9, 0.5, "optimal"),
        (0.85, 0.5, "below"),
        (0.95, 0.5, "other data"),
        (0.8877, 0.5, "other data"),
        (0.85, 0.51, "other data"),
        (0.9, 0.3333, "optimal"),
    ],
)
def test_what_a_published_row_says(train: float, test: float, verdict: str) -> None:
    row = published.Published(
        method="DL8.5", split=1, train=train, test=test, leaves=8, claimed=False
    )
    assert row.verdict(0.9, rows=40, test_rows=6) == verdict


def test_the_printed_tables_are_whole() -> None:
    for depth in (2, 3, 4):
        for side in ("train", "test"):
            for name, of in study.printed(side, depth).items():
                assert set(of) >= {"CART", "DL8.5", "CPTree-1", "CPTree-1*"}, name
                assert all(50 < value <= 100 for value in of.values()), name
    assert study.printed("test", 5) == {}


def test_every_measurement_is_listed() -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--help"], capture_output=True, text=True, check=True
    )
    found = re.search(r"{([a-z,-]+)}", done.stdout)
    assert found is not None
    names = found[1].split(",")
    assert len(names) > 5
    readme = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    page = report.PAGE.read_text(encoding="utf-8")
    for name in names:
        assert f"`{name}`" in readme, name
        assert f"<!-- measured {name}" in page, name


def test_a_table_takes_its_place_and_no_other(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    places = "".join(
        f"text\n<!-- measured {name} -->\n\nold\n\n<!-- end -->\n" for name in ("one", "two")
    )
    page.write_text(places)
    report.put(page, "two", "a \\1 table")
    assert page.read_text() == "a \\1 table".join(places.rsplit("old", 1))
    with pytest.raises(SystemExit, match="three"):
        report.put(page, "three", "table")


def test_a_chart_is_a_picture() -> None:
    line = chart.Line(name="a & b", points=((1000.0, 0.002), (1e6, 3.0)))
    text = chart.svg([chart.Panel(title="seconds", across="rows", lines=(line,))], title="t")
    root = ElementTree.fromstring(text)
    circles = [node for node in root.iter() if node.tag.endswith("circle")]
    assert len(circles) == 2
    places = [(float(node.attrib["cx"]), float(node.attrib["cy"])) for node in circles]
    assert places[0][0] < places[1][0]
    assert places[0][1] > places[1][1]
    assert all(0 <= x <= chart.WIDTH and 0 <= y <= chart.HEIGHT for x, y in places)


@pytest.mark.parametrize(
    ("mine", "other", "agrees"),
    [
        ((5, 5, True), (5, True), True),
        ((5, 5, True), (6, True), False),
        ((5, 5, True), (4, True), False),
        ((7, 3, False), (5, True), True),
        ((7, 6, False), (5, True), False),
        ((5, 5, True), (6, False), True),
        ((5, 5, True), (4, False), False),
        ((5, 4, True), None, False),
    ],
)
def test_what_counts_as_agreement(
    mine: tuple[int, int, bool], other: tuple[int, bool] | None, agrees: bool
) -> None:
    value, bound, proven = mine
    ours = peers.Outcome(seconds=1, value=value, bound=bound, proven=proven)
    theirs = other and peers.Outcome(seconds=1, value=other[0], proven=other[1])
    if agrees:
        peers.agree("case", ours, theirs)
    else:
        with pytest.raises(AssertionError):
            peers.agree("case", ours, theirs)


def test_each_fault_to_plant_is_an_edit_of_one_place() -> None:
    """Sources change: a fault that is no longer found would stop `benchmarks/planted.py`."""
    from planted import all_faults, edited

    assert len(all_faults()) > 80
    assert all("odt_planted ==" in text for text in edited().values())
