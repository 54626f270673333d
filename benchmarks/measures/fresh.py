"""One run in a fresh process, with its peak of memory beyond interpreter and imports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from measures import peers
from measures.sets import Array

HERE = Path(__file__).resolve().parent.parent


def run(x: Array, y: Array, **call: Any) -> dict[str, Any]:
    """Run `call["who"]` (a function of `peers`) and tell seconds, value, proven, MB.

    The peak counts the data, which both hold, and whatever the run allocates; what the
    imports and a first tiny run left behind is taken off.
    """
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "x.npy"), x)
        np.save(Path(folder, "y.npy"), y)
        done = subprocess.run(
            [sys.executable, "-c", "from measures.fresh import child; child()"],
            input=json.dumps({"folder": folder, **call}),
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": _python_path()},
        )
    if done.returncode != 0:
        sys.exit(f"the run of {call} ended with {done.returncode}:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def child() -> None:
    """What the fresh process does: one JSON object in, one out."""
    call = json.load(sys.stdin)
    folder, who = Path(call.pop("folder")), getattr(peers, call.pop("who"))
    depth, limit = call.pop("depth"), call.pop("limit", None)
    if who is peers.ours:
        call["time_limit"] = limit
    else:
        call["limit"] = limit
    tiny = np.arange(40.0).reshape(20, 2)
    who(
        tiny,
        (np.arange(20) % 2).astype(np.int32),
        3,
        **(call | {"smallest": False} if "smallest" in call else call),
    )
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak starts anew
    before = _kilobytes("VmRSS")
    found = who(np.load(folder / "x.npy"), np.load(folder / "y.npy"), depth, **call)
    print(
        json.dumps(
            {
                "seconds": found.seconds,
                "value": found.value,
                "bound": found.bound,
                "proven": found.proven,
                "megabytes": (_kilobytes("VmHWM") - before) / 1000,
                "counters": found.answer.counters if found.answer else {},
                "method": found.answer.method if found.answer else None,
            }
        )
    )


def _kilobytes(key: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(rf"{key}:\s*(\d+) kB", status)
    assert found is not None, "Linux is needed"
    return int(found[1]) * 1024 // 1000


def _python_path() -> str:
    return os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
