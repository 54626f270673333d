"""How meanings of variables speak of tests, classes and rows."""

from __future__ import annotations

from odtdsl.datasets.dataset import Value
from odtdsl.problem.ir.families import place
from odtdsl.problem.ir.filters import placing
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.rows import Rows


class Names:
    """By index, as the core has them."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def tests(self, family: int, test: int, level: int) -> str:
        """What a node tests by some test of a family, up to this one in their order."""
        one = self.core.families[family]
        told = f"`{self.core.columns[one.column]}`"
        if one.missing is not None:
            told += f" (missing cells {one.missing})"
        if one.n_tests == 1:
            return f"{told}{self.only(family, level)}"
        return told if test == one.n_tests - 1 else f"{told}, {self.upto(family, test, level)}"

    def only(self, family: int, level: int) -> str:
        """What is added to the column where the family has just one test."""
        return ""

    def upto(self, family: int, test: int, level: int) -> str:
        """The test or those before it."""
        return f"test {test} or below"

    def label(self, label: int) -> str:
        """The name of a class, by its index."""
        return f"class {label}"

    def row(self, row: int) -> str:
        """The name of a training row, by its index."""
        return f"row {row}"


class SpecNames(Names):
    """In the words of the spec: thresholds, levels and classes by their values."""

    def __init__(self, core: Core, rows: Rows) -> None:
        super().__init__(core)
        self.rows = rows

    def only(self, family: int, level: int) -> str:
        """` <= 4.5`, ` == "a"` or ` in [0, 3)`: what goes left."""
        sign = {"threshold": "<=", "equals": "==", "bin": "in"}
        return f" {sign[self.core.families[family].kind]} {self.value(family, 0, level)}"

    def upto(self, family: int, test: int, level: int) -> str:
        """`threshold 4.5 or below`, `value "b" or one before it`, `bin [0, 3) or below`."""
        value = self.value(family, test, level)
        match self.core.families[family].kind:
            case "threshold":
                return f"threshold {value} or below"
            case "equals":
                return f"value {value}" + (" or one before it" if test else "")
            case _:
                return f"bin {value}" + (" or below" if test else "")

    def value(self, family: int, test: int, level: int) -> str:
        """The threshold, level or bin of a test, as a spec writes it."""
        one = self.core.families[family]
        levels = self.rows.problem.features[one.column].type.levels
        match one.kind:
            case "equals":
                return quoted(levels[int(one.values[test])])
            case "bin":
                index = one.bins[test]
                low, high = (_number(float(x)) for x in one.values[index : index + 2])
                return f"[{low}, {high}" + ("]" if index == len(one.values) - 2 else ")")
            case _:
                cut = place(one, placing(one, self.core.filters, level), test)
                if cut is None:
                    low, high = (_number(float(x)) for x in one.values[test : test + 2])
                    return f"between {low} and {high}"
                return quoted(levels[int(cut)]) if levels else _number(cut)

    def label(self, label: int) -> str:
        """The class as the spec writes it."""
        return quoted(self.rows.problem.target.classes[label])

    def row(self, row: int) -> str:
        """The row by its number in the file as read."""
        return f"row {int(self.rows.data.row_numbers[row])}"


def quoted(value: Value) -> str:
    """A level or class as a spec writes it."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
