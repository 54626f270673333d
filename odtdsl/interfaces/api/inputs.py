"""What the calls of the API take: files, names of formats, and rows instead of those of a spec."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

from odtdsl.base.diagnostics.model import error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.language import ast
from odtdsl.words.expr import Expression, Measure
from odtdsl.words.values import Numeric

FilePath = str | os.PathLike[str]
Columns = str | Measure | Iterable[str | Measure]
"""A column, several, or `"*"` for all that no other statement of the kind names."""
Splits = Literal["axis", "hyperplane"]
FileFormat = Literal["lp", "mps", "mzn", "cnf", "wcnf", "opb"]
Setting = Expression | Numeric | str
"""The value of a `let`; a text is in the language, so a text value is `'"a"'`."""


class Inputs(TypedDict, total=False):
    """What a model is solved on instead of what it says itself.

    Attributes
    ----------
    frame, test_frame
        Rows for `data frame`, and test rows for any data: frames as `Model.data` takes them.
    data, test
        Files instead of those of the spec, relative to the current folder.
    settings
        Values for `let` names.
    """

    frame: Any
    test_frame: Any
    data: FilePath | None
    test: FilePath | None
    settings: Mapping[str, Setting] | None


_LIMITS = {"seconds", "time", "timelimit", "timeout", "maxtime", "limit"}
_OTHER = (
    *("using", "within", "gap", "steady", "threads", "seed", "memory", "start", "progress"),
    *("proof", "client", "options", "encoding", "solver", "model"),
)


def check_names(inputs: Inputs) -> None:
    """An argument that no function takes would be passed over without a word.

    Raises
    ------
    TypeError
        As for any call with such an argument.
    """
    for name in inputs.keys() - Inputs.__annotations__.keys():
        near = (
            "within"
            if name.replace("_", "") in _LIMITS
            else closest(name, (*Inputs.__annotations__, *_OTHER))
        )
        also = f"; did you mean {near!r}?" if near is not None else ""
        raise TypeError(f"got an unexpected keyword argument {name!r}{also}")


def check_frame(spec: ast.Spec, frame: object) -> None:
    """A frame that would be passed over without a word is a mistake."""
    reads = next((one.source for one in spec.statements if isinstance(one, ast.Data)), None)
    if frame is None or reads is None or isinstance(reads, ast.FrameSource):
        return
    raise error(
        "U209",
        "`frame` is given, but the model reads its rows from elsewhere",
        helps=("write `data frame` in the spec, or pass the rows to `Model.data`",),
    )
