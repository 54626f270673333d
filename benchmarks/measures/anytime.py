"""What is known when the time is over: incumbent, bound, gap."""

from __future__ import annotations

from argparse import Namespace

from measures import sets
from measures.peers import Outcome, agree, contree, ours
from measures.report import Table

PROBLEMS = (
    ("fault", 4, 60.0),
    ("magic", 4, 60.0),
    ("bean", 4, 60.0),
    ("eeg", 4, 60.0),
    ("wilt", 5, 120.0),
    ("bidding", 5, 120.0),
    ("raisin", 5, 120.0),
)
"""Set, depth, seconds."""


def anytime(args: Namespace) -> None:
    """Incumbent, bound and gap at the limit, and when the last per cent was reached."""
    table = Table(
        "anytime",
        (
            "set",
            "depth",
            "limit, s",
            "status",
            "errors",
            "bound",
            "gap",
            "s",
            "within 1% of it after",
            "peer's errors",
            "peer, s",
        ),
    )
    for name, depth, limit in PROBLEMS:
        if args.sets and name not in args.sets:
            continue
        seconds = limit if args.limit is None else args.limit
        x, y = sets.load("continuous", name)
        found = ours(x, y, depth, time_limit=seconds, isa=args.isa, threads=args.threads)
        other = contree(x, y, depth, seconds) if args.peer else None
        agree(name, found, other, sets.ERRORS.get(depth, {}).get(name))
        assert found.value is not None
        assert found.bound is not None
        assert found.answer is not None
        table.add(
            name,
            depth,
            f"{seconds:g}",
            found.answer.status,
            found.value,
            found.bound,
            f"{100 * (found.value - found.bound) / max(found.value, 1):.1f}%",
            f"{found.seconds:.1f}",
            f"{_close(found):.2f} s",
            None if other is None else f"{other.value}{'' if other.proven else ' (open)'}",
            None if other is None else f"{other.seconds:.1f}",
        )
    table.note("The peer is pycontree with the same limit; it has no bound.")
    if args.docs:
        table.publish()


def _close(found: Outcome) -> float:
    """Seconds until the incumbent was within 1% of the last one."""
    assert found.value is not None
    assert found.answer is not None
    enough = found.value * 1.01
    return next((s for s, value, _ in found.answer.timeline if value <= enough), found.seconds)
