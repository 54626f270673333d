"""The checking process, seen from the server: it gets one text at a time, and is stopped if too
slow.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

FRESH = 3
"""How many times longer the first check of a process may take: it still imports what it needs."""

STARTING = 120.0
"""The longest that the process may take to begin, in seconds: a busy machine imports slowly."""


class Checker:
    """Starts the process on first use, and again after it was stopped.

    `seconds` is the longest that a check may take; data that need longer are not checked.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = asyncio.Lock()
        self._fresh = True

    async def check(
        self, name: str, text: str, base: str, *, touching: tuple[int, int] | None = None
    ) -> dict[str, Any]:
        """The answer of `worker`; `{"slow": True}` where it took too long."""
        async with self._turn:
            request = {"name": name, "text": text, "base": base, "touching": touching}
            return await asyncio.to_thread(self._ask, request)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._running()
        seconds, self._fresh = self.seconds * (FRESH if self._fresh else 1), False
        late = threading.Event()

        def give_up() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(seconds, give_up)
        timer.start()
        try:
            answer = self._exchange(process, json.dumps(request).encode() + b"\n")
            return {"slow": True} if late.is_set() else answer
        except (OSError, ValueError) as failure:  # killed, or out of memory
            self.stop()
            return {"slow": True} if late.is_set() else {"failed": f"checking ended: {failure}"}
        finally:
            timer.cancel()

    @staticmethod
    def _exchange(process: subprocess.Popen[bytes], line: bytes) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        if line:
            process.stdin.write(line)
            process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        """The process, once it has reported that it is ready."""
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "odtdsl.interfaces.editor.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            self._fresh = True
            timer = threading.Timer(STARTING, self._process.kill)
            timer.start()
            with suppress(OSError, ValueError):  # asking will say it
                self._exchange(self._process, b"")
            timer.cancel()
        return self._process

    def stop(self) -> None:
        """End the process, whatever it is at."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    if stream is not None:
                        stream.close()
            process.wait()
