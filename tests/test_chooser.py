"""The page to choose from listed trees: what it holds, and what it does in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from test_report_browser import browser  # noqa: F401

import odtdsl
from odtdsl.driver.alternatives import alternatives
from odtdsl.driver.near import parse_near
from odtdsl.interfaces.cli.main import app
from odtdsl.predictors.routing import route
from odtdsl.presentation.chooser import page

FEATURES = ["a", "x<1>", "</script><img src=x onerror='window.pwned=1'>", "b`c", "d"]
GROUP = "wo men</script>"


def table(folder: Path) -> str:
    """A spec of hostile names on random rows."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, (60, len(FEATURES)))
    label = (rows[:, 0] & rows[:, 1]) ^ (rng.random(60) < 0.2)
    with (folder / "rows.csv").open("w") as file:
        file.write(",".join(f'"{name}"' for name in FEATURES) + ",y\n")
        for row, one in zip(rows, label, strict=True):
            file.write(",".join(map(str, row)) + "," + ("<b>no", "yes&")[int(one)] + "\n")
    spec = f'data "rows.csv"\ntarget y\ngroup `{GROUP}` = d = 1\ntree depth <= 2\n'
    return spec + "minimize errors + leaves\n"


def made(folder: Path) -> tuple[Any, Any, str]:
    spec = table(folder)
    analysis = odtdsl.parse(spec, base=folder).analyse()
    found = alternatives(analysis, near=parse_near("90%"), most=10_000)
    return found, analysis, page(found, analysis)


def test_the_page_has_every_tree_as_it_is(tmp_path: Path) -> None:
    found, analysis, text = made(tmp_path)
    said = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert said is not None
    data = json.loads(said[1])
    assert len(data["trees"]) == len(found.trees) > 6
    assert [one["name"] for one in data["features"]] == FEATURES
    rows = analysis.rows

    def leaves(node: list[Any]) -> list[list[Any]]:
        return [node] if len(node) == 3 else leaves(node[1]) + leaves(node[2])

    inside = np.asarray(rows.data.columns["d"].numbers) == 1
    for told, one in zip(data["trees"], found.trees, strict=True):
        ends = leaves(told["root"])
        assert [end[0] for end in ends] == [leaf.label for leaf in one.tree.leaves]
        reached = route(one.tree, rows.data.table)
        wrong = np.asarray([end[0] for end in ends])[reached] != rows.labels
        assert told["errors"] == wrong.sum() == sum(end[2] for end in ends)
        assert told["groups"] == [int((wrong & inside).sum())]
        assert [end[1] for end in ends] == np.bincount(reached, minlength=len(ends)).tolist()


def test_a_chooser_needs_a_list_and_replaces_only_its_own(tmp_path: Path) -> None:
    spec, out = tmp_path / "s.odt", tmp_path / "c.html"
    spec.write_text(table(tmp_path))

    def odt(*more: str) -> str:
        done = CliRunner().invoke(app, ["solve", str(spec), "--chooser", str(out), *more])
        return "" if done.exit_code == 0 else done.output

    assert "U313" in odt()
    assert odt("--all-optimal") == odt("--all-optimal") == ""
    out.write_text("<!DOCTYPE html>\n<title>mine</title>")
    assert "F303" in odt("--all-optimal")


def test_wishes_filter_and_solve_as_rules(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    found, _, text = made(tmp_path)
    path = tmp_path / "chooser.html"
    path.write_text(text, encoding="utf-8")
    browser.get_log("browser")
    browser.get(path.as_uri())

    def wish(query: str, value: str) -> None:
        browser.execute_script(
            "const e = [...document.querySelectorAll('#wishes label')].find(l =>"
            " l.querySelector('span') && l.querySelector('span').firstChild.data ==="
            " arguments[0]).querySelector('select,input'); e.value = arguments[1];"
            "e.dispatchEvent(new Event('input', {bubbles: true}));",
            query,
            value,
        )

    wish(FEATURES[1], "yes")
    wish("a", "root")
    wish(f"errors in {GROUP}", "20")
    wish("leaves", "4")
    rules = browser.execute_script("return document.getElementById('rules').value")
    count = browser.execute_script("return document.getElementById('count').textContent")
    best = odtdsl.parse(table(tmp_path) + rules + "\n", base=tmp_path).solve()
    kept = [
        one
        for one in found.trees
        if FEATURES[1] in one.tree.tested and one.tree.tested[0] == "a" and one.tree.n_leaves <= 4
    ]
    assert 0 < len(kept) < len(found.trees)
    assert count == f"{len(kept)} of {len(found.trees)} trees"
    # Of trees that predict alike the list has one, which may ask another question first.
    assert best.objective is not None
    assert best.objective <= kept[0].objective[0]
    assert best.audit is not None
    assert best.audit.holds
    first = browser.execute_script("return document.getElementById('tree').textContent")
    browser.execute_script("document.getElementById('list').focus()")
    from selenium.webdriver.common.keys import Keys

    browser.switch_to.active_element.send_keys(Keys.END)
    last = browser.execute_script("return document.getElementById('tree').textContent")
    assert len(kept) == 1 or first != last
    assert browser.execute_script("return window.pwned") is None
    assert browser.get_log("browser") == []
