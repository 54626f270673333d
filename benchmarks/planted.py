"""Faults planted in the engine: does a certificate ever vouch for a wrong answer?

    python benchmarks/planted.py [--only WORD,WORD] [--problems 80] [--of few] [--build FOLDER]

Each fault is an edit of a copy of the sources; a variable of the environment says which of them is
made, so that all are built at once (in a folder that `--build` keeps for the next time). The faulty
engine then answers problems whose optima the intact engine found, and `odtcheck` checks what it
certifies. A fault that changes answers must never get one of them certified as optimal; the
program fails if it does. The tables are in `docs/explanation/certificates.md`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from measures.faults import Fault
from measures.planted_problems import KINDS

ROOT = Path(__file__).resolve().parent.parent
UNPROVEN = "certified: the bounds above, not that the tree is optimal"
HEAD = (
    "fault",
    "worse",
    "refused or not shown",
    "certified though worse",
    "same answer, certified",
    "same answer, refused",
)


# ---- what a faulty engine answers


def answers(engine: Path, count: int, out: Path, kind: str) -> None:
    """Solve with an engine, and write value and verdict of each problem."""
    importlib.import_module("odtdsl.base")
    spec = importlib.util.spec_from_file_location("odtdsl.base._engine", engine)
    assert spec is not None, "there is a file"
    assert spec.loader is not None, "there is a file"
    module = importlib.util.module_from_spec(spec)
    sys.modules["odtdsl.base._engine"] = module
    spec.loader.exec_module(module)

    checker = engine.with_name("odtcheck")
    found: list[tuple[list[str] | None, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.cert"
        for number, (text, frame) in enumerate(KINDS[kind].problems(count)):
            path.unlink(missing_ok=True)
            try:
                if near := KINDS[kind].near:
                    value = listed(text, frame, near[number % len(near)], path)
                else:
                    value = solved(text, frame, path)
            except Exception as failure:  # a faulty engine may do anything
                found.append((None, f"no answer: {type(failure).__name__}"))
                continue
            told = "no certificate"
            if path.exists():
                ran = subprocess.run(
                    [checker, path, f"{path}.csv"], capture_output=True, text=True, check=False
                )
                told = ran.stdout.splitlines()[-1] if ran.stdout else ran.stderr
            found.append((value, told))
            out.write_text(json.dumps(found), encoding="utf-8")


def solved(text: str, frame: dict[str, Any], path: Path) -> list[str]:
    """The status and value of a problem, which is certified."""
    import odtdsl

    result = odtdsl.solve(text, frame=frame, using="exact", threads=1, proof=path, within=300)
    return [result.status, *(str(stage.value) for stage in result.stages)]


def listed(text: str, frame: dict[str, Any], near: str | None, path: Path) -> list[str]:
    """The status and number of trees of a list, and the trees that its certificate names."""
    import odtdsl

    found = odtdsl.alternatives(text, frame=frame, near=near, most=10**5, proof=path, within=300)
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    nodes = (line for line in text.split("\n") if line.startswith(("split\t", "leaf\t")))
    return [found.status, str(found.raw), *sorted(nodes)]


# ---- building

PLANTED = (
    "#pragma once\n#include <cstdlib>\ninline const int odt_planted ="
    ' std::getenv("ODT_PLANTED") ? std::atoi(std::getenv("ODT_PLANTED")) : 0;\n'
)


def all_faults() -> list[Fault]:
    """Each fault, once; its number is its place, from 1 on."""
    return list(dict.fromkeys(fault for kind in KINDS.values() for fault in kind.faults))


def edited() -> dict[str, str]:
    """The files that faults are planted in, with all of them."""
    found: dict[str, str] = {}
    for number, fault in enumerate(all_faults(), 1):
        text = found.get(fault.file)
        if text is None:
            text = (ROOT / "solvers" / fault.file).read_text(encoding="utf-8")
            text = '#include "odt/planted.hpp"\n' + text
        assert text.count(fault.before) == 1, fault
        made = fault.after.replace("FAULT", f"(odt_planted == {number})")
        found[fault.file] = text.replace(fault.before, made)
    return found


def copied(folder: Path) -> None:
    """The sources with the faults; files that are as they were keep their times."""
    texts = {"include/odt/planted.hpp": PLANTED, **edited()}
    for path in (ROOT / "solvers").rglob("*"):
        if path.is_file():
            name = path.relative_to(ROOT / "solvers").as_posix()
            texts.setdefault(name, path.read_text(encoding="utf-8"))
    for name, text in texts.items():
        to = folder / name
        if to.is_file() and to.read_text(encoding="utf-8") == text:
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text, encoding="utf-8")


def built(folder: Path) -> Path:
    """The module, with the checker beside it."""
    copied(folder / "solvers")
    build = folder / "build"
    command: list[str | Path] = ["cmake", "-S", folder / "solvers", "-B", build, "-DODT_ONCE=OFF"]
    command += ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O0 -DNDEBUG"]  # building takes long
    command += [f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run(command, check=True, capture_output=True)
    command = ["cmake", "--build", build, "--parallel", str(os.cpu_count() or 1)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stdout[-2000:])
    (engine,) = (build / "bindings").glob("_engine*.so")
    shutil.copy(build / "odtcheck", engine.with_name("odtcheck"))
    return engine


def answered(
    engine: Path, count: int, kind: str, fault: int = 0
) -> list[tuple[list[str] | None, str]]:
    """The answers of an engine, in a process of its own; fewer where it crashes or hangs."""
    out = engine.with_name("answers.json")
    out.unlink(missing_ok=True)
    command: list[str | Path] = [sys.executable, __file__, "--engine", engine]
    command += ["--problems", str(count), "--of", kind, "--out", out]
    told = {**os.environ, "ODT_PLANTED": str(fault)}
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, env=told, timeout=1800, capture_output=True, check=False)
    found: list[tuple[list[str] | None, str]] = []
    if out.exists():
        found = [(value, told) for value, told in json.loads(out.read_text(encoding="utf-8"))]
    return found + [(None, "no answer: crash or time")] * (count - len(found))


def judged(
    fault: Fault,
    intact: list[tuple[list[str] | None, str]],
    faulty: list[tuple[list[str] | None, str]],
) -> tuple[str, ...]:
    """A line of the table."""
    kinds: Counter[tuple[bool, bool]] = Counter()
    for (right, _), (value, told) in zip(intact, faulty, strict=True):
        certified = told.startswith("certified: ") and told != UNPROVEN
        kinds[value == right, certified] += 1
    worse = kinds[False, True] + kinds[False, False]
    return (
        fault.says,
        str(worse),
        str(kinds[False, False]),
        str(kinds[False, True]),
        str(kinds[True, True]),
        str(kinds[True, False]),
    )


def main() -> int:
    """Print the table; 1 if a wrong answer was certified."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="faults whose text has one of these, by commas")
    parser.add_argument("--problems", type=int, default=80)
    parser.add_argument("--of", choices=KINDS, default="all", help="problems, and faults they meet")
    parser.add_argument("--build", type=Path, help="where the faulty engine is built, and kept")
    parser.add_argument("--engine", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.engine is not None:
        answers(args.engine, args.problems, args.out, args.of)
        return 0
    numbers = {fault: number for number, fault in enumerate(all_faults(), 1)}
    wrong = False
    with tempfile.TemporaryDirectory() as name:
        engine = built(args.build or Path(name))
        intact = answered(engine, args.problems, args.of)
        print("intact:", Counter(told for _, told in intact), flush=True)
        for line in (HEAD, ("---",) * len(HEAD)):
            print("| " + " | ".join(line) + " |", flush=True)
        for fault in KINDS[args.of].faults:
            if not any(word in fault.says for word in args.only.split(",")):
                continue
            faulty = answered(engine, args.problems, args.of, numbers[fault])
            line = judged(fault, intact, faulty)
            wrong = wrong or line[3] != "0"
            print("| " + " | ".join(line) + " |", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
