"""Trains gradient-boosted symmetric trees that tell how likely an outcome is."""

from __future__ import annotations

import numpy as np

from pipeline.engine.model.acceptance import QUESTIONS, STEP, Trees
from pipeline.engine.model.calibration import probability
from pipeline.engine.model.matrices import Bools, Floats, Ints

__all__ = ["boosted"]

TREES = 250
RATE = 0.1
"""How much of the best leaf a tree adds."""

SHRINKAGE = 8.0
"""How strongly the leaves are kept near zero: by as much as so many rows of even odds, times 4."""

BINS = 32
"""Parts with equally many rows into which a column is divided; a threshold is between two."""

SAMPLED = 40_000
"""Rows from which the thresholds are chosen."""

COLUMNS, ROWS = 0.4, 0.7
"""The shares of the columns and of the rows that a tree learns from."""

TINY = 1e-9


def boosted(rows: Floats, right: Bools, weights: Floats, seed: int = 0) -> Trees:
    """Return trees whose sum is the log odds of the outcome.

    Args:
        rows: rows x columns.
        right: the outcome of each row.
        weights: how much each row counts.
        seed: chooses the rows and columns of each tree.
    """
    random = np.random.default_rng(seed)
    edges = _edges(rows[random.permutation(len(rows))[:SAMPLED]])
    bins = np.stack(
        [np.searchsorted(own, column) for own, column in zip(edges, rows.T, strict=True)]
    )
    bins = bins.astype(np.uint8)
    usual = np.average(right, weights=weights)
    start = float(np.log((usual + TINY) / (1 - usual + TINY)))
    odds = np.full(len(rows), start)
    usable = np.flatnonzero([len(own) > 0 for own in edges])
    number = max(1, round(len(usable) * COLUMNS))
    features = np.zeros((TREES, QUESTIONS), np.uint8)
    thresholds = np.zeros((TREES, QUESTIONS), np.float32)
    leaves = np.zeros((TREES, 2**QUESTIONS), np.int16)
    for tree in range(TREES if len(usable) else 0):
        chance = probability(odds)
        slope, bend = weights * (right - chance), weights * chance * (1 - chance) + TINY
        some = np.flatnonzero(random.random(len(rows)) < ROWS)
        columns = random.choice(usable, number, replace=False)
        asked, leaf = _grown(bins[columns][:, some], slope[some], bend[some], columns, edges)
        sums, bends = (np.bincount(leaf, each[some], 2**QUESTIONS) for each in (slope, bend))
        features[tree] = [column for column, _ in asked]
        thresholds[tree] = [edges[column][edge] for column, edge in asked]
        leaves[tree] = np.rint(RATE * sums / (bends + SHRINKAGE) / STEP)
        odds += leaves[tree][_leaf(bins, asked)] * STEP
    return Trees(features, thresholds, leaves, start)


def _edges(rows: Floats) -> list[Floats]:
    """Return the thresholds of each column, ascending; none of a column that is constant."""
    shares = np.linspace(0, 1, BINS + 1)[1:-1]
    quantiles = np.quantile(rows, shares, axis=0, method="lower").astype(np.float32)
    largest = rows.max(axis=0)
    return [np.unique(own[own < most]) for own, most in zip(quantiles.T, largest, strict=True)]


def _grown(
    bins: Ints, slope: Floats, bend: Floats, columns: Ints, edges: list[Floats]
) -> tuple[list[tuple[int, int]], Ints]:
    """Return the questions of one tree, as (column, edge), and the leaf of each row."""
    leaf = np.zeros(bins.shape[1], np.intp)
    asked = []
    for depth in range(QUESTIONS):
        best, question, answer = -np.inf, (0, 0), leaf
        for own, column in zip(bins, columns.tolist(), strict=True):
            gains = _gains(leaf * BINS + own, slope, bend, 2**depth)[: len(edges[column])]
            edge = int(gains.argmax())
            if gains[edge] > best:
                best, question, answer = float(gains[edge]), (column, edge), own > edge
        asked.append(question)
        leaf = 2 * leaf + answer
    return asked, leaf


def _gains(places: Ints, slope: Floats, bend: Floats, leaves: int) -> Floats:
    """Return how good each edge is: the gain in likelihood of splitting all leaves there."""
    below, bends = (
        np.bincount(places, each, leaves * BINS).reshape(leaves, BINS).cumsum(axis=1)
        for each in (slope, bend)
    )
    above, bends_above = below[:, -1:] - below, bends[:, -1:] - bends
    both = below**2 / (bends + SHRINKAGE) + above**2 / (bends_above + SHRINKAGE)
    gains: Floats = both.sum(axis=0)
    return gains


def _leaf(bins: Ints, asked: list[tuple[int, int]]) -> Ints:
    leaf = np.zeros(bins.shape[1], np.intp)
    for column, edge in asked:
        leaf = 2 * leaf + (bins[column] > edge)
    return leaf
