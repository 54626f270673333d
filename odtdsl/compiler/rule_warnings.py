"""Warnings, before any search, about rules that no split, path or model can satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.frozen import dataclass
from odtdsl.base.numbers import counted
from odtdsl.compiler.bounds import Frame, ModelFacts, least_asking
from odtdsl.compiler.context import Reporter
from odtdsl.compiler.share_bounds import above_all, warn_of_bound, warn_of_costs, warn_of_rows
from odtdsl.datasets.candidates import BOOSTED_ROWS
from odtdsl.language.expressions import coded, name_text
from odtdsl.problem.ir.expr import MIRRORED, Apply, Compare, Const, Scope
from odtdsl.problem.ir.families import Family, begun_families
from odtdsl.problem.ir.filters import tests_at
from odtdsl.problem.ir.forms import (
    Additive,
    Budget,
    Clause,
    DepthMeasure,
    Linear,
    MaximaBound,
    PathTotal,
    SplitFilter,
)
from odtdsl.problem.ir.intervals import FULL, RealSet, nearest_float
from odtdsl.problem.ir.problem import FeatureDecl, RuleDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import EmptyDenominator, Unsupported
from odtdsl.problem.terms.formulas import TooManyCases
from odtdsl.problem.terms.normalize import RuleForms, rule_forms
from odtdsl.problem.terms.registry import BY_NAME


def warn_of_rules(rows: Rows, reporter: Reporter) -> None:
    """Report warnings; rules that normalization refuses are left to it."""
    for feature in rows.problem.features:
        if feature.candidates.place == "values":
            listed = RealSet.points(float(value) for value in feature.candidates.values)
            if (range_ := _range(feature, rows)) is not None and not _meets(listed, range_):
                reporter.warn(
                    "D212",
                    f"no split can test `{feature.name}`: no candidate lies between its values",
                    feature.candidates.span,
                    notes=(_between(feature, range_),),
                )
    guessed = [one for one in rows.problem.features if one.candidates.place == "guessed"]
    if rows.n_rows > BOOSTED_ROWS and guessed:
        reporter.warn(
            "D225",
            (
                "the thresholds of `candidates at guessed` come from a sample of "
                f"{BOOSTED_ROWS:,} of the {rows.n_rows:,} rows"
            ),
            guessed[0].candidates.span,
            helps=("another `seed` draws another sample; `at quantiles 20` uses all rows",),
        )
    said: list[RuleWithForms] = []
    refuted: set[str] = set()
    for rule in rows.problem.rules:
        try:
            forms = rule_forms(rule, rows)
        except (Unsupported, EmptyDenominator, TooManyCases, OdtError):
            continue
        _doubt_filters(rule, forms.filters, rows, reporter)
        said.append(RuleWithForms(rule=rule, forms=forms))
    if said:
        frame = Frame(
            skeleton=rows.problem.skeleton,
            n_rows=rows.n_rows,
            n_columns=len(rows.problem.features),
            families=begun_families(rows),
        )
        conflicts = find(frame, said)
        refuted = {one.rules[0].name for one in conflicts if len(one.rules) == 1}
        _report_rules(conflicts, rows, reporter)
        _warn_of_thresholds(said, frame, rows, reporter)
    for rule in rows.problem.rules:
        if rule.name not in refuted:
            warn_of_bound(rule, reporter)
            warn_of_costs(rule, rows.problem.costs, reporter)
        warn_of_rows(rule, rows.problem.weight is not None, reporter)


# ---- thresholds


def _doubt_filters(
    rule: RuleDecl, filters: tuple[SplitFilter, ...], rows: Rows, reporter: Reporter
) -> None:
    for each in filters:
        feature = rows.problem.features[each.column]
        range_ = _range(feature, rows)
        if range_ is None or not each.allowed or each.allowed == FULL:
            continue
        if not _meets(each.allowed, range_):
            reporter.warn(
                "R106",
                f"rule `{rule.name}` leaves no possible split on `{feature.name}`",
                rule.span,
                notes=(_between(feature, range_),),
                helps=(
                    (
                        "use thresholds inside this range; to exclude the feature, write "
                        f"{coded(f'not uses({name_text(feature.name)})')}"
                    ),
                ),
            )


def _range(feature: FeatureDecl, rows: Rows) -> tuple[float, float] | None:
    """The least and largest training value of a number; None for others and without two."""
    numbers = rows.data.columns[feature.name].numbers
    if numbers is None:
        return None
    present = numbers[~np.isnan(numbers)]
    if not present.size or present.min() == present.max():
        return None
    return float(present.min()), float(present.max())


def _meets(allowed: RealSet, range_: tuple[float, float]) -> bool:
    """Whether some threshold of the set parts the values: it lies in [low, high)."""
    low, high = range_
    return bool(allowed & RealSet.above(low, closed=True) & RealSet.below(high, closed=False))


def _between(feature: FeatureDecl, range_: tuple[float, float]) -> str:
    return f"the training values of `{feature.name}` lie between {range_[0]:g} and {range_[1]:g}"


# ---- rules that cannot hold


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleWithForms:
    """A rule and its forms."""

    rule: RuleDecl
    forms: RuleForms


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contradiction:
    """Rules that cannot hold together; `still`: of `split` rules, that no split may stand.

    Attributes
    ----------
    rules
        In the order of the spec; without any of them nothing is plain.
    clauses
        What is false: one clause, or two at odds. Empty where features cost too much.
    what
        What cannot keep them: `tree`, `path`, `leaf`, `split`, or `budget` where no split can
        be paid for.
    facts
        What the rules leave.
    """

    rules: tuple[RuleDecl, ...]
    clauses: tuple[Clause, ...]
    what: str
    facts: ModelFacts


def find(frame: Frame, said: Sequence[RuleWithForms]) -> tuple[Contradiction, ...]:
    """Rules that no model can keep, alone first, then disjoint sets of the others."""
    found: list[Contradiction] = []
    rest: list[RuleWithForms] = []
    free = ModelFacts(frame)
    for one in said:
        alone = _alone(frame, one, free)
        if alone is not None:
            found.append(alone)
        if alone is None or alone.what in ("split", "budget"):
            rest.append(one)
    while (facts := _facts(frame, rest)).refute() is not None:
        least = list(rest)
        for one in rest:
            fewer = [other for other in least if other is not one]
            if _facts(frame, fewer).refute() is not None:
                least = fewer
        facts = _facts(frame, least)
        why = facts.refute()
        assert why is not None, "the last set that was refuted"
        names = tuple(one.rule for one in least)
        found.append(Contradiction(rules=names, clauses=why.clauses, what="tree", facts=facts))
        rest = [one for one in rest if one not in least]
    return tuple(found)


def _facts(frame: Frame, said: Sequence[RuleWithForms]) -> ModelFacts:
    return ModelFacts(
        frame,
        [clause for one in said for clause in one.forms.clauses],
        [filter_ for one in said for filter_ in one.forms.filters],
    )


def _alone(frame: Frame, one: RuleWithForms, free: ModelFacts) -> Contradiction | None:
    facts, scope = _facts(frame, [one]), one.rule.scope
    what = "tree" if scope is Scope.MODEL else scope.value
    clauses: tuple[Clause, ...] | None = None
    if (why := facts.refute()) is not None:
        clauses = why.clauses
    elif scope is Scope.SPLIT:
        for clause in one.forms.clauses:
            if all(free.impossible(literal, scope) for literal in clause.literals):
                clauses = (clause,)
                break
    elif free.leaves > 1 and facts.leaves == 1 and _priced(one) and facts.closed.all():
        what, clauses = "budget", ()
    if clauses is None:
        return None
    return Contradiction(rules=(one.rule,), clauses=clauses, what=what, facts=facts)


def _priced(one: RuleWithForms) -> bool:
    """Whether a rule is a budget of paths."""
    literals = [literal for clause in one.forms.clauses for literal in clause.literals]
    return bool(literals) and all(isinstance(literal.atom, Budget) for literal in literals)


def _report_rules(conflicts: tuple[Contradiction, ...], rows: Rows, reporter: Reporter) -> None:
    for found in conflicts:
        rule = found.rules[0]
        if len(found.rules) > 1:
            names = " and ".join(f"`{one.name}`" for one in found.rules)
            reporter.warn(
                "R108",
                f"no tree can satisfy rules {names} together",
                rule.span,
                also=tuple((one.span, "") for one in found.rules[1:]),
                notes=_why_together(found),
                helps=("remove or loosen one of them",),
            )
        elif found.what == "budget":
            _report_budget(found, rows, reporter)
        else:
            reporter.warn(
                "R107",
                f"no {found.what} can satisfy rule `{rule.name}`",
                rule.span,
                notes=_why(found, rows),
                helps=tuple(said for one in above_all(rule.condition) for said in one.helps),
            )


def _report_budget(found: Contradiction, rows: Rows, reporter: Reporter) -> None:
    """No test can be paid for: what the cheapest costs."""
    rule = found.rules[0]
    budgets = [
        literal.atom
        for clause in found.facts.clauses
        for literal in clause.literals
        if isinstance(literal.atom, Budget)
    ]
    features = rows.problem.features
    if len(budgets) != 1 or not isinstance(rule.condition, Compare):
        reporter.warn("R109", f"rule `{rule.name}` excludes every split", rule.span)
        return
    measure = budgets[0].measure
    cheapest = min(range(len(features)), key=lambda column: least_asking(measure, column))
    missed = Fraction(least_asking(measure, cheapest) - budgets[0].at_most, measure.denominator)
    reporter.warn(
        "R109",
        f"rule `{rule.name}` excludes every split: every feature costs too much",
        rule.span,
        notes=(
            (
                f"a path that tests only the cheapest feature, `{features[cheapest].name}`, "
                f"misses the bound by {nearest_float(missed):g}"
            ),
        ),
        helps=("raise the bound by at least that much",),
    )


def _why(found: Contradiction, rows: Rows) -> tuple[str, ...]:
    """By how much a bound is missed at the best; nothing where it is strict."""
    rule = found.rules[0]
    if len(found.clauses) == 2:
        return ("two of its bounds exclude each other",)
    notes: list[str] = []
    if (missed := _missed(found)) is not None and not _is_strict(rule):
        notes.append(f"the bound is missed by at least {nearest_float(missed):g}")
    return (*notes, *_best(found, rows), *_twins(found, rows))


def _is_strict(rule: RuleDecl) -> bool:
    return isinstance(rule.condition, Compare) and rule.condition.op in ("<", ">")


def _missed(found: Contradiction) -> Fraction | None:
    """What the only bound of a clause is missed by at the best, in its units."""
    if len(found.clauses) != 1 or len(found.clauses[0].literals) != 1:
        return None
    (clause,) = found.clauses
    (literal,) = clause.literals
    atom, least = literal.atom, found.facts.least(literal, clause.scope)
    if least is None or not isinstance(atom, Budget | Linear | PathTotal) or least <= atom.at_most:
        return None
    return Fraction(least - atom.at_most, atom.measure.denominator)


def _best(found: Contradiction, rows: Rows) -> tuple[str, ...]:
    """The best value of a measure of the model that a rule compares with a number."""
    (rule,) = found.rules
    condition = rule.condition
    if rule.scope is not Scope.MODEL or not isinstance(condition, Compare):
        return ()
    call, op = condition.left, condition.op
    if isinstance(call, Const):
        call, op = condition.right, MIRRORED[op]
    if not isinstance(call, Apply) or op not in ("<=", "<", ">=", ">"):
        return ()
    measure = BY_NAME[call.term].translate(rows, rule.scope, call)
    if isinstance(measure, DepthMeasure) and op in (">=", ">") and found.facts.frame.axis:
        return (f"no tree is deeper than {found.facts.depth}",)
    if not isinstance(measure, Additive):
        return ()
    sign = 1 if op in ("<=", "<") else -1
    least = found.facts.least_of_model(measure.scaled(Fraction(sign)))
    if least is None:
        return ()
    value = nearest_float(Fraction(sign * least, measure.denominator))
    return (f"no tree has {'less' if sign == 1 else 'more'} than {value:.6g}",)


def _twins(found: Contradiction, rows: Rows) -> tuple[str, ...]:
    """Rows that every tree treats alike though their classes differ."""
    atoms = [literal.atom for clause in found.clauses for literal in clause.literals]
    if rows.data.labels is None or found.facts.leaves == 1 or not found.facts.frame.axis:
        return ()
    measures = [atom.measure for atom in atoms if isinstance(atom, Linear)]
    measures += [one for atom in atoms if isinstance(atom, MaximaBound) for one in atom.measures]
    if not any(measure.output is not None for measure in measures):
        return ()
    blocks, labels = found.facts.blocks, rows.labels
    seen = np.zeros((int(blocks.max()) + 1, rows.n_classes), dtype=bool)
    seen[blocks, labels] = True
    mixed = seen.sum(axis=1)[blocks] > 1
    if not mixed.any():
        return ()
    first = int(np.flatnonzero(mixed)[0])
    other = int(np.flatnonzero((blocks == blocks[first]) & (labels != labels[first]))[0])
    names = rows.data.row_numbers[[first, other]].tolist()
    return (
        (
            f"the tests cannot separate {counted(int(mixed.sum()), 'row')} from a row of another "
            f"class: rows {names[0]} and {names[1]}, for example"
        ),
    )


def _why_together(found: Contradiction) -> tuple[str, ...]:
    """Which of the rules fails where the others hold, and by how much."""
    names = [clause.origin.rule for clause in found.clauses]
    if len(set(names)) == 2:
        return (f"the bounds of `{names[0]}` and `{names[1]}` exclude each other",)
    notes = [f"when the others hold, `{names[0]}` cannot"]
    missed = _missed(found)
    failing = next(rule for rule in found.rules if rule.name == names[0])
    if missed is not None and not _is_strict(failing):
        notes = [f"{notes[0]}: its bound is missed by at least {nearest_float(missed):g}"]
    return tuple(notes)


# ---- thresholds that several rules, or a rule and candidates, leave


def _warn_of_thresholds(
    said: Sequence[RuleWithForms], frame: Frame, rows: Rows, reporter: Reporter
) -> None:
    """A column whose thresholds are all refused, though each rule alone lets some stand."""
    for column, speaking in closed_by_thresholds(said, frame):
        feature = rows.problem.features[column]
        rules = " and ".join(f"`{rule.name}`" for rule in speaking)
        together = "rules" if len(speaking) > 1 else "rule"
        everywhere = feature.candidates.place.startswith("midpoints")
        candidates = "" if everywhere else " and its candidates"
        lets = "leave" if len(speaking) > 1 or candidates else "leaves"
        reporter.warn(
            "R110",
            f"{together} {rules}{candidates} {lets} no possible split on `{feature.name}`",
            speaking[0].span,
            also=tuple((rule.span, "") for rule in speaking[1:]),
            notes=("no threshold between two of its training values satisfies all of them",),
            helps=(
                (
                    "let them share a threshold; to exclude the feature, write "
                    f"{coded(f'not uses({name_text(feature.name)})')}"
                ),
            ),
        )


def closed_by_thresholds(
    said: Sequence[RuleWithForms], frame: Frame
) -> tuple[tuple[int, tuple[RuleDecl, ...]], ...]:
    """Columns that may be split without the threshold rules named, and not with them.

    Rules that refuse a column whole, and those that R106 tells, are left out.
    """
    of_column: dict[int, list[tuple[RuleDecl, SplitFilter]]] = {}
    for one in said:
        for each in one.forms.filters:
            if each.allowed and each.levels is None:
                of_column.setdefault(each.column, []).append((one.rule, each))
    found: dict[int, tuple[RuleDecl, ...]] = {}
    for family in frame.families:
        speaking = of_column.get(family.column, [])
        if family.kind != "threshold" or family.column in found or not speaking:
            continue
        if not _admits(family, ()) or not _in_range(family, speaking):
            continue
        filters = [each for _, each in speaking]
        if _admits(family, filters):
            continue
        for each in list(filters):
            fewer = [other for other in filters if other is not each]
            if not _admits(family, fewer):
                filters = fewer
        kept = {id(each) for each in filters}
        names = dict.fromkeys(rule for rule, each in speaking if id(each) in kept)
        found[family.column] = tuple(names)
    return tuple(found.items())


def _admits(family: Family, filters: Sequence[SplitFilter]) -> bool:
    return bool(tests_at(family, filters, 0).any())


def _in_range(family: Family, speaking: Sequence[tuple[RuleDecl, SplitFilter]]) -> bool:
    """Whether each rule alone has thresholds among the values; R106 reports the others."""
    range_ = float(family.values[0]), float(family.values[-1])
    return all(_meets(each.allowed, range_) for _, each in speaking)
