from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.matrices import Floats
from pipeline.engine.training.network import Head, Network
from pipeline.engine.training.train import merge


def network(seed: int) -> Network:
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> Floats:
        return random.standard_normal(shape, dtype=np.float32)

    heads = tuple(Head(normal(codes, 3), np.log(np.full(codes, 1 / codes))) for codes in (5, 9))
    return Network(normal(40, 3), heads)


def scores(network: Network, system: int) -> Floats:
    found: Floats = network.features @ network.heads[system].directions.T
    return found


@pytest.mark.parametrize("system", [0, 1])
def test_the_merged_network_scores_as_the_mean_of_the_networks_for_every_system(
    system: int,
) -> None:
    networks = [network(1), network(2)]
    merged = merge(networks, np.ones(40, np.float32), 6)
    assert merged.features.shape == (40, 6)
    mean = np.mean([scores(each, system) for each in networks], axis=0)
    assert scores(merged, system) == pytest.approx(mean, abs=1e-3)


def test_fewer_dimensions_keep_most_of_it() -> None:
    networks = [network(1), network(2)]
    mean = np.mean([scores(each, 0) for each in networks], axis=0)
    off = scores(merge(networks, np.ones(40, np.float32), 4), 0) - mean
    assert 0 < (off**2).sum() < 0.3 * (mean**2).sum()
