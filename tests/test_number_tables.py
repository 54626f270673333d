"""Rules on the whole tree, told from sums over pairs of cuts, against all trees of few rows.

Two to four levels deep, with weights (also of 0), missing cells, costs, one and two targets, rows
that are to stay together, bounds on the squared and the absolute loss of a group, and sizes of
leaves and splits: of every set of rows and depth, all trees as arrays.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from scale import scaled

import odtdsl

Array = np.ndarray
MISSING = -1.0
LATE, EARLY = 8, 64
"""Bits of the first column: its split cannot have a threshold below 1, or above it."""


@dataclass(kw_only=True)
class Trees:
    """Of all trees on some rows; an entry per tree."""

    loss: Array
    group: Array
    away: Array  # absolute differences, of all rows and of the group
    group_away: Array
    leaves: Array
    cost: Array
    tests: Array  # [tree, column]
    parted: Array
    together: Array  # whether some path tests x0 and x1
    smallest: Array  # of all leaves: rows of the smallest, and the fewest and most of the group
    fewest: Array
    most: Array
    narrowest: Array  # rows of the smallest split
    lacking: Array  # whether some path does not test x0
    shortest: Array  # tests of the shortest path
    guarded: Array  # whether all leaves with a row of the group have three rows
    spared: Array  # whether all leaves have one row of the group, five rows, or two others
    at_level: Array  # [tree, level]: as bits, columns that are tested; and of those LATE and EARLY


@dataclass(kw_only=True)
class World:
    """A table, and all its trees of a depth. Missing cells, below all others, go left."""

    columns: dict[str, list[float]]
    targets: Array
    weights: Array
    group: Array
    depth: int
    known: dict[tuple[tuple[int, ...], int], Trees] = field(default_factory=dict)

    def leaf(self, rows: tuple[int, ...]) -> Trees:
        at = list(rows)
        w, y, g = self.weights[at], self.targets[at], self.group[at]
        rest = y - (w[:, None] * y).sum(0) / (w.sum() or 1)
        squares, away = (rest**2).mean(1), np.abs(rest).mean(1)
        return Trees(
            loss=np.array([(w * squares).sum()]),
            group=np.array([(w * g * squares).sum()]),
            away=np.array([(w * away).sum()]),
            group_away=np.array([(w * g * away).sum()]),
            leaves=np.ones(1, dtype=int),
            cost=np.zeros(1),
            tests=np.zeros((1, len(self.columns)), dtype=int),
            parted=np.zeros(1, dtype=bool),
            together=np.zeros(1, dtype=bool),
            smallest=np.array([len(rows)]),
            fewest=np.array([g.sum()]),
            most=np.array([g.sum()]),
            narrowest=np.array([len(self.weights) + 1]),
            lacking=np.ones(1, dtype=bool),
            shortest=np.zeros(1, dtype=int),
            guarded=np.array([not g.any() or len(rows) >= 3]),
            spared=np.array([g.sum() <= 1 or len(rows) >= 5 or len(rows) - g.sum() >= 2]),
            at_level=np.zeros((1, 4), dtype=int),
        )

    def trees(self, rows: tuple[int, ...], depth: int) -> Trees:
        if (rows, depth) in self.known:
            return self.known[rows, depth]
        made = [self.leaf(rows)]
        for k, cells in enumerate(self.columns.values() if depth else ()):
            for cut in sorted({cells[i] for i in rows} - {MISSING})[:-1]:
                left = tuple(i for i in rows if cells[i] <= cut)
                right = tuple(i for i in rows if cells[i] > cut)
                made.append(self.joined(rows, k, left, right, depth))
        self.known[rows, depth] = Trees(
            **{
                name: np.concatenate([getattr(one, name) for one in made])
                for name in Trees.__dataclass_fields__
            }
        )
        return self.known[rows, depth]

    def joined(
        self,
        rows: tuple[int, ...],
        k: int,
        left: tuple[int, ...],
        right: tuple[int, ...],
        depth: int,
    ) -> Trees:
        a, b = self.trees(left, depth - 1), self.trees(right, depth - 1)
        pairs = np.indices((len(a.loss), len(b.loss))).reshape(2, -1)

        def both(name: str) -> Array:
            return getattr(a, name)[pairs[0]] + getattr(b, name)[pairs[1]]

        def least(name: str) -> Array:
            return np.minimum(getattr(a, name)[pairs[0]], getattr(b, name)[pairs[1]])

        tests = both("tests")
        together = both("together")
        if k < 2:
            together |= tests[:, 1 - k] > 0
        tests[:, k] += 1
        cells = list(self.columns.values())[k]
        below, above = max(cells[i] for i in left), min(cells[i] for i in right)
        at_level = np.zeros_like(both("at_level"))
        at_level[:, 1:] = (a.at_level[pairs[0]] | b.at_level[pairs[1]])[:, :-1]
        at_level[:, 0] = (
            1 << k | (LATE << k if below >= 1 else 0) | (EARLY << k if above <= 1 else 0)
        )
        apart = {0, 1} <= set(rows) and not ({0, 1} <= set(left) or {0, 1} <= set(right))
        return Trees(
            loss=both("loss"),
            group=both("group"),
            away=both("away"),
            group_away=both("group_away"),
            leaves=both("leaves"),
            cost=both("cost") + (k + 1) * self.weights[list(rows)].sum(),
            tests=tests,
            parted=both("parted") | apart,
            together=together,
            smallest=least("smallest"),
            fewest=least("fewest"),
            most=np.maximum(a.most[pairs[0]], b.most[pairs[1]]),
            narrowest=np.minimum(least("narrowest"), len(rows)),
            lacking=both("lacking") & (k > 0),
            shortest=1 + least("shortest"),
            guarded=least("guarded"),
            spared=least("spared"),
            at_level=at_level,
        )


def world(rng: random.Random) -> World:
    rows, depth = rng.choice([6, 7, 8, 17]), rng.choice([2, 3, 3, 4])
    columns: dict[str, list[float]] = {}
    for k in range(rng.randint(2, 3)):
        pool = [0.0, 1.0, 2.0] if k == 0 and rng.random() < 0.4 else [0.0, 1.0]
        columns[f"x{k}"] = [rng.choice(pool) for _ in range(rows)]
        if rng.random() < 0.15:
            columns[f"x{k}"][rng.randrange(rows)] = MISSING
    many = rng.choice([1, 1, 2])
    values = [0, 1, 2, 7, 11.5] if rng.random() < 0.5 else [k / 8 for k in range(90)]
    return World(
        columns=columns,
        targets=np.array([[rng.choice(values) for _ in range(many)] for _ in range(rows)]),
        weights=weights(rng, rows),
        group=np.array([1.0, *[float(rng.random() < 0.5) for _ in range(rows - 2)], 0.0]),
        depth=depth,
    )


def weights(rng: random.Random, rows: int) -> Array:
    """Some of them 0, or far apart; the first row, in the group, and the last one have weight."""
    some_without = [[0.0, 1.0, 3.0], [0.0, 0.125, 0.75]]
    pool = rng.choice([[1.0], [1.0], [0.5, 1.0, 2.0], [0.25, 8.0], *some_without])
    found = [rng.choice(pool) for _ in range(rows)]
    found[0], found[-1] = found[0] or pool[-1], found[-1] or pool[-1]
    return np.array(found)


def between(rng: random.Random, values: Array) -> float:
    """A bound that lies at no tree's value, but seldom beyond all of them."""
    found = np.unique(np.round(values, 7))
    at = rng.randrange(max(1, min(len(found), 8) if rng.random() < 0.7 else len(found)))
    gap = found[at + 1] - found[at] if at + 1 < len(found) else 1.0
    return float(found[at] + (gap / 2 if rng.random() < 0.9 else -0.01))


def drawn(rng: random.Random, of: World, all_trees: Trees) -> tuple[str, Array]:
    """A rule, and which trees keep it."""
    total, mass = of.weights.sum(), (of.weights * of.group).sum()
    uses = all_trees.tests > 0
    kinds = [
        "level",
        "level",
        "cost",
        "tests",
        "uses",
        "same",
        "all",
        "group",
        "group",
        "above",
        "gap",
        "either",
        "paths",
        "each",
        "length",
        "away",
        "away",
        "all away",
        "gap away",
    ]
    kind = rng.choice(kinds)
    if kind == "cost" and all(max(cells) < 2 for cells in of.columns.values()):  # else paid once
        bound = round(between(rng, all_trees.cost / total), 6)
        return f"expected_cost <= {bound:.6f}", all_trees.cost / total <= bound + 1e-12
    if kind == "tests":
        most = rng.choice([0, 1, 1, 2])
        return f"tests(x0) <= {most}", all_trees.tests[:, 0] <= most
    if kind == "level":
        return at_levels(rng, of.depth, all_trees)
    if kind == "uses":
        return "not uses(x0) or uses(x1)", ~uses[:, 0] | uses[:, 1]
    if kind == "same":
        if rng.random() < 0.5:
            return "same_leaf(0, 1)", ~all_trees.parted
        return "different_leaf(0, 1)", all_trees.parted
    if kind == "each":
        return "forall path: uses(x0)", ~all_trees.lacking
    if kind == "length":
        return "forall path: length >= 2", all_trees.shortest >= 2
    if kind == "paths":
        return "forall path: not (uses(x0) and uses(x1))", ~all_trees.together
    if kind == "all":
        lost = all_trees.loss / total
        bound = max(round(between(rng, lost), 7), 0)
        return f"mse <= {bound:.7f}", lost <= bound
    if kind == "all away":
        lost = all_trees.away / total
        bound = max(round(between(rng, lost), 7), 0)
        return f"mae <= {bound:.7f}", lost <= bound
    if kind == "gap away":
        other = (all_trees.away - all_trees.group_away) / (total - mass)
        apart = np.abs(all_trees.group_away / mass - other)
        bound = max(round(between(rng, apart), 7), 0)
        return f"gap(mae, g, h) <= {bound:.7f}", apart <= bound
    if kind == "away":
        lost = all_trees.group_away / mass
        bound = max(round(between(rng, lost), 7), 0)
        return f"mae(g) <= {bound:.7f}", lost <= bound
    lost = all_trees.group / mass
    bound = round(between(rng, lost), 7)
    if kind == "above":
        bound = max(bound, 0.001)  # what equals a bound is a matter of rounding
        return f"mse(g) >= {bound:.7f}", lost >= bound
    if kind == "gap":
        other = (all_trees.loss - all_trees.group) / (total - mass)
        bound = round(between(rng, np.abs(lost - other)), 7)
        return f"gap(mse, g, h) <= {max(bound, 0):.7f}", np.abs(lost - other) <= max(bound, 0)
    if kind == "either":
        return f"mse(g) <= {bound:.7f} or uses(x1)", (lost <= bound) | uses[:, 1]
    return f"mse(g) <= {max(bound, 0):.7f}", lost <= max(bound, 0)


def at_levels(rng: random.Random, depth: int, all_trees: Trees) -> tuple[str, Array]:
    """A rule on which splits stand at which levels, and which trees keep it."""
    level, column = rng.randrange(depth), rng.randrange(2)
    when = rng.choice([">=", "<=", "="])
    levels = {">=": range(level, 4), "<=": range(level + 1), "=": [level]}[when]
    what, bits = {
        "never": (f"feature != x{column}", 1 << column),
        "only": (f"feature = x{column}", 7 ^ 1 << column),
        "low": (f"threshold(x{column}) <= 0.9", LATE << column),
        "high": (f"threshold(x{column}) >= 1.1", EARLY << column),
    }[rng.choice(["never", "only", "low", "high"])]
    broken = np.any(all_trees.at_level[:, list(levels)] & bits, axis=1)
    return f"forall split: if level {when} {level} then {what}", np.logical_not(broken)


def sized(rng: random.Random, of: World, all_trees: Trees) -> tuple[str, Array]:
    """A rule on what leaves or splits hold, and which trees keep it."""
    rows = len(of.weights)
    few = rng.choice([1, 2, 2, 3, rows // 3])
    kind = rng.choice(["leaf", "leaf", "share", "group", "at most", "split", "guarded", "spared"])
    if kind == "share":
        return "forall leaf: size >= 25%", all_trees.smallest >= rows / 4
    if kind == "group":
        return f"forall leaf: size(g) >= {few - 1}", all_trees.fewest >= few - 1
    if kind == "guarded":
        return "forall leaf: if size(g) >= 1 then size >= 3", all_trees.guarded
    if kind == "spared":
        return "forall leaf: size(g) <= 1 or size >= 5 or size(h) >= 2", all_trees.spared
    if kind == "at most":
        return f"forall leaf: size(g) <= {few}", all_trees.most <= few
    if kind == "split":
        return f"forall split: size >= {few + 2}", all_trees.narrowest >= few + 2
    return f"forall leaf: size >= {few}", all_trees.smallest >= few


@dataclass(frozen=True, kw_only=True)
class Case:
    """A spec, its frame, and the least value of each stage; None: no tree keeps the rules."""

    text: str
    frame: dict[str, list[float]]
    value: float | None
    then: float | None


def case(seed: int) -> Case:
    rng = random.Random(f"tables {seed}")
    of = world(rng)
    rows = len(of.weights)
    while of.depth > 2 and len(of.trees(tuple(range(rows)), of.depth - 1).loss) > 2_000:
        of = replace(of, depth=of.depth - 1)
    found = of.trees(tuple(range(rows)), of.depth)
    rules = [drawn(rng, of, found) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    rules += [sized(rng, of, found) for _ in range(rng.choice([0, 1, 1, 2]))]
    kept = np.all([np.ones(len(found.loss), bool), *(holds for _, holds in rules)], axis=0)
    price = rng.choice([0.0, 0.0, 0.25, -0.25])
    values = found.loss / of.weights.sum() + price * found.leaves
    names = [f"y{t}" for t in range(of.targets.shape[1])]
    missing = {name for name, cells in of.columns.items() if MISSING in cells}
    frame = {
        name: [float("nan") if cell == MISSING else cell for cell in cells]
        for name, cells in of.columns.items()
    }
    frame |= {n: of.targets[:, t].tolist() for t, n in enumerate(names)}
    frame |= {"w": of.weights.tolist(), "member": of.group.tolist()}
    then = rng.choice(["", "", " then tests(x0)", " then leaves"])
    lines = ["data frame", f"target {', '.join(names)}: number", "weight w", "drop member"]
    lines += [f"feature {name}: number" for name in of.columns]
    lines += [f"missing {{{name}}} left" for name in sorted(missing)]
    lines += [f"cost {name} = {k + 1}" for k, name in enumerate(of.columns)]
    lines += ["group g = member = 1", "group h = member = 0", f"tree depth <= {of.depth}"]
    most = rng.randint(3, 7)
    if rng.random() < 0.3:
        kept &= found.leaves <= most
        lines[-1] += f", leaves <= {most}"
    priced = f" {'+' if price > 0 else '-'} {abs(price)} * leaves" if price else ""
    lines += [f"minimize mse{priced}{then}"]
    lines += [f"rule r{k}: {text}" for k, (text, _) in enumerate(rules)]
    value = float(values[kept].min()) if kept.any() else None
    second = None
    if value is not None and then:
        counted = found.leaves if then == " then leaves" else found.tests[:, 0]
        second = float(counted[kept & (values <= value + 1e-9)].min())
    return Case(text="\n".join(lines), frame=frame, value=value, then=second)


def solved(one: Case) -> str:
    """The status, if the answer is that of brute force."""
    result = odtdsl.solve(one.text, using="exact", frame=one.frame)
    if one.value is None:
        assert result.status == "infeasible", (one, result.status)
        return "infeasible"
    assert result.status == "optimal", (one, result.status)
    assert result.audit is not None
    assert result.audit.holds, one
    values = [float(stage.value) for stage in result.stages if stage.value is not None]
    expected = [one.value, *([] if one.then is None else [one.then])]
    assert values == pytest.approx(expected, rel=1e-8, abs=1e-8), (one, values)
    return "optimal"


def test_the_optimum_is_that_of_all_trees() -> None:
    found = [solved(case(seed)) for seed in range(scaled(1500, least=30, part=0.2))]
    assert {"optimal", "infeasible"} <= set(found)


def test_no_tree_below_a_bound_on_the_whole_loss_is_said_to_be_none() -> None:
    """Trees that keep the bound of the group, and lose more than all rows may, are no answers."""
    rows = {
        "a": [1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1],
        "b": [0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 1],
        "c": [1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0],
        "y": [1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1],
        "member": [1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1],
    }
    spec = (
        "data frame target y: number drop member group g = member = 1 tree depth <= 3"
        " minimize mse rule few: mse(g) <= 0.07414 rule all: mse <= {}"
    )
    tight = odtdsl.solve(spec.format(0.08286), using="exact", frame=rows)
    assert tight.status == "infeasible"
    loose = odtdsl.solve(spec.format(0.2), using="exact", frame=rows)
    assert loose.objective == pytest.approx(0.1)


@pytest.mark.parametrize(("heavy", "seed"), [(1e7, 22654), (1e8, 20440)])
def test_a_tree_at_the_bound_of_a_group_of_light_rows_is_found(heavy: float, seed: int) -> None:
    """Sums of all rows round more than the light ones differ by; that is no reason to drop one."""
    columns, away, target, at_most = {
        22654: (
            {"x0": [1, 0, 0, 0, 1, 1, 0, 2, 2], "x1": [0, 1, 0, 2, 2, 2, 0, 2, 1]},
            [0, 0, 0, 0, 1, 0, 1, 1, 1],
            [3.9522, 5.1722, 2.1469, 70.3896, -63.57, 16.3859, 10.9775, -0.4409, -0.1986],
            17.58737493983,
        ),
        20440: (
            {"x0": [1, 0, 0, 0, 2, 1, 2, 1, 0], "x1": [1, 0, 1, 0, 2, 0, 1, 2, 2]},
            [0, 0, 0, 0, 1, 1, 1, 0, 1],
            [-4.4594, -10.4501, 1.9146, -0.5571, 26.4614, 0.4697, 19.4254, 24.3619, -5.7448],
            1.22686249759,
        ),
    }[seed]
    of = World(
        columns={name: [float(cell) for cell in cells] for name, cells in columns.items()},
        targets=np.array(target)[:, None],
        weights=np.array([heavy] * 4 + [1.0] * 5),
        group=np.array(away, dtype=float),
        depth=2,
    )
    found = of.trees(tuple(range(9)), 2)
    kept = found.group_away / of.group.sum() <= at_most + 1e-10
    spec = (
        "data frame target y: number weight w drop member group g = member = 1 tree depth <= 2"
        f" minimize mse rule few: mae(g) <= {at_most}"
    )
    frame = {**columns, "y": target, "w": of.weights.tolist(), "member": away}
    result = odtdsl.solve(spec, using="exact", frame=frame)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(found.loss[kept].min() / of.weights.sum())
