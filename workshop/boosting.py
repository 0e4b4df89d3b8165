"""Trains gradient-boosted trees that tell how likely an outcome is, with LightGBM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pipeline.engine.model.acceptance import LEAVES, STEP, Trees
from pipeline.engine.model.matrices import Bools, Floats

SETS, TREES = 6, 90
"""Sets of trees, each with chances of its own, whose mean is taken; and the trees of each. Fewer
and larger sets accept as many codes of sources left out, and are sure of fewer."""

SETTINGS: Mapping[str, Any] = {
    "objective": "binary",
    "learning_rate": 0.1,
    "num_leaves": LEAVES,
    "min_data_in_leaf": 60,
    "lambda_l2": 8.0,
    "max_bin": 64,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
"""Twice as many leaves or trees, half or twice the rate, and other shares of the columns accept as
many codes of sources left out, within .004."""


def boosted(rows: Floats, right: Bools, weights: Floats) -> Trees:
    """Return trees whose sum is the log odds of the outcome.

    Args:
        rows: rows x columns.
        right: the outcome of each row.
        weights: how much each row counts.
    """
    import lightgbm  # only for recipes with judged texts

    data = lightgbm.Dataset(rows, right, weight=weights)
    sets = (lightgbm.train({**SETTINGS, "seed": seed}, data, TREES) for seed in range(SETS))
    found = [tree for each in sets for tree in each.dump_model()["tree_info"]]
    features = np.zeros((len(found), LEAVES - 1), np.uint8)
    thresholds = np.zeros((len(found), LEAVES - 1), np.float32)
    excluded = np.zeros((len(found), LEAVES - 1), np.uint16)
    leaves = np.zeros((len(found), LEAVES), np.int16)
    for tree, each in enumerate(found):
        values = list[float]()
        questions = [*_questions(each["tree_structure"], values)]
        for place, question in enumerate(questions):
            features[tree, place], thresholds[tree, place], excluded[tree, place] = question
        leaves[tree, : len(values)] = np.rint(np.array(values) / SETS / STEP)
    return Trees(features, thresholds, excluded, leaves)


def _questions(node: Mapping[str, Any], leaves: list[float]) -> Iterator[tuple[int, float, int]]:
    """Yield (column, threshold, the set of leaves that a "yes" excludes); add the leaves."""
    if "leaf_value" in node:
        leaves.append(node["leaf_value"])
        return
    first = len(leaves)
    yield from _questions(node["left_child"], leaves)
    yield node["split_feature"], node["threshold"], (1 << len(leaves)) - (1 << first)
    yield from _questions(node["right_child"], leaves)
