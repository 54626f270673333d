"""Rules on groups: proven on the sets of the case studies, and against pystreed's fair trees.

pystreed's `discrimination_limit` bounds |P(yes | a) - P(yes | b)| over the training rows, or over
those of the positive class: demographic parity and equal opportunity of two groups, two classes,
0/1 features. The group column is no feature, nor is any column equal to it, or opposite to it and
true of over half of the rows; here no column is either.
So it is `gap(rate("1"), a, b) <= limit`, or `gap(recall("1"), a, b) <= limit`, but for rounding:
its shares are sums of floats, and a gap of exactly the limit may pass for more. `ROUNDED` on top
of its limit makes both mean the same; no gap of fewer than 7,000 rows a group lies in between.
"""

from __future__ import annotations

import tempfile
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from measures import sets
from measures.peers import Outcome, agree, alternate, streed_fair
from measures.report import CASES_PAGE, Table, geometric
from measures.sets import Array
from measures.specs import analysed, result_of, run
from odtdsl.auditor.audit import audit
from odtdsl.compiler import Analysis

LIMIT = "5%"
SHARE = 0.05
ROUNDED = 1e-9


def _every(favourable: str, groups: str) -> dict[str, str]:
    """The notions of fairness over two groups; `favourable`: the class that people want."""
    recall, wrong = (
        f'gap({what}("{favourable}"), {groups}) <= {LIMIT}'
        for what in ("recall", "false_positive_rate")
    )
    return {
        "demographic parity": f'gap(rate("{favourable}"), {groups}) <= {LIMIT}',
        "four fifths": f'ratio(rate("{favourable}"), {groups}) >= 80%',
        "equal opportunity": recall,
        "predictive equality": wrong,
        "equalized odds": f"{recall} and {wrong}",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Social:
    """A set with groups: a spec without skeleton and objective; rules by what they are called."""

    name: str
    spec: str
    rules: dict[str, str]
    folder: str = "cases"


SETS = (
    Social(
        name="heart",
        spec='''data "heart.csv", na {"?"}  target disease positive "yes"  missing drop
            feature sex, cp, restecg, slope, thal: category  feature fbs, exang: binary
            group women = sex == "female"  group men = sex == "male"
            group sick_women = sex == "female" and disease == "yes"''',
        rules=_every("yes", "women, men") | {"group accuracy": "accuracy(sick_women) >= 90%"},
    ),
    Social(
        name="compas",
        spec='''data "compas.csv"  target recidivism positive "yes"  drop race
            feature age_cat: ordered {"under_25", "25_to_45", "over_45"}
            feature sex, c_charge_degree: category  feature priors_count, length_of_stay: number
            group african_american = race == "african_american"
            group caucasian = race == "caucasian"
            group spared = race == "african_american" and recidivism == "no"''',
        rules=_every("no", "african_american, caucasian")
        | {"group accuracy": "accuracy(spared) >= 80%"},
    ),
    # personal status (c64 to c68) says the sex: c65 is the only one of women; good credit: 1
    Social(
        name="german-credit",
        folder="binary",
        spec='''data "german-credit.csv", separator " ", header none
            target c1: class {"0", "1"} positive "1"  feature *: binary
            drop c64, c65, c66, c67, c68
            group women = c65 == 1  group men = c65 == 0
            group refused_women = c65 == 1 and c1 == "0"''',
        rules=_every("1", "women, men") | {"group accuracy": "accuracy(refused_women) >= 50%"},
    ),
)


def _asked(one: Social, depth: int, data: Path, rule: str = "") -> Analysis:
    rule = f"rule asked: {rule}\n" if rule else ""
    text = f"{one.spec}\ntree depth <= {depth}\nminimize errors\n{rule}"
    return analysed(one.name, text, data)


def _chosen(args: Namespace, name: str) -> bool:
    return not args.sets or name in args.sets.split(",")


def _proven(args: Namespace, scratch: Path) -> None:
    """Every rule on every set: status, value, bound, seconds."""
    table = Table(
        f"fairness-{args.depth}",
        (
            "set",
            "rows",
            "rule",
            "free optimum",
            "status",
            "errors",
            "bound",
            "seconds",
        ),
    )
    still_open = count = 0
    for one in SETS:
        if not _chosen(args, one.name):
            continue
        data = sets.path("binary", one.name) if one.folder == "binary" else None
        data = data or sets.case(one.name, scratch)
        if data is None:
            continue
        free = run(_asked(one, args.depth, data), args.limit)
        tree = result_of(free).tree
        for name, rule in one.rules.items():
            analysis = _asked(one, args.depth, data, rule)
            found = run(analysis, args.limit)
            status = result_of(found).status
            held = ""
            if tree is not None:
                lines = audit(tree, analysis.rows).lines
                broken = [line for line in lines if line.rule == "asked" and not line.holds]
                held = f"{free.value}, {'breaks' if broken else 'keeps'} it"
                if found.value is not None and free.proven:
                    assert free.value is not None, name
                    assert free.value <= found.value, (one.name, name)
                    assert broken or not found.proven or free.value == found.value, one.name
            still_open += not found.proven
            count += 1
            table.add(
                one.name,
                analysis.rows.n_rows,
                f"{name}: `{rule}`",
                held,
                status,
                found.value,
                found.bound,
                f"{found.seconds:.3f}",
            )
    table.note(
        f"Depth {args.depth}, one thread, limit {args.limit:g} s; one run."
        + (f" {still_open} of {count} open." if still_open else f" All {count} decided.")
    )
    if args.docs:
        table.publish(CASES_PAGE)


# ---- against pystreed


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """0/1 features (n_rows, n_features), labels and groups 0 and 1."""

    name: str
    group: str
    x: Array
    y: Array
    member: Array


def _grouped(args: Namespace, scratch: Path) -> Iterator[Grouped]:
    """Sets of 0/1 columns where the column of a group is known."""
    for name, group, at, also in (
        ("german-credit", "women", 63, range(62, 67)),
        ("german-credit", "foreign", 110, (111,)),
        ("heart-cleveland", "women", 14, (15,)),
    ):
        if _chosen(args, name) and sets.path("binary", name).exists():
            x, y = sets.load("binary", name)
            yield without(name, group, x, y, x[:, at] == 1, {at, *also})
    data = sets.case("compas", scratch) if _chosen(args, "compas") else None
    if data is not None:
        yield from _compas(data)


def without(name: str, group: str, x: Array, y: Array, member: Array, say: set[int]) -> Grouped:
    """`say`: the columns that tell the group, of which the tree sees none."""
    kept = [column for column in range(x.shape[1]) if column not in say]
    tells = [c for c in kept if len({*zip(x[:, c], member, strict=True)}) == 2]
    assert not any(0 < x[:, c].sum() < len(x) for c in tells), (name, group, tells)
    return Grouped(name=name, group=group, x=x[:, kept].astype(np.int32), y=y, member=member)


def _compas(data: Path) -> Iterator[Grouped]:
    """Categories by value, ordered bins by `at most`."""
    table = np.genfromtxt(data, delimiter=",", dtype=None, names=True, encoding="utf-8")
    columns: dict[str, Array] = {}
    for name in ("age_cat", "sex", "c_charge_degree"):
        values = np.unique(table[name])
        for value in values if len(values) > 2 else values[:1]:
            columns[f"{name} {value}"] = table[name] == value
    for name in ("priors_count", "length_of_stay"):
        bins = table[name].astype(int)
        columns |= {f"{name} {top}": bins <= top for top in np.unique(bins)[:-1]}
    x, y = np.column_stack(list(columns.values())), (table["recidivism"] == "yes").astype(np.int32)
    race = table["race"] == "african_american"
    yield without("compas", "african-american", x, y, race, set())
    women = list(columns).index("sex female")
    yield without("compas", "women", x, y, x[:, women], {women})


NOTIONS = {"group-fairness": "rate", "equality-of-opportunity": "recall"}
"""pystreed's task, and the measure of ours whose gap it bounds."""


def ours(one: Grouped, measure: str, depth: int, scratch: Path, most: str = LIMIT) -> Analysis:
    """The spec that asks for the same as pystreed's task."""
    path = scratch / f"{one.name}.csv"
    table = np.column_stack([one.y, one.member, one.x]).astype(int)
    np.savetxt(path, table, fmt="%d", delimiter=",")
    text = f"""data "{path.name}", header none
        target c1: class {{"0", "1"}} positive "1"  feature *: binary  drop c2
        group a = c2 == 1  group b = c2 == 0
        tree depth <= {depth}
        minimize errors
        rule fair: gap({measure}("1"), a, b) <= {most}"""
    return analysed(one.name, text, path)


def _against(args: Namespace, scratch: Path) -> None:
    """Equal optima, ratio of times: two notions, depth 2 to the one asked for."""
    peer = args.peer and find_spec("pystreed") is not None
    table = Table(
        f"fairness-peer-{args.depth}",
        (
            "set",
            "rows x columns",
            "group (rows)",
            "gap of",
            "depth",
            "optimal errors",
            "ours, s",
            "search alone, s",
            "pystreed, s",
            "ratio",
            "runs",
        ),
    )
    ratios: dict[int, list[float]] = {}
    for one in _grouped(args, scratch):
        for task, measure in NOTIONS.items():
            for depth in range(2, args.depth + 1):
                analysis = ours(one, measure, depth, scratch)

                def theirs() -> Outcome:
                    limits = (SHARE + ROUNDED, depth, args.limit)
                    return streed_fair(task, one.member, one.x, one.y, *limits)

                run(analysis, args.limit)  # what is loaded once
                pair = alternate(
                    args.runs, lambda: run(analysis, args.limit), theirs if peer else None
                )
                mine, other = pair.mine, pair.other
                agree(f"{one.name}, {one.group}, {task}, {depth}", mine, other)
                decided = mine.proven and other is not None
                if decided:
                    ratios.setdefault(depth, []).append(pair.ratio)
                bound = other is not None and not other.proven
                table.add(
                    one.name,
                    f"{len(one.y)} x {one.x.shape[1]}",
                    f"{one.group} ({int(one.member.sum())})",
                    measure,
                    depth,
                    mine.value if mine.proven else f"{mine.value} (bound {mine.bound})",
                    f"{pair.seconds:.4f}",
                    f"{mine.raw['search']:.4f}",
                    "" if other is None else f"{'over ' * bound}{pair.other_seconds:.4f}",
                    f"{'≥ ' * bound}{pair.ratio:.2f}" if decided else "",
                    pair.runs,
                )
    for depth, found in ratios.items():
        table.note(
            f"Depth {depth}: ratio of times, geometric mean of {len(found)} rows"
            f" {geometric(found):.2f}, least {min(found):.2f}."
        )
    table.note(
        f"Limit {args.limit:g} s, one thread, medians; optima are equal wherever both proved one."
    )
    if args.docs:
        table.publish(CASES_PAGE)


def fairness(args: Namespace) -> None:
    """Rules on groups: proven within the limit; and pystreed's."""
    with tempfile.TemporaryDirectory() as scratch:
        _proven(args, Path(scratch))
        _against(args, Path(scratch))
