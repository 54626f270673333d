"""The studio in a headless Chromium: by mouse and keyboard, narrow, dark, hostile names."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

for package in ("starlette", "uvicorn", "selenium"):
    pytest.importorskip(package, reason=f"needs {package}")

from chromium import headless  # noqa: E402
from studio_server import SPEC, WAIT, Server, random_rows, solver_of  # noqa: E402

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Server]]:
    with headless() as browser:
        server = Server(tmp_path_factory.mktemp("studio"))
        try:
            yield browser, server
        finally:
            server.close()


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.1)


def shows(element: Callable[[str], Any], where: str, text: str) -> None:
    until(lambda: text in element(where).text)


def opened(visit: tuple[Any, Server]) -> Callable[[str], Any]:
    """The page anew, and what finds an element by its id."""
    browser, server = visit
    (server.folder / "spec.odt").write_text(SPEC, encoding="utf-8")
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(server.address)

    def element(name: str) -> Any:
        return browser.find_element("id", name)

    until(lambda: "No mistakes" in element("mistakes").text)
    return element


def choose(browser: Any, name: str) -> None:
    """Another spec, as by the mouse."""
    browser.execute_script(
        "const s = document.getElementById('names'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('change'))",
        name,
    )


def no_errors(visit: tuple[Any, Server]) -> None:
    assert [one for one in visit[0].get_log("browser") if one["level"] != "INFO"] == []


def test_a_visit(visit: tuple[Any, Server], tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    browser, _ = visit
    element = opened(visit)
    element("solve").click()
    until(lambda: "optimal" in element("state").text)
    assert element("line").text.startswith("odt solve spec.odt")
    assert element("tree").find_elements("tag name", "svg")
    element("explain").click()
    until(lambda: "costs" in element("rules").text)
    element("curve-rule").send_keys("robust")
    element("curve").click()
    until(lambda: element("plot").find_elements("tag name", "circle"))
    points = element("plot").find_elements("tag name", "circle")
    points[-1].send_keys(Keys.ENTER)
    until(lambda: "optimal" in element("state").text and "size >= 1" not in element("rules").text)
    for button, name in (
        ("near-go", "spec.trees.html"),
        ("report", "spec.html"),
        ("export", "spec.ask.html"),
    ):
        element(button).click()
        shows(element, "files", name)
    links = [one.get_attribute("href") for one in element("files").find_elements("tag name", "a")]
    browser.save_screenshot(str(tmp_path / "visit.png"))
    no_errors(visit)
    for link in links:
        browser.get(link)
        assert [one for one in browser.get_log("browser") if "favicon" not in one["message"]] == []


def test_quick_fixes_by_keyboard_alone(visit: tuple[Any, Server]) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser, server = visit
    element = opened(visit)

    def keys(*some: str) -> None:
        ActionChains(browser).send_keys(*some).perform()

    for _ in range(30):  # to the editor
        keys(Keys.TAB)
        if "cm-content" in (browser.switch_to.active_element.get_attribute("class") or ""):
            break
    ActionChains(browser).key_down(Keys.CONTROL).send_keys(Keys.END).key_up(Keys.CONTROL).perform()
    keys("rule z: forall path: agee before sex")
    until(lambda: "agee" in element("mistakes").text)
    keys(Keys.ESCAPE)
    pressed = ActionChains(browser).key_down(Keys.CONTROL).key_down(Keys.SHIFT).send_keys("m")
    pressed.key_up(Keys.SHIFT).key_up(Keys.CONTROL).perform()
    until(lambda: browser.find_elements("css selector", ".cm-panel-lint"))
    keys("q")  # the underlined letter of "Quick fixes"
    until(lambda: browser.find_elements("css selector", "dialog button"))
    keys(Keys.ENTER)
    until(lambda: "No mistakes" in element("mistakes").text)
    until(lambda: "age before sex" in (server.folder / "spec.odt").read_text())
    no_errors(visit)


def test_every_control_by_keyboard_alone(visit: tuple[Any, Server]) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser, server = visit
    (server.folder / "later.csv").write_bytes((server.folder / "rows.csv").read_bytes())
    element = opened(visit)

    def keys(*some: str) -> None:
        ActionChains(browser).send_keys(*some).perform()

    def to(name: str, back: bool = False) -> None:
        """Tab until an element has the focus; Esc first, as Tab writes into the editor."""
        for _ in range(80):
            if browser.execute_script(
                "return document.activeElement.matches(arguments[0])", f"#{name}, #{name} *"
            ):
                return
            keys(Keys.ESCAPE, Keys.TAB)
        raise AssertionError(f"Tab does not reach {name}")

    def press(name: str, key: str = Keys.ENTER) -> None:
        to(name)
        keys(key)

    def solved() -> bool:
        return "solve: optimal" in element("state").text

    press("solve")
    until(solved)
    assert "keyboard" not in element("line").text
    to("names")
    to("within")
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
    keys("20 s")
    press("solve")
    until(lambda: "20 s" in element("line").text and solved())
    press("rules", Keys.SPACE)
    until(lambda: "#off rule fair" in (server.folder / "spec.odt").read_text())
    browser.execute_script("document.activeElement.blur()")
    press("rules", Keys.SPACE)
    until(lambda: "#off" not in (server.folder / "spec.odt").read_text())
    press("explain")
    shows(element, "rules", "costs")
    press("data summary")
    assert browser.execute_script("return document.querySelector('#data details').open")
    press("fit", Keys.SPACE)
    assert "fit" not in (element("tree").get_attribute("class") or "")
    to("curve-rule")
    keys("r")
    press("curve")
    until(lambda: element("plot").find_elements("tag name", "circle"))
    press("plot")
    until(solved)
    press("near-go")
    shows(element, "files", "spec.trees.html")
    press("report")
    shows(element, "files", "spec.html")
    to("to")
    keys("c")
    press("export")
    shows(element, "files", "spec.c")
    to("files")
    press("begin-go")
    until(lambda: element("names").get_attribute("value") == "later.odt")
    until(lambda: "No mistakes" in element("mistakes").text)
    no_errors(visit)
    for path in server.folder.glob("later.*"):
        path.unlink()


def test_several_objectives_and_a_killed_solver(visit: tuple[Any, Server]) -> None:
    from selenium.webdriver.common.keys import Keys

    browser, server = visit
    text = SPEC.replace("errors\n", "errors then leaves\n").replace("size >= 1", "size >= 2")
    (server.folder / "then.odt").write_text(text, encoding="utf-8")
    try:
        element = opened(visit)
        choose(browser, "then.odt")
        until(lambda: "then.odt" in browser.title and "No mistakes" in element("mistakes").text)
        element("solve").click()
        shows(element, "progress", "objective 1, 2")
        element("explain").click()
        shows(element, "rules", "in leaves")
        (server.folder / "hard.csv").write_text(random_rows(1500, 24), encoding="utf-8")
        hard = 'data "hard.csv"\ntarget y: class\ntree depth <= 6\nminimize errors\n'
        (server.folder / "hard.odt").write_text(hard, encoding="utf-8")
        browser.refresh()
        until(lambda: "No mistakes" in element("mistakes").text)
        choose(browser, "hard.odt")
        until(lambda: "hard.odt" in browser.title)
        element("solve").click()
        until(lambda: element("tree").find_elements("tag name", "svg"))
        seen = element("progress").text
        assert seen
        until(lambda: "; nothing new for" in element("progress").text)  # and the clock goes on
        assert float(element("progress").text.split()[0]) > float(seen.split()[0])
        assert ", bound " in element("progress").text
        element("stop").send_keys(Keys.ENTER)
        shows(element, "state", "stopped")
        element("go-on").send_keys(Keys.ENTER)
        shows(element, "line", "--start=hard.start.json")
        until(lambda: element("progress").text and element("stop").is_enabled())
        os.kill(solver_of(server), signal.SIGKILL)
        shows(element, "state", "ended from outside")
        assert element("solve").is_enabled()
        no_errors(visit)
    finally:
        for path in [*server.folder.glob("then.*"), *server.folder.glob("hard.*")]:
            path.unlink()


def test_a_second_browser_without_the_token_gets_nothing(visit: tuple[Any, Server]) -> None:
    _, server = visit
    with headless() as other:
        for path in ("", "wrong/", "static/studio.js"):
            other.get(f"http://127.0.0.1:{server.port}/{path}")
            assert "odt" not in other.find_element("tag name", "body").text.lower().replace(
                "http error 404", ""
            )
            assert server.token not in other.page_source


def test_narrow_and_dark(visit: tuple[Any, Server]) -> None:
    browser, _ = visit
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        element = opened(visit)
        element("solve").click()
        until(lambda: "optimal" in element("state").text)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
        back = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert back == "rgb(22, 24, 28)"
        no_errors(visit)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_hostile_names_and_files(visit: tuple[Any, Server]) -> None:
    browser, server = visit
    evil = "<img src=x onerror=alert(1)>"
    (server.folder / "evil.csv").write_text(
        f'"{evil}",y,"<script>alert(2)</script>"\n1,"{evil}",a\n2,b,c\n3,"{evil}",a\n4,b,c\n'
    )
    (server.folder / "binary.csv").write_bytes(bytes(range(256)) * 40)
    (server.folder / "huge.csv").write_bytes(b"a,y\n" + b"1,x\n" * 9_000_000)
    for name, file in (("evil", "evil.csv"), ("binary", "binary.csv"), ("huge", "huge.csv")):
        text = f'data "{file}"\ntarget y: class\ntree depth <= 1\nminimize errors\n'
        (server.folder / f"{name}.odt").write_text(text)
    try:
        element = opened(visit)
        for name, wanted in (("binary", "D"), ("huge", "not checked"), ("evil", "No mistakes")):
            choose(browser, f"{name}.odt")
            shows(element, "mistakes", wanted)
        until(lambda: evil in element("data").text)
        element("solve").click()
        until(lambda: "optimal" in element("state").text)
        assert not browser.find_elements("css selector", "img, #tree script, #data script")
        no_errors(visit)
    finally:
        for path in server.folder.glob("[ebh][viu]*.*"):
            path.unlink()


def test_answers_of_one_spec_do_not_stand_beside_another(visit: tuple[Any, Server]) -> None:
    browser, server = visit
    conflict = SPEC + "rule x: leaves <= 1\nrule z: accuracy >= 95%\n"
    (server.folder / "other.odt").write_text(conflict, encoding="utf-8")

    try:
        element = opened(visit)
        element("solve").click()
        until(lambda: "optimal" in element("state").text)
        choose(browser, "other.odt")
        until(lambda: not element("tree").find_elements("tag name", "svg"))
        shows(element, "rules", "leaves <= 1")
        element("explain").click()
        shows(element, "conflict", "no tree satisfies `x` and `z` together")
        assert len(browser.find_elements("css selector", ".cm-lint-marker-error")) == 2
        choose(browser, "spec.odt")
        until(lambda: element("conflict").text == "")
        no_errors(visit)
    finally:
        (server.folder / "other.odt").unlink()
