"""The `exact` and `search` back ends: branch and bound, and the anytime search, in C++."""
