"""Turns what a model says into how often it is right, learned from texts it has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.arrays import Bools, Floats

__all__ = ["BINS", "Calibration", "calibrate", "calibration_error", "evidence", "fitted_spread"]

BINS = 10
"""Parts of the scale of confidence whose errors are averaged."""

SHRINKAGE = 1.0
SPREADS = np.arange(0, 1.01, 0.05)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How likely codes are right.

    Attributes:
        weights: of a logistic regression of "the first code is right" on `evidence`; intercept
            first.
        spread: how far doubt about the first code goes to the others, from 0 to 1.
    """

    weights: Floats
    spread: float = 0.0

    def confidence(self, evidence: Floats) -> Floats:
        """Return how likely each text's first code is right."""
        return _logistic(self.weights[0] + evidence @ self.weights[1:])

    def others(self, best: Floats, first: Floats) -> Floats:
        """Return how likely the codes behind the first are right.

        Args:
            best: texts x codes, their shares, highest first.
            first: how likely each text's first code is right.
        """
        return _others(best, first, self.spread)


def evidence(best: Floats, second: Floats, known: Floats) -> Floats:
    """Return what confidence rests on: log odds, log lead, share of the text's features known."""
    best = np.clip(best.astype(np.float64), 1e-6, 1 - 1e-6)
    lead = np.log(best / np.clip(second, 1e-6, best))
    return np.stack([np.log(best / (1 - best)), lead, known - 1], axis=1)


def calibrate(evidence: Floats, right: Bools, start: Calibration | None = None) -> Calibration:
    """Fit by Newton's method; knowing more of a text never lowers the confidence.

    Args:
        evidence: of each text.
        right: whether its first code is right.
        start: what is believed as long as the texts are few: the calibration of the model that
            gives most of the answers then.
    """
    towards = np.zeros(evidence.shape[1] + 1) if start is None else start.weights
    weights = _fitted(evidence, right, towards)
    if weights[-1] < 0:
        weights = np.append(_fitted(evidence[:, :-1], right, towards[:-1]), 0.0)
    return Calibration(weights)


def fitted_spread(best: Floats, first: Floats, hits: Floats) -> float:
    """Return the spread with which the codes behind the first are right as often as they say.

    Args:
        best: texts x codes, their shares, highest first.
        first: how likely each text's first code is right.
        hits: texts x codes, 1 where the code is right.
    """
    right = hits[:, 1:].sum()
    off = [abs(_others(best, first, spread).sum() - right) for spread in SPREADS]
    return float(SPREADS[int(np.argmin(off))])


def calibration_error(confidence: Floats, right: Bools) -> float:
    """Return the expected calibration error: how far tenths of the scale are off, on average."""
    tenth = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    off = np.bincount(tenth, confidence, BINS) - np.bincount(tenth, right, BINS)
    return float(np.abs(off).sum() / max(1, len(right)))


def _others(best: Floats, first: Floats, spread: float) -> Floats:
    top = np.clip(best[:, 0].astype(np.float64), 1e-6, 1 - 1e-6)
    kept = (first / top) ** (1 - spread) * ((1 - first) / (1 - top)) ** spread
    others: Floats = np.minimum(best[:, 1:] * kept[:, None], first[:, None])
    return others


def _fitted(evidence: Floats, right: Bools, towards: Floats) -> Floats:
    columns = np.column_stack([np.ones(len(evidence)), evidence]).astype(np.float64)
    weights = np.zeros(columns.shape[1])
    for _ in range(30):
        share = _logistic(columns @ weights)
        slope = columns.T @ (right - share) - SHRINKAGE * (weights - towards)
        bend = (columns * (share * (1 - share))[:, None]).T @ columns
        weights += np.linalg.solve(bend + SHRINKAGE * np.eye(len(weights)), slope)
    return weights


def _logistic(odds: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
    return chance
