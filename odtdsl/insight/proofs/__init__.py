"""Proofs that nothing better exists: written by `log`, read by `file`, checked by `check`.

A proof is a list of claims. Each claim is a formula, which the encoder makes of the spec and of
some of its rows, and a refutation of that formula, which a checker in C++ follows step by step.
"""
