"""The `cpsat` back end: clauses and sums on the CP-SAT solver of OR-tools, an optional extra."""
