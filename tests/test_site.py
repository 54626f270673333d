"""The documentation is a site without a warning, where the extra `docs` is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.nightly  # a twentieth of the time of all tests of a day
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package, reason=f"{package} is not installed: the extra `docs`")
    command = [sys.executable, "-m", "docs.site", str(tmp_path / "site")]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    first = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for page in ("docs/tutorial.html", "docs/how-to/tune.html", "docs/reference/api.html"):
        assert page in first
    assert "models/iris.odt" in first
    for file in (tmp_path / "site").rglob("*.html"):
        for source in re.findall(r'<img [^>]*?src="([^":]+)"', file.read_text(encoding="utf-8")):
            assert (file.parent / source).is_file(), (file, source)
    api = (tmp_path / "site" / "docs" / "reference" / "api.html").read_text(encoding="utf-8")
    assert 'id="odtdsl.solve"' in api
    assert 'id="odtdsl.Result"' in api
