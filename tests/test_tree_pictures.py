"""Trees as text, DOT and SVG, with names made to break them."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import ColumnType, Value
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Test, Threshold, TreeNode
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.wording import label_text, number_text, rounded, split_words
from odtdsl.presentation.pictures.colours import PALETTE, class_colour
from odtdsl.presentation.pictures.dot import quoted, to_dot
from odtdsl.presentation.pictures.lettering import text_width, wrapped
from odtdsl.presentation.pictures.svg import to_svg
from odtdsl.presentation.pictures.text import to_text

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    'say "hi"',
    "a\nb",
    "back\\slash",
    "\\",
    '\\"',
    "</title><script>alert(1)</script>",
    "<b>&amp; &lt;",
    "\x00\x1b[31mred",
    "\ud800",
    "\u202ereversed",
    "]]>",
    "Größe 身長 ✓",
    " ",
    "",
    "x" * 500,
]


def branch(feature: str, test: Test, left: TreeNode, right: TreeNode) -> Branch:
    return Branch(feature=feature, test=test, left=left, right=right, missing="left", size=9)


def tree_of(root: TreeNode, classes: tuple[Value, ...] = ("no", "yes")) -> Tree:
    return Tree(root=root, features=(), targets=("y",), classes=classes)


SMALL = tree_of(
    branch(
        "petal width (cm)",
        Threshold(value=0.8),
        Leaf(label=0, size=50, class_weights=(50.0, 0.0)),
        branch(
            "city",
            Equals(value="Köln"),
            Leaf(label=1, size=1, class_weights=(1.0, 0.0)),
            Leaf(label=0, size=3, class_weights=(2.5, 0.1 + 0.2)),
        ),
    )
)


def test_text_is_a_line_for_each_node() -> None:
    assert to_text(SMALL) == (
        "petal width (cm) <= 0.8\n"
        "├─ yes: predicts no  (50 rows, 0 errors)\n"
        '└─ no: city == "Köln"\n'
        "   ├─ yes: predicts yes  (1 row, 1 error)\n"
        "   └─ no: predicts no  (3 rows, weight 2.8, 0.3 of it wrong)\n"
    )
    assert to_text(SMALL, missing=True, ascii_only=True) == (
        "petal width (cm) <= 0.8  (missing: yes)\n"
        "|- yes: predicts no  (50 rows, 0 errors)\n"
        '`- no: city == "Köln"  (missing: yes)\n'
        "   |- yes: predicts yes  (1 row, 1 error)\n"
        "   `- no: predicts no  (3 rows, weight 2.8, 0.3 of it wrong)\n"
    )


def test_text_of_outputs() -> None:
    one = Tree(root=Leaf(output=(0.1 + 0.2,), size=2), features=(), targets=("p",))
    assert to_text(one) == "0.3  (2 rows)\n"
    two = Tree(root=Leaf(output=(1.0, 2 / 3), size=2), features=(), targets=("math", "art"))
    assert to_text(two) == "math = 1, art = 0.666667  (2 rows)\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.0, "5"),
        (5, "5"),
        (0.1, "0.1"),
        (-0.0, "-0"),
        (1e22, "1e22"),
        (1e-7, "1e-7"),
        (2.5e-300, "2.5e-300"),
        (0.1 + 0.2, "0.30000000000000004"),
        (10**20, "100000000000000000000"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_and_are_the_shortest(value: float) -> None:
    text = number_text(value)
    assert float(text) == value
    digits = len(re.sub(r"e.*|\D", "", text).strip("0"))
    assert digits <= 1 or float(f"{value:.{digits - 2}e}") != value


def test_measured_numbers_are_rounded() -> None:
    assert [rounded(x) for x in (0.1 + 0.2, 1 / 3, 12.0, 1234567.0)] == [
        "0.3",
        "0.333333",
        "12",
        "1234570",
    ]


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (Threshold(value=3.0), "<= 3"),
        (Threshold(value="middle"), '<= "middle"'),
        (Equals(value=1), "== 1"),
        (InBin(low=1.0, high=2.5, closed=False), "in [1, 2.5)"),
        (InBin(low=1.0, high=2.5, closed=True), "in [1, 2.5]"),
        (InBin(low=-math.inf, high=2.5, closed=False), "< 2.5"),
        (InBin(low=-math.inf, high=2.5, closed=True), "<= 2.5"),
        (InBin(low=1.0, high=math.inf, closed=False), ">= 1"),
        (InBin(low=-math.inf, high=math.inf, closed=False), "is any number"),
    ],
)
def test_words_of_tests(test: Test, words: str) -> None:
    assert split_words(branch("x", test, Leaf(label=0), Leaf(label=1))) == ("x", words)


def test_labels_are_quoted_only_where_they_mislead() -> None:
    labels = ("yes", "3", "", " a", 3, 2.0)
    assert [label_text(x) for x in labels] == ["yes", '"3"', '""', '" a"', "3", "2"]


@given(st.text())
def test_printable_text_is_one_line_without_controls(text: str) -> None:
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    shown.encode("utf-8")


def hostile_tree(name: str) -> Tree:
    leaves = [Leaf(label=i, size=3, class_weights=(2.0, 1.0)) for i in (0, 1)]
    inner = branch(name, Threshold(value=1.5), leaves[0], leaves[1])
    return Tree(
        root=branch(name, Equals(value=name), inner, leaves[0]),
        features=(ColumnType(name=name, kind="category", levels=(name,)),),
        targets=(name,),
        classes=(name, name + "2"),
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_svg_holds_any_name(name: str) -> None:
    tree = hostile_tree(name)
    text = to_svg(tree, title=name)
    root = ET.fromstring(text.encode("utf-8"))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "style", "rect", "g", "path", "text"}
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert any(printable(name) in title for title in titles[1:])


@pytest.mark.parametrize("name", HOSTILE)
def test_dot_strings_are_closed_and_lines_single(name: str) -> None:
    text = to_dot(hostile_tree(name))
    for line in text.splitlines():
        strings = re.findall(r'"(?:[^"\\]|\\.)*"', line)
        rest = line
        for string in strings:
            rest = rest.replace(string, "", 1)
        assert '"' not in rest
        assert "\\" not in rest
    assert text.isprintable() or {c for c in text if not c.isprintable()} == {"\n"}


@pytest.mark.parametrize("name", HOSTILE)
def test_graphviz_reads_the_dot_text_as_it_was_meant(name: str) -> None:
    program = shutil.which("dot")
    if program is None:
        pytest.skip("Graphviz is not installed: the text is not read by its own reader")
    tree = hostile_tree(name)
    run = subprocess.run(
        [program, "-Tsvg"], input=to_dot(tree).encode(), capture_output=True, check=True
    )
    assert run.stderr == b""
    shown = ["".join(e.itertext()) for e in ET.fromstring(run.stdout).iter(f"{SVG}text")]
    # Graphviz shows blanks at ends as no-break spaces.
    shown = [text.replace("\xa0", " ") for text in shown]
    assert f"{printable(name)} <= 1.5".strip() in [text.strip() for text in shown]


def test_dot_strings_escape_what_graphviz_reads() -> None:
    assert quoted('a "b"', "c\\d", "&lt;") == '"a \\"b\\"\\nc\\\\d\\n&amp;lt;"'


def test_dot_names_nodes_in_order() -> None:
    lines = to_dot(SMALL).splitlines()
    edges = [line.strip() for line in lines if "->" in line]
    assert edges == [
        'n0 -> n1 [label="yes"];',
        'n0 -> n2 [label="no"];',
        'n2 -> n3 [label="yes"];',
        'n2 -> n4 [label="no"];',
    ]
    assert '  n2 [label="city == \\"Köln\\""];' in lines


@st.composite
def shapes(draw: st.DrawFn) -> Tree:
    names = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)

    def node(room: int) -> TreeNode:
        if room == 0 or draw(st.booleans()):
            return Leaf(label=draw(st.integers(0, 1)), size=7, class_weights=(3.0, 4.0))
        test = Threshold(value=draw(st.floats(allow_nan=False, allow_infinity=False)))
        return branch(draw(names), test, node(room - 1), node(room - 1))

    return tree_of(node(4), classes=(draw(names), draw(names)))


@given(shapes())
def test_boxes_lie_within_the_picture_and_apart(tree: Tree) -> None:
    root = ET.fromstring(to_svg(tree))
    width, height = (float(x) for x in root.attrib["viewBox"].split()[2:])
    boxes = []
    for element in root.iter(f"{SVG}rect"):
        if element.get("class") in ("box", "leaf"):
            x, y, w, h = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
            boxes.append((x + 16, y + 16, x + w + 16, y + h + 16))
    assert len(boxes) == tree.n_leaves + tree.n_splits
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert top >= 0
        assert right <= width
        assert bottom <= height
        for other in boxes[:i]:
            apart = left >= other[2] + 17 or other[0] >= right + 17
            assert apart or top >= other[3] or other[1] >= bottom


@given(st.text(max_size=300))
def test_wrapped_lines_fit_and_lose_nothing_but_the_end(text: str) -> None:
    lines = wrapped(printable(text))
    assert 1 <= len(lines) <= 3
    assert all(text_width(line) <= 190 for line in lines)
    whole = "".join(lines).replace(" ", "")
    if whole.endswith("…"):
        assert printable(text).replace(" ", "").startswith(whole[:-1])
    else:
        assert whole == printable(text).replace(" ", "")


def test_svg_follows_the_theme_and_stays_alone() -> None:
    auto, light, dark = (to_svg(SMALL, theme=theme) for theme in ("auto", "light", "dark"))  # type: ignore[arg-type]
    assert "prefers-color-scheme:dark" in auto
    assert "prefers-color-scheme" not in light + dark
    assert light != dark
    assert "href" not in auto
    assert "url(" not in auto
    assert to_svg(SMALL) == auto


def test_classes_have_colours_of_their_own() -> None:
    colours = [class_colour(i) for i in range(40)]
    assert tuple(colours[: len(PALETTE)]) == PALETTE
    assert len(set(colours)) == 40
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


def test_bars_show_shares() -> None:
    root = ET.fromstring(to_svg(SMALL))
    bars = [
        (e.get("fill"), float(e.attrib["width"]))
        for group in root.iter(f"{SVG}g")
        if group.get("data-node")
        for e in group.iter(f"{SVG}rect")
        if (e.get("fill") or "").startswith("#")
    ]
    assert [colour for colour, _ in bars] == [PALETTE[0], PALETTE[0], PALETTE[0], PALETTE[1]]
    assert bars[2][1] / bars[3][1] == pytest.approx(2.5 / 0.3, rel=0.02)
