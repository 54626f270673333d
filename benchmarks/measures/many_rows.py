"""`odt solve` on a Parquet file of many rows, from the command to the answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path

import numpy as np

from measures.report import Table

ROWS = (100_000, 1_000_000, 10_000_000)
COLUMNS = 20
KINDS = ("a tree with 10% noise", "random labels")


def many_rows(args: Namespace) -> None:
    """20 columns of numbers at 16 quantiles, depth 3: seconds and peak memory of the command."""
    headings = ("labels", "rows", "errors", "status", "s", "processor, s", "peak, MB", "per row, B")
    table = Table("many-rows", headings)
    for kind in KINDS:
        for rows in ROWS:
            if rows <= args.rows:
                table.add(kind, f"{rows:,}", *_measured(kind, rows, args.threads))
    table.note(
        f"`odt solve` with {args.threads} thread(s), {COLUMNS} columns at 16 quantiles, depth 3,"
        " from a Parquet file: reading, proof, audit and digest. The peak is that of the process."
    )
    if args.docs:
        table.publish()


def _measured(kind: str, rows: int, threads: int) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as folder:
        # By another process: the peak of a child counts what its parent held when it began.
        write = f"from measures.many_rows import write; write({folder!r}, {kind!r}, {rows})"
        path = {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
        subprocess.run([sys.executable, "-c", write], check=True, env=os.environ | path)
        spec = Path(folder, "rows.odt")
        spec.write_text(
            'data "rows.parquet" target y: class candidates * at quantiles 16 tree depth <= 3 '
            f"minimize errors solve threads {threads}\n"
        )
        answer, seconds, used = _timed([sys.executable, "-m", "odtdsl", "solve", "--json", spec])
    found = json.loads(answer)
    value = found["errors"]
    megabytes = used.ru_maxrss / 1000
    return (
        str(value),
        found["status"],
        f"{seconds:.1f}",
        f"{used.ru_utime + used.ru_stime:.1f}",
        f"{megabytes:,.0f}",
        f"{1e6 * megabytes / rows:,.0f}",
    )


def _timed(command: list[object]) -> tuple[str, float, object]:
    """What a command prints, its seconds, and what the system says that it used."""
    began = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    answer = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command} ended with {status}")
    return answer, time.monotonic() - began, used


def write(folder: str, kind: str, rows: int) -> None:
    """Numbers of float32, a million rows at a time; the labels of a tree of depth two, or none."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    names = [f"x{f}" for f in range(COLUMNS)]
    fields = [*((name, pyarrow.float64()) for name in names), ("y", pyarrow.string())]
    with parquet.ParquetWriter(Path(folder, "rows.parquet"), pyarrow.schema(fields)) as writer:
        for first in range(0, rows, 1_000_000):
            n = min(1_000_000, rows - first)
            x = rng.normal(size=(n, COLUMNS)).astype(np.float32).astype(float)
            label = (x[:, 0] > 0) ^ (x[:, 1] > 0.5) ^ (rng.random(n) < 0.1)
            if kind == "random labels":
                label = rng.random(n) < 0.5
            columns = {name: x[:, f] for f, name in enumerate(names)}
            writer.write_table(pyarrow.table({**columns, "y": np.where(label, "p", "n")}))
