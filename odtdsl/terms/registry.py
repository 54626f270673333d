"""All terms, in the order of the language reference. A new term is one line here."""

from __future__ import annotations

from odtdsl.terms.accuracy import Accuracy
from odtdsl.terms.base import Term
from odtdsl.terms.before import Before
from odtdsl.terms.cost import Cost
from odtdsl.terms.count_predicted import CountPredicted
from odtdsl.terms.decreasing import Decreasing
from odtdsl.terms.depth import Depth
from odtdsl.terms.different_leaf import DifferentLeaf
from odtdsl.terms.error_rate import ErrorRate
from odtdsl.terms.errors import Errors
from odtdsl.terms.expected_cost import ExpectedCost
from odtdsl.terms.expected_loss import ExpectedLoss
from odtdsl.terms.false_positive_rate import FalsePositiveRate
from odtdsl.terms.feature import Feature
from odtdsl.terms.gap import Gap
from odtdsl.terms.increasing import Increasing
from odtdsl.terms.leaves import Leaves
from odtdsl.terms.length import Length
from odtdsl.terms.level import Level
from odtdsl.terms.loss import Loss
from odtdsl.terms.mae import Mae
from odtdsl.terms.majority import Majority
from odtdsl.terms.mse import Mse
from odtdsl.terms.nodes import Nodes
from odtdsl.terms.output import Output
from odtdsl.terms.poisson import Poisson
from odtdsl.terms.precision import Precision
from odtdsl.terms.purity import Purity
from odtdsl.terms.rate import Rate
from odtdsl.terms.ratio import RatioOver
from odtdsl.terms.recall import Recall
from odtdsl.terms.requires import Requires
from odtdsl.terms.root import Root
from odtdsl.terms.same_leaf import SameLeaf
from odtdsl.terms.size import Size
from odtdsl.terms.splits import Splits
from odtdsl.terms.tests import Tests
from odtdsl.terms.threshold import Threshold
from odtdsl.terms.uses import Uses


def _lookup(name: str) -> Term:
    return BY_NAME[name]


TERMS: tuple[Term, ...] = (
    Depth(),
    Leaves(),
    Splits(),
    Nodes(),
    Errors(),
    ErrorRate(),
    Accuracy(),
    Loss(),
    ExpectedLoss(),
    Rate(),
    Recall(),
    Precision(),
    FalsePositiveRate(),
    CountPredicted(),
    Gap(_lookup),
    RatioOver(_lookup),
    ExpectedCost(),
    Mse(),
    Mae(),
    Poisson(),
    Uses(),
    Tests(),
    Root(),
    SameLeaf(),
    DifferentLeaf(),
    Increasing(),
    Decreasing(),
    Before(),
    Requires(),
    Cost(),
    Length(),
    Size(),
    Purity(),
    Majority(),
    Output(),
    Threshold(),
    Feature(),
    Level(),
)

BY_NAME: dict[str, Term] = {term.name: term for term in TERMS}
"""Terms by name. `output` is not a word of the language: target names stand for it."""
