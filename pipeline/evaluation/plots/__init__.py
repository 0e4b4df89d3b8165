"""The plots of the page: the figures in the units of the drawings."""

from pipeline.evaluation.plots.curves import curves
from pipeline.evaluation.plots.levels import levels
from pipeline.evaluation.plots.reliability import reliability

__all__ = ["curves", "levels", "reliability"]
