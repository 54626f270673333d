"""What the columns and rows of a program say, in the words of the spec."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from odtdsl.backends.clauses.names import SpecNames
from odtdsl.backends.programs import Handover, Part
from odtdsl.base.printing import printable
from odtdsl.predictors.wording import rounded
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.rows import Rows

SHOWN_ROWS = 16
"""Rows of a pattern that a comment tells."""

COLUMNS = {
    "active": "node {0} is a split",
    "use": "node {0} tests {a}",
    "cut": "node {0} tests {t} or above",
    "is": "node {0} tests {t}",
    "label": "slot {0} is a leaf and predicts {c}",
    "leaf": "slot {0} is a leaf that holds the rows of {1}, and no others",
    "flow": "the rows of {0} reach slot {1}",
    "hit": "the rows of {0} reach slot {2}, which predicts {c}",
    "arc": "the {1} arc of node {0} leads to {2}",
    "end": "there is no split, and all rows get {c}",
    "side": "the rows of {0} go right at layer {1}",
    "weight": "the weight of {a} in the hyperplane of node {0}",
    "weighs": "the hyperplane of node {0} may weigh {a}",
    "bound": "the bound of the hyperplane of node {0}: rows whose sum is below go left",
    "tests": "node {0} tests {a}",
    "alone": "the tree is one leaf that predicts {c}",
    "below": "this subtree stands below the root's test",
    "holds": "this part of a rule's `or` holds",
    "paid": "this part of a budget is paid on the path",
    "charged": "the rows of {0} are charged for this on their path",
    "tested": "the rows of {0} pass node {1}, which tests {a}",
    "largest": "the largest of some measures",
    "carry": "a carry of a long sum",
    "pair": "two tests stand on one path",
    "before": "{2} parts nodes {0} and {1} in its order",
    "gap": "node {0} tests a column between two values of its rows",
    "reached": "some arc or node gets there: {*}",
    "more": "slots {0} and {1} are leaves, and the first predicts more",
    "never": "zero; a row that no model can keep stands on it",
    "E": "branch {0} is there",
    "Q": "branch {0} asks at level {1} whether {q}, and {v}",
    "Z0": "branches {0} and {2} agree up to level {1}",
    "Z1": "branches {0} and {2} part at level {1}",
    "Z2": "branches {0} and {2} parted above level {1}",
    "S": "the rows of {0} are in the leaf of branch {1}",
    "H": "branch {0} ends in a leaf that predicts {c}",
    "R": "the rows of {0} get another class than {c}",
}
"""What is so where a column is 1: {0}, {1} are its arguments, {a} a column of the data, {t} a
test, {c} a class, {q} and {v} a test of the study's and its answer, {*} all."""

LOOKAHEAD = "lookahead"
"""Rows of this kind are computed under the rules: who loosens a rule has to delete them."""

ROWS = {
    "test": "a node tests one column if it is a split, else none",
    "chain": "the thresholds of a column are in order: what is at r + 1 or above is at r or above",
    "below": "a split stands below a split only",
    "leaves": "the number of leaves",
    "one_label": "a slot that is a leaf has one label",
    "one_leaf": "a slot that is a leaf holds one set of rows",
    "in_leaf": "the rows of a pattern reach a slot where it holds a set that they are in",
    "once": "the rows of a pattern reach one slot",
    "left": "rows reach what is left of a node only by a test that sends them left",
    "right": "rows reach what is right of a node only if its test does not send them left",
    "if_label": "a hit needs the label",
    "if_flow": "a pattern hits only where it goes, and once",
    "row_in": "every leaf, or side of a node, has a row",
    "value": "a threshold has rows without a missing cell on both sides",
    LOOKAHEAD: "tightens the relaxation and forbids no tree; delete it if you loosen a rule",
    "keep": "an earlier stage of the objective keeps its value",
    "by_arc": "rows take arcs that are there",
    "through": "what reaches a node leaves it",
    "arc_of": "a node has one arc on each side",
    "apart": "the two arcs of a node lead to different places",
    "leads": "an arc leads to a node that is there",
    "led_to": "a node has an arc to it",
    "order": "the nodes of a layer are numbered in the order of their arcs",
    "reach": "a level, or a class, counts where something gets there",
    "turned": "the left arc of a node leads to the earlier place",
    "stands": "one subtree stands on each side of the root's test",
    "tests": "a subtree's test is that of its node",
    "says": "a subtree's labels are those of its slots",
    "first": "the branches that are there come first",
    "eq2": "a branch asks one test at most on each level",
    "eq3": "a branch asks no test twice",
    "eq4": "no level of a branch is asked after one that is not",
    "eq5": "two branches part somewhere",
    "eq6": "two branches agree up to a level, part at it, or parted above",
    "eq7": "branches that agree up to a level ask the same there, with the same answer",
    "eq8": "branches that agree up to a level ask on below",
    "eq9a": "branches agree where they agreed above",
    "eq9b": "branches part where they agreed above",
    "eq9c": "branches parted above a level where they did so, or parted, on the one before",
    "eq10": "where a branch asks, another one parts from it",
    "eq12": "branches that part at a level ask the same test there",
    "eq13a": "of two branches that part, the first is where the answer is no",
    "eq13b": "of two branches that part, the second is where the answer is yes",
    "eq14": "branches part where they ask",
    "eq15": "the rows of a pattern are in one leaf",
    "eq16": "a pattern is in no leaf whose branch goes on with another answer",
    "eq17": "a branch that is there ends in one class",
    "eq19": "a pattern gets another class than this where its leaf predicts another",
    "reduced": "every leaf has a row",
    "alive": "a pattern is in the leaf of a branch that is there",
}


NO_ROWS = " (no rows: it leaves out or fixes variables, or holds anyway)"
"""Of a rule that no row comes from."""


class Legend:
    """The words for a program.

    Attributes
    ----------
    handed
        The program.
    """

    def __init__(self, handed: Handover, core: Core, rows: Rows) -> None:
        self.handed = handed
        self._core = core
        self._rows = rows
        self._names = SpecNames(core, rows)
        self._column = {name: index for index, name in enumerate(handed.column_ids)}
        self._tests: dict[tuple[str, ...], str] = {}

    @cached_property
    def patterns(self) -> tuple[tuple[int, ...], ...]:
        """Per pattern the numbers of its rows in the file as read, from 0."""
        order = np.argsort(self.handed.pattern_of_row, kind="stable")
        numbers = np.asarray(self._rows.data.row_numbers)[order].tolist()
        counts = np.bincount(self.handed.pattern_of_row)
        ends = np.cumsum(counts).tolist()
        return tuple(
            tuple(map(int, numbers[end - count : end]))
            for end, count in zip(ends, counts.tolist(), strict=True)
        )

    def column(self, name: str) -> str:
        """What is so where a column is 1, or what it is."""
        kind, arguments = taken_apart(name)
        says = COLUMNS.get(kind)
        if says is None or not self._fits(kind, arguments):
            return "as the formulation names it: docs/explanation/milp.md"
        if kind == "flow" and len(arguments) == 4:
            return (
                f"the rows of {arguments[0]} take the {arguments[2]} arc of node {arguments[1]} "
                f"to {arguments[3]}"
            )
        if "{" not in says:
            return says
        words = {"*": ", ".join(arguments)}
        if "{q}" in says:
            words["q"] = self._asked(arguments[2])
            words["v"] = "the answer is yes" if arguments[3] == "1" else "the answer is no"
        if "{a}" in says or "{t}" in says:
            words["a"] = words["t"] = self._tested(kind, arguments)
        if "{c}" in says:
            words["c"] = self._label(next(a for a in arguments if re.fullmatch(r"c\d+", a)))
        for key, word in words.items():
            says = says.replace(f"{{{key}}}", word)
        for index, word in enumerate(arguments):
            says = says.replace(f"{{{index}}}", word)
        return says

    def _fits(self, kind: str, arguments: tuple[str, ...]) -> bool:
        """Whether the arguments are those of the kind, and not of another's of the same name."""
        says = COLUMNS[kind]
        if "{c}" in says and not any(re.fullmatch(r"c\d+", a) for a in arguments):
            return False
        if "{a}" in says or "{t}" in says:
            return any(argument in self._column for argument in arguments)
        return all(f"{{{i}}}" not in says or i < len(arguments) for i in range(3))

    def _label(self, name: str) -> str:
        return self._names.label(int(name[1:]))

    def _tested(self, kind: str, arguments: tuple[str, ...]) -> str:
        """The words for a test, the same for all nodes of a level."""
        level = self.handed.levels[int(arguments[0][1:])] if arguments[0][0] == "n" else 0
        key = (kind, str(level), *arguments[1:])
        if key not in self._tests:
            self._tests[key] = self._test(kind, arguments, level)
        return self._tests[key]

    def _test(self, kind: str, arguments: tuple[str, ...], level: int) -> str:
        column = next(self._column[a] for a in arguments if a in self._column)
        told = f"`{self._core.columns[column]}`"
        sides = [a.removeprefix("missing_") for a in arguments if a.startswith("missing_")]
        families = [
            index
            for index, family in enumerate(self._core.families)
            if family.column == column and sides in ([], [family.missing])
        ]
        if sides:
            told += f" (missing cells {sides[0]})"
        if kind not in ("cut", "is") or not families:
            one = families[0] if len(families) == 1 else None
            alone = one is not None and self._core.families[one].n_tests == 1
            return told + (self._names.only(one, level) if alone and one is not None else "")
        test, family = int(arguments[-1]), families[0]
        if kind == "cut":
            return f"{told} at threshold {self._names.value(family, test, level)}"
        sign = "in" if self._core.families[family].kind == "bin" else "=="
        return f"{told} {sign} {self._names.value(family, test, level)}"

    def _asked(self, test: str) -> str:
        """A test of the study's, such as `age.3`: the column, and which of its tests."""
        name, _, number = test.rpartition(".")
        column = self._column[name]
        families = [i for i, family in enumerate(self._core.families) if family.column == column]
        sign = {"threshold": "<=", "equals": "==", "bin": "in"}
        return f"`{printable(self._core.columns[column])}` " + " or ".join(
            f"{sign[self._core.families[index].kind]} {self._names.value(index, int(number), 0)}"
            for index in families
            if int(number) < self._core.families[index].n_tests
        )

    def row(self, name: str) -> str:
        """What the rows of a kind of the structure say; empty for those of rules."""
        return ROWS.get(row_kind(name), "")

    def rule(self, rule: str) -> str:
        """The sentence of the spec that rows are of."""
        for declared in self._rows.problem.rules:
            if declared.name == rule:
                return f"rule {rule}: {declared.text}"
        if rule == "objective":
            return "objective: " + self.objective
        return "structure" if rule == "skeleton" else f"rule {rule}"

    @property
    def objective(self) -> str:
        """The objective as the spec has it."""
        return " then ".join(stage.text for stage in self._rows.problem.objective)

    # ---- the head of a file

    def head(self) -> Iterator[str]:
        """What the file is, and every name in it."""
        yield from self.handed.what
        yield f"objective of the spec: {self.objective}"
        yield from self.value_lines()
        with_rows = {origin.rule for origin in self.handed.origins}
        for rule in self._rows.problem.rules:
            made = "" if rule.name in with_rows else NO_ROWS
            yield f"rule {rule.name}: {rule.text}{made}"
        yield "rows of a rule are named rule_NAME(place); a line above them says what they are"
        if any(row_kind(name) == LOOKAHEAD for name in self.handed.row_names):
            yield "to loosen a rule by hand, delete the rows of `lookahead` too: they count on it"
        for index in range(self._core.n_classes):
            yield f"c{index} is class {self._names.label(index)}"
        yield from self._row_sets()
        for index, numbers in enumerate(self.patterns):
            shown = ", ".join(map(str, numbers[:SHOWN_ROWS]))
            more = "" if len(numbers) <= SHOWN_ROWS else f", ... ({len(numbers)} rows)"
            yield f"p{index}: data row{'s' if len(numbers) > 1 else ''} {shown}{more}"
        yield from self._families()

    def _row_sets(self) -> Iterator[str]:
        """Of trees of numbers, what leaves may hold and predict."""
        names = self._rows.problem.target.names
        for index, one in enumerate(self.handed.row_sets):
            values = [rounded(value) for value in one.output]
            if len(values) == len(names):  # else it is a hazard ratio
                values = [f"{printable(n)} = {v}" for n, v in zip(names, values, strict=True)]
            said = ", ".join(values)
            shown = ", ".join(f"p{x}" for x in one.patterns[:SHOWN_ROWS])
            many = len(one.patterns)
            more = "" if many <= SHOWN_ROWS else f", ... ({many} patterns)"
            yield f"s{index}: a leaf of {shown}{more}; it predicts {said}"

    def value_lines(self) -> Iterator[str]:
        """How the values of the stages follow from the file's objective."""
        stages = self._rows.problem.objective
        for index, value in self.handed.kept:
            sign = self._core.objective[index].sign
            yield f"{stages[index].text}: kept at {sign * value} or better"
        parts = self.handed.parts
        if len(parts) > 1:
            total = " + ".join(f"{part.weight} * y{part.stage + 1}" for part in parts)
            yield f"objective of this file = {total}; solve it with an optimality gap of 0"
        for part in parts:
            name = "objective of this file" if len(parts) == 1 else f"y{part.stage + 1}"
            whose = "the objective" if len(parts) == 1 else name
            near = f"; rounding moves {whose} by {part.loose} at most" if part.loose else ""
            yield f"{stages[part.stage].text}: {self._value(part, name)}{near}"
        left = stages[len(self.handed.kept) + len(parts) :]
        if left:
            told = " then ".join(stage.text for stage in left)
            yield f"not in this file, see `--bound` and `--weighted`: {told}"

    def _value(self, part: Part, name: str) -> str:
        sign = self._core.objective[part.stage].sign
        constant, grid = sign * part.constant, sign * part.grid
        value = f"{constant} {'+' if grid > 0 else '-'} {abs(grid)} * {name}"
        return value if part.scale == 1 else f"({value}) / {part.scale}"

    def _families(self) -> Iterator[str]:
        """What stands for a column of the data, or a test, once for all nodes of a level."""
        said: set[str] = set()
        for name in self.handed.column_names:
            kind, arguments = taken_apart(name)
            if kind == "Q" and arguments[2] not in said:
                said.add(arguments[2])
                yield f"test {arguments[2]}: {self._asked(arguments[2])}"
            if kind not in ("use", "cut", "is", "tests", "weight", "weighs") or not self._fits(
                kind, arguments
            ):
                continue
            general = f"{kind}(n,{','.join(arguments[1:])})"
            line = f"{general}: {self.column(name).replace(f'node {arguments[0]}', 'node n')}"
            if line not in said:
                said.add(line)
                yield line
        for kind in dict.fromkeys(taken_apart(name)[0] for name in self.handed.column_names):
            if kind not in ("use", "cut", "is", "tests", "weight", "weighs") and kind in COLUMNS:
                first = next(n for n in self.handed.column_names if taken_apart(n)[0] == kind)
                yield f"for example {first}: {self.column(first)}"

    # ---- a file beside it

    def to_json(self) -> dict[str, object]:
        """Every column, row, pattern, class and stage, for programs."""
        handed, stages = self.handed, self._rows.problem.objective
        rules: dict[str, list[str]] = {}
        for name, origin in zip(handed.row_names, handed.origins, strict=True):
            rules.setdefault(origin.rule, []).append(name)
        return {
            "what": list(handed.what),
            "objective": {
                "spec": self.objective,
                "stages": [
                    {
                        "stage": stages[part.stage].text,
                        "weight": part.weight,
                        "constant": self._core.objective[part.stage].sign * part.constant,
                        "step": self._core.objective[part.stage].sign * part.grid,
                        "divided_by": part.scale,
                        **({"within": part.loose} if part.loose else {}),
                    }
                    for part in handed.parts
                ],
                "kept": [
                    {
                        "stage": stages[index].text,
                        "value": str(self._core.objective[index].sign * value),
                    }
                    for index, value in handed.kept
                ],
            },
            "classes": {f"c{i}": self._names.label(i) for i in range(self._core.n_classes)},
            **self._sets_to_json(),
            "patterns": {f"p{i}": list(numbers) for i, numbers in enumerate(self.patterns)},
            "columns": {name: self.column(name) for name in handed.column_names},
            "rows": [
                {
                    "rule": rule,
                    "says": self.rule(rule),
                    "names": names,
                    "kinds": {
                        kind: ROWS[kind]
                        for kind in dict.fromkeys(map(row_kind, names))
                        if rule in ("skeleton", "objective") and kind in ROWS
                    },
                }
                for rule, names in rules.items()
            ],
        }

    def _sets_to_json(self) -> dict[str, object]:
        """What leaves of numbers may hold and predict."""
        sets = {
            f"s{i}": {"patterns": [f"p{x}" for x in one.patterns], "output": list(one.output)}
            for i, one in enumerate(self.handed.row_sets)
        }
        return {"sets": sets} if sets else {}


def taken_apart(name: str) -> tuple[str, tuple[str, ...]]:
    """`cut(n0,age,3)` as `cut` and `n0`, `age`, `3`."""
    kind, bracket, rest = name.partition("(")
    return kind, tuple(rest.rpartition(")")[0].split(",")) if bracket else ()


def row_kind(name: str) -> str:
    """What a row's name begins with; `chain_cut(...)` and `keep_stage0` are `chain` and `keep`."""
    kind = name.partition("(")[0]
    first = kind.partition("_")[0]
    kept = first in ("chain", "keep", LOOKAHEAD, "value") or re.fullmatch(r"eq\d+", first)
    return first if kept else kind
