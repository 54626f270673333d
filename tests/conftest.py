"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# Times are reported by benchmarks and never asserted: a busy machine is no failure.
settings.register_profile("odtdsl", deadline=None)
settings.load_profile("odtdsl")
