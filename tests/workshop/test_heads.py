"""Heads learn the codes of texts that were written for them, and keep what they said of others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.engine.model import load_model, shipped_model
from pipeline.engine.model.encoder import reading
from pipeline.engine.model.matrices import Floats
from pipeline.engine.model.scorer import Scorer
from pipeline.engine.model.serialization import own
from workshop import heads
from workshop.examples import Example
from workshop.heads import taught_again

CODES = ("111110", "561720", "561710")
WRITTEN = [
    Example(f"{text} number {number}", "naics", code, 4.0)
    for number in range(100)
    for text, code in (("wug polishing", "561720"), ("wug hunting", "561710"))
]


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    """The package's scorer of NAICS, with the heads of three codes that know nothing."""
    pytest.importorskip("torch").set_num_threads(1)
    whole = own(load_model(shipped_model(), "naics"))
    some = np.flatnonzero(np.isin(whole.codes, CODES))
    directions = replace(
        whole.directions, levels=whole.directions.levels[some], scales=whole.directions.scales[some]
    )
    return replace(whole, codes=whole.codes[some], directions=directions, prior=whole.prior[some])


def shares(scorer: Scorer, text: str) -> Floats:
    """Return the share of each code."""
    found: Floats = scorer.shares(reading((text,)))[0][0]
    return found


def test_heads_learn_the_codes_of_written_texts(
    scorer: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "BATCH", 2)
    taught = taught_again(scorer, [*WRITTEN, Example("wug", "naics", "999999", 1.0)])
    for text, code in (("wug polishing", "561720"), ("wug hunting", "561710")):
        place = scorer.codes.tolist().index(code)
        assert shares(taught, text).argmax() == place
        assert shares(taught, text)[place] > shares(scorer, text)[place] + 0.05


def test_what_the_heads_said_holds_them_back(
    scorer: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "BATCH", 2)
    text = "growing soybeans on the state farm"
    before, moved = shares(scorer, text), dict[float, float]()
    for weight in (0.0, 100.0):
        monkeypatch.setattr(heads, "BEFORE", weight)
        moved[weight] = float(np.abs(shares(taught_again(scorer, WRITTEN), text) - before).sum())
    assert moved[100.0] < moved[0.0] / 2
