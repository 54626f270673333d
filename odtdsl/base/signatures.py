"""Recognizes files that odtdsl wrote by how they begin: an output may replace them.

Formats of exports say for themselves how their files begin (`presentation/exports/base.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

HEAD = 4096
"""Bytes that are looked at."""

_STYLED = rb"text\{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif"
_BEGINNINGS = {
    "a proof": rb"c odt proof \d",
    "a certificate": rb"ODTCERT1",
    "a model, or runs of `tune`": rb'\s*\{\s*"format":\s*"odtdsl\.\w+"',
    "a picture": rb'<svg xmlns="http://www\.w3\.org/2000/svg"[^>]*>\s*<title>[^<]*</title>\s*'
    rb"<style>(\.odt )?" + _STYLED,
    "a graph": rb"digraph (tree|diagram) \{\n  graph \[[^\n]*\];\n  node \[[^\n]*\];\n",
    "a report": rb"<!DOCTYPE html>\s.*<title>[^<]*: odtdsl report</title>",
    "a chooser": rb"<!DOCTYPE html>\s.*<title>[^<]*: odtdsl chooser</title>",
    "a program": rb"[\\*%] a decision (tree of depth \d+ at most,|diagram) "
    rb"by mixed-integer programming",
    "a legend": rb'\{\s*"format": "(lp|mps|mzn|cnf|wcnf|opb)",\s*"(what|objective)":',
    "a formula": rb"(\* #variable= \d+ #constraint= \d+\n)?[c*] a decision tree of depth \d+"
    rb" at most, by clauses;",
    "a tuning": rb"[^\n]*,splits,proven,seconds,chosen,reason\r?\n",
    "a curve": rb"[^\n]*,errors,depth,leaves,proven,efficient\r?\n",
}


def is_ours(path: Path) -> bool:
    """Whether a regular file begins as those that odtdsl writes, exports apart, or is empty.

    Tables of predictions have nothing to be known by: they hold what was asked for and no more.
    """
    return begins(path, _BEGINNINGS.values())


def begins(path: Path, beginnings: Iterable[bytes]) -> bool:
    """Whether a regular file begins as one of some regular expressions says, or is empty."""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(HEAD)
        return not head or any(re.match(one, head, re.DOTALL) for one in beginnings)
    return False


def is_proof(content: bytes) -> bool:
    """Whether some bytes begin as a proof or a certificate."""
    return any(re.match(_BEGINNINGS[what], content) for what in ("a proof", "a certificate"))


__all__ = ["begins", "is_ours", "is_proof"]
