"""A headless Chromium for the tests of pages.

Needs selenium, and Debian's `chromium` and `chromium-driver`; nothing downloads a browser.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def headless(width: int = 1300, height: int = 1000) -> Iterator[Any]:
    """A browser of a size in pixels, whose console `get_log("browser")` tells."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program, driver_program = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver_program is None:
        pytest.skip("chromium and chromium-driver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(flag)
    options.add_argument(f"--window-size={width},{height}")
    service = webdriver.chrome.service.Service(driver_program)
    driver = webdriver.Chrome(service=service, options=options)
    try:
        yield driver
    finally:
        driver.quit()
