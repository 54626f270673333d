"""What names can mean while expressions are resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from odtdsl.compiler.cell_conditions import Cells
from odtdsl.compiler.columns import Columns
from odtdsl.compiler.targets import TargetPart
from odtdsl.datasets.table import Table
from odtdsl.language import ast
from odtdsl.problem.ir.problem import FeatureDecl, GroupDecl, TargetDecl
from odtdsl.problem.terms.library import __name__ as HOME
from odtdsl.problem.terms.registry import BY_NAME

FUNCTIONS = ("abs", "sum", "count")
WORDS = frozenset(name for name, term in BY_NAME.items() if term.form == "call")
"""Names that a bare word means as a term."""
_LIBRARY = frozenset(word for word in WORDS if type(BY_NAME[word]).__module__.startswith(HOME))


def words_for(target: TargetDecl) -> frozenset[str]:
    """The words that are terms under a target: a task's own ones only where the target has it."""
    part = TargetPart.of(target.kind)
    own = ((word, BY_NAME[word].target) for word in WORDS - _LIBRARY)
    return _LIBRARY | {word for word, needs in own if needs is None or part.takes(needs, target)}


@dataclass(kw_only=True)
class Namespace:
    """What names can mean.

    Attributes
    ----------
    training
        The raw training rows.
    groups
        The declared groups that could be resolved; it grows by those that columns make.
    group_names
        All declared groups.
    opening
        The `let` names that are being resolved, to find those that are defined by themselves.
    """

    features: tuple[FeatureDecl, ...]
    target: TargetDecl
    columns: Columns
    cells: Cells
    training: Table
    groups: list[GroupDecl]
    group_names: tuple[str, ...]
    lets: Mapping[str, ast.Let]
    diagram: bool
    hyperplanes: bool = False

    plane_tree: bool = False
    """Whether the diagram is a tree of hyperplanes to the user."""

    opening: list[str] = field(default_factory=list)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that are terms here."""
        return words_for(self.target)

    @property
    def feature_names(self) -> list[str]:
        """The names of the features, in order."""
        return [feature.name for feature in self.features]

    def feature(self, name: str) -> FeatureDecl:
        """The declaration of a feature; `StopIteration` for an unknown name."""
        return next(feature for feature in self.features if feature.name == name)

    def opened(self, expr: ast.Expr) -> ast.Expr:
        """What a bare `let` name stands for; other expressions as they are."""
        seen: list[str] = []
        while isinstance(expr, ast.Name) and not expr.quoted and expr.name in self.lets:
            if expr.name in seen:
                break
            seen.append(expr.name)
            expr = self.lets[expr.name].value
        return expr
