"""The `sat` back end: clauses on the solvers of python-sat."""
