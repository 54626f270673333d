"""The documentation says what happens: examples run, generated pages are fresh, links lead on."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from docs import generate, pages, stub  # noqa: E402

PAGES = pages.pages()


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _blocks(page: Path) -> list[pages.Block]:
    return list(pages.blocks(page.read_text(encoding="utf-8")))


WITH_EXAMPLES = [
    page
    for page in PAGES
    if any(b.name or b.language in ("console", "odt", "python") for b in _blocks(page))
]


def _names(page: Path) -> dict[str, Any]:
    """What the README's Python takes for granted."""
    if page != ROOT / "README.md":
        return {}
    from sklearn.datasets import load_wine

    return {"frame": load_wine(as_frame=True).data}


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=_name)
def test_examples_print_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    pages.run_page(page, tmp_path, names=_names(page))
    needed = {name for b in _blocks(page) if b.needs for name in b.needs.split()}
    missing = sorted(needed - set(os.environ))
    if missing:
        pytest.skip(f"the rest of the page needs {', '.join(missing)}")


OF_PANDAS = re.compile(r"as_frame=True|^(?:>>> )?import pandas|transform=\"pandas\"", re.M)


def test_pages_say_that_they_need_pandas_before_they_use_it() -> None:
    """`pip install .` does not bring it. (Pages of the reference are made of docstrings.)"""
    using = 0
    for page in WITH_EXAMPLES:
        text = page.read_text(encoding="utf-8")
        if (used := OF_PANDAS.search(text)) and "reference" not in page.parts:
            using += 1
            assert "`pip install pandas`" in text[: used.start()], _name(page)
    assert using >= 6


@pytest.mark.parametrize(
    "path",
    [path for path in generate.FILES if path.name != "support.md"],  # see test_proven_rules.py
    ids=lambda path: path.name,
)
def test_generated_files_are_fresh(path: Path) -> None:
    if path == stub.PLACE:
        pytest.importorskip("nanobind")
    shown = path.read_text(encoding="utf-8")
    assert shown == generate.FILES[path](), "run `python -m docs.generate`"


def _links(page: Path) -> Iterator[tuple[Path, str]]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", "", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "models/README.md"], ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in _links(page):
        assert path.exists(), path
        assert not anchor or anchor in _anchors(path), f"{path}#{anchor}"


def test_every_page_is_reached_from_the_index() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "docs/README.md"]
    while waiting:
        page = waiting.pop()
        if page.suffix == ".md" and page not in seen:
            seen.add(page)
            waiting.extend(path for path, _ in _links(page) if path.is_file())
    assert set((ROOT / "docs").rglob("*.md")) <= seen


@pytest.mark.parametrize("name", ["pages", "generate", "gallery", "site"])
def test_help_of_a_program_of_the_docs_does_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = import_module(f"docs.{name}")
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        made.main()
    assert ended.value.code == 0
    assert f"usage: python -m docs.{name}" in capsys.readouterr().out


def test_json_page_names_every_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = pages.Runner(tmp_path)
    answer = json.loads(runner.output("odt solve models/iris.odt --using greedy --json")[0])
    named = set(
        re.findall(r"`(\w+)`", (ROOT / "docs/reference/json.md").read_text(encoding="utf-8"))
    )

    def keys(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            yield from value
            for part in value.values():
                yield from keys(part)
        elif isinstance(value, list):
            for part in value:
                yield from keys(part)

    assert answer.pop("size") is not None
    assert set(keys(answer)) <= named


def test_exit_codes_are_those_of_the_program() -> None:
    from odtdsl.interfaces.cli import common as cli

    shown = set(re.findall(r"^\| (\d+) \|", generate.text("cli.md"), flags=re.M))
    names = ("OK", "WRONG", "USAGE", "INFEASIBLE", "LIMIT", "INTERNAL", "INTERRUPTED")
    assert shown == {str(getattr(cli, name)) for name in names}


def _commands() -> list[str]:
    from odtdsl.interfaces.cli.main import app

    return list(app.commands)


@pytest.mark.parametrize("command", _commands())
def test_command_line_page_is_what_help_says(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    printed = "\n".join(pages.Runner(tmp_path).output(f"odt {command} --help"))
    section = generate.text("cli.md").split(f"## odt {command}\n")[1].split("\n## ")[0]
    flags = r"(?<![\w-])(--?[a-z][\w-]*)"
    shown, there = set(re.findall(flags, section)), set(re.findall(flags, printed))
    there -= {"--help", "-h", *(f"--no-{flag[2:]}" for flag in shown)}
    assert shown == there


class TestReadme:
    """The README has plain blocks: `sh`, and behind it what is printed."""

    def test_first_command_prints_what_is_shown(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        runner, blocks = pages.Runner(tmp_path), _blocks(ROOT / "README.md")
        first = next(i for i, b in enumerate(blocks) if "odt solve" in "\n".join(b.lines))
        command = blocks[first].lines[0].split(" && ")[-1]
        shown = [line.removeprefix("  ...") or "..." for line in blocks[first + 1].lines]
        assert pages.fits(shown, runner.output(command))

    def test_the_spec_shown_is_the_one_it_names(self) -> None:
        from odtdsl import load, parse

        (shown,) = (b for b in _blocks(ROOT / "README.md") if b.lines[0].startswith("data "))
        assert parse("\n".join(shown.lines)) == load(ROOT / "models/wine.odt")

    def test_every_command_is_in_the_table(self) -> None:
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        assert all(f"`odt {command}`" in text for command in _commands())


class TestRunner:
    """The runner itself notices what it is there to notice."""

    @pytest.mark.parametrize(
        ("shown", "printed", "fits"),
        [
            (["a"], ["a"], True),
            (["a"], ["b"], False),
            (["a"], ["a", "b"], False),
            (["a", "..."], ["a", "b", "c"], True),
            (["...", "c"], ["a", "b", "c"], True),
            (["...", "d"], ["a", "b", "c"], False),
            (["milp, 1.00 s, seed 0"], ["milp, 0.12 s, seed 0"], True),
            (["milp, 1.00 s, seed 0"], ["milp, 0.12 s, seed 1"], False),
            (["gap ...%"], ["gap 12.5%"], True),
            (["gap (...)"], ["gap 12"], False),
        ],
    )
    def test_output_fits(self, shown: list[str], printed: list[str], fits: bool) -> None:
        assert pages.fits(shown, printed) is fits

    @pytest.mark.parametrize(
        "text",
        [
            "```console\n$ echo hallo\nhello\n```\n",
            "```console\n$ false\n```\n",
            "```console\n$ false\n$ echo $?\n0\n```\n",
            "```python\nassert 1 == 2\n```\n",
            "```python\n>>> 1 + 1\n3\n```\n",
        ],
    )
    def test_a_wrong_page_is_found(self, text: str, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text(text, encoding="utf-8")
        with pytest.raises(pages.Mismatch):
            pages.run_page(page, tmp_path)

    def test_a_broken_fragment_is_found(self, tmp_path: Path) -> None:
        from odtdsl import OdtError

        page = tmp_path / "page.md"
        page.write_text("```odt\ntagret y\n```\n", encoding="utf-8")
        with pytest.raises(OdtError):
            pages.run_page(page, tmp_path)
