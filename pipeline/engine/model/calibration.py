"""Calibrates model scores into probabilities of being right, fitted on held-out texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.matrices import Bools, Floats

BINS = 10
"""Number of confidence bins in the calibration error."""

SHRINKAGE = 1.0
"""How strongly the weights of a calibration are kept near zero."""

SHRINKAGE_TO_START = 20.0
"""How strongly they are kept near those of another calibration.

The texts of a review are doubtful, so they say little about sure answers. With 1, the 11 held-out
texts of a review of 115 changed the weights so much that of 411 other texts, 5 were `ok` instead of
154."""

SPREADS = np.arange(0, 1.01, 0.05)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How likely codes are right.

    Attributes:
        weights: coefficients of a logistic regression of "the first code is right" on `evidence`;
            intercept first.
        spread: how much doubt about the first code raises the other codes, from 0 to 1.
    """

    weights: Floats
    spread: float = 0.0

    def confidence(self, evidence: Floats) -> Floats:
        """Return how likely each text's first code is right."""
        # einsum sums each row in the same order, however many there are; BLAS does not.
        return probability(self.weights[0] + np.einsum("ij,j->i", evidence, self.weights[1:]))

    def others(self, best: Floats, first: Floats) -> Floats:
        """Return how likely the codes after the first are right.

        Args:
            best: texts x codes, the shares of the codes, highest first.
            first: how likely each text's first code is right.
        """
        return _others(best, first, self.spread)


def evidence(best: Floats, second: Floats, known: Floats) -> Floats:
    """Return the inputs to confidence: log odds, log lead, known share of the features minus 1."""
    best = np.clip(best.astype(np.float64), 1e-6, 1 - 1e-6)
    lead = np.log(best / np.clip(second, 1e-6, best))
    return np.stack([np.log(best / (1 - best)), lead, known - 1], axis=1)


def calibrate(evidence: Floats, right: Bools, start: Calibration | None = None) -> Calibration:
    """Fit by Newton's method; a larger known share of a text never lowers the confidence.

    Args:
        evidence: the `evidence` of each text.
        right: whether the first code of each text is right.
        start: the calibration to shrink towards, which dominates while there are few texts: that
            of the model that then gives most of the answers.
    """
    towards = np.zeros(evidence.shape[1] + 1) if start is None else start.weights
    strength = SHRINKAGE if start is None else SHRINKAGE_TO_START
    weights = logistic(evidence, right, strength, towards)
    if weights[-1] < 0:
        weights = np.append(logistic(evidence[:, :-1], right, strength, towards[:-1]), 0.0)
    return Calibration(weights)


def fitted_spread(best: Floats, first: Floats, hits: Floats) -> float:
    """Return the spread that best calibrates the codes after the first.

    Args:
        best: texts x codes, the shares of the codes, highest first.
        first: how likely each text's first code is right.
        hits: texts x codes, 1 where the code is right.
    """
    right = hits[:, 1:].sum()
    off = [abs(_others(best, first, spread).sum() - right) for spread in SPREADS]
    return float(SPREADS[int(np.argmin(off))])


def calibration_error(confidence: Floats, right: Bools) -> float:
    """Return the expected calibration error over bins of equal width."""
    tenth = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    off = np.bincount(tenth, confidence, BINS) - np.bincount(tenth, right, BINS)
    return float(np.abs(off).sum() / max(1, len(right)))


def _others(best: Floats, first: Floats, spread: float) -> Floats:
    top = np.clip(best[:, 0].astype(np.float64), 1e-6, 1 - 1e-6)
    kept = (first / top) ** (1 - spread) * ((1 - first) / (1 - top)) ** spread
    others: Floats = np.minimum(best[:, 1:] * kept[:, None], first[:, None])
    return others


def logistic(
    inputs: Floats, right: Bools, strength: float, towards: Floats | None = None
) -> Floats:
    """Return the coefficients of a logistic regression, by Newton's method; intercept first.

    Args:
        inputs: rows x inputs.
        right: the outcome of each row.
        strength: how strongly the coefficients are kept near ``towards``.
        towards: the coefficients to shrink towards; zeros if None.
    """
    columns = np.column_stack([np.ones(len(inputs)), inputs]).astype(np.float64)
    weights = np.zeros(columns.shape[1])
    start = weights if towards is None else towards
    for _ in range(30):
        share = probability(columns @ weights)
        slope = columns.T @ (right - share) - strength * (weights - start)
        bend = (columns * (share * (1 - share))[:, None]).T @ columns
        weights = weights + np.linalg.solve(bend + strength * np.eye(len(weights)), slope)
    return weights


def probability(odds: Floats) -> Floats:
    """Return the probabilities with the given log odds."""
    chance: Floats = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
    return chance
