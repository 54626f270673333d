"""What a part of a proof claims, and the formula that has to be refuted for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from odtdsl.backends.clauses.lowering import Lowered, deepest, depth_first, shape_of
from odtdsl.backends.quotients import place_of
from odtdsl.backends.sat.search import Goal
from odtdsl.base.diagnostics.model import error
from odtdsl.problem.ir.forms import Core, DepthStage
from odtdsl.problem.ir.problem import DiagramSkeleton

MADE_BY = "ordered thresholds, 1"
"""The encoding; its number changes with its clauses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """No tree satisfies all rules, is no worse than `earlier`, and is better than `below`.

    Values are those of the core's stages: signed, so that less is better.

    Attributes
    ----------
    stage
        The stage that could be better, from 0; None claims that no tree satisfies all rules.
    earlier
        The values of the stages before it.
    below
        The value that no tree goes below; None without a stage.
    """

    stage: int | None
    earlier: tuple[Fraction, ...] = ()
    below: Fraction | None = None

    def by_depth(self, core: Core) -> bool:
        """Whether it is that of the depth that is minimized first."""
        return self.stage == 0 and depth_first(core)


def require_tree(core: Core) -> None:
    """Raise B102 for diagrams and for quotients to make large: proofs are not written of them."""
    if isinstance(core.skeleton, DiagramSkeleton):
        raise error(
            "B102",
            "proof files support trees only, but this spec asks for a diagram",
            helps=("omit `--proof`; `--using sat` still proves its answer, without a file",),
        )
    if place_of(core) is not None:
        raise error(
            "B102",
            "proof files support no quotient in the objective, which takes several searches",
            helps=('omit `--proof`, or make the quotient a rule, such as `f1("yes") >= 60%`',),
        )


def optimum(values: Iterable[Fraction]) -> tuple[Claim, ...]:
    """The claims that make a tree with these values optimal: one per stage."""
    known = tuple(values)
    return tuple(
        Claim(stage=stage, earlier=known[:stage], below=value) for stage, value in enumerate(known)
    )


def depth_of(core: Core, claim: Claim) -> int:
    """The depth of the perfect tree that a claim is about; below 0 there is none to refute."""
    if not depth_first(core) or claim.stage is None:
        return deepest(core)
    value = claim.below if claim.stage == 0 else claim.earlier[0]
    assert value is not None
    return int(value) - (claim.stage == 0)


def formula(core: Core, claim: Claim, rows: Iterable[int]) -> Lowered:
    """What a tree that contradicts a claim would satisfy, on some of the rows.

    The same arguments make the same clauses in the same order.
    """
    plain = depth_first(core) and claim.stage in (0, None)
    shaped = replace(core, objective=core.objective[:1]) if plain else core
    lowered = Lowered(core, depth_of(core, claim), shape_of(shaped))
    lowered.add_rows(sorted(rows))
    for stage, value in enumerate(claim.earlier):
        if stage or not depth_first(core):
            lowered.formula.group(f"stage {stage + 1} is at most {value}", "objective")
            Goal(lowered, stage).at_most(value)
    if claim.below is not None and not claim.by_depth(core):
        assert claim.stage is not None
        lowered.formula.group(f"stage {claim.stage + 1} is below {claim.below}", "objective")
        Goal(lowered, claim.stage).below(claim.below, ())
    return lowered


# ---- in words


def in_words(core: Core, texts: tuple[str, ...], claim: Claim) -> str:
    """A claim in the words of the spec; `texts` are its stages, such as `minimize errors`."""
    if claim.stage is None:
        return "no tree satisfies all rules"
    has = [
        f"{_measure(texts[i])} {_side(core, i)} {user_value(core, i, value)}"
        for i, value in enumerate(claim.earlier)
    ]
    assert claim.below is not None
    better = "above" if _turned(core, claim.stage) else "below"
    last = f"{better} {user_value(core, claim.stage, claim.below)}"
    kept = " and ".join([*has, f"{_measure(texts[claim.stage])} {last}"])
    return f"no tree that satisfies all rules has {kept}"


def user_value(core: Core, stage: int, value: Fraction) -> str:
    """A value as the spec would say it."""
    return number(-value if _turned(core, stage) else value)


def _measure(text: str) -> str:
    return text.partition(" ")[2]


def _side(core: Core, stage: int) -> str:
    return "at least" if _turned(core, stage) else "at most"


def _turned(core: Core, stage: int) -> bool:
    form = core.objective[stage]
    return not isinstance(form, DepthStage) and form.sign < 0


def number(value: Fraction) -> str:
    """A fraction, as a decimal where it ends soon."""
    exact = f"{float(value):.6f}".rstrip("0").rstrip(".")
    return exact if Fraction(exact) == value else str(value)
