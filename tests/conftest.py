"""What holds for all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# A runner in the background (`nohup`, a shell's `&`) starts with these ignored; tests of signals
# want them heard.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Times are reported by benchmarks and never asserted: a busy machine is no failure.
settings.register_profile("odtdsl", deadline=None)
settings.load_profile("odtdsl")
