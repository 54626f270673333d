"""Rows: readers, types, candidates, weights, and made-up data sets."""
