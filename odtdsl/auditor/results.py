"""What an audit says: a line for each rule and each part of the skeleton."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, cast

from odtdsl.base.frozen import dataclass
from odtdsl.base.methods import method
from odtdsl.base.numbers import as_number, as_value


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount:
    """How many rows something is measured on; `of` says which, and is empty for all rows."""

    of: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupValue:
    """What a measure is in one of the groups that a rule compares.

    `group` is empty for all rows; `value` is None where the group has no row to measure.
    """

    measure: str
    group: str
    value: Fraction | None
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One line of an audit.

    Attributes
    ----------
    rule
        The rule's name, or a part of the skeleton.
    holds
        None where it is not measured: on rows other than those of training, a rule that has no
        value there; `note` says why.
    value, bound, slack
        For a comparison, the sides where it is tightest and how much room is left
        (negative where it is broken); None for other conditions. Exact.
    instances
        How many paths, leaves or splits the rule ranges over; 1 for the whole model.
    rows
        How many rows each measure of the rule is taken over; where it ranges over leaves or
        splits, those of the one where it is tightest.
    groups
        Of a rule that compares groups, each measure in each group, in the order of the rule.
    note
        Why the line deserves a second look, such as "vacuous".
    soft
        Whether the spec only wishes for it: a rule on outputs whose leaves are `relaxed` or
        `average`. Then it may be broken, and `note` says in how many leaves.
    days
        Whether value and bound are days since 1970-01-01, which are shown as dates.
    """

    rule: str
    text: str
    holds: bool | None
    value: Fraction | None = None
    bound: Fraction | None = None
    slack: Fraction | None = None
    instances: int = 1
    rows: tuple[RowCount, ...] = ()
    groups: tuple[GroupValue, ...] = ()
    note: str = ""
    soft: bool = False
    days: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """All rules and the skeleton, checked; and the objective, recomputed.

    Attributes
    ----------
    objective
        The value of each stage, in the terms of the spec.
    errors
        Weight of the wrong predictions on the training rows; None for number targets.
    """

    lines: tuple[AuditLine, ...]
    objective: tuple[Fraction, ...]
    errors: Fraction | None

    @property
    def holds(self) -> bool:
        """Whether every line holds; soft lines may fail."""
        return all(line.holds or line.soft for line in self.lines)

    def __str__(self) -> str:
        """The table that `odt audit` prints."""
        return cast(str, method("Audit.__str__")(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOfRows:
    """Rules and objective on rows other than those of training.

    Attributes
    ----------
    objective
        The value of each stage; None where it is a share of no row here.
    of_rows
        Whether each stage speaks of rows: `minimize leaves` has one value on any rows.
    """

    lines: tuple[AuditLine, ...]
    objective: tuple[Fraction | None, ...]
    of_rows: tuple[bool, ...]
    n_rows: int


def audit_to_json(audit: Audit | AuditOfRows) -> list[dict[str, Any]]:
    """The lines of an audit; numbers as floats where they are not whole."""
    return lines_to_json(audit.lines)


def lines_to_json(lines: Iterable[AuditLine]) -> list[dict[str, Any]]:
    """Some lines of an audit, as `audit_to_json`."""
    return [
        {
            "rule": line.rule,
            "text": line.text,
            "holds": line.holds,
            "value": as_value(line.value),
            "bound": as_number(line.bound),
            "slack": as_value(line.slack),
            "instances": line.instances,
            "rows": [{"of": one.of, "rows": one.rows} for one in line.rows],
            "note": line.note,
            **({"groups": [_group(one) for one in line.groups]} if line.groups else {}),
            **({"soft": True} if line.soft else {}),
        }
        for line in lines
    ]


def _group(one: GroupValue) -> dict[str, Any]:
    return {
        "measure": one.measure,
        "group": one.group,
        "value": as_value(one.value),
        "rows": one.rows,
    }
