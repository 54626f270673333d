"""Trees, spans, comments and limits of the parser; files that are no specs."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scale import scaled

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source, Span
from odtdsl.language import ast, files
from odtdsl.language.depth import MAX_DEPTH
from odtdsl.language.parser import parse, read_source
from odtdsl.language.printer import to_text

SAMPLE = """\
# what is asked first
data "clinic.csv", na {"?"}, test 25% stratified seed 3
target ill: class {"no", "yes"} positive "yes"
feature age, `blood pressure`: number step 1
candidates age at quantiles 4
cost {age, weight} shared = 2.50
group old = age in [65, 120] and not weight is missing
tree depth <= 3, leaves <= 6
minimize error_rate + 0.005 * leaves then depth
rule first:  forall path: age before `blood pressure`   # trailing
rule mixed: if accuracy(old) >= 90% then -1 <= leaves < 4
solve using greedy(split = relaxed 10), within 1.5 min
"""


def spec_of(text: str) -> ast.Spec:
    return parse(Source(name="text", text=text))


def codes_of(text: str) -> list[str]:
    with pytest.raises(OdtError) as caught:
        spec_of(text)
    return [d.code for d in caught.value.diagnostics]


def name(word: str, quoted: bool = False) -> ast.Name:
    return ast.Name(name=word, quoted=quoted)


def number(value: str) -> ast.Number:
    return ast.Number(value=Fraction(value))


def test_statements_become_these_nodes() -> None:
    age, pressure = name("age"), name("blood pressure", quoted=True)
    no, yes = ast.Text(value="no"), ast.Text(value="yes")
    old = ast.Member(item=age, within=ast.Interval(low=number("65"), high=number("120")))
    measure = ast.Binary(
        op="+",
        left=name("error_rate"),
        right=ast.Binary(op="*", left=number("0.005"), right=name("leaves")),
    )
    share = ast.TestShare(share=ast.Percent(value=Fraction(25)), stratified=True, seed=3)
    expected: tuple[ast.Statement, ...] = (
        ast.Data(
            source=ast.FileSource(path="clinic.csv"),
            options=(ast.NaMarks(marks=(ast.Text(value="?"),)), share),
        ),
        ast.Target(
            columns=(name("ill"),),
            type=ast.TypeSpec(kind="class", values=(no, yes)),
            positive=yes,
        ),
        ast.Feature(columns=(age, pressure), type=ast.TypeSpec(kind="number", step=number("1"))),
        ast.Candidates(columns=(age,), place="quantiles", count=4),
        ast.Cost(
            items=(ast.CostItem(columns=(age, name("weight")), shared=True, amount=number("2.5")),)
        ),
        ast.Group(
            name="old",
            condition=ast.And(
                items=(old, ast.Not(operand=ast.IsMissing(item=name("weight")))),
            ),
        ),
        ast.Tree(
            bounds=(
                ast.SkeletonBound(measure="depth", op="<=", value=number("3")),
                ast.SkeletonBound(measure="leaves", op="<=", value=number("6")),
            )
        ),
        ast.Objective(
            stages=(
                ast.Stage(sense="minimize", measure=measure),
                ast.Stage(sense=None, measure=name("depth")),
            )
        ),
        ast.Rule(
            name="first",
            scope="path",
            condition=ast.Infix(word="before", left=age, right=pressure),
        ),
        ast.Rule(
            name="mixed",
            condition=ast.If(
                condition=ast.Compare(
                    operands=(
                        ast.Call(function="accuracy", args=(name("old"),)),
                        ast.Percent(value=Fraction(90)),
                    ),
                    ops=(">=",),
                ),
                consequence=ast.Compare(
                    operands=(number("-1"), name("leaves"), number("4")), ops=("<=", "<")
                ),
            ),
        ),
        ast.Solve(
            options=(
                ast.Using(
                    backend="greedy",
                    settings=(ast.Setting(key="split", value="relaxed", amount=number("10")),),
                ),
                ast.Within(amount=number("1.5"), unit="min"),
            )
        ),
    )
    assert spec_of(SAMPLE).statements == expected


def test_spans_cover_what_was_written() -> None:
    spec = spec_of(SAMPLE)

    def said(node: ast.Node) -> str:
        return SAMPLE[node.span.start : node.span.end]

    starts = [said(statement).split()[0] for statement in spec.statements]
    assert (
        " ".join(starts)
        == "data target feature candidates cost group tree minimize rule rule solve"
    )
    rule = spec.statements[8]
    assert isinstance(rule, ast.Rule)
    assert said(rule) == "rule first:  forall path: age before `blood pressure`"
    assert said(rule.condition) == "age before `blood pressure`"
    assert SAMPLE[rule.scope_span.start : rule.scope_span.end] == "path"
    assert SAMPLE[rule.name_span.start : rule.name_span.end] == "first"
    objective = spec.statements[7]
    assert isinstance(objective, ast.Objective)
    assert said(objective.stages[0].measure) == "error_rate + 0.005 * leaves"
    assert [c.text for c in spec.comments] == ["# what is asked first", "# trailing"]
    assert [c.own_line for c in spec.comments] == [True, False]


def test_nothing_of_the_parser_generator_is_in_the_tree() -> None:
    plain = (str, int, bool, Fraction, type(None), Span)

    def walk(value: object) -> None:
        if isinstance(value, tuple):
            for item in value:
                walk(item)
        elif isinstance(value, ast.Node):
            for field in dataclasses.fields(value):
                walk(getattr(value, field.name))
        else:
            assert type(value) in plain, repr(value)

    walk(spec_of(SAMPLE))


def test_literals_keep_how_they_were_written() -> None:
    cost = spec_of("cost a = 101.90, b = 1e2, c = - 3").statements[0]
    assert isinstance(cost, ast.Cost)
    assert [item.amount.text for item in cost.items] == ["101.90", "1e2", "-3"]
    assert [item.amount.value for item in cost.items] == [Fraction("101.9"), 100, -3]


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n  # comments", "\ufeff"])
def test_nothing_is_a_spec_without_statements(text: str) -> None:
    assert spec_of(text).statements == ()


def test_line_ends_of_other_systems_change_nothing() -> None:
    spec = spec_of(SAMPLE)
    windows = spec_of(SAMPLE.replace("\n", "\r\n"))
    assert windows == spec
    assert windows.comments == spec.comments
    assert spec_of(SAMPLE.replace("\n", "\r")) == spec


def test_escapes_in_texts() -> None:
    data = spec_of(r'data "a\"b\\c\n\t\u{e9}", separator "\u{0}"').statements[0]
    assert data == ast.Data(
        source=ast.FileSource(path='a"b\\c\n\té'), options=(ast.Separator(text="\0"),)
    )


def test_nesting_has_a_limit_that_walks_survive() -> None:
    deepest = MAX_DEPTH - 5
    spec = spec_of("rule r: " + "not " * deepest + "a")
    assert spec_of(to_text(spec)) == spec
    sums = spec_of("rule r: a" + " + a" * deepest + " <= 3")
    assert spec_of(to_text(sums)) == sums
    for text in ("(" * 1000 + "a" + ")" * 1000, "not " * 5000 + "a", "a" + " - a" * 5000):
        assert codes_of("rule r: " + text) == ["S027"]
    assert codes_of("(" * 100_000) == ["S027"]


def test_all_errors_are_reported_in_order() -> None:
    text = 'drop 5\ntarget y\nrule a: (b\ntagret z\nrule c: d\nsolve threads 1.5\nrule e: "f'
    assert codes_of(text) == ["S001", "S007", "S002", "S018", "S005"]
    with pytest.raises(OdtError) as caught:
        spec_of(text)
    places = [d.labels[0].span.start for d in caught.value.diagnostics]
    assert places == sorted(places)


def test_thousands_of_errors_end_soon() -> None:
    assert 1 <= len(codes_of("rule a: (\n" * 5000)) <= 100


@settings(max_examples=scaled(300), deadline=None)
@given(st.data())
def test_no_text_makes_anything_but_a_spec_or_diagnostics(data: st.DataObject) -> None:
    """Samples with pieces cut out, doubled or replaced, and pure noise."""
    text = SAMPLE
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(text)))
        j = data.draw(st.integers(i, min(len(text), i + 12)))
        text = text[:i] + data.draw(st.sampled_from(_SPOILERS) | st.text(max_size=4)) + text[j:]
    spec, refusal = None, None
    try:
        spec = spec_of(text)
    except OdtError as err:
        refusal = err
    if spec is not None:
        assert spec_of(to_text(spec)) == spec
    if refusal is not None:
        assert refusal.diagnostics
        assert str(refusal)
        places = [d.labels[0].span.start for d in refusal.diagnostics]
        assert all(0 <= place <= len(text) for place in places)


_SPOILERS = (
    "",
    "(",
    ")",
    "{",
    "]",
    '"',
    "`",
    "'",
    "%",
    "forall ",
    "rule ",
    "not ",
    " if ",
    "<=",
    "=",
    ",",
    ":",
    "\n",
    "\nrule ",
    ".5",
    "then ",
    "in ",
    "#",
    "missing",
    "-",
    " a b ",
)


# ---- files


def code_of_file(path: Path | str) -> str:
    with pytest.raises(OdtError) as caught:
        read_source(path)
    (only,) = caught.value.diagnostics
    assert str(caught.value)
    return only.code


def test_a_file_is_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.odt"
    path.write_bytes("\ufefftarget größe\r\n".encode())
    source = read_source(path)
    assert source.name == str(path)
    assert source.text == "target größe\r\n"
    assert read_source(str(path)) == source


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("target größe".encode("latin-1"), "F004"),
        ("target y # “quoted”".encode("cp1252"), "F004"),
        ("target y".encode("utf-16"), "F004"),
        (b"target y\0", "F005"),
        (b"PK\x03\x04" + b"\0" * 2_000_000, "F006"),
        (b"# " + b"x" * files.MAX_BYTES, "F003"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "a.odt"
    path.write_bytes(content)
    assert code_of_file(path) == code


def test_the_largest_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.odt"
    path.write_bytes(b"#" * files.MAX_BYTES)
    assert len(read_source(path).text) == files.MAX_BYTES


def test_missing_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "heart.odt").write_text("tree")
    assert code_of_file(tmp_path) == "F002"
    assert code_of_file("with\0zero.odt") == "F007"
    with pytest.raises(OdtError, match=r"did you mean\s+`.*heart\.odt`"):
        read_source(tmp_path / "haert.odt")
    assert code_of_file(tmp_path / "heart.odt" / "below.odt") == "F007"


def test_the_likely_encoding_and_place_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.odt"
    path.write_bytes("tree\ntarget größe".encode("latin-1"))
    with pytest.raises(OdtError, match=r"byte 14, in line 2; it looks like Latin-1"):
        read_source(path)


# ---- the cache of the tables


def test_a_broken_or_forbidden_cache_is_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from odtdsl.language import grammar

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fresh = grammar.lark_parser.__wrapped__
    fresh()
    (stored,) = (tmp_path / "odtdsl").iterdir()
    assert fresh().parse("tree").data == "start"
    broken = stored.read_bytes()[:-1]
    stored.write_bytes(broken)
    assert fresh().parse("tree").data == "start"
    assert len(stored.read_bytes()) > len(broken)
    monkeypatch.setenv("XDG_CACHE_HOME", str(stored))
    assert fresh().parse("tree").data == "start"
