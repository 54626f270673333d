"""The words that all pictures of a tree share: numbers, tests, leaves, names made printable."""

from __future__ import annotations

import math

from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Day, Value
from odtdsl.predictors.diagram_nodes import AxisTest, Split, Terminal, Weight, as_leaf
from odtdsl.predictors.leaves import leaves_of
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Test, Threshold
from odtdsl.predictors.predictor import Predictor


def number_text(value: float) -> str:
    """The fewest digits that read back to the same number, without `.0` or `e+`."""
    text = repr(value) if isinstance(value, int) else repr(float(value))
    mantissa, _, exponent = text.removesuffix(".0").partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def rounded(value: float) -> str:
    """A measured number for display: six significant digits, or the date where it counts days."""
    if isinstance(value, Day):
        return str(value)
    return number_text(float(f"{value:.6g}"))


def value_text(value: Value) -> str:
    """A value as the language writes it: texts in quotes, numbers plain, days as dates."""
    if isinstance(value, Day):
        return str(value)
    return f'"{printable(value)}"' if isinstance(value, str) else number_text(value)


def label_text(label: Value) -> str:
    """A label; quotes only where a text could be taken for a number or for nothing."""
    if not isinstance(label, str):
        return number_text(label)
    plain = bool(label) and label == label.strip() and not label[0].isdigit()
    return printable(label) if plain else f'"{printable(label)}"'


def split_words(branch: Branch) -> tuple[str, str]:
    """The feature and the condition that sends a row left, such as `age` and `<= 54.5`."""
    return test_words(branch.feature, branch.test)


def test_words(feature: str, test: Test) -> tuple[str, str]:
    """A feature and a condition on it, such as `age` and `<= 54.5`."""
    match test:
        case Threshold(value=value):
            words = f"<= {value_text(value)}"
        case Equals(value=value):
            words = f"== {value_text(value)}"
        case InBin(low=low, high=high, closed=closed):
            words = _bin_words(low, high, closed)
    return printable(feature), words


def node_words(split: Split) -> tuple[str, ...]:
    """The condition that sends a row left, in parts that a line may end behind."""
    if isinstance(split, AxisTest):
        return (" ".join(test_words(split.feature, split.test)),)
    terms = [_weight_words(weight, first=i == 0) for i, weight in enumerate(split.weights)]
    return (*terms, f"< {number_text(split.bound)}")


def _weight_words(weight: Weight, *, first: bool) -> str:
    size = abs(weight.weight)
    sign = "-" if weight.weight < 0 else "" if first else "+"
    name = printable(weight.feature)
    if weight.value is not None:
        name = f"[{name} == {value_text(weight.value)}]"
    text = name if size == 1 else f"{number_text(size)} * {name}"
    return f"{sign}{text}" if first or not sign else f"{sign} {text}"


def terminal_words(terminal: Terminal, label: int, diagram: Predictor) -> tuple[str, str]:
    """A class and the counts of its terminal, such as `yes` and `31 rows, 1 error`."""
    return leaf_words(as_leaf(terminal, label), diagram)


def share_text(part: float, whole: float) -> str:
    """A share of rows in percent, without decimals but for small ones."""
    if not whole:
        return "0%"
    percent = 100 * part / whole
    return f"{percent:.0f}%" if percent >= 1 or not part else "<1%"


def leaf_words(leaf: Leaf, model: Predictor) -> tuple[str, str]:
    """What a leaf predicts, and its counts, such as `yes` and `31 rows, 1 error`."""
    return leaves_of(model).words(leaf, model), counts_text(leaf)


def counts_text(leaf: Leaf) -> str:
    """Rows and errors of a leaf; weights where they differ from the number of rows."""
    rows = f"{leaf.size} row" + "s" * (leaf.size != 1)
    if leaf.label is None or not leaf.class_weights:
        return rows
    total = math.fsum(leaf.class_weights)
    wrong = math.fsum(w for i, w in enumerate(leaf.class_weights) if i != leaf.label)
    if not is_weighted(leaf):
        return f"{rows}, {int(wrong)} error" + "s" * (wrong != 1)
    return f"{rows}, weight {rounded(total)}, {rounded(wrong)} of it wrong"


def is_weighted(leaf: Leaf) -> bool:
    """Whether the weights of its classes are no counts of its rows."""
    weights = leaf.class_weights
    return math.fsum(weights) != leaf.size or any(w != int(w) for w in weights)


def _bin_words(low: float, high: float, closed: bool) -> str:
    if math.isinf(low) and math.isinf(high):
        return "is any number"
    if math.isinf(low):
        return f"{'<=' if closed else '<'} {value_text(high)}"
    if math.isinf(high):
        return f">= {value_text(low)}"
    return f"in [{value_text(low)}, {value_text(high)}{']' if closed else ')'}"
