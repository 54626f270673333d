"""Objectives as a spec writes them, each stage with its value on a `tiny_tables.Model`."""

from __future__ import annotations

import random
from fractions import Fraction

from meanings import RATES, Goal, Measures, gap_of
from tiny_tables import Model, TinyTable, decimal


def goals(rng: random.Random, tiny: TinyTable) -> list[Goal]:
    """One to three stages."""
    draw = Measures(rng, tiny)
    return [_goal(rng, tiny, draw) for _ in range(rng.choice([1, 1, 1, 1, 2, 2, 3]))]


def plain_goals(rng: random.Random, tiny: TinyTable) -> list[Goal]:
    """Stages of losses and leaves only, which a search without rules takes."""
    draw = Measures(rng, tiny)
    leaves = Goal(text="leaves", sign=1, value=draw.plain("leaves")[1])
    depth = Goal(text="depth", sign=1, value=draw.plain("depth")[1])
    text, value = draw.any_of("errors", "loss", "accuracy", "expected_loss", "error_rate")
    sign = -1 if text.startswith("accuracy") else 1
    price = Fraction(rng.choice(["0.01", "0.25", "1"]))
    alone = Goal(text=text, sign=sign, value=value)
    priced = Goal(
        text=f"{text} {'-' if sign < 0 else '+'} {decimal(price)} * leaves",
        sign=sign,
        value=lambda m: value(m) + sign * price * len(m.leaves),
    )
    return rng.choice(
        [[alone], [alone], [priced], [alone, leaves], [depth, alone], [leaves, alone]]
    )


def _goal(rng: random.Random, tiny: TinyTable, draw: Measures) -> Goal:
    factor = Fraction(rng.choice(["0.005", "0.25", "1", "2"]))
    errors, depth = draw.wrong(None), draw.plain("depth")[1]
    match rng.randrange(11):
        case 0 | 1:
            return Goal(text="errors", sign=1, value=errors)
        case 2:
            size, of = draw.plain(rng.choice(["leaves", "splits", "nodes", "tests"]))
            rate, wrong = draw.any_of("error_rate", "errors", group=False)
            return Goal(
                text=f"{rate} + {decimal(factor)} * {size}",
                sign=1,
                value=lambda m: wrong(m) + factor * of(m),
            )
        case 3:
            cost, lost = draw.plain("expected_cost")[1], draw.lost(None)
            return Goal(
                text=f"loss + {decimal(factor)} * expected_cost",
                sign=1,
                value=lambda m: lost(m) + factor * cost(m),
            )
        case 4:
            return Goal(text="depth", sign=1, value=depth)
        case 5:
            text, value = draw.plain(rng.choice(["leaves", "splits", "nodes", "expected_cost"]))
            return Goal(text=text, sign=1, value=value)
        case 6:
            text, values = draw.over_groups(*RATES)
            return Goal(
                text=f"errors + {decimal(factor)} * gap({text})",
                sign=1,
                value=lambda m: errors(m) + factor * gap_of(values, m),
            )
        case 7:
            one, a = draw.any_of(*RATES)
            two, b = draw.any_of(*RATES)
            return Goal(
                text=f"abs({one} - {two}) + {decimal(factor)} * leaves",
                sign=1,
                value=lambda m: abs(a(m) - b(m)) + factor * len(m.leaves),
            )
        case 8:
            return weighting(rng, tiny)
        case _:
            text, value = draw.any_of("errors", "loss", "expected_loss", "count_predicted", *RATES)
            return Goal(text=text, sign=rng.choice([1, -1]), value=value)


def weighting(rng: random.Random, tiny: TinyTable) -> Goal:
    """A random number for every row and class that it is predicted as; `r0` is row 0, ..."""
    price = {
        (row, label): rng.randint(-2, 6)
        for row in range(tiny.n)
        for label in range(len(tiny.classes))
        if rng.random() < 0.7
    }
    for column in range(len(tiny.columns)):
        price[column, -1] = rng.choice([0, 0, 0, 1, -1])
    terms = []
    for (row, label), size in price.items():
        if label < 0:  # `row` is a column
            what = f"tests({tiny.names([row])})"
        else:
            what = f'count_predicted("{tiny.classes[label]}", r{row})'
        terms.append(f"{'-' if size < 0 else '+'} {abs(size)} * {what}")

    def value(model: Model) -> Fraction:
        paid = sum(
            price.get((row, leaf.label), 0) for leaf in model.leaves for row in tiny.rows(leaf.rows)
        )
        return Fraction(paid + sum(price[split.test.column, -1] for split in model.splits))

    return Goal(text=f"0 {' '.join(terms)}", sign=1, value=value, of_rows=True)


def row_groups(tiny: TinyTable) -> list[str]:
    """The statements that name single rows, as `weighting` does."""
    return [f"group r{row} = row in {{{row}}}" for row in range(tiny.n)]
