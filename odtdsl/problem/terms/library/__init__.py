"""The terms: a file here is a term, and `registry` finds it."""
