"""`python -m odtdsl` is `odt`."""

from odtdsl.cli import main

if __name__ == "__main__":
    main()
