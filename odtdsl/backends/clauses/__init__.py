"""Trees, diagrams and rules as clauses and sums: what `sat` and `cpsat` share."""
