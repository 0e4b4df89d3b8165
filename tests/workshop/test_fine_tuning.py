"""Networks learn words and codes of texts that were written, and keep what they said of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from pipeline.engine.model import Model, load_model, shipped_model
from pipeline.engine.model.encoder import encode_batch
from pipeline.engine.model.features import BITS, count
from pipeline.engine.model.matrices import Floats, find
from workshop import fine_tuning
from workshop.examples import Example, Written, count_words
from workshop.fine_tuning import fine_tuned

CODES = ("111110", "561720", "561710")
TEXTS = {"wugfel zantrip": "561720", "wugfel morblin": "561710"}
EXAMPLES = [Example(text, "naics", code, 4.0) for text, code in TEXTS.items()] * 100
WRITTEN = Written(
    rows=count_words(["road works of the borogove town"]),
    titles=count_words(["borogove roads", "slithy roads"]),
    descriptions=count_words(TEXTS),
    names=count_words(["vorpal"]),
)


def embed(texts: Sequence[str]) -> Floats:
    """Return vectors that tell the first letters of texts."""
    found = np.zeros((len(texts), 128), np.float32)
    for row, text in zip(found, texts, strict=True):
        row[[ord(letter) % 128 for letter in text[:3]]] = 1
    return found


@pytest.fixture(scope="module")
def model() -> Model:
    """The package's model of NAICS, with the heads of three codes."""
    pytest.importorskip("torch").set_num_threads(1)
    whole = load_model(shipped_model(), "naics")
    scorer = whole.own
    some = np.flatnonzero(np.isin(scorer.codes, CODES))
    directions = replace(
        scorer.directions,
        levels=scorer.directions.levels[some],
        scales=scorer.directions.scales[some],
    )
    scorer = replace(
        scorer, codes=scorer.codes[some], directions=directions, prior=scorer.prior[some]
    )
    return replace(whole, scores=scorer)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fine_tuning, "BATCH", 2)


def tuned(model: Model, examples: Sequence[Example] = EXAMPLES) -> Model:
    return fine_tuned({"naics": model}, examples, WRITTEN, embed)["naics"]


def shares(model: Model, text: str) -> Floats:
    """Return the share of each code."""
    found: Floats = model.own.shares(encode_batch((text,)))[0][0]
    return found


def knows(model: Model, word: str) -> bool:
    return bool(model.own.encoder.vocabulary.find_words([word])[0][0])


def test_words_of_names_of_descriptions_and_of_titles_in_use_become_known(model: Model) -> None:
    words = ("vorpal", "wugfel", "borogove", "slithy")
    after = tuned(model)
    assert [knows(model, word) for word in words] == [False, False, False, False]
    assert [knows(after, word) for word in words] == [True, True, True, False]


def test_of_many_words_those_of_names_come_first_and_then_those_of_descriptions(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fine_tuning, "MOST_NEW", 2)
    after = tuned(model)
    known = [knows(after, word) for word in ("vorpal", "wugfel", "borogove")]
    assert known == [True, True, False]


def test_parts_of_words_that_move_texts_least_give_way_to_words(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, text = model.own.encoder.vocabulary, "cleaning of buildings"
    used = before.features[before.vectors(count([text])).columns]
    parts = before.features >= 1 << BITS
    most = int((~parts).sum()) + 1_000
    monkeypatch.setattr(fine_tuning, "MOST", most)
    after = tuned(model, [Example(text, "naics", "561720", 1.0), *EXAMPLES]).own.encoder
    found = after.vocabulary.features
    assert len(found) == most
    assert find(found, before.features[~parts])[0].all()
    assert find(found, used)[0].all()


def test_the_codes_of_written_texts_are_learned(model: Model) -> None:
    after = tuned(model, [*EXAMPLES, Example("wugfel", "naics", "999999", 1.0)])
    for text, code in TEXTS.items():
        place = model.own.codes.tolist().index(code)
        assert shares(after, text).argmax() == place
        assert shares(after, text)[place] > shares(model, text)[place] + 0.05


def test_what_the_networks_said_holds_them_back(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, moved = "wugfel zantrip", dict[float, float]()
    for weight in (0.0, 100.0):
        monkeypatch.setattr(fine_tuning, "BEFORE", weight)
        moved[weight] = float(np.abs(shares(tuned(model), text) - shares(model, text)).sum())
    assert moved[100.0] < moved[0.0] / 2
