"""The lexer of documents and the grammar of editors colour every keyword of the language."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String

from odtdsl.interfaces.editor import lexer
from odtdsl.language import grammar

ROOT = Path(__file__).resolve().parents[1]
VSCODE = ROOT / "grammar" / "vscode"
SPECS = sorted([*(ROOT / "models").rglob("*.odt"), *(ROOT / "grammar" / "good").glob("*.odt")])


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_character_of_every_spec_is_coloured(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tokens = list(lexer.OdtLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(shown for _, shown in tokens) == text
    assert [shown for kind, shown in tokens if kind in Error] == []


def test_the_lexer_has_the_grammars_keywords() -> None:
    words = {name: " ".join(found) for name, found in lexer.grammar_keywords().items()}
    assert words == grammar.keywords()
    known = {w for found in grammar.keywords().values() for w in found.split()}
    assert lexer.keywords() | lexer.units() == known
    for word in lexer.keywords():
        assert lexer.kind(word) in Keyword or lexer.kind(word) in Operator.Word
    assert known >= lexer.OPERATORS | lexer.TYPES


def test_what_each_piece_is() -> None:
    text = 'rule `a b`: forall path: cost <= 5% and size > x # c\nsolve within 2 min\ndata "é"'
    found = {shown: kind for kind, shown in lexer.OdtLexer().get_tokens(text)}
    assert found["rule"] is Keyword.Declaration
    assert found["`a b`"] is Name.Function
    assert found["forall"] is Operator.Word
    assert found["size"] is Name.Builtin
    assert found["x"] is Name
    assert found["5%"] is Number
    assert found["min"] is Keyword.Constant
    assert found["# c"] is Comment.Single
    assert found['"é"'] is String.Double


def test_the_lexer_is_found_by_its_name() -> None:
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'odt = "odtdsl.interfaces.editor.lexer:OdtLexer"' in declared
    found = [one for one in entry_points(group="pygments.lexers") if one.name == "odt"]
    if not found:
        pytest.skip("odtdsl is not installed, only on the path")
    assert found[0].load() is lexer.OdtLexer


def test_the_textmate_grammar_has_every_keyword() -> None:
    found: set[str] = set()
    shown = json.loads((VSCODE / "syntaxes" / "odt.tmLanguage.json").read_text(encoding="utf-8"))
    for pattern in shown["patterns"]:
        for group in re.findall(r"\(([A-Za-z_|]+)\)", pattern.get("match", "")):
            found |= set(group.split("|"))
    assert {w for words in grammar.keywords().values() for w in words.split()} <= found


def test_the_files_of_the_client_belong_together() -> None:
    package = json.loads((VSCODE / "package.json").read_text(encoding="utf-8"))
    contributed = package["contributes"]
    for name in (
        package["main"],
        contributed["languages"][0]["configuration"],
        contributed["grammars"][0]["path"],
    ):
        assert (VSCODE / name).is_file()
    json.loads((VSCODE / "language-configuration.json").read_text(encoding="utf-8"))
    code = (VSCODE / "extension.js").read_text(encoding="utf-8")
    settings = contributed["configuration"]["properties"]
    assert {name.removeprefix("odtdsl.") for name in settings} == set(
        re.findall(r'settings\.get\("(\w+)"', code)
    )
    assert contributed["commands"][0]["command"] in code


def test_the_clients_code_is_javascript() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    subprocess.run([node, "--check", str(VSCODE / "extension.js")], check=True)


def test_documents_do_not_load_the_solvers() -> None:
    code = (
        "import sys, odtdsl.interfaces.editor.lexer;"
        " print('pyomo' in sys.modules, 'lark' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]
