"""Averages networks trained from different random starts into one of a chosen width."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.engine.model.arrays import Floats
from pipeline.engine.model.products import softmax
from pipeline.engine.training.network import Head, Network

__all__ = ["merge"]

FLOOR = 1e-6
"""Lower bound on the eigenvalues and singular values, as a fraction of the largest."""

TINY = 1e-12
"""Avoids division by zero if there is only one code and all singular values are zero."""

RARE = 1e-4
"""Added to the weight of each code, so that the rarest codes are not neglected."""


def merge(networks: Sequence[Network], use: Floats, width: int) -> Network:
    """Return one network whose scores are the mean of the networks' scores.

    The mean of low-rank networks has the sum of their ranks; a truncated singular value
    decomposition reduces it to ``width``. It weights each feature by its use in the texts and each
    code by its frequency. All systems count the same.

    Args:
        networks: networks with the same features and codes.
        use: root mean square of each feature in the texts.
        width: dimensions of the result; fewer if there are fewer codes.
    """
    features = np.hstack([network.features for network in networks])
    heads = [_mean(each) for each in zip(*(network.heads for network in networks), strict=True)]
    used = features * (use + 1e-6)[:, None]
    # With few texts the features do not span all dimensions; the floor keeps the inverse stable.
    spread, axes = np.linalg.eigh((used.T @ used).astype(np.float64))
    lengths = np.sqrt(np.maximum(spread, spread.max() * FLOOR))
    weighed = np.vstack([head.directions * _importance(head)[:, None] for head in heads])
    left, values, _ = np.linalg.svd((lengths[:, None] * axes.T) @ weighed.T, full_matrices=False)
    root = np.sqrt(values[:width] + FLOOR * values[0] + TINY)
    turn = (axes / lengths) @ (left[:, :width] * root)
    back = ((left[:, :width] / root).T * lengths) @ axes.T
    turned = tuple(Head((h.directions @ back.T).astype(np.float32), h.prior) for h in heads)
    return Network(features @ turn.astype(np.float32), turned)


def _mean(heads: Sequence[Head]) -> Head:
    directions = np.hstack([head.directions for head in heads]) / len(heads)
    return Head(directions, np.mean([head.prior for head in heads], axis=0).astype(np.float32))


def _importance(head: Head) -> Floats:
    """Return how much an error in each code's score matters."""
    importance: Floats = np.sqrt(softmax(head.prior[None, :].copy())[0]) + RARE
    return importance
