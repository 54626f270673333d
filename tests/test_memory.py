"""`memory` is kept by every back end, or refused before the search."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from odtdsl.backends.base import Limits
from odtdsl.base import memory
from odtdsl.base.back_ends import entry_of, names, variant
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import Analysis, analyse
from odtdsl.driver import pipeline
from odtdsl.driver.choice import choose
from odtdsl.language.parser import parse
from odtdsl.problem.terms.normalize import normalize

SPEC = 'data sklearn "breast_cancer" target target tree depth <= 4 minimize errors '
MANY = 10**6 * memory.MEGABYTE

MEASURED = """
import json, sys
import odtdsl
made = odtdsl.solve(sys.argv[1])
# Not `ru_maxrss`, in which the process that started this one counts until it became this one.
lines = open("/proc/self/status").read().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024
print(json.dumps([made.status, [w.code for w in made.warnings], made.interrupted, peak]))
"""


def analysed(text: str = SPEC) -> Analysis:
    return analyse(parse(Source(name="memory.odt", text=text)))


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are compared with what Linux tells")
@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("exact", marks=pytest.mark.nightly),
        pytest.param("milp", marks=pytest.mark.nightly),
        "sat",
        pytest.param("cpsat", marks=pytest.mark.nightly),
    ],
)
def test_the_peak_of_a_process_stays_below_the_limit(backend: str, tmp_path: Path) -> None:
    """Without the limit, `milp`, `sat` and `cpsat` take more for this; `exact` hardly does.

    Leaves have a price: a tree without errors would be proven before the memory runs out.
    """
    if backend == "cpsat":
        pytest.importorskip("ortools")
    most = 300
    path = tmp_path / "peak.odt"
    depth = "depth <= 5" if backend == "exact" else "depth <= 4"
    text = SPEC.replace("depth <= 4", depth).replace("errors", "errors + leaves")
    path.write_text(f"{text} solve using {backend}, within 60 s, memory {most} MB")
    told = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)], check=True, capture_output=True, text=True
    )
    status, warnings, interrupted, peak = json.loads(told.stdout)
    assert peak <= most * memory.MEGABYTE
    assert not interrupted
    if backend == "exact":  # which keeps fewer tables, and goes on
        assert status in ("optimal", "feasible")
    else:
        assert (status, "B107" in warnings) == ("feasible", True)


@pytest.mark.parametrize("backend", [name for name in names() if entry_of(name).ends])
def test_a_search_ends_where_memory_does(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if backend == "cpsat":
        pytest.importorskip("ortools")
    looks = 0

    def held() -> int:
        nonlocal looks
        looks += 1
        return 0 if looks < 2 else MANY

    analysis = analysed()
    if choose(normalize(analysis.rows), backend).name is None:
        pytest.skip(f"{backend} does not take trees of depth 4")
    monkeypatch.setattr(memory, "held_bytes", held)
    made = pipeline.solve(analysis, backend=backend, seconds=60, memory_bytes=MANY)
    assert made.status in ("feasible", "unknown")
    assert "B107" in [one.code for one in made.warnings]
    assert not made.interrupted


def test_the_page_on_limits_tells_how_each_back_end_keeps_it() -> None:
    page = (Path(__file__).parents[1] / "docs/how-to/limits.md").read_text()
    _, _, table = page.partition("| back end | how it keeps the limit |\n")
    told = [line.split("|")[1] for line in table.partition("\n\n")[0].splitlines()[1:]]
    assert sorted(re.findall(r"`(\w+)`", " ".join(told))) == sorted(names())


def test_a_limit_that_is_met_before_is_refused() -> None:
    with pytest.raises(OdtError) as caught:
        pipeline.solve(analysed(), memory_bytes=memory.MEGABYTE)
    assert [one.code for one in caught.value.diagnostics] == ["B105"]


def test_a_solver_that_cannot_be_stopped_is_refused() -> None:
    with pytest.raises(OdtError) as caught:
        pipeline.solve(analysed(), variant=variant(solver="cadical153"), memory_bytes=MANY)
    assert [one.code for one in caught.value.diagnostics] == ["B106"]


def test_a_system_that_tells_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "held_bytes", lambda: None)
    with pytest.raises(OdtError) as caught:
        pipeline.solve(analysed(), memory_bytes=MANY)
    assert [one.code for one in caught.value.diagnostics] == ["B106"]


def test_what_does_not_fit_is_not_begun() -> None:
    guard = memory.Guard(MANY, lambda: False)
    limits = Limits(memory_bytes=MANY, interrupted=guard)
    assert limits.has_room(1)
    assert not guard.full
    assert not limits.has_room(2 * MANY)
    assert guard()


def test_tables_get_a_part_of_what_is_left() -> None:
    given = Limits(memory_bytes=MANY).table_bytes()
    assert given is not None
    assert MANY // 4 < given <= MANY // 2
    assert Limits().table_bytes() is None
