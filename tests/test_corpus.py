"""Every spec of the corpus gives what its expected file says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from corpus import BAD, FORMS, GOOD, SUFFIXES, bad_report, canonical, expected, good_report

from odtdsl.base.diagnostics.codes import CODES
from odtdsl.base.source import Source
from odtdsl.language.parser import parse, read_source
from odtdsl.language.printer import format_source, to_text


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


@pytest.mark.parametrize("path", GOOD, ids=_name)
def test_a_good_spec_means_what_is_expected(path: Path) -> None:
    assert good_report(path) == expected(path).read_text(encoding="utf-8")


def test_a_file_over_1_mb_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "large.odt"
    path.write_text("# " + "x" * 1_000_000 + "\n", encoding="utf-8")
    assert bad_report(path).startswith("error[F003]: ")


def test_no_expected_file_is_left_without_its_spec() -> None:
    for folder in (BAD, FORMS, GOOD):
        suffix = SUFFIXES[folder[0].parent.name]
        specs = {path.stem for path in folder}
        assert {path.stem for path in folder[0].parent.glob(f"*{suffix}")} == specs
