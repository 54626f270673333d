"""Every spec of the corpus gives what its expected file says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from corpus import BAD, FORMS, bad_report, canonical, expected

from odtdsl.diagnostics.codes import CODES
from odtdsl.source import Source
from odtdsl.syntax.parser import parse, read_source
from odtdsl.syntax.printer import format_source, to_text


def _name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", BAD, ids=_name)
def test_a_bad_spec_earns_its_messages(path: Path) -> None:
    report = bad_report(path)
    assert report == expected(path).read_text(encoding="utf-8")
    codes = re.findall(r"^(?:error|warning)\[(\w+)\]: ", report, re.MULTILINE)
    assert codes, "a bad spec was taken for a good one"
    assert set(codes) <= set(CODES)


@pytest.mark.parametrize("path", FORMS, ids=_name)
def test_a_form_prints_as_expected_and_parses_back(path: Path) -> None:
    text = canonical(path)
    assert text == expected(path).read_text(encoding="utf-8")
    spec = parse(read_source(path))
    printed = Source(name="printed", text=text)
    assert parse(printed) == spec
    assert format_source(printed) == text
    assert parse(Source(name="plain", text=to_text(spec))) == spec
    for comment in spec.comments:
        assert comment.text in text


def test_no_expected_file_is_left_without_its_spec() -> None:
    for folder, suffix in ((BAD, ".txt"), (FORMS, ".fmt")):
        specs = {path.stem for path in folder}
        assert specs
        assert {path.stem for path in folder[0].parent.glob(f"*{suffix}")} == specs
