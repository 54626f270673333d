"""Greedy growth under rules."""

from odtdsl.backends.greedy.backend import GreedyBackEnd

__all__ = ["GreedyBackEnd"]
