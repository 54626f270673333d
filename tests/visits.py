"""Visit every page in a headless Chromium, and write pictures of it to look at.

    python tests/visits.py FOLDER

The studio, and what it writes: the report, the questionnaire, the page to choose from. Each in dark
and light, 1300 and 400 pixels wide. Ends with 1 where a page is wider than the screen or writes to
the console.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chromium import headless
from studio_server import WAIT, Server

SPEC = """data "visits.csv", test 30% seed 1
target ill positive "yes"
group women = sex = "f"
cost pressure = 2, sugar = 20
missing branch
tree depth <= 3
minimize errors then leaves
rule robust: forall leaf: size >= 5
rule found: recall("yes", women) >= 60%
rule order: forall path: age before sugar
"""
PAGES = ("visits.html", "visits.ask.html", "visits.trees.html")


def rows() -> str:
    draw = random.Random(3)
    lines = ["age,sex,pressure,sugar,ward,ill"]
    for _ in range(240):
        age, pressure, sugar = draw.randint(20, 90), draw.randint(90, 190), draw.randint(60, 220)
        risk = (age > 60) + (pressure > 150) + (sugar > 140)
        ill = "yes" if draw.random() < (0.1, 0.3, 0.7, 0.9)[risk] else "no"
        cell = "" if draw.random() < 0.05 else str(pressure)
        lines.append(f"{age},{draw.choice('fm')},{cell},{sugar},{draw.choice('abc')},{ill}")
    return "\n".join(lines) + "\n"


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.1)


def work(browser: Any, address: str) -> None:
    """Check, solve, price, draw and write every page."""

    def element(name: str) -> Any:
        return browser.find_element("id", name)

    def press(name: str, done: Callable[[], Any]) -> None:
        browser.execute_script("arguments[0].click()", element(name))
        until(done)

    browser.get("about:blank")
    browser.get(address)
    until(lambda: "No mistakes" in element("mistakes").text)
    press("solve", lambda: "solve: optimal" in element("state").text)
    press("explain", lambda: "costs" in element("rules").text)
    browser.execute_script("document.getElementById('curve-rule').value = 'found'")
    press("curve", lambda: element("plot").find_elements("tag name", "circle"))
    for button, name in zip(("report", "export", "near-go"), PAGES, strict=True):
        press(button, partial(contains, element("files"), name))


def contains(element: Any, text: str) -> bool:
    return text in element.text


def resized(browser: Any, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def pictured(browser: Any, path: Path, width: int) -> list[str]:
    """Write a picture of the whole page; what is wrong with the page."""
    height = browser.execute_script("return document.documentElement.scrollHeight")
    resized(browser, width, min(height, 8000))
    time.sleep(0.3)
    browser.save_screenshot(str(path))
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    said = [one["message"] for one in browser.get_log("browser") if one["level"] != "INFO"]
    return [f"{path.name}: {wide} pixels wide"] * (wide > width) + said


def visited(server: Server, out: Path) -> Iterator[str]:
    with headless() as browser:
        for scheme, width in product(("light", "dark"), (1300, 400)):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            resized(browser, width, 900)
            work(browser, server.address.split("#")[0] + "#visits.odt")
            yield from pictured(browser, out / f"studio-{scheme}-{width}.png", width)
            for name in PAGES:
                resized(browser, width, 900)
                browser.get((server.folder / name).as_uri())
                yield from pictured(browser, out / f"{name[:-5]}-{scheme}-{width}.png", width)


def main() -> int:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "visits.csv").write_text(rows(), encoding="utf-8")
        (folder / "visits.odt").write_text(SPEC, encoding="utf-8")
        server = Server(folder)
        try:
            wrong = list(visited(server, out))
        finally:
            server.close()
    print("\n".join(wrong) or f"pictures are in {out}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
