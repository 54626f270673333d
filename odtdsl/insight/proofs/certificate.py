"""Certificates of `exact`: written from its log, checked by `odtcheck`, which shares no code.

A file holds the problem as text, the tree, and the steps: `docs/reference/proof.md`. Beside it
stands a CSV of the training rows that it is about.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.base.version import VERSION
from odtdsl.datasets.digest import digest
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core, DepthStage, Form, Linear, LinearStage, Used
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.backends.exact.backend import PlainSearch
    from odtdsl.backends.ledger import Ledger
    from odtdsl.compiler import Analysis
    from odtdsl.driver.result import Result
    from odtdsl.predictors.nodes import TreeNode
    from odtdsl.problem.ir.rows import Rows

MAGIC = b"ODTCERT1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What `odtcheck` says of a certificate.

    Attributes
    ----------
    claims
        The bounds that are shown, in words.
    values
        Depth of the tree, then the value of each digit of the objective, as steps above the least;
        empty without a tree.
    steps, rules
        How many steps were checked, and by which rules of the calculus.
    verdict
        Begins with `certified` or `sampled`.
    """

    claims: tuple[str, ...]
    values: tuple[int, ...]
    steps: str
    rules: str
    verdict: str

    @property
    def optimal(self) -> bool:
        """Whether all of it was checked, and the tree is optimal."""
        return self.verdict == "certified: the tree is optimal"


def is_certificate(path: Path) -> bool:
    """Whether a file begins as one."""
    from odtdsl.base.files import check_regular

    try:
        check_regular(path)
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


# ---- what is covered


def require_covered(core: Core) -> None:
    """Raise P203, before any search, for what no certificate of `exact` covers."""
    reasons = uncovered(core)
    if reasons:
        raise error(
            "P203",
            "no certificate covers this problem yet",
            notes=reasons,
            helps=(
                "`exact` proves its answer all the same: omit `--proof`, or `certify`",
                "what certificates cover: docs/explanation/certificates.md",
            ),
        )


def uncovered(core: Core) -> tuple[str, ...]:
    """Why no certificate of `exact` covers a problem; empty where one does."""
    return tuple(dict.fromkeys(_uncovered(core)))


def _uncovered(core: Core) -> Iterator[str]:
    from odtdsl.backends.exact.backend import plain_of
    from odtdsl.backends.exact.lowering import features
    from odtdsl.problem.ir.problem import DiagramSkeleton

    if isinstance(core.skeleton, DiagramSkeleton):
        yield "it asks for a diagram"
        return
    if core.targets is not None:
        yield "it predicts numbers"
        return
    rules = plain_of(core)
    if rules is None:
        yield from list(_beyond(core)) or ["its rules together"]
    elif rules.must is not None:
        used = next(c.origin.rule for c in core.clauses if isinstance(c.atom, Used))
        yield f"rule `{used}`: a feature that must be used"
    if not features(core).tests:
        yield "no test may stand"


_IN_WORDS = {
    Form.LINEAR_MODEL: "a bound on rows, predictions or leaves of the whole tree",
    Form.LINEAR_LEAF: "a bound on the rows of each leaf, other than on their number",
    Form.LINEAR_SPLIT: "a bound on the rows of each split",
    Form.USED_MODEL: "features that must be used, or may be used instead of each other",
    Form.MONOTONE: "the direction of predictions",
    Form.LINK: "rows that are compared with each other",
    Form.DEPTH: "the depth as a part of a rule",
    Form.MISSING_BRANCH: "missing cells whose side is learned",
}


def _beyond(core: Core) -> Iterator[str]:
    """What the plain search, the only one with a log, does not take."""
    from odtdsl.backends.exact.backend import _special
    from odtdsl.backends.exact.lowering import about_objective, about_rules
    from odtdsl.backends.exact.plain_rules import beyond_plain, plain_rules

    rest = beyond_plain(core)
    yield from (
        f"rule `{rule.origin.rule}`: tests that depend on the level"
        for rule in core.filters
        if rule.levels is not None
    )
    for need in _special(rest):
        named = need.origin.rule not in ("skeleton", "objective")
        told = _IN_WORDS.get(need.form, need.form.value)
        yield f"rule `{need.origin.rule}`: {told}" if named else told
    for one in about_rules(rest):
        if one.form is Form.MISSING_BRANCH:
            yield one.reason
        elif one.form is not Form.SPLIT_FILTER:
            scope = next(c.scope for c in rest.clauses if c.origin == one.origin)
            form = {Scope.LEAF: Form.LINEAR_LEAF, Scope.SPLIT: Form.LINEAR_SPLIT}
            yield f"rule `{one.origin.rule}`: {_IN_WORDS[form.get(scope, Form.LINEAR_MODEL)]}"
    yield from (one.reason for one in about_objective(rest))
    if plain_rules(core) is None:
        taken = {id(clause) for clause in rest.clauses}
        for clause in core.clauses:
            if id(clause) in taken or isinstance(clause.atom, Linear):
                continue
            must = isinstance(clause.atom, Used) and clause.scope is Scope.MODEL
            told = "several features that must be used" if must else "paths that need some test"
            yield f"rule `{clause.origin.rule}`: {told}"


# ---- the problem as text


def problem_text(rows: Rows) -> str:
    """What `odtcheck` reads of a problem: all but the tree and the steps."""
    core = normalize(rows)
    search = _search(core)
    lines: list[tuple[str, ...]] = [
        ("problem", "1"),
        ("made", f"odtdsl {VERSION}"),
        ("data", digest(rows.data.table)),
    ]
    lines.append(("target", rows.problem.target.names[0]))
    lines += [("class", str(label)) for label in rows.problem.target.classes]
    cells = search.cells
    for at, (family, test) in enumerate(cells.tests):
        cuts = cells.cuts[at] if cells.cuts else None
        lines.append(("feature", *_feature(core, rows, family, test, cuts)))
    from odtdsl.backends.exact.lowering import deepest_of, demands, most_leaves

    depth, _ = deepest_of(core)
    lines.append(("depth", str(depth)))
    if isinstance(core.objective[0], DepthStage):
        lines.append(("least depth",))
    leaves = most_leaves(core, depth)  # as many as there are rows are no limit
    lines.append(("leaves", str(leaves if leaves < core.n_rows else 1 << depth)))
    lines.append(("leaf rows", str(search.rules.leaf_rows)))
    if search.rules.next is not None:
        for state in search.rules.next.tolist():
            columns = [core.families[family].column for family, _ in cells.tests]
            lines.append(("path", *(str(state[column] + 1) for column in columns)))
    for clause, measure in demands(core):
        lines += _stage(core, f"rule {clause.origin.rule}", "zero", measure.output, measure.leaves)
    texts = [stage.text.split(" ", 1)[-1] for stage in rows.problem.objective]
    for text, stage in zip(texts, core.objective, strict=True):
        if isinstance(stage, LinearStage):
            lines += _stage(core, text, "least", stage.measure.output, stage.measure.leaves)
    return "".join("\t".join(map(_escaped, line)) + "\n" for line in lines)


def _search(core: Core) -> PlainSearch:
    from odtdsl.backends.base import Limits
    from odtdsl.backends.exact.backend import PlainSearch, plain_of

    rules = plain_of(core)
    assert rules is not None, "as `require_covered` has it"
    return PlainSearch(core, rules, Limits(), None, None)


def _escaped(text: str) -> str:
    for one, other in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(one, other)
    return text


def _feature(
    core: Core, rows: Rows, index: int, test: int, cuts: np.ndarray | None
) -> tuple[str, ...]:
    family = core.families[index]
    name = core.columns[family.column]
    column = rows.data.columns[name]
    levels = [str(level) for level in column.type.levels]
    if test >= 0 and cuts is not None and not len(cuts):
        return ("is", name)  # a rule forbids it: nothing goes left
    if family.kind == "bin":
        at = family.bins[test]
        low = "-inf" if at == 0 else repr(float(family.values[at]))
        high = "inf" if at == len(family.values) - 2 else repr(float(family.values[at + 1]))
        return ("in", name, low, high, *(["empty"] if family.missing == "left" else []))
    if test >= 0:
        left = [levels[int(family.values[test])]]
        return ("is", name, *left, *([""] if family.missing == "left" else []))
    if column.numbers is None:
        places = range(family.n_tests) if cuts is None else cuts.tolist()
        behind = {int(family.values[cut]) for cut in places}
        marked = [(text, "|") if at in behind else (text,) for at, text in enumerate(levels)]
        return ("order", name, *(word for pair in marked for word in pair))
    if cuts is None:
        return ("number", name)
    return ("cuts", name, *(repr(float(family.values[cut])) for cut in cuts))


def _stage(
    core: Core, name: str, kind: str, output: np.ndarray | None, price: int
) -> Iterator[tuple[str, ...]]:
    """Losses above the least of each row, by class where rows of a class lose the same."""
    yield ("stage", name, kind, str(price))
    assert core.labels is not None, "a certificate is about classes"
    loss = np.zeros((core.n_rows, core.n_classes), dtype=np.int64) if output is None else output
    loss = loss - loss.min(axis=1, keepdims=True)
    table = np.zeros((core.n_classes, core.n_classes), dtype=np.int64)
    table[core.labels] = loss
    if (table[core.labels] == loss).all():
        for row in table.tolist():
            yield ("loss", *map(str, row))
        return
    kinds, of = np.unique(loss, axis=0, return_inverse=True)
    for row in kinds.tolist():
        yield ("loss", *map(str, row))
    yield ("rows", *map(str, of.reshape(-1).tolist()))


def _tree(core: Core, rows: Rows, search: PlainSearch, node: TreeNode) -> Iterator[str]:
    from odtdsl.predictors.nodes import Equals, InBin, Leaf, Threshold

    if isinstance(node, Leaf):
        yield f"leaf\t{node.label}\n"
        return
    column = rows.data.columns[node.feature]
    for at, (index, test) in enumerate(search.cells.tests):
        family = core.families[index]
        if core.columns[family.column] != node.feature:
            continue
        if family.missing is not None and family.missing != node.missing:
            continue  # where no cell is missing, both sides of a learned one are the same
        if isinstance(node.test, Threshold) and test < 0:
            if column.numbers is not None:
                threshold = repr(float(node.test.value))
            else:
                level = column.type.levels.index(node.test.value)
                cuts = search.cells.cuts[at] if search.cells.cuts else None
                below = family.values[:-1] if cuts is None else family.values[cuts]
                threshold = str(int((below < level).sum()))
            break
        if isinstance(node.test, InBin) and test >= 0:
            _, _, low, *_ = _feature(core, rows, index, test, None)
            if float(low) == node.test.low:
                threshold = "0"
                break
        if not isinstance(node.test, Equals) or test < 0:
            continue
        if column.type.levels[int(family.values[test])] == node.test.value:
            threshold = "0"
            break
    else:
        raise RuntimeError("a test of the tree is no candidate")
    yield f"split\t{at}\t{threshold}\n"
    yield from _tree(core, rows, search, node.left)
    yield from _tree(core, rows, search, node.right)


def rows_csv(rows: Rows) -> str:
    """Target and features of the training rows, as a CSV file."""
    import csv
    import io

    core = normalize(rows)
    target = rows.problem.target
    assert core.labels is not None, "a certificate is about classes"
    classes = [str(label) for label in target.classes]
    table = [[target.names[0], *(classes[label] for label in core.labels.tolist())]]
    for name in core.columns:
        column = rows.data.columns[name]
        if column.numbers is not None:
            cells = ["" if x != x else repr(x) for x in column.numbers.tolist()]
        else:
            assert column.codes is not None
            levels = [str(level) for level in column.type.levels]
            cells = [levels[code] if code >= 0 else "" for code in column.codes.tolist()]
        table.append([name, *cells])
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(zip(*table, strict=True))
    return file.getvalue()


# ---- write and check


def write(analysis: Analysis, result: Result, ledger: Ledger, path: Path) -> Path:
    """Write a certificate, and the training rows beside it: returns the path of the rows.

    Raises
    ------
    OdtError
        P201: the search shows nothing. F301: a file cannot be written.
    """
    from odtdsl.base.files import write_bytes, write_text

    if not ledger.parts:
        raise error(
            "P201",
            f"there is nothing to certify: the status is {result.status}, and no bound is shown",
            helps=("allow more time: `--within 10min`",),
        )
    core = normalize(analysis.rows)
    tree = ""
    if result.tree is not None:
        tree = "".join(_tree(core, analysis.rows, _search(core), result.tree.root))
    text = (problem_text(analysis.rows) + tree).encode()
    parts = ledger.parts[-2:]  # of the depths before only the last is asked for
    body = bytes([len(parts)]) + b"".join(parts)
    write_bytes(path, MAGIC + f"{len(text)}\n".encode() + text + body)
    beside = rows_of(path)
    write_text(beside, rows_csv(analysis.rows))
    return beside


def rows_of(path: Path) -> Path:
    """Where the rows of a certificate are written: beside it."""
    return path.with_name(path.name + ".csv")


def verify(analysis: Analysis, path: Path, sample: str | None = None) -> Checked:
    """Check a certificate against a spec and its data, by `odtcheck`.

    Raises
    ------
    OdtError
        P103, P104: it is of other data or another spec. P109: a step is refused. P101, P102: it
        is no certificate. P203: the spec is one that none covers.
    """
    require_covered(normalize(analysis.rows))
    raw = path.read_bytes()
    head, _, rest = raw[len(MAGIC) :].partition(b"\n")
    size = int(head) if head.isdigit() and len(head) < 10 else -1
    if size < 0 or size > len(rest):
        raise error("P102", "the certificate is cut short")
    _same(rest[:size].decode("utf-8", "replace"), problem_text(analysis.rows), analysis)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.csv"
        rows.write_text(rows_csv(analysis.rows), encoding="utf-8")
        asked = [] if sample is None else ["--sample", sample]
        ran = subprocess.run(
            [str(checker()), str(path), str(rows), *asked],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    lines = ran.stdout.splitlines()
    if ran.returncode == 1:
        raise error("P109", f"the certificate is {lines[-1] if lines else 'refused'}")
    if ran.returncode:
        raise error("P101", f"the certificate cannot be checked: {ran.stderr.strip()}")

    def told(word: str) -> tuple[str, ...]:
        return tuple(line.removeprefix(word) for line in lines if line.startswith(word))

    values = told("values: ")
    return Checked(
        claims=told("claim: "),
        values=tuple(map(int, values[0].split())) if values else (),
        steps=told("steps: ")[0],
        rules=told("rules: ")[0],
        verdict=lines[-1],
    )


def _same(theirs: str, mine: str, analysis: Analysis) -> None:
    """Check that the problem of a certificate is that of the spec."""
    skipped = ("made\t", "leaf\t", "split\t")
    there = [line for line in theirs.splitlines() if not line.startswith(skipped)]
    here = [line for line in mine.splitlines() if not line.startswith(skipped)]
    if there == here:
        return
    odd = [line for line in there if line not in here], [line for line in here if line not in there]
    code, what = ("P104", "spec")
    if any(line.startswith("data\t") for line in odd[0]):
        code, what = ("P103", "data")
    notes = [f"only in the certificate: {line[:100]}" for line in odd[0][:5]]
    notes += [f"only in the spec: {line[:100]}" for line in odd[1][:5]]
    raise OdtError(
        [
            Diagnostic(
                code=code,
                message=f"the certificate was written for other {what}"
                if what == "data"
                else "the certificate was written for another spec",
                notes=tuple(notes),
                helps=(f"check it with the {what} it was written for",),
                source=analysis.problem.source,
            )
        ]
    )


def checker() -> Path:
    """The program `odtcheck`, which is built beside the engine.

    Raises
    ------
    OdtError
        X202: it is not there.
    """
    from importlib.util import find_spec

    name = "odtcheck.exe" if sys.platform == "win32" else "odtcheck"
    spec = find_spec("odtdsl.base._engine")
    if spec is not None and spec.origin is not None:
        found = Path(spec.origin).parent / name
        if found.is_file():
            return found
    raise error(
        "X202",
        "the program `odtcheck` is not built",
        helps=("reinstall odtdsl, or build it: `c++ -O2 -std=c++17 odtcheck.cpp -o odtcheck`",),
    )


def stage_values(core: Core, checked: Checked) -> tuple[Fraction, ...]:
    """The values of the tree of a certificate, signed as the stages of a core are."""
    from odtdsl.backends.exact.lowering import demands, least

    digits = iter(checked.values[1 + sum(1 for _ in demands(core)) :])
    found: list[Fraction] = []
    for stage in core.objective:
        if isinstance(stage, DepthStage):
            found.append(Fraction(checked.values[0]))
        elif isinstance(stage, LinearStage):
            steps = least(stage.measure) + next(digits)
            found.append(Fraction(steps, stage.measure.denominator))
    return tuple(found)
