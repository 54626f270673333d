"""Random problems for engines with a planted fault, the same ones each time: see `planted.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from measures import faults

Problems = Iterator[tuple[str, dict[str, Any]]]


def problems(count: int) -> Problems:
    """Random specs and rows."""
    stages = ("errors", "errors then leaves", "errors + 2 * leaves", "errors + leaves")
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(20, 120)), int(rng.integers(2, 5))
        frame: dict[str, Any] = {
            f"x{i}": rng.integers(0, int(rng.integers(4, 40)), n).astype(float) for i in range(p)
        }
        kinds = rng.integers(0, int(rng.integers(2, 4)), n)
        frame["y"] = [f"c{k}" for k in np.where(frame["x0"] > 3, kinds, kinds * 0)]
        frame["y"][:2] = ["c0", "c1"]
        lines = [
            f"data frame target y: class tree depth <= {rng.integers(2, 5)}",
            f"minimize {stages[seed % 4]}",
        ]
        if rng.random() < 0.4:
            lines.append(f"rule big: forall leaf: size >= {rng.integers(2, 6)}")
        if rng.random() < 0.4:
            lines.append(f"rule few: leaves <= {rng.integers(3, 9)}")
        if rng.random() < 0.3:
            lines.append("rule order: forall path: x0 before x1")
        yield "\n".join(lines), frame


def small_problems(count: int) -> Problems:
    """The same with few rows and values, so that least sizes, path rules and costs decide."""
    paths = (
        "x0 before x1",
        "not (uses(x0) and uses(x1))",
        "tests(x0, x1) <= 2",
        "not uses(x0) or not uses(x2)",
    )
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(12, 40))
        frame: dict[str, Any] = {
            f"x{i}": rng.integers(0, int(rng.integers(2, 9)), n).astype(float) for i in range(3)
        }
        frame["y"] = [f"c{k}" for k in rng.integers(0, 3, n)]
        frame["y"][:3] = ["c0", "c1", "c2"]
        lines = [f"data frame target y: class tree depth <= {rng.integers(3, 5)}"]
        if rng.random() < 0.5:
            lines += [f'loss predict "c{k}" when "c{(k + 1) % 3}" = {k + 2}' for k in range(3)]
            lines.append("minimize loss" + (" then leaves" if rng.random() < 0.5 else ""))
        else:
            lines.append(f"minimize errors + {rng.integers(1, 3)} * leaves")
        if rng.random() < 0.6:
            lines.append(f"rule big: forall leaf: size >= {rng.integers(2, 5)}")
        if rng.random() < 0.5:
            lines.append(f"rule order: forall path: {paths[int(rng.integers(4))]}")
        yield "\n".join(lines), frame


def few_valued(count: int) -> Problems:
    """Features of two values, which are searched on bit sets."""
    stages = ("errors", "errors then leaves", "errors + 2 * leaves")
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(30, 150)), int(rng.integers(4, 9))
        frame: dict[str, Any] = {f"x{i}": rng.integers(0, 2, n).astype(float) for i in range(p)}
        frame["y"] = [f"c{k}" for k in rng.integers(0, int(rng.integers(2, 4)), n)]
        frame["y"][:2] = ["c0", "c1"]
        lines = [f"data frame target y: class tree depth <= {rng.integers(3, 6)}"]
        lines.append(f"minimize {stages[seed % 3]}")
        if rng.random() < 0.4:
            lines.append(f"rule few: leaves <= {rng.integers(4, 12)}")
        yield "\n".join(lines), frame


def under_rules(count: int) -> Problems:
    """Rules on a measure of a class and of a group."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 60))
        frame: dict[str, Any] = {f"x{i}": rng.integers(0, 6, n).astype(float) for i in range(3)}
        frame["g"] = rng.integers(0, 2, n).astype(float)
        frame["y"] = [f"c{k}" for k in rng.integers(0, 2, n)]
        frame["y"][:2] = ["c0", "c1"]
        lines = [
            "data frame target y: class group these = g = 1",
            f"tree depth <= {rng.integers(1, 4)}",
            "minimize errors" + (" then leaves" if seed % 2 else ""),
            f'rule one: recall("c0") >= {rng.integers(50, 90)}%',
        ]
        if seed % 3:
            lines.append(f"rule two: accuracy(these) >= {rng.integers(50, 90)}%")
        yield "\n".join(lines), frame


def many_rows(count: int) -> Problems:
    """So many rows that lanes and scans of blocks see them; a third have several classes."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(200, 700)), int(rng.integers(2, 4))
        frame: dict[str, Any] = {
            f"x{i}": rng.integers(0, int(rng.integers(8, 40)), n).astype(float) for i in range(p)
        }
        classes = 2 if seed % 3 else int(rng.integers(3, 6))
        noise = rng.integers(0, classes, n)
        right = ((frame["x0"] + 2 * frame["x1"]) // 9).astype(int) % classes
        if seed % 2:  # long runs of one class
            right = (frame["x0"] > np.median(frame["x0"])).astype(int)
        frame["y"] = [
            f"c{k}" for k in np.where(rng.random(n) < 0.6 + 0.3 * (seed % 2), right, noise)
        ]
        frame["y"][:classes] = [f"c{k}" for k in range(classes)]
        lines = ["data frame target y: class tree depth <= 3", "minimize errors"]
        yield "\n".join(lines), frame


def of_many_classes(count: int) -> Problems:
    """More classes than a side has leaves, and a tree of eight leaves that is mostly right."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, classes = int(rng.integers(60, 300)), int(rng.integers(5, 9))
        x = rng.integers(0, rng.integers(6, 60), (n, 3))
        frame: dict[str, Any] = {f"x{i}": x[:, i].astype(float) for i in range(3)}
        cuts = [np.quantile(x[:, i], rng.uniform(0.2, 0.8)) for i in range(3)]
        right = (x > cuts) @ [1, 2, 4] % classes
        noise = np.minimum(*rng.integers(0, classes, (2, n)))
        frame["y"] = [f"c{k}" for k in np.where(rng.random(n) < 0.6, right, noise)]
        frame["y"][:2] = ["c0", "c1"]
        lines = ["data frame target y: class tree depth <= 3", "minimize errors"]
        if seed % 3 == 0:
            lines.append(f"rule few: leaves <= {rng.integers(5, 8)}")
        yield "\n".join(lines), frame


def of_numbers(count: int) -> Problems:
    """Squared errors; half on features of two values, whose pairs are added up."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(20, 60)), int(rng.integers(3, 6))
        values = 2 if seed % 2 else int(rng.integers(3, 7))
        frame: dict[str, Any] = {f"x{i}": rng.integers(0, values, n).tolist() for i in range(p)}
        kinds = "feature " + ", ".join(frame) + ": number"
        frame["y"] = np.round(rng.normal(0, 2, n) + np.array(frame["x0"]), 1).tolist()
        price = " + 0.05 * leaves" if rng.random() < 0.5 else ""
        depth = rng.integers(2, 4)
        yield (
            f"data frame target y: number {kinds} tree depth <= {depth} minimize mse{price}",
            frame,
        )


def under_many_rules(count: int) -> Problems:
    """More levels, leaves and features that must be used, and rules that few trees keep."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(40, 90))
        frame: dict[str, Any] = {f"x{i}": rng.integers(0, 5, n).astype(float) for i in range(4)}
        frame["g"] = rng.integers(0, 2, n).astype(float)
        frame["y"] = [f"c{k}" for k in rng.integers(0, 2, n)]
        frame["y"][:2] = ["c0", "c1"]
        lines = [
            "data frame target y: class drop g group these = g = 1",
            f"tree depth <= {rng.integers(2, 4)}",
            "minimize errors" + (" then leaves" if seed % 2 else ""),
            f'rule one: recall("c0") >= {rng.integers(70, 95)}%',
            f"rule two: accuracy(these) >= {rng.integers(60, 80)}% or uses(x3)",
            f"rule three: uses(x{rng.integers(4)})",
            f"rule four: not uses(x{rng.integers(4)}) or errors <= 9",
        ]
        yield "\n".join(lines), frame


def to_list(count: int) -> Problems:
    """Few rows, so that many trees are as good; half with features of two values."""
    some = (
        "",
        "rule few: leaves <= 3",
        "rule few: leaves <= 5",
        "rule big: forall leaf: size >= 2",
        "rule order: forall path: x0 before x1",
        "rule once: forall path: not (uses(x0) and uses(x2))",
        'rule one: recall("c0") >= 70%',
        "rule used: uses(x1)",
    )
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, values = int(rng.integers(10, 28)), 2 if seed % 2 else int(rng.integers(3, 6))
        frame: dict[str, Any] = {
            f"x{i}": rng.integers(0, values, n).astype(float) for i in range(3 + seed % 2)
        }
        frame["y"] = [f"c{k}" for k in rng.integers(0, 2, n)]
        frame["y"][:2] = ["c0", "c1"]
        lines = [
            f"data frame target y: class tree depth <= {rng.integers(2, 4)}",
            f"minimize errors{('', ' then leaves')[seed % 3 == 2]}",
            some[int(rng.integers(len(some)))],
        ]
        yield "\n".join(lines), frame


@dataclass(frozen=True)
class Kind:
    """Problems, and the faults that they meet; `near`: trees that are listed, in turns."""

    problems: Callable[[int], Problems]
    faults: tuple[faults.Fault, ...]
    near: tuple[str | None, ...] = ()


KINDS = {
    "all": Kind(problems, faults.FAULTS),
    "small": Kind(small_problems, faults.FAULTS),
    "few": Kind(few_valued, faults.OF_BIT_SETS),
    "rules": Kind(under_rules, faults.OF_RULES),
    "more": Kind(under_many_rules, faults.OF_RULES),
    "many": Kind(many_rows, faults.OF_KERNELS),
    "classes": Kind(of_many_classes, faults.OF_CLASSES),
    "numbers": Kind(of_numbers, faults.OF_NUMBERS),
    "lists": Kind(to_list, faults.OF_LISTS, near=(None, "1 error", "2 errors")),
}
