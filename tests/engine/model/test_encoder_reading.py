from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from pipeline.engine.model import load_model, shipped_model
from pipeline.engine.model.encoder import Encoded, Encoder, Reading, reading
from pipeline.engine.model.features import Counts
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
    scores = load_model(shipped_model(), "cpv").scores
    assert isinstance(scores, Scorer)
    return Watched(scores.encoder)


@pytest.fixture
def read() -> Reading:
    reading.cache_clear()
    return reading(TEXTS)


def test_an_encoder_is_asked_once(read: Reading, watched: Any) -> None:
    first, second = (read(cast(Encoder, watched)) for _ in range(2))
    assert first is second
    assert watched.encoded == [4]
