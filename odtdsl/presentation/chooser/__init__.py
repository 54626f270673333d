"""A page to choose from many good trees, and to write the choice as rules."""

from odtdsl.presentation.chooser.page import page, write

__all__ = ["page", "write"]
