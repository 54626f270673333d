"""The second meaning of every rule, from a finished model and the cells as they were read.

`rows` reads cells, `routing` leads them through a model, `meanings` says what each term means
there, `values` what expressions and conditions of terms do; `skeleton`, `candidates`, `counts`
and `outputs` are what is checked beside the rules. `odtdsl.auditor.audit` puts all together.
Nothing here uses a back end, a core form, or the masks and translations of `odtdsl.problem.terms`.
"""
