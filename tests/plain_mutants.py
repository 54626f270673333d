"""Small mistakes in what `exact` hands to its plain search, the one without rules."""

from __future__ import annotations

import random

import numpy as np
from mutating import Call, Mutant, plainly


def option(key: str, by: int) -> Mutant:
    """One number of an array, or the number itself."""

    def change(rng: random.Random, call: Call) -> bool:
        value = call.options.get(key)
        if value is None:
            return False
        if isinstance(value, np.ndarray):
            flat = value.reshape(-1)
            places = np.flatnonzero(flat + by >= 0).tolist()
            if places:
                flat[rng.choice(places)] += by
            return bool(places)
        least = 1 if key == "min_leaf_rows" else 0
        if value + by >= least:
            call.options[key] = value + by
        return bool(value + by >= least)

    return plainly(change)


def class_turned(rng: random.Random, call: Call) -> bool:
    classes = call.rules["classes"]
    at = rng.randrange(len(classes))
    classes[at] = (classes[at] + 1) % call.rules["n_classes"]
    return True


def plain_step(*, tight: bool) -> Mutant:
    """A step of the automaton that may be taken no longer, or one that may although forbidden."""

    def change(rng: random.Random, call: Call) -> bool:
        following = call.options.get("next")
        if following is None:
            return False
        places = np.argwhere(following >= 0 if tight else following < 0).tolist()
        if places:
            at = tuple(rng.choice(places))
            following[at] = -1 if tight else at[0]
        return bool(places)

    return plainly(change)


def plainly_forgotten(rng: random.Random, call: Call) -> bool:
    """A step that leads where it started."""
    following = call.options.get("next")
    if following is None:
        return False
    places = [(s, c) for s, c in np.argwhere(following >= 0).tolist() if following[s, c] != s]
    if places:
        state, column = rng.choice(places)
        following[state, column] = state
    return bool(places)


def must_dropped(rng: random.Random, call: Call) -> bool:
    asked = bool(call.options.get("must_column", -1) >= 0)
    if asked:
        call.options["must_column"] = -1
    return asked


def other_must(rng: random.Random, call: Call) -> bool:
    asked = bool(call.options.get("must_column", -1) >= 0)
    columns = call.options.get("column")
    others = [] if columns is None else [c for c in columns if c != call.options["must_column"]]
    if not asked or not others:
        return False
    call.options["must_column"] = int(rng.choice(others))
    return True


def plainly_other_column(rng: random.Random, call: Call) -> bool:
    columns = call.options.get("column")
    if columns is None or len(set(columns.tolist())) < 2:
        return False
    at = rng.randrange(len(columns))
    columns[at] = rng.choice([c for c in columns.tolist() if c != columns[at]])
    return True
