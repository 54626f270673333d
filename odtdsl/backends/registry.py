"""Back ends by name, with their options."""

from __future__ import annotations

from odtdsl.backends.base import BackEnd
from odtdsl.base.back_ends import Variant, entry_of, takes
from odtdsl.problem.ir.problem import Options

_NO_OPTIONS, _DEFAULT = Options(), Variant()


def back_end(name: str, variant: Variant = _DEFAULT, options: Options = _NO_OPTIONS) -> BackEnd:
    """A back end.

    Parameters
    ----------
    name
        Its name, or `auto`.
    variant
        What a user asks of it; it holds against the settings of a spec.
    options
        Of a spec; what is no setting of this back end is not read.

    Raises
    ------
    OdtError
        B101: this version has no such back end. U302: the variant is another back end's. U318: an
        unknown solver.
    """
    asked = variant.of(name)
    if options.settings:
        said = {one.name: one.value for one in options.settings if takes(name, one.name)}
        asked = {**said, **asked}
    made: BackEnd = entry_of(name).load().of(options, asked)
    return made
