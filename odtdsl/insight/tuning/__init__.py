"""Choosing bounds, prices and limits by rows that were held out: `odt tune`."""

from odtdsl.insight.tuning.grid import Grid, parse_vary
from odtdsl.insight.tuning.result import OuterFold, Trial, Tuning
from odtdsl.insight.tuning.run import TuningOptions, tune

__all__ = ["Grid", "OuterFold", "Trial", "Tuning", "TuningOptions", "parse_vary", "tune"]
