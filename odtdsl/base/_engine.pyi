# Written from solvers/bindings by `python -m docs.generate`; do not edit.

"""Native kernels of odtdsl."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy
from numpy.typing import NDArray

class RankTable:
    """
    Cells as ranks, and the cuts that may stand: rows of at most the cut's rank go left.

    ranks: uint16 or uint32 (n_features, n_rows), dense from 0. distinct: ranks per feature.
    allowed: per feature a flag per rank, or None for all.
    """

    def __init__(
        self,
        ranks: NDArray[numpy.uint16] | NDArray[numpy.uint32],
        distinct: NDArray[numpy.uint32],
        allowed: Sequence[NDArray[numpy.bool_] | None] | None = None,
    ) -> None: ...

class Tree:
    """A tree as arrays, an entry per node: the root first, -1 for none."""

    def __init__(
        self,
        *,
        feature: NDArray[numpy.int32],
        cut: NDArray[numpy.int64],
        left: NDArray[numpy.int32],
        right: NDArray[numpy.int32],
        label: NDArray[numpy.int32] | None = None,
    ) -> None: ...
    @property
    def feature(self) -> NDArray[numpy.int32]: ...
    @property
    def cut(self) -> NDArray[numpy.int64]:
        """The largest rank of the node's rows that goes left."""

    @property
    def next(self) -> NDArray[numpy.int64]:
        """The smallest rank of the node's rows that goes right."""

    @property
    def left(self) -> NDArray[numpy.int32]: ...
    @property
    def right(self) -> NDArray[numpy.int32]: ...
    @property
    def label(self) -> NDArray[numpy.int32]: ...
    @property
    def output(self) -> NDArray[numpy.float64] | None:
        """Of trees of numbers: node by node, one per target."""

    def __getstate__(
        self,
    ) -> tuple[
        NDArray[numpy.int32],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int32],
        NDArray[numpy.int32],
        NDArray[numpy.int32],
        NDArray[numpy.float64] | None,
    ]: ...
    def __setstate__(
        self,
        arg: tuple[
            NDArray[numpy.int32],
            NDArray[numpy.int64],
            NDArray[numpy.int64],
            NDArray[numpy.int32],
            NDArray[numpy.int32],
            NDArray[numpy.int32],
            NDArray[numpy.float64] | None,
        ],
        /,
    ) -> None: ...

class Plan:
    """
    A tree as a search holds it: without labels, outputs, and its last tests.
    """

    def __getstate__(self) -> list[tuple[int, int, int, int, bool, bool]]: ...
    def __setstate__(self, arg: Sequence[tuple[int, int, int, int, bool, bool]], /) -> None: ...

class Limits:
    """
    When a search ends, and how it goes about.

    memory_limit: bytes of tables. work_limit: visits of rows, 0 for any.
    isa: best, portable, avx2 or avx512, of the kernels of searches for classes; what chooses by
    itself, of numbers and diagrams, asks the variable ODTDSL_ISA, and loops that the compiler
    clones for several sets, which answer alike, are chosen as the module is loaded.
    beside: the search for good trees runs beside a proof that takes longer than `alone`,
    so many visits of rows. interrupted: asked now and then whether to stop; Ctrl-C stops too.
    certify: with a certificate of the bound, or multipliers under rules.
    """

    def __init__(
        self,
        *,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        work_limit: int = 0,
        absolute_gap: float = 0.0,
        relative_gap: float = 0.0,
        threads: int = 1,
        method: str = "auto",
        isa: str = "best",
        seed: int = 0,
        beside: bool = True,
        alone: int | None = None,
        interrupted: Callable[[], bool] | None = None,
        certify: bool = False,
    ) -> None: ...

class ClassAnswer:
    @property
    def status(self) -> Literal["optimal", "feasible", "infeasible", "unknown"]: ...
    @property
    def objective(self) -> int | None:
        """Of the best tree; None without one."""

    @property
    def bound(self) -> int: ...
    @property
    def tree(self) -> Tree | None: ...
    @property
    def counters(self) -> dict[str, int]: ...
    @property
    def timeline(self) -> list[tuple[float, int, int]]:
        """Seconds, value and bound of each improvement."""

    @property
    def seconds(self) -> float: ...
    @property
    def work(self) -> int:
        """Visits of rows, as `Limits.work_limit` counts them."""

    @property
    def isa(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def interrupted(self) -> bool: ...
    @property
    def certificate(self) -> bytes:
        """Of `certified`, if it was asked for."""

    @property
    def certified(self) -> int:
        """The bound that the certificate shows."""

    @property
    def multipliers(self) -> list[int]:
        """
        Under rules, if they were asked for: of each clause on whole trees, over `scale`.
        """

    @property
    def scale(self) -> int: ...
    @property
    def by_first(self) -> list[float]:
        """
        Of numbers, per cut: no tree that splits there first loses less. Empty: not told.
        """

class RuledAnswer:
    @property
    def status(self) -> Literal["optimal", "feasible", "infeasible", "unknown"]: ...
    @property
    def objective(self) -> int | None:
        """Of the best tree; None without one."""

    @property
    def bound(self) -> int | None: ...
    @property
    def tree(self) -> Tree | None: ...
    @property
    def counters(self) -> dict[str, int]: ...
    @property
    def timeline(self) -> list[tuple[float, int, int]]:
        """Seconds, value and bound of each improvement."""

    @property
    def seconds(self) -> float: ...
    @property
    def work(self) -> int:
        """Visits of rows, as `Limits.work_limit` counts them."""

    @property
    def isa(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def interrupted(self) -> bool: ...
    @property
    def certificate(self) -> bytes:
        """Of `certified`, if it was asked for."""

    @property
    def certified(self) -> int:
        """The bound that the certificate shows."""

    @property
    def multipliers(self) -> list[int]:
        """
        Under rules, if they were asked for: of each clause on whole trees, over `scale`.
        """

    @property
    def scale(self) -> int: ...
    @property
    def by_first(self) -> list[float]:
        """
        Of numbers, per cut: no tree that splits there first loses less. Empty: not told.
        """

class NumberAnswer:
    @property
    def status(self) -> Literal["optimal", "feasible", "infeasible", "unknown"]: ...
    @property
    def objective(self) -> float | None:
        """Of the best tree; None without one."""

    @property
    def bound(self) -> float: ...
    @property
    def tree(self) -> Tree | None: ...
    @property
    def counters(self) -> dict[str, int]: ...
    @property
    def timeline(self) -> list[tuple[float, float, float]]:
        """Seconds, value and bound of each improvement."""

    @property
    def seconds(self) -> float: ...
    @property
    def work(self) -> int:
        """Visits of rows, as `Limits.work_limit` counts them."""

    @property
    def isa(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def interrupted(self) -> bool: ...
    @property
    def certificate(self) -> bytes:
        """Of `certified`, if it was asked for."""

    @property
    def certified(self) -> int:
        """The bound that the certificate shows."""

    @property
    def multipliers(self) -> list[int]:
        """
        Under rules, if they were asked for: of each clause on whole trees, over `scale`.
        """

    @property
    def scale(self) -> int: ...
    @property
    def by_first(self) -> list[float]:
        """
        Of numbers, per cut: no tree that splits there first loses less. Empty: not told.
        """

class LayeredAnswer:
    @property
    def bound(self) -> int:
        """No diagram of the shape loses less."""

    @property
    def value(self) -> int | None:
        """Of the diagram; None: none below what was asked."""

    @property
    def complete(self) -> bool:
        """`value`, or what was asked, is the least."""

    @property
    def work(self) -> int: ...
    @property
    def layers(self) -> list[list[tuple[int, int, int, int]]]:
        """Per layer and node: feature, cut, and the ends of both arcs."""

    @property
    def interrupted(self) -> bool: ...

class Layered:
    """Diagrams of a shape: one table, asked shape by shape."""

    def __init__(self, table: RankTable, losses: NDArray[numpy.int64]) -> None: ...
    @property
    def upper(self) -> int:
        """
        Of all shapes only better diagrams are of interest; may be lowered meanwhile.
        """

    @upper.setter
    def upper(self, arg: int, /) -> None: ...
    def solve(
        self,
        shape: Sequence[int],
        below: int,
        limits: Limits,
        *,
        bound_only: bool = False,
        paid: int = 0,
        told: Callable[[int, Sequence[Sequence[tuple[int, int, int, int]]]], None] | None = None,
    ) -> LayeredAnswer:
        """
        `paid`: of `upper`, what all of the shape have anyway; `told` hears of better ones.
        """

class Improved:
    @property
    def value(self) -> int: ...
    @property
    def moves(self) -> int: ...
    @property
    def work(self) -> int: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def interrupted(self) -> bool: ...

def improve_diagram(
    table: RankTable,
    losses: NDArray[numpy.int64],
    widths: Sequence[int],
    *,
    price: int,
    start: Sequence[Sequence[tuple[int, int, int, int]]],
    upper: int,
    judge: Callable[[int, Sequence[Sequence[tuple[int, int, int, int]]]], bool],
    limits: Limits,
    picky: bool = False,
    patience: int = 0,
) -> Improved:
    """
    Moves from a diagram to better ones; `judge` says whether one may be kept.
    """

most_layered_rows: int = 512

most_layered_labels: int = 32

class Columns:
    """
    What is tested: per feature its column, and whether its first (last) rank is that of missing
    cells; per level the cuts that may stand, where levels differ.
    """

    def __init__(
        self,
        *,
        column: Sequence[int],
        columns: int,
        missing_low: Sequence[bool],
        missing_high: Sequence[bool],
        allowed_at: Sequence[Sequence[NDArray[numpy.bool_] | None]],
    ) -> None: ...

class Components:
    """
    Additive measures of a tree.

    value: int64 (row, sum). sum_of: per component and label, the sum that a leaf's rows add,
    or -1. leaf: per component, for each leaf. split: int64 (component, column), for each
    split. path_weight: per component the sum that weighs costs of paths, or -1. path_delta:
    per component int64 (state, column), or None.
    """

    def __init__(
        self,
        *,
        value: NDArray[numpy.int64],
        sum_of: Sequence[int],
        leaf: Sequence[int],
        split: NDArray[numpy.int64],
        path_weight: Sequence[int],
        path_delta: Sequence[NDArray[numpy.int64] | None],
    ) -> None: ...

class PathStates:
    """
    The automaton of rules on paths.

    next: int32 (state, column), -1 where no tree may stand below. need: per state, splits
    that must follow before a leaf. closed: a path that may stand may do without any of its
    tests. leaf_rules, split_rules: per state the clauses that the path leaves open.
    """

    def __init__(
        self,
        *,
        next: NDArray[numpy.int32],
        need: Sequence[int],
        closed: bool,
        leaf_rules: Sequence[Sequence[int]],
        split_rules: Sequence[Sequence[int]],
    ) -> None: ...

class Facts:
    """
    Bits that splits set: `split` per level and column, `pairs` (fact, row, row) where the
    rows part.
    """

    def __init__(
        self, *, count: int, split: Sequence[int], pairs: Sequence[tuple[int, int, int]]
    ) -> None: ...

class Clauses:
    """
    Rules, each a list of conditions of which one must hold.

    leaf, split: (sums, constant, at most), a sum per label or one. model: ("component",
    index, at most) or ("fact", index, whether it must be set).
    """

    def __init__(
        self,
        *,
        leaf: Sequence[Sequence[tuple[Sequence[int], int, int]]],
        split: Sequence[Sequence[tuple[Sequence[int], int, int]]],
        model: Sequence[Sequence[tuple[str, int, int]]],
    ) -> None: ...

class Space:
    """
    The feature space beyond the rows, for rules on the order of predictions.

    column_kinds: per column the number of its values (-1 for numbers), whether there are
    others, whether cells are missing. tests: per feature the value that goes left (-1 for
    thresholds), the side of missing cells, by level the pieces in which thresholds may stand,
    whether they are shortened. monotone: (fact, column, increasing). cells: float64 (column,
    row), NaN where missing.
    """

    def __init__(
        self,
        *,
        column_kinds: Sequence[tuple[int, bool, bool]],
        tests: Sequence[tuple[int, int, Sequence[Sequence[tuple[float, int, float, int]]], bool]],
        monotone: Sequence[tuple[int, int, bool]],
        steady: bool,
        cells: NDArray[numpy.float64],
    ) -> None: ...

def shortest(low: float, high: float, wish: float) -> float | None:
    """
    The shortest decimal of [low, high) that is nearest to `wish`: as `data/decimals.py` has it.
    """

class RuledProblem:
    """
    A tree of classes of least objective that keeps rules.

    objective: (coefficient, components, fact): the coefficient counts the largest of the
    components, or the fact where it is not -1. offset: a relative gap counts it in.
    """

    def __init__(
        self,
        table: RankTable,
        classes: int,
        depth: int,
        *,
        max_leaves: int | None = None,
        columns: Columns,
        components: Components,
        states: PathStates,
        facts: Facts,
        clauses: Clauses,
        objective: Sequence[tuple[int, Sequence[int], int]],
        offset: int = 0,
        space: Space | None = None,
    ) -> None: ...

def solve_ruled(
    problem: RuledProblem,
    limits: Limits,
    *,
    start: Tree | None = None,
    upper_bound: int | None = None,
    progress: Callable[[int, int, float, Plan | Tree | None], object] | None = None,
) -> RuledAnswer: ...

class Listed:
    @property
    def complete(self) -> bool:
        """There are no others."""

    @property
    def enough(self) -> bool:
        """There are more than were asked for."""

    @property
    def no_memory(self) -> bool: ...
    @property
    def told(self) -> int:
        """How many trees were told, or would have been."""

    @property
    def counted(self) -> bool:
        """All trees were counted."""

    @property
    def counts(self) -> list[tuple[int, str]]:
        """How many trees have which objective, in hexadecimal digits."""

    @property
    def without(self) -> list[str]:
        """How many trees do without each column, in hexadecimal digits."""

    @property
    def counters(self) -> dict[str, int]: ...
    @property
    def seconds(self) -> float: ...
    @property
    def interrupted(self) -> bool: ...

class Twins:
    """
    Per feature one that differs by the side of missing cells only, or -1, and the rows
    with such a cell.
    """

    def __init__(
        self, *, of: Sequence[int], absent: Sequence[NDArray[numpy.bool_] | None]
    ) -> None: ...

class FunctionSpace:
    """
    How splits part the feature space, for the functions of trees.

    column_missing: may cells of a column be missing. Per feature: codes of the rows where it
    has thresholds, and how many codes are values; policy: where missing cells go (0 left, 1
    right, 2 as `own` says where rows there have some, else to the heavier side); absent: the
    rows with such a cell. weight: of rows. region: what of a feature goes left between two
    codes at a level: column, whether a line, both places on it (a number, and whether behind
    it), the value else.
    """

    def __init__(
        self,
        *,
        column_missing: Sequence[bool],
        codes: Sequence[Sequence[int] | None],
        values: Sequence[int],
        policy: Sequence[int],
        own: Sequence[int],
        absent: Sequence[NDArray[numpy.bool_] | None],
        weight: Sequence[int],
        region: Callable[[int, int, int, int], tuple[int, bool, float, int, float, int, int]],
    ) -> None: ...

class Wish:
    """
    Trees of at most an objective. least: that of the best one, where it is known.
    most: trees to tell. count: count all, and those without each column.
    collapse: no split of two leaves with one label. deepest: only trees that reach the depth bound.
    """

    def __init__(
        self,
        *,
        at_most: int,
        least: int | None = None,
        most: int = 4611686018427387904,
        count: bool = False,
        collapse: bool = False,
        deepest: bool = False,
    ) -> None: ...

def enumerate(
    problem: RuledProblem,
    limits: Limits,
    wish: Wish,
    found: Callable[[Tree, int, int], bool] | None,
    *,
    twins: Twins | None = None,
    functions: FunctionSpace | None = None,
) -> Listed:
    """
    Tell `found` of each tree with its objective, the least first, and the number of its
    function (-1: not compared), as long as it answers True; None: they are only counted.
    functions: of trees that compute one function only better ones are told again.
    """

class NumberModel:
    """
    Rules on a whole tree of numbers, by components (less is better) and facts.

    leaf, split: what each leaf, and each split of a column, adds: (component,), (component,
    column). path_sum, path_delta: the sum of the rules that weighs path costs, or -1, and these
    per state and column. measures: (component, loss, factor per target, weight per row).
    split_facts: bits per (level, column). pairs: (fact, row, row). clauses: lists of
    ("component", index, at most) or ("fact", index, whether it is set), of which one holds.
    prices, goal: (coefficient, component or -1, fact); prices are added to the loss, the goal
    is made least among trees below the upper bound. space: with rules on the order of
    predictions; column: per feature, for it.
    """

    def __init__(
        self,
        *,
        leaf: Sequence[float],
        split: NDArray[numpy.float64],
        path_sum: Sequence[int],
        path_delta: Sequence[NDArray[numpy.int64] | None],
        measures: Sequence[tuple[int, str, Sequence[float], NDArray[numpy.float64]]],
        facts: int,
        split_facts: Sequence[int],
        pairs: Sequence[tuple[int, int, int]],
        clauses: Sequence[Sequence[tuple[str, int, float]]],
        prices: Sequence[tuple[float, int, int]],
        goal: Sequence[tuple[float, int, int]],
        space: Space | None = None,
        column: Sequence[int] = [],
    ) -> None: ...

class NumberRules:
    """
    Rules on the paths, splits and leaves of a tree of numbers.

    column: per feature. next: int32 (state, column), -1 where no tree may stand below. need:
    per state, splits that must follow before a leaf. relaxed: per state, one that allows more
    and asks nothing of rows. leaf_rules, split_rules: per state the conditions that the path
    leaves open. leaf, split: lists of (sum, at most), of which one must hold. value: int64
    (row, sum). allowed_at: per level the cuts that may stand, where levels differ.
    missing_low, missing_high: per feature whether the first (last) rank is that of missing
    cells; none where there are none.
    """

    def __init__(
        self,
        table: RankTable,
        *,
        column: Sequence[int],
        next: NDArray[numpy.int32],
        need: Sequence[int],
        relaxed: Sequence[int],
        leaf_rules: Sequence[Sequence[int]],
        split_rules: Sequence[Sequence[int]],
        leaf: Sequence[Sequence[tuple[int, int]]],
        split: Sequence[Sequence[tuple[int, int]]],
        value: NDArray[numpy.int64],
        allowed_at: Sequence[Sequence[NDArray[numpy.bool_] | None]],
        missing_low: Sequence[bool],
        missing_high: Sequence[bool],
    ) -> None: ...

class OutputPiece:
    """
    A polyhedron of outputs, less what is said without taking it apart.

    low, high: float64 (n_targets,). gaps: (target, low, high), open intervals without outputs.
    ranges: factors (n_ranges, n_targets), low and high of their sums. counts: at most so many
    of these targets outside low .. high. choices: of each list of ranges, one must hold.
    """

    def __init__(
        self,
        *,
        low: NDArray[numpy.float64],
        high: NDArray[numpy.float64],
        gaps: Sequence[tuple[int, float, float]],
        ranges: tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]],
        counts: Sequence[
            tuple[int, NDArray[numpy.uint32], NDArray[numpy.float64], NDArray[numpy.float64]]
        ],
        choices: Sequence[
            Sequence[tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]]
        ],
    ) -> None: ...

class OutputSpace:
    """
    A feasible set of outputs. step: float64 (n_targets,), outputs are multiples of it, 0: any.
    """

    def __init__(self, step: NDArray[numpy.float64], pieces: Sequence[OutputPiece]) -> None: ...
    def project(
        self,
        goals: NDArray[numpy.float64],
        weights: NDArray[numpy.float64],
        price: float | None = None,
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Least squared losses to goals and the outputs that have them, a row each; NaN outputs
        where nothing fits.
        """

    def deviance(
        self, goals: NDArray[numpy.float64], weights: NDArray[numpy.float64]
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    def absolute(
        self,
        points: NDArray[numpy.float64],
        row_weights: NDArray[numpy.float64],
        weights: NDArray[numpy.float64],
        price: float | None = None,
    ) -> tuple[float, NDArray[numpy.float64]]: ...
    def contains(self, points: NDArray[numpy.float64], slack: float) -> NDArray[numpy.bool_]: ...
    @property
    def relaxations(self) -> int: ...
    @property
    def convex(self) -> bool: ...
    @property
    def everything(self) -> bool: ...

class NumberProblem:
    """
    A tree of numbers of least loss: squared, absolute or poisson, with prices of leaves.

    targets: float64 (n_rows, n_targets). factors: what the loss of each counts, 1 without.
    space: of outputs; without it, all. bounded, minima: each leaf that is grown needs these
    sums of its rows. leaf_rows, rules, model: of the search.
    """

    def __init__(
        self,
        table: RankTable,
        targets: NDArray[numpy.float64],
        depth: int,
        *,
        factors: NDArray[numpy.float64] | None = None,
        space: OutputSpace | None = None,
        weights: NDArray[numpy.float64] | None = None,
        loss: str = "squared",
        max_leaves: int | None = None,
        leaf_price: float = 0.0,
        leaf_rows: int = 1,
        bounded: NDArray[numpy.int64] | None = None,
        minima: NDArray[numpy.int64] | None = None,
        rules: NumberRules | None = None,
        model: NumberModel | None = None,
    ) -> None: ...

class Grown:
    @property
    def tree(self) -> Tree: ...
    @property
    def value(self) -> float:
        """Of the way of the splits, over leaves."""

    @property
    def relaxations(self) -> int: ...
    @property
    def candidates(self) -> int: ...
    @property
    def evaluated(self) -> int: ...

def grow_outputs(
    problem: NumberProblem,
    *,
    split: str = "optimal",
    leaf: str = "optimal",
    split_price: float = 0.0,
    leaf_price: float = 0.0,
    interrupted: Callable[[], bool] | None = None,
) -> Grown:
    """
    split, leaf: how leaves are filled while splits are scored, and at the end: optimal,
    relaxed, medoid or average.
    """

def solve_numbers(
    problem: NumberProblem,
    limits: Limits,
    *,
    start: Tree | None = None,
    upper_bound: float | None = None,
    progress: Callable[[float, float, float, Plan | Tree | None], object] | None = None,
    by_first: Sequence[float] = [],
    vectors: bool = False,
) -> NumberAnswer:
    """
    One number without rules on outputs or on the whole tree is solved by scans, unless
    `vectors`; all else by the search for vectors. by_first: per cut between ranks, feature
    by feature, what no tree that splits there first loses less than; empty: unknown.
    """

def finish_numbers(problem: NumberProblem, plan: Plan) -> NumberAnswer:
    """The tree of a plan that `solve_numbers` told of."""

def ranked(numbers: NDArray[numpy.float64]) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64]]:
    """
    The different numbers, ascending and without NaN, and the place of each cell among them.

    numbers: float64 (n,). The place, int64, of NaN is behind all others.
    """

def all_finite(numbers: NDArray[numpy.float64]) -> bool:
    """numbers: float64 (n,)."""

def few_words(
    cells: NDArray[numpy.uint32], most: int
) -> tuple[list[int], NDArray[numpy.int64]] | None:
    """
    The first row of each different text, and the place of each row's text among them.

    cells: uint32 (n, width), characters. None where more than `most` differ.
    """

def plain_errors(losses: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int32], int] | None:
    """
    The right label of each row, int32, and the sum of the losses of right labels.

    losses: int64 (n_rows, n_labels). None unless each row has one label of least loss, and all
    others lose one more.
    """

class RupAnswer:
    @property
    def status(
        self,
    ) -> Literal["verified", "not_implied", "no_empty", "malformed", "interrupted"]: ...
    @property
    def line(self) -> int:
        """Of the proof, from 1, that the status is of."""

    @property
    def conflict(self) -> bool:
        """Propagation alone refutes what is there."""

    @property
    def lemmas(self) -> int: ...
    @property
    def deletions(self) -> int: ...
    @property
    def kept(self) -> int:
        """
        Deletions passed over: units, clauses that imply a literal now, clauses not there.
        """

def check_rup(
    formula: NDArray[numpy.int32], proof: bytes, interrupted: Callable[[], bool] | None = None
) -> RupAnswer:
    """
    Check a refutation by unit propagation, with deletions.

    formula: int32, literals, each clause ended by 0.
    proof: lines such as b'1 -2 0' and b'd 1 -2 0'.
    interrupted: asked now and then whether to stop; Ctrl-C stops too.
    """

class SplitScan:
    """
    Scans the candidate tests of all families at a node.

    codes: int32 (n_families, n_rows); kinds: uint8, 0 thresholds, 1 equality;
    n_tests, n_values: int64 (n_families,).
    """

    def __init__(
        self,
        codes: NDArray[numpy.int32],
        kinds: NDArray[numpy.uint8],
        n_tests: NDArray[numpy.int64],
        n_values: NDArray[numpy.int64],
    ) -> None: ...
    def best(
        self,
        rows: NDArray[numpy.int64],
        gains: NDArray[numpy.int64],
        bounded: NDArray[numpy.int64],
        minima: NDArray[numpy.int64],
        allowed: NDArray[numpy.int64],
        families: NDArray[numpy.int64],
        score: int,
    ) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.float64]]:
        """
        The best test of each of `families` for the rows of a node: (tests, exact, gini).

        tests: int64, -1 where none may stand. exact: int64 score of 1 (gain) and 2 (sides).
        gini: float64 score of 0. bounded, minima: each side must sum to at least the minima.
        allowed: int64, for all families one after the other the running count of allowed
        tests, n_tests + 1 entries each.
        """

class ClassProblem:
    """
    A tree of classes of least loss, with prices of leaves.

    costs: int64 (label, prediction). column: per feature, what `next` and `must_column` speak
    of. next: int32 (state, column), the automaton of rules on paths, -1 where a test may not
    stand. smallest: least depth, then fewest leaves, among trees without loss.
    """

    def __init__(
        self,
        table: RankTable,
        labels: NDArray[numpy.int32],
        classes: int,
        depth: int,
        *,
        weights: NDArray[numpy.int64] | None = None,
        costs: NDArray[numpy.int64] | None = None,
        max_leaves: int | None = None,
        leaf_price: int = 0,
        min_leaf_rows: int = 1,
        column: NDArray[numpy.int32] | None = None,
        next: NDArray[numpy.int32] | None = None,
        must_column: int = -1,
        smallest: bool = False,
    ) -> None: ...

def solve(
    problem: ClassProblem,
    limits: Limits,
    *,
    start: Tree | None = None,
    upper_bound: int | None = None,
    progress: Callable[[int, int, float, Plan | Tree | None], object] | None = None,
    elsewhere: Callable[[Sequence[bytes], bool], tuple[int, Sequence[tuple[int, bytes]]] | None]
    | None = None,
) -> ClassAnswer:
    """
    elsewhere: given tasks, cuts of the root for others to evaluate, and whether those given
    before are no longer wanted, it waits a moment and answers how many threads they have and
    what came back, by the number of the task; None ends the search.
    """

class RemoteProblem:
    """
    Evaluates cuts of a problem's root for a search elsewhere; one thread at a time.

    memory_limit: bytes of tables.
    """

    def __init__(self, problem: ClassProblem, *, memory_limit: int | None = None) -> None: ...
    def evaluate(
        self, task: bytes, *, interrupted: Callable[[], bool] | None = None
    ) -> bytes | None:
        """What became of it; None where it was interrupted."""

def finish(problem: ClassProblem, plan: Plan) -> ClassAnswer:
    """The tree of a plan that `solve` told of."""

def counter_meanings() -> dict[str, str]: ...
def instruction_sets() -> list[str]: ...
def look_every(work: int) -> None:
    """
    For tests: searches look at the clock after so many visits of a row, and each look is a
    second of it; 0: as usual.
    """
