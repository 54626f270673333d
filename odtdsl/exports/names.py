"""Names that programs can bear, and texts that stay inside their comments."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable

from odtdsl.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.exports.plan import Plan
from odtdsl.predictors.wording import printable, value_text

LONGEST = 40
C_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while isnan strcmp main NAN NULL alignas alignof asm bool
    catch class constexpr delete explicit export false friend mutable namespace new nullptr
    operator private protected public template this throw true try typeid typename using
    virtual and or not xor linux unix is
"""
"""Words that no function of C or C++ may have for a name, or that the file uses itself."""


def identifiers(texts: Iterable[str], prefix: str = "x_") -> tuple[str, ...]:
    """An identifier of letters, digits and `_` for each text, no two alike.

    The prefix keeps them apart from keywords, macros and the names of the program itself.
    """
    found: list[str] = []
    for text in texts:
        plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
        slug = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_").lower()[:LONGEST].rstrip("_")
        first, number = prefix + (slug or "column"), 2
        name = first
        while name in found:
            name, number = f"{first}_{number}", number + 1
        found.append(name)
    return tuple(found)


def program_name(name: str | None, default: str) -> str:
    """The name that a function gets.

    Raises
    ------
    OdtError
        U373: it is no identifier of Python and C.
    """
    if name is None:
        return default
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", name)
    taken = keyword.iskeyword(name) or hasattr(builtins, name) or name in C_WORDS.split()
    if not plain or taken:
        raise error(
            "U373", f"{value_text(name)} cannot be the name of a function",
            helps=("write letters, digits and `_`, with a letter first: `--name predict_risk`",),
        )  # fmt: skip
    return name


def check_texts(plan: Plan, to: str) -> None:
    """Refuse names, levels and labels that UTF-8 cannot write.

    Raises
    ------
    OdtError
        U371.
    """
    refuse_texts(plan, to, _lone, "half of a surrogate pair, which no file can hold")


def refuse_texts(plan: Plan, to: str, bad: re.Pattern[str], what: str) -> None:
    """Refuse names, levels and labels in which a pattern is found.

    Raises
    ------
    OdtError
        U371, for each of them, at most 20.
    """
    found = [
        Diagnostic(
            code="U371", message=f"{place} {value_text(text)} has {what}: {to} cannot carry it",
            helps=("rename it in the data, or export to python, which can",)
            if to != "python" else ("rename it in the data",),
        )
        for place, text in _texts(plan) if bad.search(text)
    ]  # fmt: skip
    if found:
        raise OdtError(found[:20])


def comment(text: str) -> str:
    """A text on one line that ends no comment of C, and begins none."""
    return printable(text).replace("*/", "* /").replace("/*", "/ *").replace("\\", "\\ ")


def _texts(plan: Plan) -> Iterable[tuple[str, str]]:
    yield from (("the target", target) for target in plan.targets)
    yield from (("the label", label) for label in plan.classes if isinstance(label, str))
    for column in plan.columns:
        yield "the feature", column.name
        yield from (
            (f"the level of `{printable(column.name)}`", level)
            for level in column.levels
            if isinstance(level, str)
        )


_lone = re.compile("[\ud800-\udfff]")
