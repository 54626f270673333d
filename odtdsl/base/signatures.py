"""Recognizes files that odtdsl wrote by how they begin: an output may replace them."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

HEAD = 4096
"""Bytes that are looked at."""

_STYLED = rb"text\{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif"
_BEGINNINGS = {
    "a proof": rb"c odt proof \d",
    "a model, or runs of `tune`": rb'\s*\{\s*"format":\s*"odtdsl\.\w+"',
    "a picture": rb'<svg xmlns="http://www\.w3\.org/2000/svg"[^>]*>\s*<title>[^<]*</title>\s*'
    rb"<style>(\.odt )?" + _STYLED,
    "a graph": rb"digraph (tree|diagram) \{\n  graph \[[^\n]*\];\n  node \[[^\n]*\];\n",
    "a report": rb"<!DOCTYPE html>\s.*<title>[^<]*: odtdsl report</title>",
    "a program": rb"[\\*] a decision (tree|diagram) by mixed-integer programming",
    "a formula": rb"(\* #variable= \d+ #constraint= \d+\n)?[c*] a decision tree of depth \d+"
    rb" at most, by clauses;",
    "a tuning": rb"[^\n]*,splits,proven,seconds,chosen,reason\r?\n",
    "a curve": rb"[^\n]*,errors,depth,leaves,proven,efficient\r?\n",
    "an export": rb"(# coding: utf-8\n# |-- |/\* |)[^\n]* by a decision (tree of [\d,]+ splits?[.:]"
    rb"|diagram of [\d,]+ nodes?, written as )",
    "ONNX": rb"\x08.\x12\x06odtdsl",
    "PMML": rb'<\?xml [^\n]*\n<PMML [^\n]*\n\s*<Header [^\n]*\n\s*<Application name="odtdsl"/>',
    "treelite": rb'.{0,1024}"odtdsl": \{',
}
_OURS = re.compile(b"|".join(b"(?:%s)" % one for one in _BEGINNINGS.values()), re.DOTALL)


def is_ours(path: Path) -> bool:
    """Whether a regular file begins as those that odtdsl writes, or is empty.

    Tables of predictions have nothing to be known by: they hold what was asked for and no more.
    """
    with suppress(OSError), path.open("rb") as file:
        head = file.read(HEAD)
        return not head or _OURS.match(head) is not None
    return False


__all__ = ["is_ours"]
