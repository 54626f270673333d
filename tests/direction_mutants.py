"""Small mistakes in what `exact` tells its engine of rules on the order of predictions."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from mutating import Call, Mutant, under_rules


def _replaced(values: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


def direction(*, turned: bool) -> Mutant:
    """A rule on the order of predictions turned round, or forgotten."""

    def change(rng: random.Random, call: Call) -> bool:
        rules = call.rules["monotone"]
        if not rules:
            return False
        i = rng.randrange(len(rules))
        if turned:
            rules[i] = _replaced(rules[i], 2, not rules[i][2])
        else:
            rules.pop(i)
        return True

    return under_rules(change)


def direction_of_another_column(rng: random.Random, call: Call) -> bool:
    rules = call.rules["monotone"]
    if not rules or call.n_columns < 2:
        return False
    i = rng.randrange(len(rules))
    rules[i] = _replaced(rules[i], 1, (rules[i][1] + 1) % call.n_columns)
    return True


def column_kind(at: int) -> Mutant:
    """A column said to have values that no row has, or missing cells; or not to."""

    def change(rng: random.Random, call: Call) -> bool:
        if not call.rules["monotone"]:
            return False
        kinds = call.rules["column_kinds"]
        known = [i for i, kind in enumerate(kinds) if at == 2 or kind[0] >= 0]
        if not known:
            return False
        i = rng.choice(known)
        kinds[i] = _replaced(kinds[i], at, not kinds[i][at])
        return True

    return under_rules(change)


def side_of_missing(rng: random.Random, call: Call) -> bool:
    if not call.rules["monotone"]:
        return False
    tests = call.rules["tests"]
    known = [i for i, test in enumerate(tests) if test[1] >= 0]
    if not known:
        return False
    i = rng.choice(known)
    tests[i] = _replaced(tests[i], 1, 1 - tests[i][1])
    return True


def value_that_goes_left(rng: random.Random, call: Call) -> bool:
    if not call.rules["monotone"]:
        return False
    tests = call.rules["tests"]
    known = [i for i, test in enumerate(tests) if test[0] >= 0]
    if not known:
        return False
    i = rng.choice(known)
    tests[i] = _replaced(tests[i], 0, tests[i][0] - 1 if tests[i][0] else 1)
    return True


def thresholds_anywhere(rng: random.Random, call: Call) -> bool:
    """Thresholds placed as if no candidate and no rule spoke of them."""
    if not call.rules["monotone"]:
        return False
    tests = call.rules["tests"]
    full = [(float("-inf"), 0, float("inf"), 1)]
    known = [i for i, test in enumerate(tests) if any(one != full for one in test[2])]
    if not known:
        return False
    i = rng.choice(known)
    tests[i] = _replaced(tests[i], 2, [full for _ in tests[i][2]])
    return True


def cell_moved(rng: random.Random, call: Call) -> bool:
    """The least number of a column said to be its largest."""
    if not call.rules["monotone"]:
        return False
    cells = call.rules["cells"]
    known = [i for i, kind in enumerate(call.rules["column_kinds"]) if kind[0] < 0]
    if not known:
        return False
    row = rng.choice(known)
    cells[row][cells[row] == np.nanmin(cells[row])] = 2 * np.nanmax(cells[row]) + 1
    return True
