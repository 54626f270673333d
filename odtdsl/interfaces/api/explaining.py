"""Why no tree satisfies all rules, what each rule costs, and curves over a bound."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Unpack

from odtdsl.interfaces.api.inputs import Inputs
from odtdsl.interfaces.api.options import analysed, limits_of, processes_of
from odtdsl.interfaces.api.reading import ModelLike, spec_of
from odtdsl.words import values
from odtdsl.words.values import Numeric

if TYPE_CHECKING:
    from odtdsl.insight.explanations import Curve, Explanation


def explain(
    model: ModelLike,
    /,
    *,
    using: str | None = None,
    within: Numeric | timedelta | str | None = None,
    memory: str | None = None,
    most: int = 1,
    deeper: int = 1,
    **inputs: Unpack[Inputs],
) -> Explanation:
    """Why no tree keeps all rules of a model, and what would do; or what each rule costs.

    Parameters
    ----------
    model
        A model, a text or a path.
    using
        A back end instead of that of the model.
    within, memory
        As in `solve`.
    most
        How many minimal conflicts to look for, the smallest first.
    deeper
        The depth counts as relaxed where so many levels more are allowed.
    inputs
        As in `Inputs`.

    Returns
    -------
    Explanation
        `undecided` where a limit was met: nothing is said that is not proven.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; B codes where no back end expresses the problem.

    Examples
    --------
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "yes", "no", "yes"]}
    >>> found = explain(
    ...     "data frame target sick tree depth <= 2 minimize errors "
    ...     "rule all_right: errors <= 0 rule large: forall leaf: size >= 2",
    ...     frame=rows,
    ... )
    >>> found.status, found.conflicts[0].names
    ('infeasible', ('all_right', 'large'))
    >>> print(found.nearest[1].text)
    `large` can be satisfied with a bound of at most 1
    >>> found = explain(
    ...     "data frame target sick tree depth <= 3 minimize errors "
    ...     "rule large: forall leaf: size >= 2",
    ...     frame=rows,
    ... )
    >>> [(one.name, one.binds, int(one.price[0].low)) for one in found.prices.prices]
    [('large', True, 2), ('tree depth', False, 0)]
    """
    from odtdsl.insight.explanations import explain as explained

    began = time.monotonic()
    seconds, _, memory_bytes = limits_of(within, None, memory)
    return explained(
        analysed(spec_of(model), began, seconds, inputs),
        backend=using,
        seconds=seconds,
        memory_bytes=memory_bytes,
        most=values.at_least(most, 1, "`most`"),
        deeper=values.at_least(deeper, 0, "`deeper`"),
        began=began,
    )


def curve(
    model: ModelLike,
    rule: str,
    /,
    *,
    using: str | None = None,
    within: Numeric | timedelta | str | None = None,
    memory: str | None = None,
    points: int = 200,
    jobs: int = 1,
    **inputs: Unpack[Inputs],
) -> Curve:
    """The objective against the bound of a rule: every trade-off between the two, each proven.

    Parameters
    ----------
    model
        A model, a text or a path.
    rule
        The name of a rule that compares a measure with a number; `"leaves"` or `"depth"` for a
        bound of the skeleton.
    using
        A back end instead of that of the model.
    within, memory
        As in `solve`; the time is of the whole.
    points
        At most so many, from the loosest bound.
    jobs
        Processes, by joblib, -1 for one per processor; the points do not depend on it.
    inputs
        As in `Inputs`.

    Returns
    -------
    Curve
        Also where limits ended it: see `complete` and `ended`.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; U310, U311: no such rule, or none with a bound; B
        codes where no back end expresses the problem.

    Examples
    --------
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "yes", "no", "yes"]}
    >>> found = curve(
    ...     "data frame target sick tree depth <= 3 minimize errors "
    ...     "rule large: forall leaf: size >= 2",
    ...     "large", frame=rows,
    ... )
    >>> [(int(point.measure), int(point.objective[0])) for point in found.points]
    [(1, 0), (4, 2)]
    >>> found.complete, int(found.at().objective[0])
    (True, 2)
    """
    from odtdsl.insight.explanations import trace

    began = time.monotonic()
    seconds, _, memory_bytes = limits_of(within, None, memory)
    return trace(
        analysed(spec_of(model), began, seconds, inputs),
        rule,
        backend=using,
        seconds=seconds,
        memory_bytes=memory_bytes,
        points=values.at_least(points, 1, "`points`"),
        jobs=processes_of(jobs),
        began=began,
    )


__all__ = ["curve", "explain"]
