"""A long search says that it goes on: a live line on a terminal, else a line at times."""

from __future__ import annotations

import io
import re
import time
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import odtdsl
from odtdsl.backends.base import Progress
from odtdsl.insight import explanations
from odtdsl.interfaces.cli import progress
from odtdsl.interfaces.cli.main import app
from odtdsl.interfaces.cli.progress import Waiting

ROWS = "a,b,y\n" + "".join(f"{i},{i * 7 % 11},{'n' if i * i % 7 < 3 else 'p'}\n" for i in range(40))
SPEC = """data "rows.csv"
target y
tree depth <= 1
minimize errors
rule some: forall leaf: size >= 5
rule good: {good}
"""


class FakeTerminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.05)
    monkeypatch.setattr(progress, "REFRESH", 0.01)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    path = tmp_path / "s.odt"
    path.write_text(SPEC.format(good="errors <= 30"))
    return path


@pytest.mark.usefixtures("soon")
def test_lines_of_a_log_come_ever_later(capsys: pytest.CaptureFixture[str]) -> None:
    with Waiting() as waiting:
        waiting(Progress(stage=0, incumbent=Fraction(5), bound=Fraction(1, 2), seconds=0.0))
        time.sleep(0.5)
    told = capsys.readouterr().err.splitlines()
    assert 1 <= len(told) <= 4  # at .05, .1, .2 and .4 s
    line = "still searching after 0 s: best 5, bound 0.5, gap 90.0%"
    assert told[0] == f"{line}; Ctrl-C stops it with the best so far"
    assert set(told[1:]) <= {line}


@pytest.mark.usefixtures("soon")
def test_programs_that_ask_for_json_are_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    with Waiting(quiet=True) as waiting:
        waiting.tell("anything")
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("soon")
def test_a_terminal_has_one_line_that_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = FakeTerminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("COLUMNS", "40")
    with Waiting(quiet=True) as waiting:
        waiting.tell("without `bell\a`" + "x" * 100)
        time.sleep(0.1)
    drawn = screen.getvalue()
    assert "s  without `bell\\x07`x" in drawn
    assert "\n" not in drawn
    parts = drawn.split("\r")
    assert max(map(len, parts)) == 39  # a line that wraps could not be drawn over
    assert parts[-2:] == [" " * 39, ""]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("columns", [80, 60])
def test_a_terminal_that_has_room_says_how_to_stop(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = FakeTerminal()
    monkeypatch.setattr("sys.stderr", told)
    monkeypatch.setenv("COLUMNS", str(columns))
    waiting = Waiting()  # its clock is not started
    waiting(Progress(stage=0, incumbent=Fraction(5), bound=Fraction(1, 2), seconds=0.0))
    waiting._redraw(0.0)
    waiting._redraw(10.0)
    line = "s  best 5, bound 0.5, gap 90.0%"
    before, after = (one.strip() for one in told.getvalue().split("\r")[1:3])
    assert before.endswith(line)
    end = f"{line}; Ctrl-C stops it with the best so far" if columns == 80 else line
    assert after.endswith(end)
    assert max(map(len, told.getvalue().split("\r"))) < columns


@pytest.mark.usefixtures("soon")
def test_who_stops_to_read_does_not_stop_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    monkeypatch.setattr("sys.stderr", closed)
    with Waiting() as waiting:
        closed.close()
        time.sleep(0.1)
        waiting.tell("more")


@pytest.mark.parametrize(
    ("command", "good", "told"),
    [
        ("solve {spec}", "errors <= 30", r"best \d+, bound \d+"),
        ("explain {spec}", "errors <= 30", r"search \d+: the best tree without `tree depth`"),
        ("explain {spec}", "errors <= 0", r"search \d+: can a tree satisfy these rules together?"),
        (
            "explain {spec} --curve good",
            "errors <= 30",
            r"search \d+: the next tighter bound of `good`",
        ),
        ("report {spec} --prices", "errors <= 30", r"search \d+: the best tree without `tree dep"),
        ("tune {spec} --vary depth=1..1 --cv 2", "errors <= 30", r"2 of 2 runs are done"),
        ("compare {spec} --on greedy", "errors <= 30", ""),
    ],
)
def test_commands_tell_what_they_search_for(
    command: str, good: str, told: str, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quick search, so its last word is taken without a clock."""
    heard: list[str] = []

    def leave(self: Waiting, *_: object) -> None:
        heard.append(self.text)

    monkeypatch.setattr(Waiting, "__enter__", lambda self: self)
    monkeypatch.setattr(Waiting, "__exit__", leave)
    spec.write_text(SPEC.format(good=good))
    monkeypatch.chdir(spec.parent)
    words = command.format(spec=spec.name).split()
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code in (0, 3), shown.output
    assert len(heard) == 1
    assert re.search(told, heard[0]), heard


def test_the_library_tells_who_asks_alone(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []
    analysis = odtdsl.load(spec).analyse()
    explanations.explain(analysis, tell=heard.append)
    explanations.explain(analysis)
    assert any("under all rules" in one for one in heard)
    assert capsys.readouterr().err == ""
