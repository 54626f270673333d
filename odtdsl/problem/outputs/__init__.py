"""Feasible sets of leaf outputs: compiled from rules, projected on, and kept by leaves."""
