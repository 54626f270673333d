"""`odtdsl.base.frozen.dataclass` makes of a class what the standard library's `dataclass` makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from odtdsl.base import frozen

Decorator = Callable[..., Any]
WHOLE = {"frozen": True, "slots": True, "kw_only": True}


def family(decorator: Decorator) -> tuple[type, ...]:
    """Classes with all that the package's own use: defaults, factories, `compare`, a base."""

    @decorator(**WHOLE)
    class Base:
        """A base."""

        kind: ClassVar[str] = "base"
        span: int = field(default=0, compare=False, repr=False)

    @decorator(**WHOLE)
    class Pair(Base):
        """Two fields and those of the base."""

        left: Any
        right: tuple[Any, ...] = ()
        many: list[int] = field(default_factory=list, compare=False)

    @decorator(**WHOLE)
    class One(Base):
        """A field that is compared, and a check."""

        value: Any

        def __post_init__(self) -> None:
            if self.value == "refused":
                raise ValueError(self.value)

    @decorator(**WHOLE)
    class Nothing:
        """No field."""

    @decorator(**WHOLE, eq=False)
    class Same:
        """Equal to itself alone."""

        value: int

    @decorator(**WHOLE)
    class Own:
        """Methods of its own."""

        value: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return other == "own"

    @decorator(**WHOLE)
    class Hashed:
        """A hash of its own."""

        value: int

        def __hash__(self) -> int:
            return 7

    return Base, Pair, One, Nothing, Same, Own, Hashed


OURS, THEIRS = family(frozen.dataclass), family(dataclasses.dataclass)
GIVEN: tuple[tuple[int, dict[str, Any]], ...] = (
    (0, {}),
    (0, {"span": 3}),
    (1, {"left": 1}),
    (1, {"left": float("nan"), "right": (1, 2), "many": [3], "span": 1}),
    (1, {"left": "x", "right": ("y",)}),
    (2, {"value": 1}),
    (2, {"value": (1,)}),
    (3, {}),
    (4, {"value": 1}),
    (5, {"value": 1}),
    (6, {"value": 1}),
)
WRONG: tuple[tuple[int, dict[str, Any]], ...] = (
    (1, {}),
    (1, {"lefd": 1}),
    (1, {"left": 1, "span": 1, "extra": 2}),
    (2, {"value": "refused"}),
    (3, {"value": 1}),
)


def test_instances_compare_and_hash_and_print_as_those_of_the_standard_library() -> None:
    for first, one in GIVEN:
        for second, two in GIVEN:
            ours, ours_too = OURS[first](**one), OURS[second](**two)
            theirs, theirs_too = THEIRS[first](**one), THEIRS[second](**two)
            assert (ours == ours_too) == (theirs == theirs_too), (one, two)
            if first != 4:
                assert (hash(ours) == hash(ours_too)) == (hash(theirs) == hash(theirs_too))
        assert repr(ours) == repr(theirs)
        assert dataclasses.asdict(ours).keys() == dataclasses.asdict(theirs).keys()


def test_what_is_given_wrong_is_refused_by_the_same_errors() -> None:
    for kind, given in WRONG:
        # The second time `__init__` is the compiled one.
        for _ in range(2):
            with pytest.raises(Exception) as ours:
                OURS[kind](**given)
            with pytest.raises(Exception) as theirs:
                THEIRS[kind](**given)
            assert (ours.type, str(ours.value)) == (theirs.type, str(theirs.value))
    with pytest.raises(TypeError, match="positional argument"):
        OURS[1](1)


def test_fields_cannot_be_set_or_deleted_or_added() -> None:
    for kind, given in GIVEN:
        made = OURS[kind](**given)
        for name in (*given, "another"):
            with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
                setattr(made, name, 1)
            with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
                delattr(made, name)
        assert not hasattr(made, "__dict__")


def test_copies_and_replacements() -> None:
    made = OURS[1](left=[1], many=[2], span=5)
    for copied in (copy.copy(made), copy.deepcopy(made), dataclasses.replace(made, span=6)):
        assert copied == made
        assert copied.many == [2]
    assert dataclasses.replace(made, left=2).left == 2
    assert OURS[1](left=1).many is not OURS[1](left=1).many


def test_signatures_are_known_before_an_instance() -> None:
    for ours, theirs in zip(family(frozen.dataclass), THEIRS, strict=True):
        shown, known = inspect.signature(ours), inspect.signature(theirs)
        assert list(shown.parameters) == list(known.parameters)
        kinds = [(p.kind, p.annotation) for p in shown.parameters.values()]
        assert kinds == [(p.kind, p.annotation) for p in known.parameters.values()]
        needed = [p.name for p in shown.parameters.values() if p.default is p.empty]
        assert needed == [p.name for p in known.parameters.values() if p.default is p.empty]


def test_a_class_that_is_not_frozen_is_refused() -> None:
    for missing in WHOLE:
        with pytest.raises(TypeError, match="frozen dataclass has slots"):
            frozen.dataclass(**{**WHOLE, missing: False})(type("Open", (), {}))


def test_values_of_the_package_survive_pickling() -> None:
    from odtdsl.base.source import Source
    from odtdsl.language.parser import parse

    spec = parse(
        Source(name="a.odt", text='data "a.csv"\ntarget y\ntree depth <= 2\nminimize errors\n')
    )
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert again.statements[0].span == spec.statements[0].span
    assert hash(again) == hash(spec)
