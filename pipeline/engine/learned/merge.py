"""Averages networks that were learned from different starts into one of a chosen width."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.engine.learned.arrays import Floats
from pipeline.engine.learned.network import Network

__all__ = ["merge"]

FLOOR = 1e-6
"""Smallest spread of the features along an axis, as a share of the largest."""


def merge(networks: Sequence[Network], use: Floats, width: int) -> Network:
    """Return one network whose scores are the mean of the networks' scores.

    The mean of low-rank networks is one of the summed rank; a truncated singular value
    decomposition, weighted by how much each feature is used, brings it down to ``width``.

    Args:
        networks: over the same features and codes.
        use: root mean square of each feature in the texts.
        width: dimensions of the result, fewer if the codes are fewer.
    """
    features = np.hstack([network.features for network in networks])
    directions = np.hstack([network.directions for network in networks]) / len(networks)
    used = features * (use + 1e-6)[:, None]
    # Of few texts the features span less than their dimensions; the floor keeps the inverse tame.
    spread, axes = np.linalg.eigh((used.T @ used).astype(np.float64))
    lengths = np.sqrt(np.maximum(spread, spread.max() * FLOOR))
    left, values, right = np.linalg.svd((lengths[:, None] * axes.T) @ directions.T, False)
    root = np.sqrt(values[:width])
    turn = ((axes / lengths) @ (left[:, :width] * root)).astype(np.float32)
    prior = np.mean([network.prior for network in networks], axis=0)
    kept = (right[:width].T * root).astype(np.float32)
    return Network(features @ turn, kept, prior.astype(np.float32))
