"""Commands in processes of their own: they can be stopped, and their end loses nothing here."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import sys
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_OUTPUT = 50_000_000
"""Bytes that a command may print; a longer answer is not shown."""

LAST_EVENTS = 400


@dataclass(slots=True, kw_only=True)
class Job:
    """A command that runs, or ran.

    `events` are what it told on the way, numbered from `first`; `answer` is what it printed, as
    JSON where it is JSON.
    """

    number: int
    argv: tuple[str, ...]
    process: asyncio.subprocess.Process | None = None
    events: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=LAST_EVENTS))
    told: int = 0
    errors: str = ""
    answer: Any = None
    code: int | None = None
    stops: int = 0

    @property
    def line(self) -> str:
        """The command as one would type it."""
        return shlex.join(("odt", *(one for one in self.argv if one not in _OURS)))

    def since(self, number: int) -> list[dict[str, Any]]:
        """The events after a number."""
        return [one for one in self.events if one["number"] > number]


_OURS = ("--json", "--progress")
"""Options for the page that nobody types."""


class Jobs:
    """One command at a time, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.current: Job | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> bool:
        """Whether a command runs."""
        return self.current is not None and self.current.code is None

    async def start(self, argv: tuple[str, ...]) -> Job:
        """Run `odt` with these arguments; one that still runs is ended first."""
        await self.end()
        job = Job(number=1 if self.current is None else self.current.number + 1, argv=argv)
        self.current = job
        job.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "odtdsl",
            *argv,
            cwd=self.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=MAX_OUTPUT,
            start_new_session=True,  # Ctrl-C in the terminal ends the studio; it ends this
        )
        task = asyncio.create_task(self._follow(job, job.process))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    def stop(self) -> None:
        """Ask the command to end with what it has; a second time end it at once."""
        job = self.current
        if job is None or job.process is None or job.process.returncode is not None:
            return
        job.stops += 1
        job.process.send_signal(signal.SIGINT) if job.stops == 1 else job.process.kill()

    async def end(self) -> None:
        """End what runs."""
        job = self.current
        if job is not None and job.process is not None and job.process.returncode is None:
            job.process.kill()
            await job.process.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, job: Job, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        output, _ = await asyncio.gather(_all_of(process.stdout), self._listen(job, process.stderr))
        code = await process.wait()
        try:
            job.answer = json.loads(output)
        except (ValueError, RecursionError):
            job.answer = output.decode("utf-8", "replace")[:MAX_OUTPUT]
        job.code = code

    async def _listen(self, job: Job, stream: asyncio.StreamReader) -> None:
        """Progress is a JSON object a line; all else is for people."""
        while True:
            try:
                line = await stream.readline()
            except ValueError:  # longer than anything we write
                continue
            if not line:
                return
            try:
                told = json.loads(line)
            except ValueError:
                told = None
            if isinstance(told, dict) and "seconds" in told:
                job.told += 1
                job.events.append({**told, "number": job.told})
            else:
                job.errors = (job.errors + line.decode("utf-8", "replace"))[-20_000:]


async def _all_of(stream: asyncio.StreamReader) -> bytes:
    parts, size = [], 0
    while part := await stream.read(1 << 16):
        size += len(part)
        if size <= MAX_OUTPUT:
            parts.append(part)
    return b"".join(parts) if size <= MAX_OUTPUT else b"the answer is too long to show"


__all__ = ["Job", "Jobs"]
