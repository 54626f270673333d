"""Feasible sets of leaf outputs: compiled from rules, projected on, and the trees that keep them."""
