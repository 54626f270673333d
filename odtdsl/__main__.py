"""`odt`, also as `python -m odtdsl`."""

import gc

from odtdsl.base.interrupts import ends_quietly

YOUNG = 100_000
"""How many new objects Python gathers before it looks for cycles among them, not 700: nearly all
that start-up makes stays, and looking through it 137 times took a tenth of a small solve. What no
cycle holds is freed at once anyway."""


def main() -> None:
    """Entry point: Ctrl-C is heard before all that takes time to import."""
    ends_quietly()
    gc.set_threshold(YOUNG)
    from odtdsl.interfaces.cli.main import main

    main()


if __name__ == "__main__":
    main()
