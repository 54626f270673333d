"""Choices in the problem: what each row gains or loses by each choice, in whole units."""

from __future__ import annotations

from decimal import Decimal, DecimalTuple
from fractions import Fraction
from math import gcd
from weakref import WeakKeyDictionary

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.dataset import Dataset
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.ir.targets import ProblemPart
from odtdsl.problem.terms.base import Unsupported

MOST = 10**14
"""What the sum over rows of the largest worths may be in whole units, so that all sums of them,
and of later stages beside them, are exact."""

Worths = tuple[IntArray, int, int | None]
"""Numerators, int64 (n_rows, n_choices), their denominator, and the decimals that they were
rounded to, if any."""

_KNOWN: WeakKeyDictionary[Dataset, tuple[tuple[str, ...], Worths]] = WeakKeyDictionary()


class ChoiceProblem(ProblemPart):
    """Rewards and losses are decimals, as their cells write them; sums of them are exact."""

    def text(self, target: TargetDecl) -> str:
        """The choices, and what their columns hold."""
        return f"choice {{{', '.join(target.names)}}} by {target.by}"

    def losses(self, rows: Rows) -> tuple[IntArray, int]:
        """What each row loses by each choice."""
        if rows.problem.target.by != "loss":
            raise Unsupported("the choices have rewards", help="write `reward`")
        return worths(rows)[:2]

    def guide(self, data: Dataset, target: TargetDecl) -> IntArray | FloatArray | None:
        """The best choice of each row, the first of equal ones: int64 (n_rows,)."""
        return best_choices(data, target)


def worths(rows: Rows) -> Worths:
    """Weight times reward (or loss) of each row and choice.

    Exact where the numerators over the common denominator sum to at most `MOST`, of each row the
    largest. Else each is rounded to as many decimals as that sum allows, a half to the even
    digit.

    Raises
    ------
    OdtError
        D227: whole numbers are too large for such a sum.
    """
    names = rows.problem.target.names
    known = _KNOWN.get(rows.data)
    if known is None or known[0] != names:
        found = _worths(columns(rows.data, names), rows.weights, rows.weight_denominator)
        _KNOWN[rows.data] = known = (names, found)
    return known[1]


def columns(data: Dataset, names: tuple[str, ...]) -> FloatArray:
    """float64 (n_rows, n_choices): the cells of the choices."""
    found = [data.columns[name].numbers for name in names]
    return np.column_stack([one for one in found if one is not None])


def best_choices(data: Dataset, target: TargetDecl) -> IntArray:
    """int64 (n_rows,): the first choice of most reward, or of least loss."""
    cells = columns(data, target.names)
    best: IntArray = (cells.argmin if target.by == "loss" else cells.argmax)(axis=1)
    return best.astype(np.int64)


def _worths(cells: FloatArray, weights: IntArray, denominator: int) -> Worths:
    values, where = np.unique(cells, return_inverse=True)
    written = [Decimal(repr(value)).normalize().as_tuple() for value in values.tolist()]
    digits = max(0, *(-int(one.exponent) for one in written))
    whole = np.array([_whole(one, digits) for one in written], dtype=object)
    weighed = whole[where].reshape(cells.shape) * weights.astype(object)[:, None]
    common = 10**digits * denominator
    shared = gcd(common, *weighed.ravel().tolist())
    weighed, common = weighed // shared, common // shared
    total = int(np.abs(weighed).max(axis=1).sum())
    if total <= MOST:
        return weighed.astype(np.int64), common, None
    decimals = _decimals(Fraction(total, common))
    if decimals < 0:
        raise error(
            "D227",
            f"the rewards or losses of choices sum to more than {MOST:.0e}",
            helps=("give them in a larger unit: divide their columns by a common factor",),
        )
    scale = 10**decimals
    rounded = [_half_even(one * scale, common) for one in weighed.ravel().tolist()]
    return np.array(rounded, dtype=np.int64).reshape(cells.shape), scale, decimals


def _whole(written: DecimalTuple, digits: int) -> int:
    """A decimal in units of its last digit, of so many behind the point."""
    scale: int = 10 ** (digits + int(written.exponent))
    number = int("".join(map(str, written.digits))) * scale
    return -number if written.sign else number


def _decimals(total: Fraction) -> int:
    """The most decimals with which a sum stays within `MOST`; negative where none do."""
    found = len(str(int(MOST / total))) if total <= MOST else -1
    while found >= 0 and total * 10**found > MOST:
        found -= 1
    return found


def _half_even(over: int, under: int) -> int:
    whole, rest = divmod(over, under)
    return whole + (2 * rest > under or (2 * rest == under and whole % 2 == 1))


PART = ChoiceProblem()
