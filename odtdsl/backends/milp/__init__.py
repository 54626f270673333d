"""Trees by mixed-integer programming: lowering, solving, decoding, LP and MPS files.

`program` holds columns and rows; `pattern_flow` (the default), `subtrees` (small trees, from
`parts`; both on `structure`) and `cptree` (the CPTree study's) make the structural part,
`clauses` and `stages` the rules and the objective; `pyomo_model` and `highs` take a program to the
solver, `search` runs stages and depths, `writer` makes files.
"""

from odtdsl.backends.milp.backend import Milp

__all__ = ["Milp"]
