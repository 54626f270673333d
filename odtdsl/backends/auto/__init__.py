"""The portfolio: starts, then one back end or several in turn."""
