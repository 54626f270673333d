"""A measure over groups: base of `gap` and `ratio`."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, LabelArg, Scope
from odtdsl.problem.ir.forms import Additive, TargetLoss
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Param, Signature, Term, Unsupported

OVER_GROUPS = (Signature(params=(Param.MEASURE, Param.BY), repeat=True),)


class OverGroups(Term):
    """A measure of the values of another one, in each of some groups."""

    scopes = (Scope.MODEL,)
    signatures = OVER_GROUPS
    kind = Kind.SHARE

    def _each(self, call: Apply) -> list[tuple[Term, Apply]]:
        """The measure of every group."""
        of = call.of
        assert of is not None, "the signature demands a measure"
        term = self.by_name[of.term]
        return [(term, Apply(term=of.term, args=(*of.args, group))) for group in call.args]

    def _losses(self, rows: Rows, scope: Scope, call: Apply) -> list[TargetLoss] | None:
        """The measure of every group, where it is a loss of number targets."""
        found = [term.translate(rows, scope, each) for term, each in self._each(call)]
        losses = [measure for measure in found if isinstance(measure, TargetLoss)]
        return losses if len(losses) == len(found) else None

    def _measures(self, rows: Rows, scope: Scope, call: Apply) -> list[Additive]:
        found: list[Additive] = []
        for term, each in self._each(call):
            measure = term.translate(rows, scope, each)
            if not isinstance(measure, Additive):
                raise Unsupported(
                    f"`{each.term}` is not additive, so `{self.name}` of it is not linear",
                    help=f"write a rule for each group, such as `{_of_women(each)} >= 80%`",
                )
            found.append(measure)
        return found


def _of_women(call: Apply) -> str:
    """The measure of a group, as a rule would write it."""
    labels = [arg.text for arg in call.args if isinstance(arg, LabelArg)]
    return f"{call.term}({', '.join([*labels, 'women'])})"
