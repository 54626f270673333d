"""Reports to look at: one HTML page of a result, alone and without scripts from elsewhere."""

from odtdsl.presentation.report.page import page, write

__all__ = ["page", "write"]
