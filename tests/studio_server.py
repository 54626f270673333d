"""A studio for tests: `odt studio` in a process of its own, and requests as a page makes them."""

from __future__ import annotations

import http.client
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

ROWS = """age,sex,<b>math</b>,y
41,f,1,yes
52,m,2,no
33,f,3,yes
64,m,4,no
45,f,2,no
58,m,1,yes
"""
SPEC = """data "rows.csv"
target y positive "yes"
group women = sex = "f"
tree depth <= 2
minimize errors
rule fair: accuracy(women) >= 50%
rule robust: forall leaf: size >= 1
"""
WAIT = 90.0


class Server:
    """A running studio of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "rows.csv").write_text(ROWS, encoding="utf-8")
        (folder / "spec.odt").write_text(SPEC, encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "odtdsl", "studio", "spec.odt", "--no-browser"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        parts = urlsplit(self.address)
        assert parts.port is not None
        self.port, self.token = parts.port, parts.path.strip("/")

    def raw(
        self, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a request; a body makes it a POST."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        method = "GET" if body is None else "POST"
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        connection.close()
        return found

    def ask(self, what: str, **asked: Any) -> dict[str, Any]:
        """The answer to a request of the page."""
        _, _, body = self.raw(f"/{self.token}/{what}", json.dumps(asked).encode())
        answer: dict[str, Any] = json.loads(body)
        return answer

    def run(self, command: str, text: str = SPEC, **more: Any) -> dict[str, Any]:
        """The state of a command that ended."""
        told = self.ask("start", command=command, name="spec.odt", text=text, known=text, **more)
        assert "job" in told, told
        return self.ended()

    def ended(self) -> dict[str, Any]:
        """The state of what runs once it ended."""
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            state = self.ask("state", after=0)
            if not state["running"]:
                return state
            time.sleep(0.05)
        raise AssertionError("the command did not end")

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=WAIT)


def solver_of(server: Server) -> int:
    """The process of the command that runs: the checker of texts is the other child."""
    task = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    if not task.is_file():
        pytest.skip("needs /proc of Linux")
    for child in map(int, task.read_text().split()):
        if b"solve" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
            return child
    raise AssertionError("no command runs")


def random_rows(n_rows: int, n_columns: int) -> str:
    """Rows whose class is noise: no tree is proven to be the best of them within a test."""
    draw = random.Random(5)
    lines = [",".join([*(f"c{i}" for i in range(n_columns)), "y"])]
    for _ in range(n_rows):
        cells = [*(draw.randrange(40) for _ in range(n_columns)), draw.randrange(2)]
        lines.append(",".join(map(str, cells)))
    return "\n".join(lines) + "\n"
