"""The questionnaire in a headless Chromium: answers, keys, a narrow screen, hostile names.

Needs selenium, and Debian's `chromium` and `chromium-driver`; nothing downloads a browser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from chromium import headless
from click.testing import CliRunner

from odtdsl.datasets.dataset import ColumnType
from odtdsl.interfaces.cli.main import app
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Threshold
from odtdsl.predictors.saving import to_json
from odtdsl.predictors.tree import Tree
from odtdsl.presentation.exports.formats.questionnaire import to_questionnaire
from odtdsl.presentation.exports.plan import plan_of

HOSTILE = "</script><script>document.title='broken'</script> --> & \"age\" \u202e"


def tree(name: str = "age") -> Tree:
    return Tree(
        root=Branch(
            feature=name,
            test=Threshold(value=54.5),
            missing="right",
            size=10,
            left=Leaf(label=0, size=4, class_weights=(4.0, 0.0)),
            right=Branch(
                feature="ward",
                test=Equals(value="west"),
                missing="left",
                size=6,
                left=Leaf(label=1, size=5, class_weights=(1.0, 4.0)),
                right=Leaf(label=0, size=1, class_weights=(1.0, 0.0)),
            ),
        ),
        features=(
            ColumnType(name=name, kind="number"),
            ColumnType(name="ward", kind="category", levels=("east", "west")),
        ),
        targets=("state",),
        classes=("well", HOSTILE if name == HOSTILE else "ill"),
    )


def held(model: Tree) -> list[dict[str, Any]]:
    page = to_questionnaire(plan_of(model))
    text = page.split('id="model">')[1].split("</script>")[0]
    nodes: list[dict[str, Any]] = json.loads(text)["nodes"]
    return nodes


def test_questions_are_in_plain_words_and_missing_goes_where_the_tree_says() -> None:
    root, well, west, ill, _ = held(tree())
    assert root["says"] == "Is age at most 54.5?"
    assert west["says"] == "Is ward \u201cwest\u201d?"
    assert root["unknown"] == root["no"]
    assert west["unknown"] == west["yes"]
    assert (well["says"], well["exact"]) == ("state: well", '`state` = "well"')
    assert ill["counts"] == ["5 training rows here", "well: 1 (20%)", "ill: 4 (80%)"]


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (InBin(low=3, high=7, closed=False), "Is age at least 3 and below 7?"),
        (InBin(low=3, high=7, closed=True), "Is age at least 3 and at most 7?"),
        (InBin(low=float("-inf"), high=7, closed=False), "Is age below 7?"),
        (InBin(low=3, high=float("inf"), closed=True), "Is age at least 3?"),
        (Equals(value=3), "Is age 3?"),
    ],
)
def test_bins_in_words(test: Any, says: str) -> None:
    leaf = Leaf(label=0, size=1)
    model = Tree(
        root=Branch(feature="age", test=test, left=leaf, right=leaf, missing="left"),
        features=(ColumnType(name="age", kind="number"),),
        targets=("y",),
        classes=("a", "b"),
    )
    assert held(model)[0]["says"] == says


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with headless() as driver:
        yield driver


def opened(browser: Any, model: Tree, folder: Path) -> None:
    path = folder / "page.html"
    path.write_text(to_questionnaire(plan_of(model)), encoding="utf-8")
    browser.get_log("browser")
    browser.get(path.as_uri())
    size = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def question(browser: Any) -> str:
    said: str = browser.execute_script("return document.getElementById('question').textContent")
    return said


def press(browser: Any, keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(keys).perform()


def test_answers_by_click_and_by_key(browser: Any, tmp_path: Path) -> None:
    opened(browser, tree(), tmp_path)
    browser.find_element("id", "no").click()
    assert question(browser) == "Is ward \u201cwest\u201d?"
    press(browser, "u")
    assert question(browser) == "state: ill"
    assert not browser.find_element("id", "yes").is_displayed()
    said = [one.text for one in browser.find_elements("css selector", "#path button")]
    assert said == ["Is age at most 54.5? No", "Is ward \u201cwest\u201d? Not known"]
    press(browser, "\ue003")
    press(browser, "n")
    assert question(browser) == "state: well"
    browser.find_elements("css selector", "#path button")[0].click()
    press(browser, "y")
    assert question(browser) == "state: well"
    browser.find_element("id", "again").click()
    press(browser, "\t\n")  # to the first answer, and press it
    assert question(browser) == "state: well"
    assert browser.get_log("browser") == []


def test_the_cost_so_far_is_that_of_the_features_asked(browser: Any, tmp_path: Path) -> None:
    amounts = (0.1, {"age"}), (20, {"ward"}), (0.2, {"age", "ward"}), (7, {"other"})
    costs = tuple((Fraction(str(amount)), frozenset(names)) for amount, names in amounts)
    page = tmp_path / "costs.html"
    page.write_text(to_questionnaire(replace(plan_of(tree()), costs=costs)), encoding="utf-8")
    browser.get(page.as_uri())

    def said() -> str:
        return str(browser.find_element("id", "cost").text)

    assert said() == "Cost so far: 0; this question adds 0.3"
    press(browser, "n")
    assert said() == "Cost so far: 0.3; this question adds 20"
    press(browser, "y")
    assert said() == "Cost so far: 20.3"
    opened(browser, tree(), tmp_path)
    assert said() == ""


def test_a_spec_in_front_of_the_model_gives_the_costs(tmp_path: Path) -> None:
    spec, saved, out = (tmp_path / name for name in ("s.odt", "m.json", "a.html"))
    (tmp_path / "r.csv").write_text("age,ward,state\n30,east,well\n60,west,ill\n", encoding="utf-8")
    spec.write_text(
        'data "r.csv"\ntarget state\ncost age = 2.5, ward = 9\ncost {age, ward} shared = 1\n'
        "tree depth <= 2\nminimize errors\n",
        encoding="utf-8",
    )
    saved.write_text(json.dumps(to_json(tree())), encoding="utf-8")

    def export(*more: str) -> str:
        return CliRunner().invoke(app, ["export", *map(str, more), str(saved)]).output

    export(str(spec), "--to", "questionnaire", "--out", str(out))
    text = out.read_text(encoding="utf-8").split('id="model">')[1].split("</script>")[0]
    assert json.loads(text)["costs"] == [[2.5, [0]], [9.0, [1]], [1.0, [0, 1]]]
    assert "U376" in export(str(spec), "--to", "sql")


def test_the_page_admits_no_network(browser: Any, tmp_path: Path) -> None:
    opened(browser, tree(), tmp_path)
    refused = browser.execute_async_script(
        "const done = arguments[0];"
        "document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));"
        "document.body.appendChild(document.createElement('img')).src = 'https://localhost/x.png';"
    )
    assert refused == "img-src"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_names_on_a_narrow_screen(browser: Any, tmp_path: Path, scheme: str) -> None:
    preferred = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", preferred)
    opened(browser, tree(HOSTILE), tmp_path)
    assert "</script>" in question(browser)
    assert browser.title != "broken"
    press(browser, "nu")
    assert "</script>" in question(browser)
    wide = "return document.documentElement.scrollWidth"
    assert browser.execute_script(wide) <= 400
    ground = "return getComputedStyle(document.body).backgroundColor"
    assert browser.execute_script(ground) == (
        "rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)"
    )
    assert browser.get_log("browser") == []
    (tmp_path / f"{scheme}.png").write_bytes(browser.get_screenshot_as_png())
