"""How diagnostics look, which codes there are, and what is suggested."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import odtdsl
from odtdsl.base.diagnostics.codes import CODES
from odtdsl.base.diagnostics.model import Diagnostic, Label, OdtError, error
from odtdsl.base.diagnostics.render import render_text, to_json
from odtdsl.base.diagnostics.suggest import closest, distance, nearest_first
from odtdsl.base.source import NOWHERE, Source, Span
from odtdsl.language.parser import parse

PACKAGE = Path(__file__).resolve().parents[1] / "odtdsl"
TEXT = "rule a:\tcost <= 漢字 + é\nrule b: (x and\n   y or\n   w or\n  z)\n# end"
SOURCE = Source(name="a.odt", text=TEXT)


def label(part: str, text: str = "") -> Label:
    start = TEXT.index(part)
    return Label(span=Span(start=start, end=start + len(part)), text=text)


def shown(*labels: Label, **rest: Any) -> list[str]:
    diagnostic = Diagnostic(code="S001", message="wrong", labels=labels, source=SOURCE, **rest)
    return render_text(diagnostic).split("\n")


def test_tabs_and_wide_characters_keep_the_underlines_in_place() -> None:
    assert shown(label("漢字", "here"), label("cost", "there"), helps=("write more",)) == [
        "error[S001]: wrong",
        " --> a.odt:1:17",
        "  |",
        "1 | rule a: cost <= 漢字 + é",
        "  |         ----    ^^^^ here",
        "  |         |",
        "  |         there",
        "  |",
        "  = help: write more",
    ]


def test_three_labels_in_one_line() -> None:
    assert shown(label("cost", "one"), label("漢字", "two"), label("é", "three"))[3:] == [
        "1 | rule a: cost <= 漢字 + é",
        "  |         ^^^^    ----   - three",
        "  |         |       |",
        "  |         |       two",
        "  |         one",
    ]


def test_a_span_of_several_lines_shows_its_ends() -> None:
    assert shown(label("(x and\n   y or\n   w or\n  z)", "all of it"), label("# end"))[2:] == [
        "  |",
        "2 | rule b: (x and",
        "  |         ^^^^^^",
        "...",
        "5 |   z)",
        "  |   ^^ all of it",
        "6 | # end",
        "  | -----",
    ]


def test_the_end_of_the_text_can_be_marked() -> None:
    end = Label(span=Span(start=len(TEXT), end=len(TEXT) + 1), text="nothing here")
    assert shown(end)[-2:] == ["6 | # end", "  |      ^ nothing here"]


@pytest.mark.parametrize("at", [0, 5000, 9_990])
def test_long_lines_are_cut_around_the_label(at: int) -> None:
    source = Source(name="a.odt", text="ab+" * 3333)
    here = Label(span=Span(start=at, end=at + 4), text="here")
    rows = render_text(
        Diagnostic(code="S001", message="wrong", labels=(here,), source=source), width=60
    ).split("\n")
    line, marks = rows[3], rows[4]
    assert len(line) <= 60
    start = marks.index("^^^^ here")
    assert line[start : start + 4] == source.text[at : at + 4]


def test_without_a_source_there_is_no_excerpt() -> None:
    bare = Diagnostic(code="D101", message="no\x1b[31m data", severity="warning", notes=("n",))
    assert render_text(bare) == "warning[D101]: no\\x1b[31m data\n  = note: n"
    nowhere = error("S001", "wrong", span=NOWHERE, source=SOURCE)
    assert str(nowhere) == "error[S001]: wrong\n --> a.odt"
    assert to_json(nowhere.diagnostics[0])["labels"] == []


def test_color_paints_but_says_the_same() -> None:
    d = Diagnostic(
        code="S001", message="wrong", labels=(label("cost", "here"),), helps=("h",), source=SOURCE
    )
    painted = render_text(d, color=True)
    assert "\x1b[1;31m" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == render_text(d)


def test_notes_are_wrapped() -> None:
    long = Diagnostic(code="S001", message="wrong", notes=("word " * 40,))
    rows = render_text(long, width=50).split("\n")
    assert max(map(len, rows)) <= 50
    assert all(row.startswith("          word") for row in rows[2:])


def test_json_counts_from_one() -> None:
    d = Diagnostic(
        code="S001", message="wrong", labels=(label("漢字", "here"),), helps=("h",), source=SOURCE
    )
    assert json.loads(json.dumps(to_json(d))) == {
        "code": "S001",
        "severity": "error",
        "message": "wrong",
        "file": "a.odt",
        "labels": [
            {"line": 1, "column": 17, "end_line": 1, "end_column": 19, "text": "here"},
        ],
        "notes": [],
        "helps": ["h"],
    }


# ---- codes


def test_every_code_in_the_package_is_registered_and_used() -> None:
    used: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        if path.name != "codes.py":
            for code in re.findall(r'"([SNTDKORBFUXP]\d{3})"', path.read_text(encoding="utf-8")):
                used.setdefault(code, set()).add(str(path.relative_to(PACKAGE)))
    unknown = {code: sorted(where) for code, where in used.items() if code not in CODES}
    assert not unknown, "register these codes in odtdsl/base/diagnostics/codes.py"
    assert not set(CODES) - set(used), "codes that nothing uses"


def test_no_code_is_given_twice() -> None:
    listed = re.findall(
        r'^    \(\s*"([A-Z]\d{3})"',
        (PACKAGE / "base/diagnostics/codes.py").read_text(),
        re.MULTILINE,
    )
    assert len(listed) == len(set(listed)) == len(CODES)


@pytest.mark.parametrize("code", [c for c in CODES.values() if c.code[0] == "S" and c.example])
def test_the_example_of_a_syntax_code_earns_it(code: object) -> None:
    with pytest.raises(OdtError) as caught:
        parse(Source(name="example", text=code.example))  # type: ignore[attr-defined]
    assert [d.code for d in caught.value.diagnostics] == [code.code]  # type: ignore[attr-defined]


# ---- suggestions


@pytest.mark.parametrize(
    ("word", "candidates", "meant"),
    [
        ("hight", ("weight", "height"), "height"),
        ("tagret", ("target", "tree"), "target"),
        ("Age", ("age", "wage"), "age"),
        ("chol", ("cholesterol",), None),
        ("x", ("y", "z"), None),
        ("age", ("age",), None),
        ("sex", (), None),
        ("use", ("mse", "uses"), "uses"),
    ],
)
def test_closest(word: str, candidates: tuple[str, ...], meant: str | None) -> None:
    assert closest(word, candidates) == meant


def test_of_many_names_the_near_ones_come_first() -> None:
    names = [f"lab_{i}" for i in range(30)] + ["body mass", "outcome_30d"]
    assert nearest_first("outcome", names)[0] == "outcome_30d"
    assert nearest_first("body_height", names)[0] == "body mass"
    assert nearest_first("lab_77", names)[0] == "lab_7"
    assert sorted(nearest_first("zzz", names)) == sorted(names)
    assert nearest_first("c", ["b", "a", "c1"]) == ["b", "a", "c1"]
    frame = {name: [1, 2] for name in names}
    spec = "data frame target outcome tree depth <= 1 minimize errors"
    with pytest.raises(OdtError, match="there are: `outcome_30d`"):
        odtdsl.solve(spec, frame=frame)


def test_distance_counts_a_swap_once() -> None:
    assert distance("tagret", "target") == 1
    assert distance("", "abc") == 3
    assert distance("kitten", "sitting") == 3
