"""Measurements of the exact engine: one file per kind, run by `benchmarks/exact.py`."""
