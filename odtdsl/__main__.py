"""`odt`, also as `python -m odtdsl`."""

from odtdsl.base.interrupts import ends_quietly


def main() -> None:
    """Entry point: Ctrl-C is heard before all that takes time to import."""
    ends_quietly()
    from odtdsl.interfaces.cli.main import main

    main()


if __name__ == "__main__":
    main()
