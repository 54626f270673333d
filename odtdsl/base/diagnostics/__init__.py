"""Mistakes and warnings as values: codes, places, and what to write instead."""
