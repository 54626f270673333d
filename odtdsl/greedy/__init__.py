"""Greedy growth under rules."""

from odtdsl.greedy.backend import GreedyBackEnd

__all__ = ["GreedyBackEnd"]
