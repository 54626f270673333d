"""`odt lsp`, driven by a script over its pipes as an editor drives it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_client import Client, Refused, applied

pytest.importorskip("pygls", reason="the language server needs pygls (extra lsp)")

ROWS = """age,sex,math score,seen,y
41,f,1,x,yes
52,m,2,,no
33,f,3,x,yes
64,m,4,😀,no
"""
GOOD = """data "rows.csv"
target y positive "yes"
missing branch
group women = sex = "f"
let most = 3
tree depth <= 2
minimize errors
rule fair: accuracy(women) >= 50%
rule first: forall path: age before sex
rule few: errors <= most
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("session")
    (folder / "rows.csv").write_text(ROWS, encoding="utf-8")
    (folder / "more").mkdir()
    with Client(folder) as started:
        yield started


def labels(client: Client, uri: str, text: str) -> dict[str, str]:
    """What is offered at the end of a text: each label, and what it puts in."""
    client.change(uri, text)
    lines = text.split("\n")
    found = client.at("completion", uri, len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2)
    return {item["label"]: item["textEdit"]["newText"] for item in found["items"]}


def marked(text: str, one: dict[str, Any]) -> str:
    """The part of a text that a diagnostic marks, places counted in UTF-16."""
    span = one["range"]
    assert isinstance(span, dict)
    start, end = span["start"], span["end"]
    assert start["line"] == end["line"]
    line = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[start["line"]]
    wide = line.encode("utf-16-le")
    return wide[2 * start["character"] : 2 * end["character"]].decode("utf-16-le")


BAD = {
    "syntax": (GOOD.replace("rule fair:", "rule fair"), "S015", "fair"),
    "column": (GOOD.replace('"f"', '"f" or seen = "😀" and agee = 3'), "N103", "agee"),
    "value": (GOOD.replace('"f"', '"f" or seen = "😀" or sex = "female"'), "N116", '"female"'),
    "data": (GOOD.replace("rows.csv", "row.csv"), "D101", '"row.csv"'),
    "scope": (GOOD.replace("errors <= most", "cost <= most"), "T220", "cost"),
}
"""Five bad files: text, the code that is told, and what it marks."""


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_diagnostics_mark_what_is_wrong(client: Client, name: str, line_end: str) -> None:
    text, code, part = BAD[name]
    text = text.replace("\n", line_end)
    uri = client.open(text, f"{name}.odt")
    found = next(one for one in client.diagnostics(uri, code) if one["code"] == code)
    assert marked(text, found) == part
    assert found["severity"] == 1
    assert found["source"] == "odt"
    assert found["message"]
    client.change(uri, GOOD.replace("\n", line_end))
    assert client.diagnostics(uri) == []


def test_what_no_back_end_can_is_a_warning(client: Client) -> None:
    text = GOOD.replace("tree depth <= 2", "tree depth <= 2, splits hyperplane").replace(
        "missing branch", "missing drop"
    )
    uri = client.open(text + "\nsolve using sat\n", "planes.odt")
    found = client.diagnostics(uri, "B102")
    assert {one["severity"] for one in found if one["code"].startswith("B")} == {2}


def test_hover_tells_meanings(client: Client) -> None:
    uri = client.open(GOOD, "hover.odt")
    assert client.diagnostics(uri) == []
    rows = GOOD.split("\n")

    def told(word: str, line: int) -> str:
        found = client.at("hover", uri, line, rows[line].index(word) + 1)
        assert found["range"]["start"] == {"line": line, "character": rows[line].index(word)}
        return str(found["contents"]["value"])

    assert "**missing** (keyword)" in told("missing", 2)
    assert "weighted share of the rows" in told("accuracy", 7)
    assert "2 training rows" in told("women", 7)
    assert told("women", 3) == told("women", 7)
    assert "rule on every path" in told("first", 8)
    assert "age before sex" in told("first", 8)
    assert "is strictly above" in told("first", 8)
    assert "numbers from 33 to 64" in told("age", 8)
    assert "`f`: 2 rows" in told("sex", 3)
    assert "3" in told("most", 9)
    assert client.at("hover", uri, 6, len(rows[6]) + 50)["contents"]["value"].startswith("`errors`")
    assert client.at("hover", uri, 99, 0) is None


def test_completion_reads_the_data_and_the_grammar(client: Client) -> None:
    uri = client.open(GOOD, "complete.odt")
    assert client.diagnostics(uri) == []
    assert {"rule", "solve", "weight"} <= set(labels(client, uri, GOOD))
    terms = labels(client, uri, GOOD + "rule r: ")
    assert {"accuracy", "errors", "most"} <= set(terms)
    assert not {"cost", "length", "threshold", "age"} & set(terms)
    features = labels(client, uri, GOOD + "rule r: forall path: age before ")
    assert features == {"age": "age", "sex": "sex", "math score": "`math score`", "seen": "seen"}
    assert labels(client, uri, GOOD + "rule r: accuracy(w")["women"] == "women"
    assert labels(client, uri, GOOD + "group g = sex = ")["f"] == '"f"'
    assert labels(client, uri, GOOD + 'group g = seen in {"') == {"x": '"x"', "😀": '"😀"'}
    assert labels(client, uri, GOOD + 'rule r: rate("') == {"no": '"no"', "yes": '"yes"'}
    assert set(labels(client, uri, GOOD + "rule r: forall ")) == {"path", "leaf", "split"}
    assert labels(client, uri, 'data "') == {"rows.csv": '"rows.csv"', "more/": '"more/"'}
    assert "iris" in labels(client, uri, 'data sklearn "')
    assert labels(client, uri, GOOD + "# ") == {}


def test_formatting_gives_the_canonical_form(client: Client) -> None:
    text = GOOD.replace("minimize errors", "minimize   errors  # 😀").replace("<= 2", "<=2")
    uri = client.open(text, "format.odt")
    params = {"textDocument": {"uri": uri}, "options": {"tabSize": 4, "insertSpaces": True}}
    edits = client.request("textDocument/formatting", params)
    assert applied(text, edits) == GOOD.replace("minimize errors", "minimize errors  # 😀")
    client.change(uri, GOOD)
    assert client.request("textDocument/formatting", params) == []
    client.change(uri, "rule (((")
    assert client.request("textDocument/formatting", params) is None


def test_rename_changes_every_use_and_nothing_else(client: Client) -> None:
    text = GOOD + (
        'rule two: gap(accuracy, women, men) <= 50%  # women "women"\n'
        'group men = sex = "m" and seen != "women"\nlet twice = 2 * most\n'
    )
    uri = client.open(text, "rename.odt")
    found = client.at("rename", uri, 7, 21, newName="all ladies")
    renamed = applied(text, found["changes"][uri])
    assert renamed == text.replace("group women", "group `all ladies`").replace(
        "accuracy(women)", "accuracy(`all ladies`)"
    ).replace("accuracy, women", "accuracy, `all ladies`")
    found = client.at("rename", uri, 4, 5, newName="limit")
    assert applied(text, found["changes"][uri]) == text.replace("most", "limit")
    found = client.at("rename", uri, 8, 6, newName="ordered")
    assert applied(text, found["changes"][uri]) == text.replace("rule first", "rule ordered")
    for line, column, name in ((3, 7, "men"), (4, 5, "errors"), (4, 5, "a b"), (4, 5, " ")):
        with pytest.raises(Refused):
            client.at("rename", uri, line, column, newName=name)
    assert client.at("rename", uri, 6, 10, newName="mistakes") is None  # a term
    spans = client.at("references", uri, 7, 21, context={"includeDeclaration": True})
    assert [one["range"]["start"]["line"] for one in spans] == [3, 7, 10]
    assert client.at("definition", uri, 7, 21)["range"]["start"] == {"line": 3, "character": 6}


def test_rename_reaches_into_half_written_text(client: Client) -> None:
    text = GOOD + "rule bad: accuracy(women) >= and errors <= most\n"
    uri = client.open(text, "half.odt")
    found = client.at("rename", uri, 3, 8, newName="ladies")
    assert applied(text, found["changes"][uri]) == text.replace("women", "ladies")


def test_symbols_are_the_names(client: Client) -> None:
    uri = client.open(GOOD + "rule half: accuracy(", "symbols.odt")
    found = client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    assert [(one["detail"], one["name"]) for one in found] == [
        ("group", "women"),
        ("let", "most"),
        ("rule", "fair"),
        ("rule", "first"),
        ("rule", "few"),
        ("rule", "half"),
    ]


def test_a_changed_file_is_read_again(client: Client) -> None:
    uri = client.open(GOOD.replace("rows.csv", "other.csv"), "stamp.odt")
    client.diagnostics(uri, "D101")
    path = client.folder / "other.csv"
    path.write_text(ROWS, encoding="utf-8")
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert client.diagnostics(uri) == []
    path.write_text(ROWS.replace("age", "years"), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    client.notify("workspace/didChangeWatchedFiles", {"changes": []})
    client.diagnostics(uri, "N103")


def test_every_beginning_of_a_text_is_answered(client: Client) -> None:
    """Half-written text, character by character, and places that do not exist."""
    uri, known = client.open("", "typing.odt"), client.errors
    text = GOOD.replace("women", "wom€n😀"[:4])
    for end in range(0, len(text), 7):
        client.change(uri, text[:end])
        lines = text[:end].split("\n")
        client.at("completion", uri, len(lines) - 1, len(lines[-1]))
        client.at("hover", uri, len(lines) // 2, 3)
    for odd in (
        "\ud800",
        '"\ud83d',
        "\0\0",
        "\r\r\r",
        "((((" * 80,
        "`",
        '"',
        "rule",
        "\u2028a\x0c",
    ):
        client.change(uri, odd)
        for place in ((0, 0), (0, 1), (7, 7), (2**31 - 1, 2**31 - 1)):
            client.at("hover", uri, *place)
            client.at("completion", uri, *place)
            client.at("prepareRename", uri, *place)
        client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    client.change(uri, GOOD)
    assert client.diagnostics(uri) == []
    assert client.errors == known


def test_data_that_take_too_long_never_stop_typing(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 7},{'yes' if i % 3 else 'no'}\n" for i in range(300_000))
    (tmp_path / "rows.csv").write_text("a,b,y\n" + rows, encoding="utf-8")
    with Client(tmp_path, "--within", "0.2") as client:
        uri = client.open('data "rows.csv" target y tree depth <= 1 minimize errors')
        began = time.monotonic()
        (found,) = client.diagnostics(uri, "D115")
        assert found["severity"] == 3
        assert "0.2 s" in found["message"]
        client.at("hover", uri, 0, 1)
        assert time.monotonic() - began < 60
        client.change(uri, 'data "rows.csv" target y tree depth <= 2 minimize errors')
        client.diagnostics(uri, "D115")


def test_messages_are_plain_json(client: Client) -> None:
    assert json.loads(json.dumps(client.capabilities)) == client.capabilities
    assert client.capabilities["textDocumentSync"]["change"] == 1


# ---- messages that make no sense

HOVER = "textDocument/hover"
PLACE = {"line": 0, "character": 1}
ODD_PARAMS: list[tuple[str, object]] = [
    (HOVER, {}),
    (HOVER, None),
    (HOVER, []),
    (HOVER, [1, 2]),
    (HOVER, 7),
    (HOVER, "x"),
    (HOVER, {"textDocument": {"uri": "file:///a.odt"}}),
    (HOVER, {"textDocument": {"uri": "file:///a.odt"}, "position": {"line": "one"}}),
    (HOVER, {"textDocument": None, "position": PLACE}),
    ("textDocument/rename", {"textDocument": {"uri": "file:///a.odt"}, "position": PLACE}),
    ("textDocument/completion", {"position": 1}),
    ("textDocument/formatting", {"textDocument": {"uri": "file:///a.odt"}, "options": 3}),
    ("textDocument/documentSymbol", {}),
    ("initialize", {"capabilities": 1}),
    ("odtdsl/refused", {"a": 1}),
]


@pytest.mark.parametrize(("method", "params"), ODD_PARAMS)
@pytest.mark.parametrize("name", [9001, "nine"])
def test_requests_with_odd_parameters_are_refused(
    client: Client, method: str, params: object, name: object
) -> None:
    client.send({"id": name, "method": method, "params": params})
    reply = client.reply(name)
    assert reply["error"]["code"] == -32602
    if method != "odtdsl/refused":
        assert method in reply["error"]["message"]
    assert "Traceback" not in reply["error"]["message"]


def test_what_is_wrong_with_parameters_is_told(client: Client) -> None:
    client.send(
        {"id": 1, "method": HOVER, "params": {"textDocument": {"uri": "a"}, "position": {}}}
    )
    told = client.reply(1)["error"]["message"]
    assert "line" in told
    assert "character" in told


def test_requests_without_parameters_are_refused(client: Client) -> None:
    client.send({"id": 9002, "method": HOVER})
    assert client.reply(9002)["error"]["code"] == -32602


def test_what_is_no_request_is_told(client: Client) -> None:
    client.send({"id": 9003, "method": 5})
    assert client.reply(9003)["error"]["code"] == -32600


def test_odd_notifications_and_answers_are_not_answered(client: Client) -> None:
    """They go to the log, and no window opens; the server goes on."""
    known = len(client.told)
    client.send({"method": "textDocument/didOpen", "params": {"textDocument": {"uri": 5}}})
    client.send({"method": "textDocument/didChange", "params": []})
    client.send({"method": 7})
    client.send({"id": {}, "method": HOVER})
    client.send({"id": 9005, "error": {"code": "x"}})
    uri = client.open(GOOD, "after.odt")
    assert client.diagnostics(uri) == []
    assert client.at("hover", uri, 0, 1)
    since = client.told[known:]
    assert not [one for one in since if "id" in one]
    assert not [one for one in since if one["method"] == "window/showMessage"]
    logged = [one["params"]["message"] for one in since if one["method"] == "window/logMessage"]
    assert any("cannot be read" in one for one in logged)


def fixes_of(client: Client, uri: str, line: int) -> dict[str, list[dict[str, Any]]]:
    """The quick fixes of the mistakes in a line, by title."""
    span = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 999}}
    params = {"textDocument": {"uri": uri}, "range": span, "context": {"diagnostics": []}}
    found = client.request("textDocument/codeAction", params)
    return {one["title"]: one["edit"]["changes"][uri] for one in found}


@pytest.mark.parametrize(
    ("right", "wrong", "code", "title"),
    [
        ("minimize errors", "minimise errors", "S024", "Write `minimize`"),
        ("age before sex", "agee before sex", "N103", "Write `age`"),
        ("errors <= most", "errors =< most", "S010", "Write `<=`"),
        ("rule fair:", "rule fair", "S015", "Write `rule fair:`"),
        ("accuracy(women)", "accuracy(womn)", "N119", "Write `women`"),
        ("accuracy(women) >=", "acuracy(women) >=", "N201", "Write `accuracy`"),
    ],
)
def test_quick_fixes_write_what_the_message_says(
    client: Client, right: str, wrong: str, code: str, title: str
) -> None:
    text = GOOD.replace(right, wrong) + 'rule also: recall("yes😀", women) >= 10%\n'
    line = text[: text.index(wrong)].count("\n")
    uri = client.open(text, f"fix_{code}.odt")
    client.diagnostics(uri, code)
    offered = fixes_of(client, uri, line)
    assert applied(text, offered[title]) == text.replace(wrong, right)
    assert fixes_of(client, uri, 0) == {}


def test_signatures_show_the_argument_at_hand(client: Client) -> None:
    uri = client.open(GOOD + 'rule g: gap(rate("yes"), women, ', "signature.odt")
    row = len(GOOD.split("\n")) - 1

    def told(column: int) -> Any:
        return client.at("signatureHelp", uri, row, column)

    inner = told(len('rule g: gap(rate("y'))
    assert "rate(class)" in [one["label"] for one in inner["signatures"]]
    outer = told(len('rule g: gap(rate("yes"), women, '))
    form = outer["signatures"][outer["activeSignature"]]
    assert form["label"].startswith("gap(")
    assert outer["activeParameter"] < len(form["parameters"])
    assert "difference" in form["documentation"]["value"]
    assert told(len("rule g")) is None
    assert client.at("signatureHelp", uri, 99, 0) is not None  # the end of the text
