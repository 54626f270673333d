"""The gallery shows what its specs give: pictures, answers, and nothing that is not proven."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from odtdsl import Result

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from docs import gallery  # noqa: E402


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    folder = gallery.prepared(tmp_path_factory.mktemp("gallery"))
    return {name: gallery.solved(folder / f"{name}.odt") for name in gallery.CASES}


def test_every_answer_is_proven_and_audited(results: dict[str, Result]) -> None:
    for name, result in results.items():
        assert result.status == "optimal", name
        assert result.audit is not None
        assert all(line.holds for line in result.audit.lines), name


def test_pictures_and_page_are_fresh(results: dict[str, Result]) -> None:
    for name, result in results.items():
        shown = (gallery.PICTURES / f"{name}.svg").read_text(encoding="utf-8")
        assert shown == gallery.picture(result), f"{name}: run `python -m docs.gallery`"
    assert gallery.PAGE.read_text(encoding="utf-8") == gallery.page(results)


def test_specs_are_short_and_all_shown() -> None:
    files = {path.stem: path for path in (ROOT / "models" / "gallery").glob("*.odt")}
    assert set(files) == set(gallery.CASES)
    assert {path.stem for path in gallery.PICTURES.glob("*.svg")} == set(files)
    for name, path in files.items():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 15, name
