"""What the command line prints: answers, audits and plans as plain text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from odtdsl.base.back_ends import gives_up
from odtdsl.base.numbers import UNBOUNDED, counted
from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Day
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.wording import is_weighted, label_text, rounded
from odtdsl.presentation.pictures.diagram_text import diagram_to_text
from odtdsl.presentation.pictures.text import to_text
from odtdsl.problem.ir.problem import DiagramSkeleton

if TYPE_CHECKING:
    from odtdsl.auditor.audit import Audit, AuditLine, AuditOfRows
    from odtdsl.backends.steps import Step
    from odtdsl.driver.comparison import Comparison
    from odtdsl.driver.pipeline import Plan
    from odtdsl.driver.result import Result, Stage
    from odtdsl.driver.scoring import OutputScore, TestScore
    from odtdsl.insight.explanations.prices import Price
    from odtdsl.predictors.missing_values import MissingShown

STATUS = {
    "optimal": "optimal: proven; no tree that satisfies the rules is better",
    "feasible": "feasible: the best tree found, not proven optimal",
    "infeasible": "infeasible: proven; no tree satisfies all rules",
    "unknown": "unknown: no tree was found, and infeasibility is not proven",
}


def shown(value: Fraction | None, digits: int = 6) -> str:
    """A number with at most `digits` significant digits; a dash for None."""
    if value is None:
        return "-"
    if abs(value) >= UNBOUNDED:
        return "inf" if value > 0 else "-inf"
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value):.{digits}g}"


NOISE = Fraction(1, 10**9)
"""What rules on floats may be off by, in units of their bound and 1: see the auditor's."""


def sides_text(line: AuditLine | Price) -> tuple[str, str]:
    """The value and the bound of a line; dates where they count days."""
    if line.days and line.value is not None and line.bound is not None:
        return str(Day(line.value)), str(Day(line.bound))
    return shown(line.value), shown(line.bound)


def slack_text(line: AuditLine) -> str:
    """How far a rule is from its bound; what floats of outputs are off by is none."""
    slack, bound = line.slack, line.bound
    if line.holds and slack and bound is not None and abs(slack) <= NOISE * (1 + abs(bound)):
        return "0"
    return shown(slack)


def table(rows: Sequence[Sequence[str]], *, indent: str = "") -> Iterator[str]:
    """Lines of a table with a header row; every column as wide as its widest cell."""
    said = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in said) for i in range(len(said[0]))]
    for at, row in enumerate(said):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield indent + line.rstrip()
        if at == 0:
            yield indent + "  ".join("-" * width for width in widths)


CONTENT = {
    "": "",
    "gap": "the requested gap is reached",
    "steady": "no improvement within the requested time",
    "held out": "the best one on held-out rows",
}
"""Why a search ended without a proof."""


def answer(result: Result, *, missing: MissingShown = False) -> Iterator[str]:
    """The tree (with the side of missing cells), its status and the audit."""
    if result.model is not None:
        yield drawn(result.model, missing=missing).rstrip("\n")
        yield ""
    ended = "interrupted" if result.interrupted else CONTENT[result.stopped]
    yield status_line(result) + (f" ({ended})" if ended else "")
    if result.model is not None:
        for stage in result.stages:
            yield "  " + stage_line(stage)
        yield "  " + size_line(result)
        if result.training is not None:
            yield f"  training: {_figures(result.training)}"
        if result.outputs is not None:
            yield "  " + _outputs_line(result.outputs)
            yield from (f"  {line}" for line in feasible_text(result.outputs.feasible))
    elif result.status == "infeasible":
        yield "  `odt explain` says which rules conflict, and which changes would help"
    elif result.status == "unknown":
        for stage in result.stages:
            if stage.bound is not None:
                yield f"  {stage.text}: no value, bound {shown(stage.bound)}"
        yield (
            "  another back end (`--using auto`) or looser rules may help"
            if gives_up(result.backend)
            else "  more time (`--within`) or looser rules may help"
        )
    if result.test is not None:
        yield "  " + test_line(result.test)
        yield from (f"    {line}" for line in test_lines(result.test, stage_texts(result)))
        if result.model is not None and len(result.model.ends) > 1 and no_better(result):
            yield (
                "    no better than one leaf there: less depth, larger leaves or a price of leaves"
                " may help; `odt tune` chooses them"
            )
    yield f"  {result.by}, {result.seconds:.2f} s, seed {result.seed}"
    if result.certificate is not None:
        yield f"  {result.certificate}"
    if result.audit is not None:
        yield ""
        yield from audited(result.audit)
    if result.test is not None and result.test.audit is not None and result.test.audit.lines:
        yield ""
        yield from audited_test(result.test.audit)


def status_line(result: Result) -> str:
    """The status in words, for the kind of model that the spec asks for."""
    line = STATUS[result.status]
    asked = None if result.rows is None else result.rows.problem.skeleton
    joins = isinstance(asked, DiagramSkeleton) and not asked.tree
    return line.replace(" tree ", " diagram ") if joins else line


def drawn(model: Predictor, *, missing: MissingShown = False) -> str:
    """A tree or a diagram as text."""
    if isinstance(model, Tree):
        return to_text(model, missing=missing)
    assert isinstance(model, Diagram), "a model is a tree or a diagram"
    return diagram_to_text(model, missing=missing)


def model_text(model: Predictor) -> str:
    """A tree or a diagram as text, as `odt solve` prints it."""
    return drawn(model).rstrip("\n")


def result_text(result: Result) -> str:
    """What `odt solve` prints: the model, its status, and the audit."""
    missing = False if result.rows is None else result.rows.may_miss
    return "\n".join(answer(result, missing=missing))


def audit_text(audit: Audit) -> str:
    """An audit as `odt audit` prints it: a table of the rules."""
    return "\n".join(audited(audit))


def test_text(test: TestScore) -> str:
    """How a model does on rows that may be any, also those of training, and every rule there."""
    lines = [score_line(test, "here")]
    if test.baseline is not None:
        lines.append(f"{constant_name(test.baseline)}: {_figures(test.baseline)}")
    if test.outputs is not None:
        lines.append(_outputs_line(test.outputs))
    if test.audit is not None and test.audit.lines:
        lines += ["", *audited_test(test.audit, "row")]
    return "\n".join(lines)


def decoded(result: Result, name: str, *, missing: MissingShown = False) -> Iterator[str]:
    """A model that was read from another solver's answer, its values and its audit."""
    assert result.model is not None, "it is decoded"
    yield drawn(result.model, missing=missing).rstrip("\n")
    yield ""
    yield f"the {'tree' if result.diagram is None else 'diagram'} decoded from {name}"
    for stage in result.stages:
        yield f"  {stage.text}: {shown(stage.value)}"
    yield "  " + size_line(result)
    if result.test is not None:
        yield "  " + test_line(result.test)
    if result.audit is not None:
        yield ""
        yield from audited(result.audit)


def size_line(result: Result) -> str:
    """`depth 3, 7 leaves, 2 training errors`."""
    audit = result.audit
    errors, model = None if audit is None else audit.errors, result.model
    assert model is not None, "the caller asks"
    if (diagram := result.diagram) is not None:
        size = f"depth {diagram.depth}, {counted(diagram.n_splits, 'split')}"
    else:
        assert result.tree is not None, "a model is a tree or a diagram"
        size = f"depth {model.depth}, {counted(result.tree.n_leaves, 'leaf', 'leaves')}"
    if errors is None:
        return size
    if any(leaf.class_weights and is_weighted(leaf) for leaf in model.ends):
        return f"{size}, training errors of weight {shown(errors)}"
    return f"{size}, {shown(errors)} training {'error' if errors == 1 else 'errors'}"


def test_line(test: TestScore) -> str:
    """What is reported of test rows."""
    return score_line(test, "test")


def score_line(test: TestScore, of: str) -> str:
    """What is reported of rows; `of` says what they are."""
    aside = " by weight" if test.weighted else ""
    if test.accuracy is None:
        return f"{of}: {_figures(test)}{aside} on {counted(test.rows, 'row')}"
    wrong = counted(test.errors or 0, "error")
    return f"{of}: {wrong} on {counted(test.rows, 'row')}, accuracy {test.accuracy:.2%}{aside}"


def _figures(test: TestScore) -> str:
    if test.accuracy is None:
        return ", ".join(f"{name} {value:.6g}" for name, value in test.figures.items())
    return f"{counted(test.errors or 0, 'error')}, accuracy {test.accuracy:.2%}"


def stage_texts(result: Result) -> tuple[str, ...]:
    """The stages of the objective, such as `minimize errors`."""
    return tuple(stage.text for stage in result.stages)


def test_lines(test: TestScore, stages: Sequence[str]) -> Iterator[str]:
    """What the best constant has on test rows, and the objective there, stage by stage.

    A stage that `test_line` has said, as `minimize errors` of rows that count alike, and one that
    is of no rows, as `minimize leaves`, is not said again.
    """
    base = test.baseline
    if base is not None:
        yield f"{constant_name(base)}: {_figures(base)}"
    if any(math.isinf(value) for value in test.figures.values()):
        yield (
            "a leaf predicts 0, but a row there has more: the deviance has no bound; larger leaves,"
            " or a rule such as `forall leaf: y >= 0.01`, may help"
        )
    if test.audit is None:
        return
    plain = None if base is None or base.audit is None else base.audit.objective
    for at, (text, value) in enumerate(zip(stages, test.audit.objective, strict=True)):
        if not test.audit.of_rows[at] or is_in_test_line(text, value, test):
            continue
        line = f"{text}: {_value(value)}"
        if base is not None and plain is not None:
            line += f"; {constant_name(base)} {_value(plain[at])}"
        yield line


def no_better(result: Result) -> bool:
    """Whether the best constant does at least as well on test rows, by the first objective."""
    test = result.test
    base = None if test is None else test.baseline
    if test is None or base is None or test.audit is None or base.audit is None:
        return False
    own, plain = test.audit.objective[0], base.audit.objective[0]
    if own is None or plain is None or not test.audit.of_rows[0]:
        return False
    return own <= plain if result.stages[0].text.startswith("maximize") else own >= plain


def constant_name(base: TestScore) -> str:
    """`always predicting no`, or `always predicting 3.5`: what gives every row the same."""
    values = (rounded(v) if isinstance(v, float) else label_text(v) for v in base.predicts)
    return "always predicting " + ", ".join(values)


def _value(value: Fraction | None) -> str:
    return "no value" if value is None else shown(value)


def is_in_test_line(text: str, value: Fraction | None, test: TestScore) -> bool:
    """Whether `test_line` already gives the value of a stage on test rows."""
    if value is None:
        return False
    if test.errors is None:
        alike = test.figures.get(text.partition(" ")[2])
        return alike is not None and math.isclose(value, alike, rel_tol=1e-9)
    if text == "minimize errors":
        return value == test.errors
    shares = {"minimize error_rate": test.wrong, "maximize accuracy": test.accuracy}
    alike = shares.get(text)
    return alike is not None and math.isclose(value, alike, rel_tol=1e-9, abs_tol=1e-12)


def trained_line(trained: int) -> str:
    """What is said of rows among which are so many training rows."""
    return f"{trained:,} of them are the training rows of the spec: this is no test"


COLUMNS = ("rule", "holds", "value", "bound", "slack", "rows", "condition")
"""Of the tables of audits."""


def audited_test(audit: AuditOfRows, row: str = "test row") -> Iterator[str]:
    """The rules on test rows, and which of them do not hold, or are not measured there.

    `row`: what one of the rows is called.
    """
    broken = [line.rule for line in audit.lines if line.holds is False and not line.soft]
    said = f"; broken here: {', '.join(broken)}" if broken else ""
    unknown = [line.rule for line in audit.lines if line.holds is None]
    said += f"; not measured here: {', '.join(unknown)}" if unknown else ""
    yield (f"on the {counted(audit.n_rows, row)} (rules are enforced on training rows only{said}):")
    yield from table([COLUMNS, *map(checked, audit.lines)], indent="  ")
    yield from by_group(audit.lines)


def feasible_text(lines: Sequence[str]) -> Iterator[str]:
    """The feasible set of outputs under a heading; nothing for no lines."""
    if len(lines) == 1:
        yield f"outputs: {lines[0]}"
    elif lines:
        yield "outputs in one of:"
        yield from (f"  {line}" for line in lines)


def _outputs_line(outputs: OutputScore) -> str:
    """Errors by target, and predictions that break a rule on outputs."""
    each = ", ".join(f"{name} {value:.6g}" for name, value in outputs.mse)
    broken = f"; {outputs.infeasible} of {outputs.rows} predictions break rules on outputs"
    return f"mse of {each}" + (broken if outputs.infeasible else "")


def stage_line(stage: Stage) -> str:
    """`minimize errors: 78, proven` or with bound and gap."""
    line = f"{stage.text}: {shown(stage.value)}"
    if stage.proven:
        return line + ", proven"
    if stage.bound is None:
        return line + ", no bound"
    gap = "unknown" if stage.gap is None else f"{float(stage.gap):.2%}"
    return f"{line}, bound {shown(stage.bound)}, gap {gap}"


def audited(audit: Audit) -> Iterator[str]:
    """The audit as a table."""
    yield "audit, by code that shares nothing with the solver:"
    yield from table([COLUMNS, *map(checked, audit.lines)], indent="  ")
    yield from by_group(audit.lines)


GROUP_COLUMNS = ("rule", "measure", "group", "value", "rows")
"""Of the tables of groups that rules compare."""

MAX_GROUPS = 8
"""Of a measure with more groups, the text names the lowest and the highest half of these."""


def by_group(lines: Sequence[AuditLine]) -> Iterator[str]:
    """What each measure is in the groups that a rule compares; nothing where none does."""
    rows = [row for line in lines for row in group_rows(line, MAX_GROUPS)]
    if rows:
        yield "  by group, lowest first:"
        yield from table([GROUP_COLUMNS, *rows], indent="    ")


def group_rows(line: AuditLine, most: int | None = None) -> Iterator[tuple[str, ...]]:
    """The groups of a line under `GROUP_COLUMNS`, lowest first, those without rows last.

    Of more than `most`, those in the middle are left out, and one row says how many; a single one
    has that row for itself.
    """
    for measure in dict.fromkeys(one.measure for one in line.groups):
        found = [one for one in line.groups if one.measure == measure]
        found.sort(key=lambda one: (one.value is None, one.value or 0))
        rows = [
            (line.rule, measure, one.group or "all rows", shown(one.value), str(one.rows))
            for one in found
        ]
        if most is not None and len(rows) > most + 1:
            half = most // 2
            left = (line.rule, measure, f"({len(rows) - 2 * half} more)", "", "")
            rows = [*rows[:half], left, *rows[-half:]]
        yield from rows


def checked(line: AuditLine) -> tuple[str, ...]:
    """A line of an audit under `COLUMNS`."""
    condition = line.text + (f"   ({line.note})" if line.note else "")
    return (
        line.rule,
        kept_text(line),
        *sides_text(line),
        slack_text(line),
        row_counts_text(line),
        condition,
    )


def kept_text(line: AuditLine) -> str:
    """Whether a line holds; of a rule that has no value here, that it is not measured."""
    if line.holds is None:
        return "not measured"
    return "yes" if line.holds else "soft" if line.soft else "NO"


MAX_ROW_COUNTS = 4


def row_counts_text(line: AuditLine) -> str:
    """How many rows a line rests on: of each group in the order of the rule, or their range."""
    each = [one.rows for one in line.rows]
    if len(each) > MAX_ROW_COUNTS:
        return f"{min(each)} to {max(each)}"
    return ", ".join(map(str, each)) or "-"


LEVELS = {"exact": "yes", "costly": "costly", "unsupported": "no"}


def planned(plan: Plan) -> Iterator[str]:
    """Which back end runs and why, what each has, and what keeps each other one from it."""
    choice = plan.choice
    names = dict.fromkeys(step.backend for step in choice.steps if step.kind != "start")
    yield f"back end: {', then '.join(names) or 'none'} ({choice.reason})"
    if len(choice.steps) == 1 and plan.size:
        yield f"encoding: {encoding_text(plan.size)}"
    elif len(choice.steps) > 1:
        yield "steps, until one closes the problem:"
        for number, (step, size) in enumerate(zip(choice.steps, plan.sizes, strict=True), start=1):
            yield f"  {number}. {_step(step, size)}"
    yield ""
    rows = [("needs", "for", "inside or", *(name for name, _ in choice.refusals))]
    for one in plan.support:
        inside = "yes" if one.need.inside_or else ""
        levels = (LEVELS[support.level] for _, support in one.by)
        rows.append((one.need.form.value, one.need.origin.rule, inside, *levels))
    yield from table(rows)
    for name, refusals in choice.refusals:
        if refusals:
            first = refusals[0]
            yield ""
            yield (
                f"{name} cannot express {first.need.described}:"
                if first.of_form
                else f"{first.need.subject} is beyond {name}:"
            )
            yield f"  {first.reason}"


def encoding_text(size: Iterable[tuple[str, int]]) -> str:
    """What an encoding counts: `225 rows, 1 feature, depth 2`."""
    return ", ".join(
        f"{name} {count}" if name == "depth" else _counted(count, name) for name, count in size
    )


def _counted(count: int, many: str) -> str:
    """`3 features`, `1 feature`, `1 family`."""
    one = f"{many[:-3]}y" if many.endswith("ies") else many.removesuffix("s")
    return counted(count, one, many)


def _step(step: Step, size: tuple[tuple[str, int], ...]) -> str:
    """A step, when it is taken, its part of the time, and the size of its encoding."""
    when = ", once there is a diagram" if step.improves else ""
    if step.late:
        soon = f"ends within {step.least:g} s without a proof"
        when = f", only where the search {soon}, has no model, or is cut off"
    elif step.brief:
        when = ", in case the search is stopped"
    told = [str(step) + when]
    if step.share < 1:
        least = f", but at least {step.least:g} s" if step.least else ""
        told.append(f"up to {step.share:.0%} of the remaining time{least}")
    if step.brief:
        told.append("stops at the first good tree")
    if size and step.kind == "rest":
        told.append(
            f"encoding of the whole problem: {encoding_text(size)}; it builds only part of it"
        )
    elif size:
        told.append(encoding_text(size))
    return "; ".join(told)


def compared(comparison: Comparison) -> Iterator[str]:
    """The runs of a comparison as a table, and why the other back ends were left out."""
    rows: list[tuple[str, ...]] = [
        ("back end", "status", "objective", "bound", "depth", "leaves", "encoding", "seconds")
    ]
    for entry in comparison.entries:
        if (result := entry.result) is not None:
            model = result.model
            rows.append(
                (
                    entry.name,
                    result.status,
                    _stages_of(s.value for s in result.stages),
                    _stages_of(s.bound for s in result.stages),
                    "-" if model is None else str(model.depth),
                    "-" if model is None else str(model.n_leaves),
                    encoding_text(result.size[:3]) or "-",
                    f"{result.seconds:.2f} s",
                )
            )
    yield from table(rows)
    for entry in comparison.entries:
        if entry.result is None:
            yield ""
            yield f"{entry.name} is left out: {entry.reason}"


def _stages_of(values: Iterable[Fraction | None]) -> str:
    return ", ".join(map(shown, values)) or "-"


def plan_text(plan: Plan) -> str:
    """A plan as `odt plan` prints it."""
    return "\n".join(planned(plan))


def comparison_text(comparison: Comparison) -> str:
    """A comparison as `odt compare` prints it."""
    return "\n".join(compared(comparison))
