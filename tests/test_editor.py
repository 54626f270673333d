"""What an editor is told, without a server: places, outlines, cached data, meanings of words."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.source import Source, Span
from odtdsl.datasets import readers
from odtdsl.datasets.request import DataRequest
from odtdsl.interfaces.editor import edits, fixes, hover, positions
from odtdsl.interfaces.editor import keywords as meanings
from odtdsl.interfaces.editor.checking import checked
from odtdsl.interfaces.editor.completion import complete
from odtdsl.interfaces.editor.outline import Outline
from odtdsl.interfaces.editor.signature import called
from odtdsl.interfaces.editor.tables import Tables, Unread, head
from odtdsl.language.grammar import keywords

TEXTS = st.text(st.sampled_from(["a", "é", "😀", "\n", "\r", "\u2028", "\x0c", " "]))
"""Also characters that end a line for some programs, but not for editors."""


def outline(text: str) -> Outline:
    return Outline(Source(name="t.odt", text=text))


@settings(deadline=None)
@given(TEXTS)
def test_places_go_there_and_back(text: str) -> None:
    source = Source(name="t", text=text)
    for encoding in ("utf-8", "utf-16", "utf-32"):
        for at in range(len(text) + 1):
            if text[at - 1 : at + 1] == "\r\n":
                continue  # between them there is no place
            where = positions.place(source, at, encoding)
            assert positions.offset(source, where, encoding) == at


def test_places_count_the_units_that_the_editor_asks_for() -> None:
    source = Source(name="t", text='\r\ndata "😀é"')
    at = len(source.text)
    assert positions.place(source, at, "utf-32") == (1, 9)
    assert positions.place(source, at, "utf-16") == (1, 10)
    assert positions.place(source, at, "utf-8") == (1, 13)


def test_places_outside_are_clipped() -> None:
    source = Source(name="t", text="ab\n😀")
    assert positions.offset(source, (0, 99)) == 2
    assert positions.offset(source, (9, 0)) == 4
    assert positions.offset(source, (-1, 5)) == 0
    assert positions.offset(source, (1, 1)) == 3  # inside the pair: before it
    assert positions.place(source, 99) == (1, 2)


def test_every_keyword_has_a_meaning() -> None:
    words = {word for written in keywords().values() for word in written.split()}
    assert set(meanings.MEANINGS) == words


@pytest.mark.parametrize("word", ["minimize", "splits", "cost", "loss", "gap", "errors"])
def test_a_word_means_what_it_means_where_it_stands(word: str) -> None:
    text = """data "x.csv" cost a = 1 loss predict "u" when "v" = 2
tree depth <= 2, splits axis
minimize loss then splits
rule r: forall path: cost <= 3
rule g: gap(rate("u"), a) <= 3 solve gap 1%"""
    told = []
    for at in range(len(text)):
        if text[at : at + len(word) + 1].rstrip(" (\n") == word and text[at - 1] in " \n":
            found = hover.hover(outline(text), at, None)
            told.append("none" if found is None else found[0].split("\n")[0])
    keyword = f"**{word}** (keyword)"
    kinds = ["keyword" if one == keyword else "term" for one in told]
    assert (
        kinds
        == {
            "minimize": ["keyword"],
            "splits": ["keyword", "term"],
            "cost": ["keyword", "term"],
            "loss": ["keyword", "term"],
            "gap": ["term", "keyword"],
            "errors": [],
        }[word]
    )


def test_a_column_named_like_a_keyword_is_a_column(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("data,tree,y\n1,2,u\n3,4,v\n")
    text = 'data "t.csv" target y tree depth <= 1 minimize errors rule r: uses(tree)'
    facts = checked(outline(text), tmp_path, Tables()).facts
    told = hover.hover(outline(text), text.rindex("tree"), facts)
    assert told is not None
    assert "column of t" in told[0]
    told = hover.hover(outline(text), text.index("tree"), facts)
    assert told is not None
    assert "(keyword)" in told[0]


def test_hostile_cells_and_names_stay_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n<img src=x onerror=alert(1)>,`[u](v)`\nb,w\n")
    text = 'data "t.csv" target y tree depth <= 1 minimize errors'
    facts = checked(outline(text), tmp_path, Tables()).facts
    told = hover.hover(outline(text + " drop a"), len(text) + 6, facts)
    target = hover.hover(outline(text), text.index(" y ") + 1, facts)
    assert told is None or not set("<[`") & set(told[0].replace("- `", "").replace("`:", ""))
    assert target is not None
    assert "[u]" not in target[0]


# ---- data


def test_a_file_is_read_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,u\n2,v\n")
    reads = []
    real = readers.read
    monkeypatch.setattr(readers, "read", lambda *a, **k: (reads.append(1), real(*a, **k))[1])  # type: ignore[func-returns-value]
    kept = Tables()
    for depth in (1, 2, 3):
        text = f'data "t.csv" target y tree depth <= {depth} minimize errors'
        assert checked(outline(text), tmp_path, kept).diagnostics == ()
    assert len(reads) == 1
    path.write_text("a,y\n1,u\n2,v\n3,u\n")
    os.utime(path, ns=(5, 5))
    found = checked(outline(text), tmp_path, kept).facts
    assert found is not None
    assert found.n_rows == 3
    assert len(reads) == 2
    path.write_text("a,a\n1,u\n")
    for _ in range(3):
        assert checked(outline(text), tmp_path, kept).diagnostics[0].code == "D104"
    assert len(reads) == 3


def test_neither_large_files_nor_the_network_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from odtdsl.interfaces.editor import tables as module

    monkeypatch.setattr(module, "MAX_BYTES", 10)
    (tmp_path / "t.csv").write_text("age,`x y`,z\n1,u,2\n2,v,3\n")
    text = 'data "t.csv" target z tree depth <= 1 minimize errors'
    found = checked(outline(text), tmp_path, Tables())
    assert found.unread is not None
    assert found.facts is not None
    assert [column.name for column in found.facts.columns] == ["age", "`x y`", "z"]
    for source in ('openml "haberman"', "frame"):
        found = checked(outline(text.replace('"t.csv"', source)), tmp_path, Tables())
        assert found.diagnostics == ()
        assert found.unread is not None
    with pytest.raises(Unread):
        Tables().read(DataRequest(kind="openml", name="x"), base=tmp_path)
    assert head(DataRequest(kind="file", name="no.csv"), tmp_path) == ()


def test_completion_of_names_that_need_backticks(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("if,a`b,y\n1,u,2\n2,v,3\n")
    text = 'data "t.csv" target y: number tree depth <= 1 minimize mse '
    facts = checked(outline(text), tmp_path, Tables()).facts
    offered = complete(outline(text + "drop "), len(text) + 5, facts, tmp_path).items
    assert {item.label: item.text for item in offered if item.kind == "column"} == {
        "if": "if",
        "a`b": "`a``b`",
        "y": "y",
    }


def test_the_server_asks_for_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from odtdsl.interfaces.cli import lsp
    from odtdsl.interfaces.cli.main import app

    monkeypatch.setattr(lsp, "find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["lsp"])
    assert result.exit_code == 2
    assert "U351" in result.stderr
    assert "odtdsl[lsp]" in result.stderr


def test_what_a_completion_replaces() -> None:
    """The word before the cursor, all of a text or backticked name; nothing behind a text."""
    text = 'rule r: accur(`a b`) = "yes"'
    for at, part in ((13, "accur"), (10, "ac"), (17, "`a b`"), (25, '"yes"'), (len(text), "")):
        span = complete(outline(text), at, None, Path()).span
        assert text[span.start : span.end] == part


@pytest.mark.parametrize(
    ("old", "new"),
    [("k", "age"), ("k", "race"), ("k", "y"), ("k", "g"), ("g", "race"), ("g", "age")],
)
def test_rename_gives_no_name_that_means_something_already(old: str, new: str) -> None:
    """A column that became the number, or the group: the data need not have been read."""
    text = (
        "data frame target y let k = 2 tree depth <= 2 minimize errors group g = age > k\n"
        'rule r: gap(rate("u"), race) <= 50% and errors(g) <= k'
    )
    some = outline(text)
    (named,) = (one for one in some.definitions if one.name == old)
    with pytest.raises(OdtError, match="U350"):
        hover.rename(some, named, new, None)
    assert hover.rename(some, named, f"new_{new}", None)


NOT_MENDED = {
    ("choice_unreadable", "by loss"): "the columns of the choice are to be filled in first",
    ("group_for_class", '"nobody"'): "no class is called so",
    ("misspelt_statement", "rule"): "the next statement, until then unread, is wrong as well",
    ("regression_wrong", "mse"): "a loss of the whole model, but the rule is about leaves",
    ("skeleton_bounds", "rule large: depth >= 3"): "the bound has to go from the skeleton as well",
    ("unclosed_parenthesis", ")"): "another parenthesis is open there",
    ("unit_missing", "2 min"): "the next limit of the statement is wrong as well",
}
"""Texts to write in messages on the bad specs for which no single edit stands, and why."""


def to_write(advice: str) -> tuple[str, ...]:
    """The texts that an advice says to write, without examples and what is to be filled in."""
    word = edits._ADVICE.search(advice)
    if word is None:
        return ()
    example = re.search(r"\b(?:such as|for example)\b", advice)
    return tuple(edits._pieces(advice[word.start() : None if example is None else example.start()]))


def test_every_text_that_a_message_says_to_write_has_a_quick_fix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over all bad specs of the grammar; what is offered is checked once more."""
    monkeypatch.setattr(fixes, "SECONDS", 60.0)  # a busy machine
    folder, tables = Path(__file__).parent.parent / "grammar" / "bad", Tables()
    advised, missed = 0, set()

    @cache  # of the texts of offers, which are checked before they are made
    def said(name: str, text: str) -> tuple[Diagnostic, ...]:
        return checked(Outline(Source(name=name, text=text)), folder, tables).diagnostics

    for path in sorted(folder.glob("*.odt")):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        spec = Outline(Source(name=path.name, text=text))
        before = said(path.name, text)
        whole = Span(start=0, end=len(text))
        found = fixes.offered(spec, whole, lambda one: said(one.source.name, one.source.text))
        for one in before:
            offered = {fix.says for of, fix in found if of == one}
            for advice in (*(label.text for label in one.labels), *one.helps):
                texts = to_write(advice)
                advised += bool(texts)
                if texts and offered.isdisjoint(texts):
                    missed.add((path.stem, texts[0]))
        for one, fix in found:
            after = said(path.name, fix.applied(text))
            known = [(d.code, d.message) for d in before].count((one.code, one.message))
            assert [(d.code, d.message) for d in after].count((one.code, one.message)) < known
    assert missed == set(NOT_MENDED)
    assert advised > 150


@pytest.mark.parametrize(
    ("rule", "title", "mended"),
    [
        ("rule a: size >= 7", "Write `forall leaf: size >= 5`", "rule a: forall leaf: size >= 7"),
        ("rule a: forall path: errors <= 3", "Remove `forall path`", "rule a: errors <= 3"),
        ('group g = age > "60"', "Write `60`", "group g = age > 60"),
        ('group g = sex < "male"', "Write `!=`", 'group g = sex != "male"'),
        ('rule a: recall("yes") >= 80', "Write `80%`", 'rule a: recall("yes") >= 80%'),
    ],
)
def test_a_quick_fix_keeps_what_was_meant(rule: str, title: str, mended: str) -> None:
    """The user's own numbers stay where the text of a message has another."""
    folder = Path(__file__).parent.parent / "grammar" / "bad"
    head = 'data "patients.csv", id id\ntarget sick positive "yes"\nmissing branch\n'
    text = f"{head}tree depth <= 3\nminimize errors\n{rule}\n"
    tables = Tables()
    offered = fixes.offered(
        outline(text),
        Span(start=0, end=len(text)),
        lambda one: checked(one, folder, tables).diagnostics,
    )
    (fix,) = (fix for _, fix in offered if fix.title == title)
    assert fix.applied(text) == text.replace(rule, mended)


def test_no_fix_replaces_a_statement_by_another_kind() -> None:
    folder = Path(__file__).parent.parent / "grammar" / "bad"
    text = (folder / "missing_refused.odt").read_text(encoding="utf-8")
    tables = Tables()
    offered = fixes.offered(
        outline(text),
        Span(start=0, end=len(text)),
        lambda one: checked(one, folder, tables).diagnostics,
    )
    titles = {fix.title for _, fix in offered}
    assert "Add `missing drop`" in titles
    assert all(fix.applied(text).startswith('data "patients.csv"') for _, fix in offered)


@pytest.mark.parametrize(
    ("text", "label", "argument"),
    [
        ("rule a: accuracy(", "accuracy(group)", 0),
        ("rule a: sum(1, 2, ", "sum(a, b, ...)", 2),
        ("rule a: abs(", "abs(number)", 0),
        ("rule a: gap(accuracy, women, men, ", "gap(measure, column or groups, ...)", 1),
        ("rule a: accuracy(women) >= 1 ", None, 0),
        ("rule a: x in {1, ", None, 0),
        ("rule a: accuracy(x\nrule b: ", None, 0),
        (")((,", None, 0),
    ],
)
def test_the_call_around_a_place(text: str, label: str | None, argument: int) -> None:
    found = called(outline(text), len(text))
    if label is None:
        assert found is None
        return
    assert found is not None
    assert (found.forms[found.chosen].label, found.argument) == (label, argument)
