"""The pictures of measures in a report: ROC curve and calibration."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import odtdsl
from odtdsl.insight.evaluation import evaluate
from odtdsl.presentation.report.curves import SIZE, _wilson, curves

NAMES = ("<b>&no", "y\x1bes</svg><script>alert(1)</script>")


def report_of(folder: Path, names: tuple[str, ...], test: str = ", test 40% seed 2") -> str:
    rng = random.Random(4)
    with (folder / "rows.csv").open("w", encoding="utf-8") as file:
        file.write("a,b,y\n")
        for _ in range(150):
            a, b = rng.randrange(9), rng.randrange(9)
            at = (a + b + rng.randrange(6)) * len(names) // 23
            file.write(f'{a},{b},"{names[at]}"\n')
    spec = f'data "rows.csv"{test}\ntarget y\ntree depth <= 2\nminimize errors\n'
    result = odtdsl.parse(spec, base=folder).solve()
    result.report(folder / "r.html")
    assert result.model is not None
    assert result.test_rows is None or result.test_rows.n_rows
    if result.test_rows is not None:
        part = evaluate(result.model, result.test_rows.table, draws=100).parts[0]
        check(part, names if len(names) == 2 else ())
    return (folder / "r.html").read_text(encoding="utf-8")


def check(part: object, names: tuple[str, ...]) -> None:
    """Every point stands where its numbers are."""
    told = "".join(curves(part, names))  # type: ignore[arg-type]
    assert "\x1b" not in told
    pictures = [
        ElementTree.fromstring(one) for one in re.findall(r"<svg.*?</svg>", told, re.DOTALL)
    ]
    assert len(pictures) == (2 if names else 1)

    def points(at: int) -> list[tuple[float, float]]:
        x0, x1 = 56, SIZE - 20
        y0, y1 = SIZE - 48, 20
        return [
            (
                (float(one.attrib["cx"]) - x0) / (x1 - x0),
                (float(one.attrib["cy"]) - y0) / (y1 - y0),
            )
            for one in pictures[at].iter("circle")
        ]

    leaves = [
        (1 - p, 1 - q) if names and label != names[1] else (p, q)
        for _, _, label, p, q in part.calibration  # type: ignore[attr-defined]
    ]
    for found, (x, y) in zip(points(-1), leaves, strict=True):
        assert found == pytest.approx((x, y), abs=0.002)
    if names:
        for found, (x, y, _) in zip(points(0), part.roc, strict=True):  # type: ignore[attr-defined]
            assert found == pytest.approx((x, y), abs=0.002)


def test_two_classes_have_both_pictures_and_names_are_only_text(tmp_path: Path) -> None:
    page = report_of(tmp_path, NAMES)
    assert page.count('class="even"') == 2
    assert "ROC curve of" in page
    assert "<script>alert" not in page


def test_more_classes_have_no_curve_and_no_test_rows_no_picture(tmp_path: Path) -> None:
    assert report_of(tmp_path, ("a", "b", "c")).count('class="even"') == 1
    assert 'class="even"' not in report_of(tmp_path, ("a", "b"), test="")


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 4), (7, 7), (50, 200)])
def test_an_end_of_the_score_interval_is_a_share_that_just_allows_what_came(
    hits: int, n: int
) -> None:
    for end in _wilson(hits / n, n):
        assert abs(hits / n - end) == pytest.approx(
            1.959964 * math.sqrt(end * (1 - end) / n), abs=1e-9
        )
