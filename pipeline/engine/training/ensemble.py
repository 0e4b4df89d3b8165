"""Averages networks that were learned from different starts into one of a chosen width."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.engine.model.arrays import Floats
from pipeline.engine.model.products import softmax
from pipeline.engine.training.network import Head, Network

__all__ = ["merge"]

FLOOR = 1e-6
"""Smallest spread of the features along an axis, as a share of the largest."""

TINY = 1e-12
"""Where there is one code only, nothing tells anything apart."""

RARE = 1e-4
"""Added to how much a code counts, so that the rarest are not given up."""


def merge(networks: Sequence[Network], use: Floats, width: int) -> Network:
    """Return one network whose scores are the mean of the networks' scores.

    The mean of low-rank networks is one of the summed rank; a truncated singular value
    decomposition brings it down to ``width``. It weighs each feature by how much it is used and
    each code by how often it is given, every system the same.

    Args:
        networks: over the same features and codes.
        use: root mean square of each feature in the texts.
        width: dimensions of the result, fewer if the codes are fewer.
    """
    features = np.hstack([network.features for network in networks])
    heads = [_mean(each) for each in zip(*(network.heads for network in networks), strict=True)]
    used = features * (use + 1e-6)[:, None]
    # Of few texts the features span less than their dimensions; the floor keeps the inverse tame.
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
