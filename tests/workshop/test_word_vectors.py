"""The vectors of words and titles learn from labels and verdicts, and from no verdict at home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest

from pipeline.answers import System
from pipeline.engine.model.encoder import COLUMNS
from pipeline.engine.model.features import BITS, Vocabulary, learn
from pipeline.engine.model.matrices import Floats
from pipeline.engine.training import Examples
from tests.engine.model.training_data import history
from tests.workshop.tasks import SWAPPED, judgements
from workshop import word_vectors
from workshop.acceptance import Judgement, Lessons, Verdict
from workshop.examples import Example, count_words
from workshop.word_vectors import FROM_LABELS, FROM_VERDICTS, Candidates, Meanings, train

TITLES = {"03111000": "Seeds", "45233140": "Roadworks", "90910000": "Cleaning services"}
CODES = np.array(list(TITLES))


def fake_embedding(texts: Sequence[str]) -> Floats:
    """Return a random vector for each text, which says nothing of its meaning."""
    rows = [
        np.random.default_rng(crc32(text.encode())).standard_normal(COLUMNS + 4) for text in texts
    ]
    return np.array(rows, np.float32)


def vocabulary() -> Vocabulary:
    return learn(Examples.of(*history(300)).parts, 2, 10_000)


def trained(judged: Sequence[Judgement]) -> Meanings:
    texts, codes = history(1_500)
    rows = np.tile(CODES, (len(judged), 1))
    logs = np.zeros((*rows.shape, 1), np.float32)
    lessons = Lessons.of("cpv", logs, rows, judged)
    return train(
        vocabulary(),
        count_words(texts),
        {"cpv": TITLES, "psc": {"8730": "Seeds"}},
        [Example(text, "cpv", code, 1.0) for text, code in zip(texts, codes, strict=True)],
        judged,
        {"cpv": Candidates(rows, lessons.traits[:, :, 0], lessons.right, lessons.known)},
        fake_embedding,
    )


def nearest(meanings: Meanings) -> list[str]:
    """Return the code whose title is nearest to each judged text."""
    found: list[str] = CODES[meanings.cosines["cpv"].argmax(axis=1)].tolist()
    return found


@pytest.fixture(autouse=True)
def more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few texts teach as much as many do; the same steps give the same numbers."""
    pytest.importorskip("torch").set_num_threads(1)
    rates = {name: 20 * rate for name, rate in FROM_VERDICTS.rates.items()}
    verdicts = FROM_VERDICTS._replace(epochs=10, batch=32, rates=rates)
    monkeypatch.setattr(word_vectors, "FROM_VERDICTS", verdicts)
    monkeypatch.setattr(word_vectors, "FROM_LABELS", FROM_LABELS._replace(batch=32))


def test_labels_bring_texts_near_the_titles_of_their_codes() -> None:
    nothing: dict[System, Verdict] = {"cpv": Verdict(frozenset(), frozenset(), unknowable=True)}
    judged = [replace(each, verdicts=nothing) for each in judgements(250, 3, sources=5)]
    meanings = trained(judged)
    _, codes = history(250, seed=3)
    assert np.mean(np.array(nearest(meanings)) == codes) > 0.95
    assert meanings.titles["cpv"].shape == (3, meanings.words.shape[1])
    known = vocabulary()
    assert len(meanings.words) == np.searchsorted(known.features, 1 << BITS)
    for row in meanings.words:
        assert len(np.unique(row)) <= 15, "4 bits hold the levels"


def test_verdicts_outdo_labels() -> None:
    _, codes = history(250, seed=3)
    found = nearest(trained(judgements(250, 3, sources=5)))
    assert np.mean(np.array(found) == [SWAPPED[code] for code in codes]) > 0.9


def test_no_cosine_knows_the_verdicts_on_its_source() -> None:
    judged = judgements(250, 3, {code: code for code in TITLES}, sources=5)
    other = [
        replace(each, verdicts=swapped.verdicts) if each.source == "source 1" else each
        for each, swapped in zip(judged, judgements(250, 3, sources=5), strict=True)
    ]
    own = np.array([each.source == "source 1" for each in judged])
    before, after = (trained(some).cosines["cpv"] for some in (judged, other))
    assert np.array_equal(before[own], after[own])
    assert np.abs(before[~own] - after[~own]).max() > 0.01, (
        "those on other sources taught something"
    )
