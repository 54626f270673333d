"""Lists of trees by `odt solve`: all optimal ones, and those near the best."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.interfaces.cli.common import (
    STATUS_CODES,
    WRONG,
    missing_in,
    print_json,
    print_lines,
    shows_missing,
    warn,
)
from odtdsl.interfaces.cli.outputs import deliver, pictures

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.driver.alternatives import Alternatives
    from odtdsl.driver.collected import Alternative
    from odtdsl.driver.near import Near
    from odtdsl.insight.proofs.commands import Written


@dataclass(frozen=True, kw_only=True)
class Wish:
    """The list that is asked for: how far from the best, how many trees, and what of them."""

    near: Near | None
    most: int
    count: bool
    reliance: bool


def wish_of(
    *, all_optimal: bool, near: str | None, most: int | None, count: bool, reliance: bool
) -> Wish | None:
    """The list that is asked for; None if a single tree is."""
    if not all_optimal and near is None:
        for flag, given in (("most", most is not None), ("count", count), ("reliance", reliance)):
            if given:
                raise only_of_lists(flag)
        return None
    if all_optimal and near is not None:
        raise error("U315", "`--near` includes the optimal trees", helps=("omit `--all-optimal`",))
    from odtdsl.driver.alternatives import MAX_LISTED_TREES, at_least_one
    from odtdsl.driver.near import parse_near

    return Wish(
        near=None if near is None else parse_near(near),
        most=at_least_one(MAX_LISTED_TREES if most is None else most),
        count=count,
        reliance=reliance,
    )


def only_of_lists(flag: str) -> OdtError:
    """The refusal of a flag that makes sense only beside a list of trees."""
    return error(
        "U313",
        f"`--{flag}` applies to lists of trees only",
        helps=("add `--near 1%`, or `--all-optimal`",),
    )


@dataclass(kw_only=True)
class ProvingList:
    """A certificate of a list to be written, with the names of its trees, or how many there are."""

    path: Path
    spec: Path
    began: float
    seconds: float | None
    named: bool
    unwritten: bool = False
    made: Written | None = None

    def run(self, analysis: Analysis, found: Alternatives) -> Alternatives:
        """The list, with what kept the certificate from being written among its warnings."""
        from odtdsl.insight.proofs.commands import log_list

        known = len(found.result.warnings)
        found, self.made = log_list(
            analysis, found, self.path, self.began, self.seconds, named=self.named
        )
        self.unwritten = any(one.code == "F301" for one in found.result.warnings[known:])
        return found

    def tell(self, analysis: Analysis, found: Alternatives) -> None:
        """Write it, and say so, or why not."""
        from odtdsl.insight.proofs.commands import written

        warn(self.run(analysis, found).result.warnings[len(found.result.warnings) :])
        print_lines(written(self.made, self.path, self.spec))


def require_covered(analysis: Analysis) -> None:
    """Refuse, before the work, what a certificate of a list does not cover."""
    from odtdsl.insight.proofs import covered
    from odtdsl.problem.terms.normalize import normalize

    covered.require_covered(normalize(analysis.rows), listing=True)


def list_trees(
    analysis: Analysis,
    wish: Wish,
    *,
    as_json: bool,
    drawn: tuple[Path | None, Path | None, Path | None],
    chooser: Path | None,
    proving: ProvingList | None,
    **options: Any,
) -> int:
    """Print the trees of a list, and write its files: `drawn` gets the best, `chooser` all."""
    found, told = _found(analysis, wish, as_json, options)

    def answer() -> None:
        if as_json and proving is not None:
            from odtdsl.insight.proofs.commands import written_json

            one = proving.run(analysis, found).to_json()  # one object says all
            print_json(one | {"proof": written_json(proving.made, proving.path)})
        elif as_json:
            print_json(found.to_json())
        else:
            from odtdsl.presentation import lists

            missing = shows_missing(analysis)
            print_lines(lists.listed(found, missing=missing, only=wish.count, told=told))

    best = found.trees[0].tree if found.trees else None
    notes = None if best is None else missing_in(best, analysis)
    writes = list(pictures(best, *drawn, notes=notes))
    if chooser is not None and best is not None:
        from odtdsl.presentation.chooser import write

        writes.append(lambda: write(found, analysis, chooser))
    if proving is not None and not as_json:
        writes.append(lambda: proving.tell(analysis, found))
    deliver(answer, *writes)
    return WRONG if proving is not None and proving.unwritten else STATUS_CODES[found.status]


def _found(
    analysis: Analysis, wish: Wish, as_json: bool, options: dict[str, Any]
) -> tuple[Alternatives, int]:
    """The list, and how many of its trees were printed as they were found."""
    from odtdsl.driver.alternatives import alternatives
    from odtdsl.interfaces.cli.progress import Waiting
    from odtdsl.presentation import lists

    missing = shows_missing(analysis)
    told = 0

    with Waiting(quiet=as_json) as waiting:

        def tell(one: Alternative) -> None:
            nonlocal told
            told += 1
            waiting.clear()
            print_lines(lists.one_of_a_list(told, one, missing=missing))
            sys.stdout.flush()

        found = alternatives(
            analysis,
            near=wish.near,
            most=wish.most,
            tell=not wish.count if wish.count or as_json else tell,
            count=wish.reliance,
            report=waiting,
            **options,
        )
    return found, told


__all__ = ["ProvingList", "Wish", "list_trees", "only_of_lists", "require_covered", "wish_of"]
