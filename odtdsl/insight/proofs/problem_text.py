"""The problem of a certificate as text, and its rows as CSV: `docs/reference/proof.md`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from odtdsl.base.frozen import dataclass
from odtdsl.base.version import VERSION
from odtdsl.datasets.digest import digest
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.forms import Core, DepthStage, LinearStage, RegressionStage
from odtdsl.problem.outputs.feasible import feasible_set
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.backends.exact.backend import PlainSearch
    from odtdsl.backends.exact.ruled import RowLiteral, Ruled
    from odtdsl.predictors.nodes import TreeNode
    from odtdsl.problem.ir.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cell:
    """A feature of a certificate: tests of a family that may stand at some levels.

    Attributes
    ----------
    family, test
        As in `Features.tests`.
    cuts
        The cuts that may stand, where not all may.
    levels
        Where they may; None: at all.
    """

    family: int
    test: int
    cuts: IntArray | None
    levels: frozenset[int] | None = None


def problem_text(rows: Rows, only: bool = False) -> str:
    """What `odtcheck` reads of a problem: all but the tree and the steps.

    `only`: the rules are some of a spec's, which are named.
    """
    from odtdsl.backends.exact.backend import asks_fronts
    from odtdsl.backends.exact.lowering import deepest_of

    core = normalize(rows)
    depth, _ = deepest_of(core)
    lines: list[tuple[str, ...]] = [
        ("problem", "1"),
        ("made", f"odtdsl {VERSION}"),
        ("data", digest(rows.data.table)),
    ]
    if only:
        lines.append(("only", *(rule.name for rule in rows.problem.rules)))
    if core.labels is not None:
        lines.append(("target", rows.problem.target.names[0]))
    classes = rows.problem.target.classes if core.targets is None else ("number",)
    lines += [("class", str(label)) for label in classes]
    cells = cells_of(core)
    lines += [("feature", *_feature(core, rows, cell)) for cell in cells]
    lines.append(("depth", str(depth)))
    lines += _ruled_lines(core, cells, depth) if asks_fronts(core) else _plain_lines(core, depth)
    texts = [stage.text.split(" ", 1)[-1] for stage in rows.problem.objective]
    for text, stage in zip(texts, core.objective, strict=True):
        if isinstance(stage, RegressionStage):
            lines += _squares(core, rows.problem.target.names, text)
        if isinstance(stage, LinearStage):
            lines += _stage(core, text, "least", stage.measure.output, stage.measure.leaves)
    if not any(line[0] == "stage" for line in lines):  # the depth alone
        lines += _stage(core, "nothing", "least", None, 0)
    return "".join("\t".join(map(escaped, line)) + "\n" for line in lines)


def _squares(core: Core, columns: Sequence[str], text: str) -> Iterator[tuple[str, ...]]:
    from odtdsl.backends.exact.number_proof import pieces, whole

    units = whole(core)
    assert units is not None, "as `require_covered` has it"
    for column, scale, parts in zip(columns, units.scales, units.parts, strict=True):
        yield ("number", column, str(scale), repr(float(parts)))
    for piece in pieces(core) or ():
        yield ("outputs", *(repr(float(x)) for row, bound in piece for x in (*row, bound)))
    if (units.weights != 1).any():
        yield ("weights", *map(str, units.weights.tolist()))
    yield ("stage", text, "least", str(units.price))
    yield from _losses(core, np.zeros((core.n_rows, 1), dtype=np.int64))


def _plain_lines(core: Core, depth: int) -> Iterator[tuple[str, ...]]:
    """Depth first, leaves, their least rows, path rules, and what must be 0."""
    from odtdsl.backends.exact.lowering import demands, most_leaves

    search = _search(core)
    if isinstance(core.objective[0], DepthStage):
        yield ("least depth",)
    leaves = most_leaves(core, depth)  # as many as there are rows are no limit
    yield ("leaves", str(leaves if leaves < core.n_rows else 1 << depth))
    yield ("leaf rows", str(search.rules.leaf_rows))
    if search.rules.next is not None:
        columns = [core.families[cell.family].column for cell in cells_of(core)]
        for state in search.rules.next.tolist():
            yield ("path", *(str(state[column] + 1) for column in columns))
    for clause, measure in demands(core):
        yield from _stage(
            core, f"rule {clause.origin.rule}", "zero", measure.output, measure.leaves
        )


def _search(core: Core) -> PlainSearch:
    from odtdsl.backends.base import Limits
    from odtdsl.backends.exact.backend import PlainSearch, plain_of

    rules = plain_of(core)
    assert rules is not None, "as `require_covered` has it"
    return PlainSearch(core, rules, Limits(), None, None)


# ---- under rules on rows, levels and the whole tree


def _ruled(core: Core) -> Ruled:
    from odtdsl.backends.exact.lowering import deepest_of
    from odtdsl.backends.exact.ruled import assemble

    return assemble(_bare(core), deepest_of(core)[0])


def _bare(core: Core) -> Core:
    from odtdsl.backends.exact.number_proof import without_numbers

    return core if core.targets is None else without_numbers(core)


def _ruled_lines(core: Core, cells: list[Cell], depth: int) -> Iterator[tuple[str, ...]]:
    """States of the path and level, facts, measures, and rules on them."""
    made = _ruled(core)
    yield ("leaves", str(1 << depth))
    yield ("leaf rows", "1")
    rules = made.rules
    columns = [core.families[cell.family].column for cell in cells]
    states, following = _states(made, cells, columns)
    if len(states) > 1 or (following < 0).any():
        for row in following.tolist():
            yield ("path", *(str(to + 1) for to in row))
    yield ("ends", *(str(int(rules.states.need[state] == 0)) for state, _ in states))
    tree = len(rules.clauses)
    for state, _ in states:
        asked = [tree + at for at in rules.states.leaf_rules[state]]
        asked += [tree + len(rules.leaf_clauses) + at for at in rules.states.split_rules[state]]
        yield ("asks", *map(str, asked))
    for fact in range(len(rules.facts)):
        for level in range(depth):
            bits = rules.facts.split[level] >> np.uint64(fact) & np.uint64(1)
            setting = [str(f) for f, column in enumerate(columns) if bits[column]]
            if setting:
                yield ("fact", str(fact), str(level), *setting)
    yield from _rules(core, made)


def _states(
    made: Ruled, cells: list[Cell], columns: list[int]
) -> tuple[list[tuple[int, int]], IntArray]:
    """States of the path with their levels, where levels differ, and the states behind each."""
    levels = any(cell.levels is not None for cell in cells)
    states = [(0, 0)] if levels else [(state, 0) for state in range(len(made.rules.states.next))]
    known = {state: at for at, state in enumerate(states)}
    following: list[list[int]] = []
    for state, level in states:  # grows
        row = []
        for cell, column in zip(cells, columns, strict=True):
            to = int(made.rules.states.next[state, column])
            refused = cell.levels is not None and level not in cell.levels
            if to < 0 or refused or (levels and level >= made.depth):
                row.append(-1)
                continue
            after = (to, level + 1 if levels else 0)
            if after not in known:
                known[after] = len(states)
                states.append(after)
            row.append(known[after])
        following.append(row)
    return states, np.array(following, dtype=np.int64).reshape(len(states), len(cells))


def _rules(core: Core, made: Ruled) -> Iterator[tuple[str, ...]]:
    """Measures as they are met, and the rules of the tree, of leaves, and of splits."""
    from odtdsl.backends.exact.paths import clauses_of
    from odtdsl.problem.ir.expr import Scope

    rules, found = made.rules, made.rules.components
    shape = (core.n_rows, max(1, core.n_classes))
    measures: list[tuple[str, int, IntArray]] = []
    known: dict[tuple[int, bytes], int] = {}

    def measure(name: str, sums: Sequence[int], leaf: int) -> int:
        table = np.zeros(shape, dtype=np.int64)
        for c in range(shape[1]):
            at = sums[c if len(sums) > 1 else 0]
            if at >= 0:
                table[:, c] = found.sums[at]
        key = (leaf, table.tobytes())
        if key not in known:
            known[key] = len(measures)
            measures.append((name, leaf, table))
        return known[key]

    def of_rows(name: str, clause: Sequence[RowLiteral]) -> list[str]:
        return [
            f"{measure(name, sums, 0)} <= {at_most - constant}"
            for sums, constant, at_most in clause
        ]

    lines: list[tuple[str, ...]] = []
    for name, literals in zip(rules.names, rules.clauses, strict=True):
        told = []
        for kind, index, value in literals:
            if kind == "component":
                told.append(f"{measure(name, found.sum_of[index], found.leaf[index])} <= {value}")
            else:
                told.append(f"fact {index}" if value else f"not fact {index}")
        lines.append(("rule", "tree", name, *told))
    for scope, clauses in ((Scope.LEAF, rules.leaf_clauses), (Scope.SPLIT, rules.split_clauses)):
        for clause, asked in zip(clauses_of(_bare(core), scope), clauses, strict=True):
            name = clause.origin.rule
            lines.append(("rule", scope.value, name, *of_rows(name, asked)))
    for name, leaf, table in measures:
        yield ("measure", name, str(leaf))
        yield from _losses(core, table)
    yield from lines


def named_only(text: str) -> frozenset[str] | None:
    """The rules that the text of a problem is about, as it writes them; None if of all."""
    for line in text.split("\n"):
        word, *names = line.split("\t")
        if word == "only":
            return frozenset(names)
    return None


def escaped(text: str) -> str:
    """A field of a line."""
    for one, other in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(one, other)
    return text


def cells_of(core: Core) -> list[Cell]:
    """The features of a certificate, in order."""
    from odtdsl.backends.exact.backend import asks_fronts

    if not asks_fronts(core):
        cells = _search(core).cells
        cuts = cells.cuts or (None,) * len(cells.tests)
        return [
            Cell(family=family, test=test, cuts=kept)
            for (family, test), kept in zip(cells.tests, cuts, strict=False)
        ]
    made = _ruled(core)
    by_level = made.features.by_level or (made.features.allowed,)
    found: list[Cell] = []
    for at, (family, test) in enumerate(made.features.tests):
        levels: dict[bytes, list[int]] = {}
        for level, allowed in enumerate(by_level):
            one = allowed[at]
            levels.setdefault(b"" if one is None else one.tobytes(), []).append(level)
        for pattern, where in levels.items():
            kept = np.flatnonzero(np.frombuffer(pattern, dtype=bool)) if pattern else None
            if kept is not None:
                kept = kept - (test < 0 and core.families[family].missing == "left")
                if not len(kept) or (test < 0 and len(kept) == core.families[family].n_tests):
                    kept = None if len(kept) else kept
                if kept is not None and not len(kept):
                    continue
            found.append(
                Cell(
                    family=family,
                    test=test,
                    cuts=kept if test < 0 else None,
                    levels=frozenset(where) if len(levels) > 1 else None,
                )
            )
    return found


def _feature(core: Core, rows: Rows, cell: Cell) -> tuple[str, ...]:
    family, test, cuts = core.families[cell.family], cell.test, cell.cuts
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
    end = "" if family.missing is None else f" {family.missing}"
    if column.numbers is None:
        places = range(family.n_tests) if cuts is None else cuts.tolist()
        behind = {int(family.values[cut]) for cut in places}
        marked = [(text, "|") if at in behind else (text,) for at, text in enumerate(levels)]
        return (f"order{end}", name, *(word for pair in marked for word in pair))
    if cuts is None:
        return (f"number{end}", name)
    return (f"cuts{end}", name, *(repr(float(family.values[cut])) for cut in cuts))


def _stage(
    core: Core, name: str, kind: str, output: np.ndarray | None, price: int
) -> Iterator[tuple[str, ...]]:
    """Losses above the least of each row, by class where rows of a class lose the same."""
    yield ("stage", name, kind, str(price))
    loss = np.zeros((core.n_rows, core.n_classes), dtype=np.int64) if output is None else output
    loss = loss - loss.min(axis=1, keepdims=True)
    yield from _losses(core, loss)


def _losses(core: Core, loss: IntArray) -> Iterator[tuple[str, ...]]:
    if core.labels is not None:
        table = np.zeros((core.n_classes, core.n_classes), dtype=np.int64)
        table[core.labels] = loss
        if (table[core.labels] == loss).all():
            for row in table.tolist():
                yield ("loss", *map(str, row))
            return
    # Rows of a kind are of one class, which the checker compares with their targets.
    labelled = loss if core.labels is None else np.column_stack((loss, core.labels))
    kinds, of = np.unique(labelled, axis=0, return_inverse=True)
    for row in kinds[:, : loss.shape[1]].tolist():
        yield ("loss", *map(str, row))
    if core.labels is not None:
        yield ("kinds", *map(str, kinds[:, -1].tolist()))
    yield ("rows", *map(str, of.reshape(-1).tolist()))


def tree_texts(core: Core, rows: Rows) -> Callable[[TreeNode], str]:
    """What writes trees of a certificate, from their roots."""
    cells = cells_of(core)
    return lambda root: "".join(_tree(core, rows, cells, root, 0))


def _tree(core: Core, rows: Rows, cells: list[Cell], node: TreeNode, level: int) -> Iterator[str]:
    from odtdsl.predictors.nodes import Equals, InBin, Leaf, Threshold

    if isinstance(node, Leaf):
        outputs = node.output if core.targets is not None and feasible_set(core) else None
        told = "".join(f"\t{float(x)!r}" for x in outputs or ())
        yield f"leaf\t{0 if core.targets is not None else node.label}{told}\n"
        return
    column = rows.data.columns[node.feature]
    for cell in cells:
        family, test = core.families[cell.family], cell.test
        if core.columns[family.column] != node.feature:
            continue
        if cell.levels is not None and level not in cell.levels:
            continue
        if family.missing is not None and family.missing != node.missing:
            continue  # where no cell is missing, both sides of a learned one are the same
        if isinstance(node.test, Threshold) and test < 0:
            if column.numbers is not None:
                threshold = repr(float(node.test.value))
            else:
                below = family.values[:-1] if cell.cuts is None else family.values[cell.cuts]
                level_of = column.type.levels.index(node.test.value)
                threshold = str(int((below <= level_of).sum()) - 1)
            break
        if isinstance(node.test, InBin) and test >= 0:
            _, _, low, *_ = _feature(core, rows, cell)
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
    yield f"split\t{cells.index(cell)}\t{threshold}\n"
    yield from _tree(core, rows, cells, node.left, level + 1)
    yield from _tree(core, rows, cells, node.right, level + 1)


def rows_csv(rows: Rows) -> str:
    """Target and features of the training rows, as a CSV file."""
    import csv
    import io

    core = normalize(rows)
    target = rows.problem.target
    classes = [str(label) for label in target.classes]
    table = []
    if core.labels is not None:
        table.append([target.names[0], *(classes[label] for label in core.labels.tolist())])
    if core.targets is not None:
        for name, cells in zip(target.names, core.targets.T, strict=True):
            table.append([name, *map(repr, cells.tolist())])
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
