"""Proof files: text of one part per claim, each a formula (DIMACS) and its refutation (DRUP).

    c odt proof 1
    c made by ...
    c data 5f..                 SHA-256 of the training rows
    c spec minimize depth       what is asked, a line each
    c part 1 of 2
    c says no tree that satisfies all rules has depth below 4
    c claim stage 1 below 4     as `Claim` has it, stages counted from 1
    c rows 0 3 17               whose classes are in the formula; `all`
    p cnf 380 1961
    ...                         one clause a line
    c refuted by
    ...                         one clause a line, `d` before what is deleted; the last is `0`
    c end of part 1 of 2

A part without a formula says `c holds by itself` in the place of rows. Between `p cnf` and the
line `c refuted by` stands what any solver reads, and between that and the end what any checker of
DRUP or DRAT does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.files import read_bytes
from odtdsl.insight.proofs.claims import Claim

HEAD = "c odt proof 1"
Literals = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Refutation:
    """A formula and what refutes it.

    Attributes
    ----------
    rows
        Training rows whose classes are in the formula; None for all.
    formula
        int32: literals, each clause ended by 0.
    steps
        Lines of clauses, `d` before those that are deleted.
    first_clause, first_step
        Their lines in the file, from 1; 0 where there is none yet.
    """

    rows: tuple[int, ...] | None
    variables: int
    formula: Literals
    steps: bytes
    first_clause: int = 0
    first_step: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """A claim, and why it holds; without a refutation it holds by itself."""

    statement: str
    claim: Claim
    line: int = 0
    refutation: Refutation | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proof:
    """What a proof file holds.

    Attributes
    ----------
    made_by
        Encoding, solver and their versions.
    data
        SHA-256 of the training rows.
    spec
        What is asked, line by line.
    """

    made_by: str
    data: str
    spec: tuple[str, ...]
    parts: tuple[Part, ...]


# ---- written


def to_bytes(proof: Proof) -> bytes:
    """The text of a proof file."""
    return b"".join(_written(proof))


def _written(proof: Proof) -> Iterator[bytes]:
    yield _lines([HEAD, f"c made by {proof.made_by}", f"c data {proof.data}"])
    yield _lines(f"c spec {line}" for line in proof.spec)
    count = len(proof.parts)
    for number, part in enumerate(proof.parts, 1):
        said = [f"c part {number} of {count}", f"c says {part.statement}", _claim_line(part.claim)]
        yield _lines(said)
        made = part.refutation
        if made is None:
            yield _lines(["c holds by itself"])
        else:
            rows = "all" if made.rows is None else " ".join(map(str, made.rows))
            clauses = int((made.formula == 0).sum())
            yield _lines([f"c rows {rows}".rstrip(), f"p cnf {made.variables} {clauses}"])
            yield from _clauses(made.formula)
            yield _lines(["c refuted by"])
            yield made.steps
        yield _lines([f"c end of part {number} of {count}"])


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{_one_line(line)}\n" for line in lines).encode()


def _one_line(text: str) -> str:
    """Names of columns and classes may hold line breaks."""
    return " ".join(text.splitlines())


def _clauses(formula: Literals) -> Iterator[bytes]:
    line: list[str] = []
    for literal in formula.tolist():
        line.append(str(literal))
        if not literal:
            yield " ".join(line).encode() + b"\n"
            line.clear()


def _claim_line(claim: Claim) -> str:
    if claim.stage is None:
        return "c claim none"
    earlier = "".join(f" {value}" for value in claim.earlier)
    after = f" after{earlier}" if earlier else ""
    return f"c claim stage {claim.stage + 1} below {claim.below}{after}"


# ---- read


def read(path: Path) -> Proof:
    """The proof in a file.

    Raises
    ------
    OdtError
        P101: it cannot be read, or is no proof. P102: it is cut short.
    """
    try:
        text = read_bytes(path)
    except OSError as failure:
        raise error(
            "P101",
            f"the proof `{path}` cannot be read: {failure.strerror or failure}",
            helps=("give a file written by `odt solve --proof`",),
        ) from failure
    return from_bytes(text, name=str(path))


def from_bytes(text: bytes, *, name: str = "<proof>") -> Proof:
    """The proof in a text; errors as of `read`."""
    return _Reader(text, name).proof()


class _Reader:
    """A text read from front to end, and the current line."""

    def __init__(self, text: bytes, name: str) -> None:
        self.text, self.name = text, name
        self.at, self.line = 0, 1

    def proof(self) -> Proof:
        if not self.text.startswith(HEAD.encode() + b"\n"):
            raise self._wrong(f"it does not begin with `{HEAD}`")
        self._take(HEAD)
        made_by, data = self._field("made by"), self._field("data")
        spec = []
        while self._peek().startswith("c spec "):
            spec.append(self._field("spec"))
        parts: list[Part] = []
        count = 1
        while len(parts) < count:
            part, count = self._part(len(parts) + 1, count if parts else None)
            parts.append(part)
        if self.at < len(self.text):
            raise self._wrong("there is text after the last part")
        return Proof(made_by=made_by, data=data, spec=tuple(spec), parts=tuple(parts))

    def _part(self, number: int, known: int | None) -> tuple[Part, int]:
        line = self.line
        match = re.fullmatch(r"(\d{1,9}) of (\d{1,9})", said := self._field("part"))
        if match is None or int(match[1]) != number or known not in (None, int(match[2])):
            raise self._wrong(f"`part {said}` is out of order", -1)
        statement, claim = self._field("says"), self._claim()
        made = None
        if self._peek() == "c holds by itself":
            self._take("c holds by itself")
        else:
            made = self._refutation()
        self._take(f"c end of part {said}")
        return Part(statement=statement, claim=claim, line=line, refutation=made), int(match[2])

    def _claim(self) -> Claim:
        text = self._field("claim")
        if text == "none":
            return Claim(stage=None)
        value = r"-?\d{1,99}(?:/\d{1,99})?"
        match = re.fullmatch(rf"stage (\d{{1,3}}) below ({value})(?: after((?: {value})+))?", text)
        try:
            if match is None or match[1] == "0":
                raise ValueError
            earlier = tuple(Fraction(one) for one in (match[3] or "").split())
            return Claim(stage=int(match[1]) - 1, below=Fraction(match[2]), earlier=earlier)
        except (ValueError, ZeroDivisionError):
            raise self._wrong(f"`{text}` is not a claim", -1) from None

    def _refutation(self) -> Refutation:
        rows = self._rows()
        match = re.fullmatch(r"p cnf (\d{1,9}) (\d{1,12})", head := self._next())
        if match is None:
            raise self._wrong(f"expected `p cnf`, not `{_short(head)}`", -1)
        first_clause = self.line
        formula = self._formula(self._until("c refuted by"), int(match[1]), int(match[2]))
        first_step = self.line
        steps = self._until(None)
        return Refutation(
            rows=rows,
            variables=int(match[1]),
            formula=formula,
            steps=steps,
            first_clause=first_clause,
            first_step=first_step,
        )

    def _rows(self) -> tuple[int, ...] | None:
        text = self._field("rows")
        if text == "all":
            return None
        if re.fullmatch(r"(\d{1,9}( \d{1,9})*)?", text) is None:
            raise self._wrong(f"`{_short(text)}` is not a list of rows", -1)
        return tuple(map(int, text.split()))

    def _formula(self, text: bytes, variables: int, clauses: int) -> Literals:
        first = self.line - text.count(b"\n") - 1
        lines = text.split(b"\n")[:-1]
        if len(lines) != clauses:
            told = f"`p cnf` announces {clauses} clauses, but {len(lines)} follow"
            raise self._wrong(told, first - self.line - 1)
        for number, line in enumerate(lines):
            if line != b"0" and (not line.endswith(b" 0") or b" 0 " in line):
                raise self._wrong("this is not a clause", first + number - self.line)
        try:
            found = np.array(text.split(), dtype=np.bytes_).astype(np.int64)
        except ValueError:
            raise self._wrong(
                "the formula contains something that is not a literal", first - self.line
            ) from None
        if len(found) and abs(found).max() > variables:
            raise self._wrong(
                "the formula has more variables than `p cnf` announces", first - self.line
            )
        return found.astype(np.int32)

    # ---- lines

    def _until(self, mark: str | None) -> bytes:
        """The lines up to that of a mark, or to the end of the part; a mark is passed over."""
        sought = b"\nc end of part " if mark is None else f"\n{mark}\n".encode()
        end = self.text.find(sought, self.at - 1)
        if end < 0:
            raise self._cut()
        found = self.text[self.at : end + 1]
        self.line += found.count(b"\n") + (mark is not None)
        self.at = end + (1 if mark is None else len(sought))
        return found

    def _peek(self) -> str:
        end = self.text.find(b"\n", self.at)
        if end < 0:
            raise self._cut()
        return self.text[self.at : end].decode("utf-8", "replace")

    def _next(self) -> str:
        line = self._peek()
        self.at = self.text.find(b"\n", self.at) + 1
        self.line += 1
        return line

    def _take(self, wanted: str) -> None:
        if (line := self._next()) != wanted:
            raise self._wrong(f"expected `{wanted}`, not `{_short(line)}`", -1)

    def _field(self, name: str) -> str:
        line = self._next()
        if line == f"c {name}":
            return ""
        if not line.startswith(f"c {name} "):
            raise self._wrong(f"expected `c {name}`, not `{_short(line)}`", -1)
        return line[len(name) + 3 :]

    def _wrong(self, what: str, offset: int = 0) -> OdtError:
        return error(
            "P101",
            f"`{self.name}` is not a proof of odt: line {self.line + offset}: {what}",
            helps=("give a file written by `odt solve --proof`",),
        )

    def _cut(self) -> OdtError:
        total = self.text.count(b"\n") + 1
        return error(
            "P102",
            f"the proof `{self.name}` is truncated: it ends at line {total}, inside a part",
            helps=("write it again: `odt solve SPEC --proof FILE`",),
        )


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def size_of(part: Part) -> dict[str, int | None]:
    """Rows (None: all), variables, clauses and steps, deletions left out; 0 without any."""
    made = part.refutation
    if made is None:
        return {"rows": 0, "variables": 0, "clauses": 0, "steps": 0}
    gone = made.steps.startswith(b"d") + made.steps.count(b"\nd")
    return {
        "rows": None if made.rows is None else len(made.rows),
        "variables": made.variables,
        "clauses": int((made.formula == 0).sum()),
        "steps": made.steps.count(b"\n") - gone,
    }


def clause_at(formula: Literals, index: int) -> Sequence[int]:
    """A clause by its number, from 0, without its end; empty for an unknown number."""
    ends = np.flatnonzero(formula == 0)
    if index >= len(ends):
        return ()
    first = ends[index - 1] + 1 if index else 0
    found: list[int] = formula[first : ends[index]].tolist()
    return found
