"""How well a model does on rows that were held out, by any measure of the language.

A score is a measure of the whole model, such as `error_rate`, `expected_loss` or
`gap(rate("yes"), sex)`. It is resolved with the spec, as one more stage behind its objective, and
taken out again before the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

from odtdsl.base.diagnostics.model import error
from odtdsl.base.tasks import task_of_type
from odtdsl.driver.scoring import ScorePart
from odtdsl.language import ast
from odtdsl.problem.ir.expr import Abs, Arith, Const, Expr, Minus
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.registry import BY_NAME

if TYPE_CHECKING:
    from fractions import Fraction

    from odtdsl.compiler import Analysis
    from odtdsl.datasets.dataset import Dataset
    from odtdsl.predictors.predictor import Predictor


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What is measured on rows that were held out."""

    sense: Literal["minimize", "maximize"]
    measure: ast.Expr
    text: str

    def better(self, one: float, other: float) -> bool:
        """Whether one value of the score is strictly better than the other."""
        return one < other if self.sense == "minimize" else one > other


def parse_score(text: str) -> Score:
    """A measure to minimize, or `maximize` with one, which goes without saying of some.

    Raises
    ------
    OdtError
        U344: not one measure. S codes: no measure of the language.
    """
    from odtdsl.base.source import Source
    from odtdsl.language.parser import parse

    said = text.strip()
    has_sense = said.startswith(("minimize ", "maximize "))
    head = "" if has_sense else "minimize "
    found = parse(Source(name="<score>", text=head + said)).statements
    if len(found) != 1 or not isinstance(found[0], ast.Objective) or len(found[0].stages) != 1:
        raise error(
            "U344",
            f"`{text}` is not a single measure",
            helps=("write one measure, such as `error_rate`",),
        )
    stage = found[0].stages[0]
    assert stage.sense is not None, "the first stage has one"
    measure = _anywhere(stage.measure)
    if not has_sense and _more_is_better(measure):
        return Score(sense="maximize", measure=measure, text=f"maximize {said}")
    return Score(sense=stage.sense, measure=measure, text=said.removeprefix("minimize "))


def default_score(spec: ast.Spec) -> Score:
    """`error_rate`, or `expected_loss` if the spec declares losses; for numbers the loss of the
    spec.

    Parameters
    ----------
    spec
        With a target and an objective.
    """
    target = next((s for s in spec.statements if isinstance(s, ast.Target)), None)
    said = {
        word
        for s in spec.statements
        if isinstance(s, ast.Objective)
        for stage in s.stages
        for word in _words(stage.measure)
    }
    type_ = "class" if target is None or target.type is None else target.type.kind
    task = task_of_type(type_)
    assert task is not None, "the grammar knows the types of targets"
    return parse_score(ScorePart.of(task.kind).measure(said))


def _more_is_better(measure: ast.Expr) -> bool:
    """Whether it is one term and nothing else, and nobody would choose the settings with least."""
    match measure:
        case ast.Name(name=word) | ast.Call(function=word):
            return word in BY_NAME and BY_NAME[word].fewer_is_better is False
        case _:
            return False


def _words(expr: ast.Node) -> Iterator[str]:
    if isinstance(expr, ast.Name):
        yield expr.name
    if isinstance(expr, ast.Call):
        yield expr.function
    for item in fields(expr):
        value = getattr(expr, item.name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, ast.Node):
                yield from _words(one)


def _anywhere(measure: ast.Expr) -> ast.Expr:
    from odtdsl.compiler.statements import without_spans

    return without_spans(measure)


# ---- with a spec


def with_score(spec: ast.Spec, score: Score) -> ast.Spec:
    """The spec with the score as the last stage of its objective."""
    stage = ast.Stage(sense=score.sense, measure=score.measure)
    statements = tuple(
        replace(one, stages=(*one.stages, stage)) if isinstance(one, ast.Objective) else one
        for one in spec.statements
    )
    return replace(spec, statements=statements)


def parted(analysis: Analysis) -> tuple[Analysis, Expr]:
    """The analysis of `with_score` without the score, and the score's measure.

    Raises
    ------
    OdtError
        U344: a product or quotient of measures.
    """
    problem = analysis.problem
    *stages, score = problem.objective
    if not _is_linear(score.measure):
        raise error(
            "U344",
            f"the score `{score.text.partition(' ')[2]}` multiplies or divides measures",
            helps=("use a sum of measures, each multiplied by a number",),
        )
    solved = replace(problem, objective=tuple(stages))
    rows = Rows(solved, analysis.rows.data)
    return replace(analysis, problem=solved, rows=rows), score.measure


def _is_linear(expr: Expr) -> bool:
    match expr:
        case Arith(op="*"):
            sides = (expr.left, expr.right)
            return any(map(_is_constant, sides)) and all(map(_is_linear, sides))
        case Arith(op="/"):
            return _is_constant(expr.right) and _is_linear(expr.left)
        case Arith():
            return _is_linear(expr.left) and _is_linear(expr.right)
        case Minus() | Abs():
            return _is_linear(expr.operand)
        case _:
            return True


def _is_constant(expr: Expr) -> bool:
    match expr:
        case Arith():
            return _is_constant(expr.left) and _is_constant(expr.right)
        case Minus() | Abs():
            return _is_constant(expr.operand)
        case _:
            return isinstance(expr, Const)


def measured(model: Predictor, analysis: Analysis, measure: Expr, data: Dataset) -> Fraction:
    """A measure of the whole model on some rows, as the audit has it.

    Raises
    ------
    OdtError
        U345: it has no value there, since no row of some group or class was held out.
    """
    from odtdsl.auditor.audit import model_on_data, plain
    from odtdsl.auditor.notes import left_out
    from odtdsl.auditor.rows import NoValue
    from odtdsl.auditor.values import number

    here = model_on_data(model, analysis.problem, data, training=False)
    try:
        if note := left_out(measure, here):
            raise NoValue(note)
        return plain(number(measure, here))
    except NoValue as reason:
        raise error(
            "U345",
            "the score has no value: no held-out row is in its denominator",
            notes=(str(reason),),
        ) from None


__all__ = ["Score", "default_score", "measured", "parse_score", "parted", "with_score"]
