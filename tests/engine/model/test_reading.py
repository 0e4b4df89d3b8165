from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest

from pipeline.engine.model import general_model, load_model
from pipeline.engine.model.encoder import Encoded, Encoder
from pipeline.engine.model.features import Counts
from pipeline.engine.model.reading import Reading, reading
from pipeline.engine.model.scorer import Scorer

TEXTS = "wheat and seeds", "asphalt for a road", "road works", "cleaning of windows"


@dataclass(eq=False)
class Watched:
    """An encoder that remembers how many texts it encoded each time."""

    encoder: Encoder
    encoded: list[int] = field(default_factory=list)

    def encode(self, counts: Counts) -> Encoded:
        self.encoded.append(len(counts))
        return self.encoder.encode(counts)


@pytest.fixture
def watched() -> Any:
    scores = load_model(general_model(), "cpv").scores
    assert isinstance(scores, Scorer)
    return Watched(scores.encoder)


@pytest.fixture
def read() -> Reading:
    reading.cache_clear()
    return reading(TEXTS)


@pytest.mark.parametrize(("rows", "encoded"), [([], 0), ([2], 1), ([0, 3], 2), ([0, 1, 3], 4)])
def test_of_few_texts_only_these_are_encoded_and_once(
    read: Reading, watched: Any, rows: list[int], encoded: int
) -> None:
    some = [read.only(np.array(rows, np.intp))(cast(Encoder, watched)) for _ in range(2)]
    assert watched.encoded == [encoded]
    whole = read(watched)
    for found in some:
        assert found.hidden.tobytes() == whole.hidden[rows].tobytes()
        assert found.known.tobytes() == whole.known[rows].tobytes()


def test_texts_that_are_encoded_already_are_not_encoded_again(read: Reading, watched: Any) -> None:
    read(watched)
    read.only(np.array([2]))(watched)
    assert watched.encoded == [4]
