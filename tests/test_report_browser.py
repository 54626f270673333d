"""Reports in a headless Chromium: folding, following, links, print, and hostile texts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reports
from chromium import headless

from odtdsl.driver.result import Result
from odtdsl.predictors.diagram_nodes import AxisTest
from odtdsl.predictors.graph import Joint
from odtdsl.predictors.nodes import Threshold
from odtdsl.presentation.report.node_facts import facts_of


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with headless(1200, 900) as driver:
        yield driver


@cache
def made(name: str) -> Result:
    found: Result = getattr(reports, name)()
    return found


def opened(browser: Any, name: str, folder: Path) -> Result:
    result = made(name)
    path = folder / f"{name}.html"
    result.report(path)
    browser.get_log("browser")
    browser.get(path.as_uri())
    return result


def run(browser: Any, script: str, *arguments: object) -> Any:
    return browser.execute_script(script, *arguments)


def shown(browser: Any) -> tuple[set[int], set[int]]:
    """The nodes to be seen in the picture, and those in the table."""
    both = run(
        browser,
        "const seen = e => e.getClientRects().length > 0;"
        "return [['g[data-node]', 'node'], ['tr[data-row]', 'row']].map(([query, key]) =>"
        " Array.from(document.querySelectorAll(query)).filter(seen)"
        ".map(e => Number(e.dataset[key])));",
    )
    return set(both[0]), set(both[1])


def press(browser: Any, node: int, key: str = "Enter") -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    group = browser.find_element(By.CSS_SELECTOR, f"g[data-node='{node}']")
    run(browser, "arguments[0].focus()", group)
    group.send_keys({"Enter": Keys.ENTER, " ": Keys.SPACE}.get(key, key))


@pytest.mark.parametrize("name", ["plain", "hostile", "diagram", "outputs", "conflict"])
def test_nothing_runs_loads_or_complains(browser: Any, name: str, tmp_path: Path) -> None:
    opened(browser, name, tmp_path)
    assert run(browser, "return window.pwned") is None
    assert run(browser, "return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []
    tags = run(browser, "return Array.from(document.scripts).map(s => s.type)")
    assert tags == ["application/json", ""]
    assert run(browser, "return document.images.length + document.links.length > 0") is True
    links = run(browser, "return Array.from(document.links).map(a => a.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)
    lost = run(
        browser,
        "return Array.from(document.links).map(a => a.getAttribute('href').slice(1))"
        ".filter(id => !document.getElementById(id))",
    )
    assert lost == []


def test_a_policy_stops_what_would_be_injected(browser: Any, tmp_path: Path) -> None:
    opened(browser, "plain", tmp_path)
    run(
        browser,
        "const s = document.createElement('script'); s.textContent = 'window.pwned = 1';"
        "document.body.append(s);"
        "const d = document.createElement('div');"
        'd.innerHTML = \'<img src="http://127.0.0.1:9/x.png" onerror="window.pwned = 2">\';'
        "document.body.append(d);",
    )
    assert run(browser, "return window.pwned") is None
    assert any("Content Security Policy" in e["message"] for e in browser.get_log("browser"))


@pytest.mark.parametrize("name", ["plain", "diagram"])
def test_splits_fold_and_unfold(browser: Any, name: str, tmp_path: Path) -> None:
    result = opened(browser, name, tmp_path)
    assert result.model is not None
    graph = facts_of(result.model, result.rows).graph  # type: ignore[arg-type]
    every = set(range(len(graph.nodes)))
    assert shown(browser) == (every, every)
    root = graph.nodes[graph.root]
    assert isinstance(root, Joint)
    child = next(n for n in (root.left, root.right) if isinstance(graph.nodes[n], Joint))

    def below(closed: int) -> set[int]:
        seen, waiting = {graph.root}, [graph.root]
        while waiting:
            node = graph.nodes[waiting.pop()]
            if isinstance(node, Joint) and node.number != closed:
                waiting += [n for n in (node.left, node.right) if n not in seen]
                seen |= {node.left, node.right}
        return seen

    left = below(child)
    press(browser, child)
    assert shown(browser) == (left, left)
    expanded = run(
        browser,
        "const g = document.querySelector(`g[data-node='${arguments[0]}']`);"
        "return [g.getAttribute('aria-expanded'), g.querySelector('.count')?.textContent]",
        child,
    )
    gone = len(every - left)
    assert expanded[0] == "false"
    assert expanded[1] == (f"+ {gone} node" + "s" * (gone > 1) if gone else None)
    press(browser, child, " ")
    assert shown(browser) == (every, every)
    run(browser, "document.getElementById('fold').click()")
    assert shown(browser)[0] == {graph.root, root.left, root.right}
    run(browser, "document.getElementById('unfold').click()")
    assert shown(browser) == (every, every)


def test_folded_trees_are_laid_out_without_overlap(browser: Any, tmp_path: Path) -> None:
    result = opened(browser, "plain", tmp_path)
    assert result.tree is not None
    for node, item in enumerate(result.tree.nodes()):
        if not hasattr(item, "left"):
            continue
        press(browser, node)
        boxes = run(
            browser,
            "const page = document.querySelector('#picture svg').getBoundingClientRect();"
            "return [[page.left, page.right], ...Array.from(document.querySelectorAll("
            "'g[data-node] > rect:first-of-type')).map(e => e.getBoundingClientRect())"
            ".filter(r => r.width).map(r => [r.left, r.right, r.top, r.bottom])]",
        )
        (low, high), rest = boxes[0], boxes[1:]
        for i, (left, right, top, bottom) in enumerate(rest):
            assert low <= left
            assert right <= high
            for other in rest[:i]:
                beside = left >= other[1] or other[0] >= right
                assert beside or top >= other[3] or other[2] >= bottom
        press(browser, node)


@pytest.mark.parametrize("name", ["plain", "hostile", "diagram", "outputs", "planes"])
def test_the_script_routes_as_the_model_does(browser: Any, name: str, tmp_path: Path) -> None:
    """All training rows, and values at, just below and just above every threshold."""
    result = opened(browser, name, tmp_path)
    model, rows = result.model, result.rows
    assert model is not None
    assert rows is not None
    facts = facts_of(model, rows)
    rowwise = (
        "const rows = odtReport.given.rows;"
        "return rows.names.map((_, i) => odtReport.follow(rows.cells.map(c => c[i])))"
    )
    expected = np.zeros(rows.n_rows, dtype=int)
    for one in facts.nodes:
        if not isinstance(one.node, Joint):
            expected[one.inside] = one.node.number
    found = run(browser, rowwise)
    tests = result.test_rows
    assert found[: rows.n_rows] == expected.tolist()
    assert len(found) == rows.n_rows + (0 if tests is None else tests.n_rows)  # after them
    ends = [end.number for end in facts.graph.ends]
    base = {name: rows.data.columns[name] for name in model.tested}
    for joint in facts.graph.joints:
        split = joint.split
        if not isinstance(split, AxisTest) or not isinstance(split.test, Threshold):
            continue
        if isinstance(split.test.value, str):
            continue
        cut = float(split.test.value)
        for value in (cut, math.nextafter(cut, -math.inf), math.nextafter(cut, math.inf)):
            row = int(facts.nodes[joint.number].inside[0])
            raw = {n: rows.data.table.columns[n].texts[[row]].tolist() for n in model.tested}
            raw[split.feature] = [value]
            end = int(model.apply(raw)[0])
            wanted = (
                ends[end]
                if result.tree is not None
                else next(e.number for e in facts.graph.ends if e.leaf.label == end)
            )
            cells = [
                value
                if n == split.feature
                else None
                if rows.data.table.columns[n].missing[row]
                else float(c.numbers[row])
                if c.numbers is not None
                else int(c.codes[row])  # type: ignore[index]
                for n, c in base.items()
            ]
            assert run(browser, "return odtReport.follow(arguments[0])", cells) == wanted


def test_a_row_lights_its_path_up(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By

    result = opened(browser, "plain", tmp_path)
    assert result.rows is not None
    assert result.tree is not None
    run(browser, "document.getElementById('fold').click()")
    browser.find_element(By.ID, "row").send_keys("7")
    lit = run(
        browser,
        "return Array.from(document.querySelectorAll('g.on')).map(g => Number(g.dataset.node))",
    )
    facts = facts_of(result.tree, result.rows)
    passed = {one.node.number for one in facts.nodes if 7 in one.inside}
    assert set(lit) == passed
    assert passed <= shown(browser)[0]
    told = browser.find_element(By.ID, "told").text.split("\n")
    assert len(told) == len(passed)
    why = result.why(7)
    for line, step in zip(told[:-1], why.steps, strict=False):
        assert step.text.split(" (")[0] in line
        assert all(rule in line for rule in step.rules)
    assert f"predicts {why.prediction}" in told[-1]
    assert (
        result.rows.data.table.columns["sick"].texts[7]
        in browser.find_element(By.ID, "actual").text
    )
    arcs = run(browser, "return document.querySelectorAll('path.edge.on').length")
    assert arcs == len(passed) - 1
    browser.find_element(By.ID, "row").send_keys("999")
    assert "no such" in browser.find_element(By.ID, "actual").text


def test_cells_that_are_typed_are_followed(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By

    result = opened(browser, "plain", tmp_path)
    assert result.tree is not None
    fields = browser.find_elements(By.CSS_SELECTOR, "#follow [data-cell]")
    assert len(fields) == len(result.tree.tested)
    cells: dict[str, Any] = {}
    for name, field in zip(result.tree.tested, fields, strict=True):
        number = field.tag_name == "input"
        cells[name] = [47] if number else [field.text.split("\n")[1].strip()]
        field.send_keys("47" if number else cells[name][0])
    end = browser.find_element(By.CSS_SELECTOR, "#told .end").text
    assert f"predicts {result.tree.predict(cells)[0]}" in end
    fields[0].clear()
    assert "missing" in browser.find_element(By.ID, "told").text


def test_rules_lead_to_the_nodes_that_they_speak_of(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By

    result = opened(browser, "plain", tmp_path)
    assert result.tree is not None
    assert result.rows is not None
    facts = facts_of(result.tree, result.rows)
    run(browser, "document.getElementById('fold').click()")
    for at, rule in enumerate(result.rows.problem.rules):
        link = browser.find_element(By.ID, f"spec-{at}")
        assert link.text.startswith(f"rule {rule.name}")
        run(browser, "arguments[0].click()", link)
        marked = run(
            browser,
            "return Array.from(document.querySelectorAll('g.ruled'))"
            ".map(g => Number(g.dataset.node))",
        )
        assert tuple(sorted(marked)) == facts.shaped(rule.name)
        assert set(marked) <= shown(browser)[0]
        assert browser.current_url.endswith(f"#rule-{at}")
        row = browser.find_element(By.ID, f"rule-{at}")
        assert rule.name in row.text
        assert "ruled" in row.get_attribute("class")


def test_paper_shows_all_and_is_white(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By

    result = opened(browser, "plain", tmp_path)
    assert result.tree is not None
    every = set(range(result.tree.n_leaves + result.tree.n_splits))
    colour = "return getComputedStyle(document.body).backgroundColor"
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [dark]})
    try:
        assert run(browser, colour) == "rgb(13, 17, 23)"
        run(browser, "document.getElementById('fold').click()")
        emulated = {"media": "print", "features": [dark]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
        run(browser, "window.dispatchEvent(new Event('beforeprint'))")
        assert shown(browser) == (every, every)
        assert run(browser, colour) == "rgb(255, 255, 255)"
        assert not browser.find_element(By.ID, "tools").is_displayed()
        assert not browser.find_element(By.ID, "follow").is_displayed()
        steps = browser.find_element(By.CSS_SELECTOR, "#timeline details table")
        assert steps.is_displayed()
        run(browser, "window.dispatchEvent(new Event('afterprint'))")
        assert shown(browser)[0] < every
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_keys_move_among_the_splits(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    result = opened(browser, "plain", tmp_path)
    assert result.tree is not None
    graph = facts_of(result.tree, result.rows).graph  # type: ignore[arg-type]
    root = graph.nodes[0]
    assert isinstance(root, Joint)
    at = "return Number(document.activeElement.dataset.node)"
    child, key = next(
        (n, k)
        for n, k in ((root.left, Keys.ARROW_LEFT), (root.right, Keys.ARROW_RIGHT))
        if isinstance(graph.nodes[n], Joint)
    )
    press(browser, 0, key)
    assert run(browser, at) == child
    press(browser, child, Keys.ARROW_UP)
    assert run(browser, at) == 0


def test_everything_to_see_has_words(browser: Any, tmp_path: Path) -> None:
    """Pictures, fields and regions have names; headings do not skip a level."""
    opened(browser, "plain", tmp_path)
    nameless = run(
        browser,
        "const named = e => e.getAttribute('aria-label') || e.closest('label') || e.textContent;"
        "return Array.from(document.querySelectorAll("
        "'svg, button, input, select, [role=region], [tabindex]')).filter(e => !named(e)).length",
    )
    assert nameless == 0
    levels = run(
        browser,
        "return Array.from(document.querySelectorAll('h1,h2,h3')).map(h => Number(h.tagName[1]))",
    )
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert run(browser, "return document.documentElement.lang") == "en"
