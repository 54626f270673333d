"""What a term is: a word of the language with its signature, meaning and translation.

A term is one file. It states where it may stand (`scopes`), what it takes
(`signatures`), what kind of value it has (`kind`), what it means on a finished model
(`value`) and what conditions on it become for back ends (`translate`). Grammar,
analysis, documentation and the support matrix read this and change by nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from odtdsl.ir.expr import Arg, Scope
from odtdsl.ir.forms import (
    Additive, Atom, DepthMeasure, PathMeasure, PathSum,
)  # fmt: skip
from odtdsl.ir.intervals import RealSet
from odtdsl.ir.rows import Rows
from odtdsl.terms.view import View


class Param(StrEnum):
    """Kinds of arguments."""

    FEATURE = "feature"
    TARGET = "target"
    LABEL = "class"
    GROUP = "group"
    ROW = "row"
    MEASURE = "measure"
    BY = "column or groups"


class Kind(StrEnum):
    """What a term's value is; percentages of a ROW_COUNT are shares of rows."""

    CONDITION = "condition"
    ROW_COUNT = "count of rows"
    SHARE = "share"
    NUMBER = "number"
    LEVEL = "threshold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The parameters in order; `repeat` lets the last one occur once or more."""

    params: tuple[Param, ...] = ()
    repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """A literal of a formula: an atom or its negation."""

    atom: Atom
    positive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    items: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    items: tuple[Formula, ...] = ()


Formula = Holds | AllOf | AnyOf
TRUE = AllOf()
FALSE = AnyOf()


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitTest:
    """A condition on the test of one split, as a set of thresholds for a level and column."""

    allowed: RealSet


Measure = Additive | PathMeasure | DepthMeasure | PathSum
"""What a numeric term becomes in its scope."""


class NotLinear(Exception):
    """A measure that no core form carries on its own; the message is the reason."""


class Term:
    """Base of all terms. Subclasses set the class attributes and override the methods.

    Attributes
    ----------
    name
        The word.
    scopes
        Where it may stand.
    signatures
        What it takes; several where arguments are optional.
    kind
        What its value is.
    hint
        Where it belongs, for the message when it stands in another scope.
    """

    name: str
    scopes: tuple[Scope, ...]
    signatures: tuple[Signature, ...] = (Signature(),)
    kind: Kind = Kind.NUMBER
    hint: str = ""
    fewer_is_better: bool | None = None
    """True for error-like, False for accuracy-like measures; None for neither."""

    def value(self, view: View, args: tuple[Arg, ...]) -> Fraction | bool:
        """The value on a finished model, one of its paths, leaves or splits."""
        raise NotImplementedError

    def translate(self, rows: Rows, scope: Scope, args: tuple[Arg, ...]) -> Measure | Formula:
        """The measure, or for conditions the formula, that back ends read."""
        raise NotImplementedError

