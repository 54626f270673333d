"""Report, questionnaire, chooser in a browser: hostile names and cells, every control by keys.

The studio has its own (`test_studio_browser.py`).
"""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_report_browser import browser  # noqa: F401

from odtdsl.interfaces.cli.main import app

ATTACK = "</script><img src=x onerror='window.pwned=1'>"
COLUMNS = [
    "<script>window.pwned=1</script>",
    "quo\"te's & <b>amp</b> `tick`",
    f"a{ATTACK}",
    "\u202eevil\u2066",
    "line\nbreak\ttab",
    "x" * 300,
]
KIND = "kind<img src=x onerror='window.pwned=1'>"
CELLS = ["<i>a</i>", "\u202ecells", f"two\nlines{ATTACK}", "y" * 200]
CLASSES = [f"<b>no</b>{ATTACK}", "\u202eyes\"'"]
ROWS = "id</script>"
TARGET = 'y"<u>'
RULE = "rule<img src=x onerror='window.pwned=1'>"
PAGES = ("report.html", "ask.html", "choose.html")

WRONG = r"""
const said = [];
if (window.pwned) said.push("a script ran");
const marks = /[\u202a-\u202e\u2066-\u2069]/;
if (document.querySelector("img, iframe, s, i, b")) said.push("an element came of a name");
if (marks.test(document.body.innerText + document.title)) said.push("a mark turns text");
const wide = document.documentElement.scrollWidth;
if (wide > innerWidth) said.push(`${wide} pixels wide`);
for (const cell of document.querySelectorAll("td > span, td > a, th > a")) {
  if (cell.getBoundingClientRect().right > cell.parentNode.getBoundingClientRect().right + 1) {
    said.push(`text beyond its cell: ${cell.textContent.slice(0, 40)}`);
  }
}
return said;
"""
LISTENING = """
[...document.querySelectorAll("*")].filter((one) => {
  const heard = getEventListeners(one);
  return (heard.click || heard.keydown) && one.getClientRects().length;
}).filter((one) => one.tabIndex < 0 && !one.querySelector("[tabindex='0']")
  && !one.closest("[role=listbox]")).map((one) => one.outerHTML.slice(0, 80))
"""
MISSED = """
return [...document.querySelectorAll("a[href],button,input,select,textarea,summary,[tabindex='0']")]
  .filter((one) => !one.dataset.met && !one.disabled && one.getClientRects().length)
  .map((one) => one.outerHTML.slice(0, 80));
"""


def ticked(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def odt(*words: str) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three pages, of a spec whose names and cells are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    draw = random.Random(5)
    with (folder / "h.csv").open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file).writerow
        write([ROWS, *COLUMNS, KIND, TARGET])
        for at in range(120):
            numbers, kind = [draw.randrange(5) for _ in COLUMNS], draw.randrange(4)
            ill = (numbers[0] > 2) ^ (numbers[1] > 1 and kind == 2) ^ (draw.random() < 0.1)
            write([f"<s>{at}</s>\u202e", *numbers, CELLS[kind], CLASSES[ill]])
    spec, model = folder / "h.odt", str(folder / "h.json")
    spec.write_text(
        f'data "h.csv", id {ticked(ROWS)}, test 30% seed 1\n'
        f"target {ticked(TARGET)} positive {quoted(CLASSES[1])}\n"
        f"group {ticked('gr' + ATTACK)} = {ticked(COLUMNS[0])} > 2\n"
        f"cost {ticked(COLUMNS[0])} = 2, {ticked(COLUMNS[2])} = 5\n"
        "tree depth <= 3\nminimize errors then leaves\n"
        f"rule {ticked(RULE)}: forall leaf: size >= 3\n"
        f"rule fair: gap(rate({quoted(CLASSES[1])}), {ticked(KIND)}) <= 90%\n",
        encoding="utf-8",
    )
    report, ask, choose = (str(folder / name) for name in PAGES)
    odt("solve", str(spec), "--out", model)
    title = f"<title></title>{ATTACK}\u202e"
    odt("report", str(spec), "--prices", "--title", title, "--out", report)
    odt("export", model, "--to", "questionnaire", "--out", ask)
    odt("solve", str(spec), "--near", "30%", "--most", "300", "--chooser", choose)
    return folder


@pytest.mark.parametrize("width", [1300, 400])
@pytest.mark.parametrize("name", PAGES)
def test_names_and_cells_are_only_shown(
    browser: Any,  # noqa: F811
    folder: Path,
    name: str,
    width: int,
) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get_log("browser")
    try:
        browser.get((folder / name).as_uri())
        assert browser.execute_script(WRONG) == []
        for word in ("yes", "no", "again", "unknown"):  # of the questionnaire
            for button in browser.find_elements("id", word) if name == "ask.html" else ():
                if button.is_displayed():
                    button.click()
                assert browser.execute_script(WRONG) == []
        assert browser.get_log("browser") == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def tabbed(browser: Any, until: Callable[[], bool] | None = None) -> None:  # noqa: F811
    """Press Tab until something is met; else until the focus has left the page."""
    from selenium.webdriver.common.keys import Keys

    for _ in range(1000):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        left = browser.execute_script(
            "const here = document.activeElement; here.dataset.met = 1;"
            "return here === document.body"
        )
        if left if until is None else until():
            return
    raise AssertionError("Tab never leaves the page")


@pytest.mark.parametrize("name", PAGES)
def test_every_control_is_reached_by_the_tab_key(
    browser: Any,  # noqa: F811
    folder: Path,
    name: str,
) -> None:
    """And what listens to clicks can be focused, or lies in a list that takes arrows."""
    browser.get((folder / name).as_uri())
    asked = {"expression": LISTENING, "includeCommandLineAPI": True, "returnByValue": True}
    assert browser.execute_cdp_cmd("Runtime.evaluate", asked)["result"]["value"] == []
    tabbed(browser)
    assert browser.execute_script(MISSED) == []


def test_the_questionnaire_is_answered_and_taken_back_by_keys(
    browser: Any,  # noqa: F811
    folder: Path,
) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.get((folder / "ask.html").as_uri())

    def says() -> str:
        return str(browser.find_element("id", "question").text)

    def focused() -> Any:
        return browser.switch_to.active_element

    first, seen = says(), []
    for _ in range(8):
        seen.append(says())
        if not browser.find_element("id", "yes").is_displayed():
            break
        tabbed(browser, lambda: focused().get_attribute("id") == "yes")
        focused().send_keys(Keys.ENTER)
    assert len(set(seen)) == len(seen) >= 3
    tabbed(browser, lambda: focused().text.startswith("Is ") and "Yes" in focused().text)
    focused().send_keys(Keys.SPACE)  # the first answer again
    assert says() == first
    tabbed(browser, lambda: focused().get_attribute("id") == "unknown")
    focused().send_keys(Keys.SPACE)
    assert says() != first
    tabbed(browser, lambda: focused().get_attribute("id") == "again")
    focused().send_keys(Keys.ENTER)
    assert says() == first


def test_buttons_and_links_of_the_report_work_by_keys(
    browser: Any,  # noqa: F811
    folder: Path,
) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.get((folder / "report.html").as_uri())

    def hidden() -> int:
        return int(
            browser.execute_script(
                "return [...document.querySelectorAll('svg.odt g[data-node]')]"
                ".filter((one) => !one.getClientRects().length).length"
            )
        )

    def focused() -> Any:
        return browser.switch_to.active_element

    def press(word: str, key: str) -> None:
        browser.execute_script("document.querySelector('a').focus()")  # the first of the page
        tabbed(browser, lambda: focused().get_attribute("id") == word)
        focused().send_keys(key)

    press("fold", Keys.ENTER)
    assert hidden() > 0
    press("unfold", Keys.SPACE)
    assert hidden() == 0
    press("size", Keys.ENTER)
    assert browser.execute_script("return !!document.querySelector('svg.odt.full')")
    tabbed(browser, lambda: focused().get_attribute("id") == "row")
    focused().send_keys("<s>3</s>\u202e")
    focused().send_keys(Keys.ENTER)
    marked = "return document.querySelectorAll('.odt .on').length"
    row_marked = browser.execute_script(marked)
    tabbed(browser, lambda: focused().get_attribute("data-rule") is not None)
    focused().send_keys(Keys.ENTER)
    assert browser.execute_script("return document.querySelectorAll('.odt .ruled').length") > 0
    press("clear", Keys.ENTER)
    assert browser.execute_script(marked) == 0
    assert browser.execute_script("return document.querySelectorAll('.odt .ruled').length") == 0
    assert row_marked > 0
