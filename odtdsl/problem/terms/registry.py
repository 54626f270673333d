"""All terms, in the order of the language reference. A new term is one line here."""

from __future__ import annotations

from odtdsl.problem.terms.accuracy import Accuracy
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.before import Before
from odtdsl.problem.terms.cost import Cost
from odtdsl.problem.terms.count_predicted import CountPredicted
from odtdsl.problem.terms.decreasing import Decreasing
from odtdsl.problem.terms.depth import Depth
from odtdsl.problem.terms.different_leaf import DifferentLeaf
from odtdsl.problem.terms.error_rate import ErrorRate
from odtdsl.problem.terms.errors import Errors
from odtdsl.problem.terms.expected_cost import ExpectedCost
from odtdsl.problem.terms.expected_loss import ExpectedLoss
from odtdsl.problem.terms.false_positive_rate import FalsePositiveRate
from odtdsl.problem.terms.feature import Feature
from odtdsl.problem.terms.gap import Gap
from odtdsl.problem.terms.increasing import Increasing
from odtdsl.problem.terms.leaves import Leaves
from odtdsl.problem.terms.length import Length
from odtdsl.problem.terms.level import Level
from odtdsl.problem.terms.loss import Loss
from odtdsl.problem.terms.mae import Mae
from odtdsl.problem.terms.majority import Majority
from odtdsl.problem.terms.mse import Mse
from odtdsl.problem.terms.nodes import Nodes
from odtdsl.problem.terms.output import Output
from odtdsl.problem.terms.poisson import Poisson
from odtdsl.problem.terms.precision import Precision
from odtdsl.problem.terms.purity import Purity
from odtdsl.problem.terms.rate import Rate
from odtdsl.problem.terms.ratio import RatioOver
from odtdsl.problem.terms.recall import Recall
from odtdsl.problem.terms.requires import Requires
from odtdsl.problem.terms.root import Root
from odtdsl.problem.terms.same_leaf import SameLeaf
from odtdsl.problem.terms.size import Size
from odtdsl.problem.terms.splits import Splits
from odtdsl.problem.terms.tests import Tests
from odtdsl.problem.terms.threshold import Threshold
from odtdsl.problem.terms.uses import Uses


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
