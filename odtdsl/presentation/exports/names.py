"""Names that programs can bear, and texts that stay inside their comments."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.base.printing import printable
from odtdsl.predictors.wording import value_text
from odtdsl.presentation.exports.plan import Plan

MAX_NAME = 40
C_LIBRARY = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2
    expm1 fabs fdim finite floor fma fmax fmin fmod fpclassify frexp gamma hypot ilogb isfinite
    isgreater isgreaterequal isinf isless islessequal islessgreater isnormal isunordered j0 j1 jn
    ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround math_errhandling modf nan
    nearbyint nextafter nexttoward pow pow10 remainder remquo rint round scalb scalbln scalbn
    signbit signgam significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
    double_t float_t max_align_t nullptr_t offsetof ptrdiff_t size_t wchar_t
    bcmp bcopy bzero ffs index memccpy memchr memcmp memcpy memmem memmove mempcpy memset rindex
    stpcpy stpncpy strcasecmp strcat strchr strcoll strcpy strcspn strdup strerror strlen
    strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn
    strstr strtok strxfrm
    abort abs atof atoi calloc div exit free labs malloc printf putchar puts qsort rand realloc
    scanf sprintf sscanf system
"""
"""What the headers and compilers of C declare, of some of them the kinds for `double` only."""

C_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while isnan strcmp main NAN NULL alignas alignof asm bool
    catch class constexpr delete explicit export false friend mutable namespace new nullptr
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t
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
        slug = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_").lower()[:MAX_NAME].rstrip("_")
        first, number = prefix + (slug or "column"), 2
        name = first
        while name in found:
            name, number = f"{first}_{number}", number + 1
        found.append(name)
    return tuple(found)


def program_name(name: str | None, default: str, words: Collection[str] = ()) -> str:
    """The name that a function gets.

    Parameters
    ----------
    name
        As the user gives it.
    default
        The name where none is given.
    words
        What the language has already, or the file uses itself, beside the words of Python and C.

    Raises
    ------
    OdtError
        U373: it is no identifier of Python, C and the language.
    """
    if name is None:
        return default
    help_ = ""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", name):
        help_ = "use letters, digits and `_`, starting with a letter: `--name predict_risk`"
    elif name in words or keyword.iskeyword(name) or hasattr(builtins, name) or _is_of_c(name):
        help_ = "programs already use it; choose another, such as `--name predict_risk`"
    if help_:
        raise error("U373", f"{value_text(name)} is not a valid function name", helps=(help_,))
    return name


def _is_of_c(name: str) -> bool:
    """Whether compilers or the included headers know the name."""
    library = C_LIBRARY.split()
    kinds = (name, name.removesuffix("f"), name.removesuffix("l"))  # of float and long double
    return (
        name in C_WORDS.split()
        or any(kind in library for kind in kinds)
        or (
            re.fullmatch(r"(HUGE|FP|MATH|M)_\w+|INFINITY|EOF|DOMAIN|SING|OVERFLOW|UNDERFLOW", name)
            is not None
        )
    )


def check_name(name: str | None, to: str, bad: re.Pattern[str], what: str) -> None:
    """Refuse a given name in which a pattern is found.

    Raises
    ------
    OdtError
        U373.
    """
    if name is not None and bad.search(name):
        raise error(
            "U373",
            f"the name {value_text(name)} contains {what}, which {to} cannot represent",
            helps=("choose another `--name`",),
        )


def check_texts(plan: Plan, to: str) -> None:
    """Refuse names, levels and labels that UTF-8 cannot write.

    Raises
    ------
    OdtError
        U371.
    """
    refuse_texts(plan, to, LONE, HALF)


def refuse_texts(plan: Plan, to: str, bad: re.Pattern[str], what: str) -> None:
    """Refuse names, levels and labels in which a pattern is found.

    Raises
    ------
    OdtError
        U371, for each of them, at most 20.
    """
    found = [
        Diagnostic(
            code="U371",
            message=f"{place} {value_text(text)} contains {what}, which {to} cannot represent",
            helps=("rename it in the data, or export to python, which can",)
            if to != "python"
            else ("rename it in the data",),
        )
        for place, text in _texts(plan)
        if bad.search(text)
    ]
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


LONE = re.compile("[\ud800-\udfff]")
HALF = "half of a surrogate pair, which no file can store"
