"""The compiler: from a syntax tree and data to a typed problem.

`analyse` reads the data, resolves every name and type, and returns a `Problem` with its
training rows. All mistakes of a spec are collected before it gives up.
"""

from odtdsl.compiler.analysis import Analysis, analyse

__all__ = ["Analysis", "analyse"]
