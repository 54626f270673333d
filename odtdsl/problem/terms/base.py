"""What a term is: a word of the language with its signature, meaning and translation.

A term is one file of the folder `library`. It states where it may stand (`scopes`), what it takes
(`signatures`), what kind of value it has (`kind`) and what conditions on it become for back
ends (`translate`). Grammar, analysis, words for Python, documentation and the support matrix read
this and change by nothing else. What it means on a finished model is written once more in
`odtdsl/auditor/meanings.py`, for the audit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Literal

from odtdsl.base.frozen import dataclass
from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive, Atom, DepthMeasure, PathMeasure, PathSum, TargetLoss
from odtdsl.problem.ir.rows import Rows


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
    THRESHOLD = "threshold"
    COLUMN = "feature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The parameters in order; `repeat` lets the last one occur once or more.

    `names` are those of the parameters in Python, where the kinds of parameters do not tell.
    """

    params: tuple[Param, ...] = ()
    repeat: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """A literal of a formula: an atom or its negation."""

    atom: Atom
    positive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """The conjunction of formulas; true without any."""

    items: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """The disjunction of formulas; false without any."""

    items: tuple[Formula, ...] = ()


Formula = Holds | AllOf | AnyOf
TRUE = AllOf()
FALSE = AnyOf()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quotient:
    """A measure over a measure, such as precision: compared only with constants, cleared.

    Where `under` is 0 every comparison holds (and its negation does not).
    """

    over: Additive
    under: Additive


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Largest:
    """The largest of additive measures, or of losses of number targets: `gap`."""

    of: tuple[Additive | TargetLoss, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Smallest:
    """The smallest over the largest of additive measures: `ratio`; 1 where the largest is 0."""

    of: tuple[Additive, ...]


Measure = (
    Additive | PathMeasure | DepthMeasure | PathSum | TargetLoss | Quotient | Largest | Smallest
)
"""What a numeric term becomes in its scope."""


class Unsupported(Exception):
    """A meaning that no core form expresses; the message is the reason, shown to the user.

    `code` is that of the diagnostic: B201 where another back end may learn it, an R code
    where the language itself refuses it. `help` says what to write instead.
    """

    def __init__(self, reason: str, *, code: str = "B201", help: str = "") -> None:
        super().__init__(reason)
        self.code, self.help = code, help


class EmptyDenominator(Exception):
    """A share over no row (or no weight) by the data alone; the message says which."""


class Term(ABC):
    """Base of all terms. Subclasses set the class attributes and override the methods.

    Attributes
    ----------
    name
        The word.
    place
        Where it stands among the terms in the language reference: 10, 20 and so on, so that
        another fits between.
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
    place: int
    scopes: tuple[Scope, ...]
    signatures: tuple[Signature, ...] = (Signature(),)
    kind: Kind = Kind.NUMBER
    hint: str = ""
    also: tuple[str, ...] = ()
    """What others call it. Case, spaces, hyphens and underscores do not matter."""
    expresses: tuple[tuple[str, str], ...] = ()
    """What others have a word for and we write with this term: the word and an example."""
    fewer_is_better: bool | None = None
    """True for error-like, False for accuracy-like measures; None for neither."""
    target: str | None = None
    """What the target must have: a kind of target such as `class` or `number`, or what several
    kinds share, such as `label`; None: nothing. `TargetPart.takes` answers."""
    is_quotient: bool = False
    """Whether it is a `Quotient` or `Smallest`, which can be compared only with constants."""
    in_floats: bool = False
    """Whether values are floats, so that comparisons allow a tolerance and are closed."""
    on_diagrams: bool = True
    """False where its leaf or model meaning needs one leaf per path."""
    form: Literal["call", "infix", "target"] = "call"
    """How it is written: as a word, with arguments behind it; as `a WORD b`; not at all, since the
    name of a target stands for it."""
    by_name: ClassVar[Mapping[str, Term]]
    """All terms, for those that are made of others; the registry sets it."""

    @property
    def takes_group(self) -> bool:
        """Whether it can be measured in a group."""
        return any(Param.GROUP in signature.params for signature in self.signatures)

    @abstractmethod
    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Measure | Formula:
        """The measure, or for conditions the formula, that back ends read.

        Raises
        ------
        Unsupported
            Where no core form carries the meaning.
        EmptyDenominator
            Where a share has nothing to be a share of.
        """
