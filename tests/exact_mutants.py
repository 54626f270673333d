"""Small mistakes in what `exact` hands to its engine: what a wrong lowering would look like.

A mutant changes one number, clause or transition of one call; it says whether it found any to
change. Which way is too tight and which too loose stands in its name. Those of the order of
predictions are in `direction_mutants`, those of the search without rules in `plain_mutants`.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from mutating import Call, Mutant, under_rules

# ---- measures


def shifted(key: str, by: int) -> Mutant:
    """One number of an array or list."""

    def change(rng: random.Random, call: Call) -> bool:
        values = call.rules[key]
        if not np.size(values):
            return False
        flat = values.reshape(-1) if isinstance(values, np.ndarray) else values
        flat[rng.randrange(len(flat))] += by
        return True

    return under_rules(change)


def path_delta(by: int) -> Mutant:
    def change(rng: random.Random, call: Call) -> bool:
        known = [delta for delta in call.rules["path_delta"] if delta is not None]
        if not known:
            return False
        delta = rng.choice(known)
        reach = np.argwhere(np.asarray(call.rules["next"]) >= 0)
        if not len(reach):
            return False
        delta[tuple(rng.choice(reach.tolist()))] += by
        return True

    return under_rules(change)


def no_path_weight(rng: random.Random, call: Call) -> bool:
    known = [i for i, at in enumerate(call.rules["path_weight"]) if at >= 0]
    if not known:
        return False
    call.rules["path_weight"][rng.choice(known)] = -1
    return True


def other_path_weight(rng: random.Random, call: Call) -> bool:
    known = [i for i, at in enumerate(call.rules["path_weight"]) if at >= 0]
    if not known or call.rules["sums"] < 2:
        return False
    at = rng.choice(known)
    others = [s for s in range(call.rules["sums"]) if s != call.rules["path_weight"][at]]
    call.rules["path_weight"][at] = rng.choice(others)
    return True


def _sums(call: Call) -> tuple[list[int], int]:
    """The sums of all components, label by label, and the number of labels."""
    found = call.rules["sum_of"]
    return found, len(found) // max(1, call.rules["components"])


def sum_dropped(rng: random.Random, call: Call) -> bool:
    found, _ = _sums(call)
    known = [i for i, at in enumerate(found) if at >= 0]
    if not known:
        return False
    found[rng.choice(known)] = -1
    return True


def sums_of_two_labels_swapped(rng: random.Random, call: Call) -> bool:
    found, labels = _sums(call)
    components = [
        k
        for k in range(call.rules["components"])
        if len(set(found[k * labels : (k + 1) * labels])) > 1
    ]
    if not components:
        return False
    start = rng.choice(components) * labels
    found[start : start + labels] = [*found[start + 1 : start + labels], found[start]]
    return True


# ---- rules of the model


def component_bound(by: int) -> Mutant:
    """One bound of a measure of the model, of all its clauses."""

    def change(rng: random.Random, call: Call) -> bool:
        places = _literals(call, "component")
        if not places:
            return False
        clause, i = rng.choice(places)
        kind, index, bound = clause[i]
        clause[i] = (kind, index, bound + by)
        return True

    return under_rules(change)


def _literals(call: Call, kind: str) -> list[tuple[list[Any], int]]:
    return [
        (clause, i)
        for clause in call.rules["clauses"]
        for i, literal in enumerate(clause)
        if literal[0] == kind
    ]


def other_component(rng: random.Random, call: Call) -> bool:
    places = _literals(call, "component")
    if not places or call.rules["components"] < 2:
        return False
    clause, i = rng.choice(places)
    kind, index, bound = clause[i]
    clause[i] = (kind, (index + 1) % call.rules["components"], bound)
    return True


def fact_turned(rng: random.Random, call: Call) -> bool:
    places = _literals(call, "fact")
    if not places:
        return False
    clause, i = rng.choice(places)
    kind, index, positive = clause[i]
    clause[i] = (kind, index, not positive)
    return True


def other_fact(rng: random.Random, call: Call) -> bool:
    places = _literals(call, "fact")
    if not places or call.rules["facts"] < 2:
        return False
    clause, i = rng.choice(places)
    kind, index, positive = clause[i]
    clause[i] = (kind, (index + 1) % call.rules["facts"], positive)
    return True


def clause_dropped(rng: random.Random, call: Call) -> bool:
    if not call.rules["clauses"]:
        return False
    call.rules["clauses"].pop(rng.randrange(len(call.rules["clauses"])))
    return True


def literal_dropped(key: str) -> Mutant:
    """One of the conditions of an `or`."""

    def change(rng: random.Random, call: Call) -> bool:
        longer = [clause for clause in call.rules[key] if len(clause) > 1]
        if not longer:
            return False
        clause = rng.choice(longer)
        clause.pop(rng.randrange(len(clause)))
        return True

    return under_rules(change)


# ---- rules on rows of a leaf or split


def row_bound(key: str, by: int) -> Mutant:
    def change(rng: random.Random, call: Call) -> bool:
        clauses = [clause for clause in call.rules[key] if clause]
        if not clauses:
            return False
        clause = rng.choice(clauses)
        i = rng.randrange(len(clause))
        sums, constant, bound = clause[i]
        clause[i] = (sums, constant, bound + by)
        return True

    return under_rules(change)


def wrong_label(rng: random.Random, call: Call) -> bool:
    """A leaf's sums, each for the label before its own."""
    places = [
        (clause, i)
        for clause in call.rules["leaf_clauses"]
        for i, (sums, _, _) in enumerate(clause)
        if len(sums) > 1
    ]
    if not places:
        return False
    clause, i = rng.choice(places)
    sums, constant, bound = clause[i]
    clause[i] = ([*sums[1:], sums[0]], constant, bound)
    return True


def first_label_only(rng: random.Random, call: Call) -> bool:
    for clause in call.rules["leaf_clauses"]:
        for i, (sums, constant, bound) in enumerate(clause):
            if len(sums) > 1:
                clause[i] = (sums[:1], constant, bound)
                return True
    return False


def sum_of_rows_dropped(key: str) -> Mutant:
    def change(rng: random.Random, call: Call) -> bool:
        places = [
            (clause, i)
            for clause in call.rules[key]
            for i, (sums, _, _) in enumerate(clause)
            if any(at >= 0 for at in sums)
        ]
        if not places:
            return False
        clause, i = rng.choice(places)
        sums, constant, bound = clause[i]
        clause[i] = ([-1] * len(sums), constant, bound)
        return True

    return under_rules(change)


# ---- states


def transition(*, tight: bool) -> Mutant:
    """A step that may be taken no longer, or one that may be although none leads there."""

    def change(rng: random.Random, call: Call) -> bool:
        following = call.rules["next"]
        places = np.argwhere(following >= 0 if tight else following < 0).tolist()
        ends = [s for s, need in enumerate(call.rules["need"]) if need == 0]
        if not places or not ends:
            return False
        following[tuple(rng.choice(places))] = -1 if tight else rng.choice(ends)
        return True

    return under_rules(change)


def forgotten(rng: random.Random, call: Call) -> bool:
    """A step that leads where it started: the path's memory of a column is lost."""
    following = call.rules["next"]
    places = [(s, c) for s, c in np.argwhere(following >= 0).tolist() if following[s, c] != s]
    if not places:
        return False
    state, column = rng.choice(places)
    following[state, column] = state
    return True


def astray(rng: random.Random, call: Call) -> bool:
    """A step that leads into another state than it should."""
    following = call.rules["next"]
    places = np.argwhere(following >= 0).tolist()
    if not places or call.rules["states"] < 2:
        return False
    at = tuple(rng.choice(places))
    others = [s for s in range(call.rules["states"]) if s != following[at]]
    following[at] = rng.choice(others)
    return True


def need(by: int) -> Mutant:
    def change(rng: random.Random, call: Call) -> bool:
        states = [s for s, n in enumerate(call.rules["need"]) if n + by >= 0 and n < 100]
        if not states:
            return False
        call.rules["need"][rng.choice(states)] += by
        return True

    return under_rules(change)


def open_rule_dropped(key: str) -> Mutant:
    def change(rng: random.Random, call: Call) -> bool:
        states = [rules for rules in call.rules[key] if rules]
        if not states:
            return False
        rules = rng.choice(states)
        rules.pop(rng.randrange(len(rules)))
        return True

    return under_rules(change)


def closed(value: bool) -> Mutant:
    def change(rng: random.Random, call: Call) -> bool:
        changed = call.rules["closed"] != value
        call.rules["closed"] = value
        return changed

    return under_rules(change)


# ---- facts


def split_fact(*, set_: bool) -> Mutant:
    """A split that says of itself what it should not, or keeps it back."""

    def change(rng: random.Random, call: Call) -> bool:
        flags = call.rules["split_facts"]
        places = [
            (i, bit)
            for i, value in enumerate(flags)
            for bit in range(call.rules["facts"])
            if bool(value >> bit & 1) != set_
        ]
        if not places:
            return False
        at, bit = rng.choice(places)
        flags[at] ^= 1 << bit
        return True

    return under_rules(change)


def pair_dropped(rng: random.Random, call: Call) -> bool:
    if not call.rules["pairs"]:
        return False
    call.rules["pairs"].pop(rng.randrange(len(call.rules["pairs"])))
    return True


def other_pair(rng: random.Random, call: Call) -> bool:
    if not call.rules["pairs"]:
        return False
    i = rng.randrange(len(call.rules["pairs"]))
    fact, first, second = call.rules["pairs"][i]
    rows = [row for row in range(call.ranks.shape[1]) if row not in (first, second)]
    call.rules["pairs"][i] = (fact, first, rng.choice(rows))
    return True


# ---- objective


def coefficient(by: int) -> Mutant:
    def change(rng: random.Random, call: Call) -> bool:
        if not call.rules["objective"]:
            return False
        i = rng.randrange(len(call.rules["objective"]))
        factor, components, fact = call.rules["objective"][i]
        call.rules["objective"][i] = (factor + by, components, fact)
        return True

    return under_rules(change)


def term_dropped(rng: random.Random, call: Call) -> bool:
    if len(call.rules["objective"]) < 2:
        return False
    call.rules["objective"].pop(rng.randrange(len(call.rules["objective"])))
    return True


def part_of_a_largest_dropped(rng: random.Random, call: Call) -> bool:
    terms = call.rules["objective"]
    known = [i for i, (_, components, _) in enumerate(terms) if len(components) > 1]
    if not known:
        return False
    i = rng.choice(known)
    factor, components, fact = terms[i]
    cut = rng.randrange(len(components))
    terms[i] = (factor, (*components[:cut], *components[cut + 1 :]), fact)
    return True


# ---- splits


def other_column(rng: random.Random, call: Call) -> bool:
    if call.n_columns < 2:
        return False
    i = rng.randrange(len(call.rules["column"]))
    call.rules["column"][i] = (call.rules["column"][i] + 1) % call.n_columns
    return True


def missing_flag(key: str) -> Mutant:
    def change(rng: random.Random, call: Call) -> bool:
        i = rng.randrange(len(call.rules[key]))
        call.rules[key][i] = not call.rules[key][i]
        return True

    return under_rules(change)


def cut(where: str, *, tight: bool) -> Mutant:
    """A cut that may stand no longer, or one that may although rules forbid it."""

    def change(rng: random.Random, call: Call) -> bool:
        levels = call.rules["allowed_at"] if where == "level" else [call.options["allowed"]]
        places = [
            (level, f, int(at))
            for level in levels
            for f, flags in enumerate(level)
            for at in range(int(call.distinct[f]) - 1)
            if (flags is None or bool(flags[at])) == tight
        ]
        if not places:
            return False
        level, f, at = rng.choice(places)
        if level[f] is None:
            level[f] = np.ones(int(call.distinct[f]), dtype=bool)
            level[f][-1] = False
        level[f][at] = not tight
        return True

    return change


def row_moved(rng: random.Random, call: Call) -> bool:
    """A row on the other side of a cut: what a wrong merge of values would do."""
    places = [f for f in range(len(call.ranks)) if call.distinct[f] > 1]
    if not places:
        return False
    ranks = call.ranks[rng.choice(places)]
    row = rng.randrange(len(ranks))
    ranks[row] = ranks[row] - 1 if ranks[row] else 1
    return True


def level_dropped(rng: random.Random, call: Call) -> bool:
    """A level's own rules forgotten."""
    if not call.rules["allowed_at"]:
        return False
    i = rng.randrange(len(call.rules["allowed_at"]))
    before = call.rules["allowed_at"][i]
    call.rules["allowed_at"][i] = list(call.options["allowed"])
    return any(flags is not None for flags in before)


def most_leaves(by: int) -> Mutant:
    def change(rng: random.Random, call: Call) -> bool:
        if not call.options["max_leaves"] + by:  # none is no bound
            return False
        call.options["max_leaves"] += by
        return True

    return change
