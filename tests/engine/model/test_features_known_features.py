from __future__ import annotations

import numpy as np

from pipeline.engine.model.features import BITS, BLOCKS, KnownFeatures

LAST = (BLOCKS << BITS) - 1


def test_features_are_found_at_their_places_and_others_are_unknown() -> None:
    random = np.random.default_rng(0)
    some = random.choice(3_000, 1_000, replace=False)
    features = np.unique(np.concatenate([some, [LAST - 1, LAST]])).astype(np.uint32)
    asked = np.concatenate([random.permutation(4_000), [LAST, LAST - 16]]).astype(np.uint32)
    known, places = KnownFeatures(features).find(asked)
    assert known.tolist() == np.isin(asked, features).tolist()
    assert features[places].tolist() == asked[known].tolist()
