"""What names can mean while expressions are resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from odtdsl.compiler.cell_conditions import Cells
from odtdsl.compiler.columns import Columns
from odtdsl.datasets.table import Table
from odtdsl.language import ast
from odtdsl.problem.ir.problem import FeatureDecl, GroupDecl, TargetDecl
from odtdsl.problem.terms.registry import BY_NAME

FUNCTIONS = ("abs", "sum", "count")
WORDS = frozenset(name for name, term in BY_NAME.items() if term.form == "call")
"""Names that a bare word means as a term."""


@dataclass(slots=True, kw_only=True)
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
    opening: list[str] = field(default_factory=list)

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
