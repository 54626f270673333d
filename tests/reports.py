"""Results to report on, made up small: hostile names, a tree, a diagram, outputs, a conflict."""

from __future__ import annotations

import random
from typing import Any

import odtdsl
from odtdsl.driver.result import Result

HOSTILE = {
    "tag": "</style></script><script>window.pwned = 'tag'</script>",
    "quote": "\"' onclick=window.pwned='quote' x=\"",
    "image": "<img src=x onerror=\"window.pwned='image'\">",
    "link": "javascript:window.pwned='link'",
    "comment": "--><!-- ]]> <svg/onload=window.pwned='svg'>",
    "template": "$policy ${data} {{7*7}} %s \\u003cb\\u003e &lt;b&gt; &#60;",
}
"""Texts that would do something on a page that does not escape them."""


def hostile_frame() -> dict[str, list[Any]]:
    """Columns, cells and labels that are all hostile; the label follows from two columns."""
    rng = random.Random(5)
    labels = [HOSTILE["image"], HOSTILE["tag"]]
    rows = [
        (rng.choice([HOSTILE["link"], HOSTILE["comment"]]), rng.randrange(9)) for _ in range(60)
    ]
    return {
        HOSTILE["tag"]: [cell for cell, _ in rows],
        HOSTILE["quote"]: [number for _, number in rows],
        HOSTILE["template"]: [
            labels[(cell == HOSTILE["link"]) ^ (number > 4)] for cell, number in rows
        ],
    }


def hostile() -> Result:
    """A tree of depth 2 whose every name, label and cell is hostile, and the spec's comments."""
    one, other, target = (f"`{HOSTILE[key]}`" for key in ("tag", "quote", "template"))
    text = (
        f"# {HOSTILE['tag']} {HOSTILE['image']} {HOSTILE['comment']}\n"
        f"data frame\ntarget {target}\nfeature {one}: category\ncost {one} = 3\n"
        f"group some = {other} <= 4\n"
        "tree depth <= 2\nminimize errors then leaves\n"
        f"rule asked: root in {{{one}}}\nrule cheap: forall path: cost <= 5\n"
        "rule some_right: accuracy(some) >= 50%\n"
    )
    return odtdsl.parse(text, name=HOSTILE["tag"]).solve(frame=hostile_frame())


PLAIN = """\
data frame
target sick positive "yes"
feature pain: ordered {"low", "mid", "high"}
feature city: category
missing branch
cost age = 2, pressure = 20
group old = age >= 50
group women = sex == "f"
tree depth <= 3
minimize errors then leaves
rule asked:   forall path: age before pressure
rule budget:  forall path: cost <= 22
rule large:   forall leaf: size >= 4
rule women:   accuracy(women) >= 60%
"""


def plain_frame(rows: int = 120, seed: int = 3) -> dict[str, list[Any]]:
    """Patients: numbers, an ordered column, categories, missing cells."""
    rng = random.Random(seed)
    found: dict[str, list[Any]] = {
        name: [] for name in ("age", "pressure", "pain", "city", "sex", "sick")
    }
    for _ in range(rows):
        age, pressure = rng.randrange(20, 90), round(rng.gauss(120, 15), 1)
        pain, city = rng.choice(["low", "mid", "high"]), rng.choice(["Köln", "Oslo", "Nice"])
        risk = (age > 55) + (pressure > 125) + (pain == "high") + (city == "Oslo") - rng.random()
        cells = (
            age,
            None if rng.random() < 0.1 else pressure,
            pain,
            city,
            rng.choice("fm"),
            "yes" if risk > 1.2 else "no",
        )
        for name, cell in zip(found, cells, strict=True):
            found[name].append(cell)
    return found


def plain(text: str = PLAIN) -> Result:
    """A tree of depth 3 under rules on paths, leaves and groups."""
    return odtdsl.parse(text, name="patients.odt").solve(
        frame=plain_frame(), test_frame=plain_frame(40, 4)
    )


def conflict() -> Result:
    """No tree keeps these rules."""
    return plain(PLAIN.replace("accuracy(women) >= 60%", "accuracy(women) >= 99%"))


DIAGRAM = (
    "data frame target y feature *: number group even_a = a == 0 diagram widths 1, 2, 2 "
    "minimize error_rate + 0.001 * splits rule stable: forall split: size >= 10%"
)


def diagram(splits: str = "") -> Result:
    """Parity of three numbers: two nodes a layer, shared."""
    rows = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 3
    frame = {name: [row[i] for row in rows] for i, name in enumerate("abc")}
    frame["y"] = ["odd" if sum(row) % 2 else "even" for row in rows]  # type: ignore[misc]
    return odtdsl.parse(DIAGRAM.replace("1, 2, 2", "1, 2, 2" + splits)).solve(
        frame=frame, using="greedy"
    )


def outputs() -> Result:
    """Two targets, of which at most one may be above 0."""
    rng = random.Random(1)
    xs = [rng.randrange(20) for _ in range(60)]
    frame = {
        "x": xs,
        "first": [max(0, x - 9) + rng.random() for x in xs],
        "second": [max(0, 9 - x) + rng.random() for x in xs],
    }
    text = (
        "data frame target first, second: number tree depth <= 2 minimize mse "
        "rule one: forall leaf: count(first > 0, second > 0) <= 1 "
        "rule low: forall leaf: first >= 0 and second >= 0 rule size: forall leaf: size >= 3"
    )
    return odtdsl.parse(text).solve(frame=frame)


def planes() -> Result:
    """The same diagram by hyperplanes."""
    return diagram(" splits hyperplane")
