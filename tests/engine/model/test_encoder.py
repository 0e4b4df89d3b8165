from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from pipeline.engine.model import load_model, shipped_model
from pipeline.engine.model.acceptance import LENGTHS, TRAITS
from pipeline.engine.model.encoder import EncodedBatch, Encoder, encode_batch, quantised, rotation
from pipeline.engine.model.features import (
    BITS,
    BLOCKS,
    MAX_TOKENS,
    Counts,
    count,
    gram_hashes,
    hashed_features,
    learn,
    tokens,
)
from pipeline.engine.model.matrices import find
from pipeline.engine.model.title_words import MEASURES
from tests.engine.model.training_data import history

TEXTS = [
    *history(40, seed=5)[0],
    "",
    "жюфц",
    "wheat",
    "barley barley grain, grains; seeds (except seeds of wheat) 5120-00-123-4567 of 2024",
    "asphalt " * 300,
]


AFTER_TITLES = TRAITS - 2 - len(LENGTHS)
TITLES = slice(AFTER_TITLES - MEASURES, AFTER_TITLES)


@cache
def encoder() -> Encoder:
    """Return an encoder that knows the features of some texts, with random weights."""
    vocabulary = learn([count(history(300)[0])], 1, 10_000)
    shape = len(vocabulary.features), 16
    rows = np.random.default_rng(0).standard_normal(shape, np.float32)
    return Encoder(vocabulary, quantised(rows, 4, np.ones(len(rows))))


def test_composed_vectors_are_those_that_training_uses() -> None:
    counts, found = count(TEXTS), encoder()
    hidden = found.encode(EncodedBatch(counts)).hidden
    by_feature = found.weights.sums(found.vocabulary.vectors(counts))
    assert np.abs(hidden).max() > 0.1
    assert hidden == pytest.approx(by_feature, rel=1e-4, abs=1e-5)


def test_the_words_of_a_text_are_its_features_without_parts_of_words() -> None:
    counts, found = count(TEXTS), encoder()
    every, words = found.vocabulary.vectors(counts), found.vocabulary.composed(counts).words
    features = found.vocabulary.features
    kept = every.where(features[every.columns] < 2 << BITS)
    assert words.columns.tolist() == kept.columns.tolist()
    assert words.values.tolist() == kept.values.tolist()
    assert 0 < len(words.values) < len(every.values)


def test_an_ngram_that_two_tokens_share_has_the_weights_of_both() -> None:
    vocabulary = encoder().vocabulary
    vectors = vocabulary.vectors(count(["seeds seedy"]))
    hashes, _ = gram_hashes(["seeds"], [4])
    shared, own_gram = hashed_features(hashes[[0, 2]], 2).tolist()  # "<see" and "eeds"
    features = vocabulary.features[vectors.columns].tolist()
    values = vectors.values / vocabulary.rarity[vectors.columns].astype(np.float32)
    first, second = np.log1p([1, 20 / 21])
    ratio = values[features.index(shared)] / values[features.index(own_gram)]
    assert ratio == pytest.approx((first + second) / first, rel=1e-4)


def test_text_vectors_have_about_unit_length() -> None:
    vectors = encoder().vocabulary.vectors(count(TEXTS))
    lengths = np.sqrt(np.bincount(vectors.rows, vectors.values**2, len(vectors)))
    assert lengths[:40] == pytest.approx(np.ones(40), abs=0.1)
    assert lengths[40:42].tolist() == [0, 0]


def rows(number: int, width: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.random.default_rng(1).standard_normal((number, width), dtype=np.float32)


@pytest.mark.parametrize(("columns", "error"), [(2, 0.2), (4, 0.6)])
def test_rows_come_back_nearly_as_they_were_and_nearer_with_more_bytes(
    columns: int, error: float
) -> None:
    true = rows(5_000, 16)
    kept = quantised(true, columns, np.ones(len(true)))
    assert (kept.width, kept.places.shape[1]) == (16, 16 // columns)
    off = kept.rows(np.arange(len(true))) - true
    assert np.sqrt((off**2).mean()) < error
    assert kept.rows(np.array([7, 3])).tolist() == kept.rows(np.arange(8))[[7, 3]].tolist()


def test_fewer_rows_than_typical_parts_and_rows_of_nothing_are_kept() -> None:
    true = np.zeros((3, 4), np.float32)
    true[1] = [1, 2, 3, 4]
    kept = quantised(true, 2, np.ones(3)).rows(np.arange(3))
    assert kept == pytest.approx(true, abs=0.01)


@pytest.mark.parametrize(("of_others", "length"), [(0.0, 1.0), (1.0, 1e-4)])
def test_rows_that_no_text_has_or_that_are_short_are_kept_and_take_few_centres_from_others(
    monkeypatch: pytest.MonkeyPatch, of_others: float, length: float
) -> None:
    monkeypatch.setattr("pipeline.engine.model.encoder.SAMPLE", 256)
    true, others = rows(1_000, 4), np.arange(1_000) >= 200
    importance = np.where(others, of_others, 1.0)
    every = quantised(true, 4, np.ones(1_000))
    true[others] *= length
    some = quantised(true, 4, importance)
    assert some.places.shape == every.places.shape
    off = [np.abs(kept.rows(np.arange(200)) - true[:200]).mean() for kept in (every, some)]
    assert off[1] < off[0] / 2


def test_errors_of_rows_mostly_cancel_in_a_sum() -> None:
    true = rows(5_000, 16)
    off = quantised(true, 4, np.ones(len(true))).rows(np.arange(len(true))) - true
    alone = np.linalg.norm(off, axis=1).mean() / np.linalg.norm(true, axis=1).mean()
    sums, errors = (each.reshape(50, 100, 16).sum(axis=1) for each in (true, off))
    together = np.linalg.norm(errors, axis=1).mean() / np.linalg.norm(sums, axis=1).mean()
    assert together < alone * 1.2


def test_a_rotation_keeps_products() -> None:
    turn, some = rotation(16), rows(10, 16)
    assert (some @ turn) @ (some @ turn).T == pytest.approx(some @ some.T, abs=1e-4)


READ = "wheat and seeds", "asphalt for a road", "road works", "cleaning of windows"


def test_an_encoder_is_asked_once() -> None:
    batch, found = encode_batch(READ), encoder()
    assert batch.cached(found.encode) is batch.cached(found.encode)


def test_an_item_below_a_heading_counts_as_much_as_the_whole_text() -> None:
    model, heading, item = (
        load_model(shipped_model(), "cpv"),
        "Purchase of hardware.",
        "Wheelchairs",
    )
    texts = (f"{heading} {item}", heading, item)
    shares = model.shares(encode_batch(texts))[0]
    listed = model.listed(encode_batch(texts))[0]
    assert listed[0] == pytest.approx((shares[0] + shares[2]) / 2, abs=1e-6)
    assert listed[1:].tolist() == shares[1:].tolist()
    assert model.codes[listed[0].argmax()] == model.codes[shares[2].argmax()]


def test_the_words_of_titles_are_those_of_the_item_as_much_as_of_the_whole_text() -> None:
    model = load_model(shipped_model(), "cpv")
    assert model.acceptance
    texts = ("Purchase of hardware. Wheelchairs", "Wheelchairs of steel")
    batch, evidence = encode_batch(texts), model.acceptance.evidence
    places, traits = evidence.traits(model.listed(batch)[0], batch, model.own_words(batch))
    codes = evidence.lister.codes[places]
    found = evidence.titles.measured(texts, codes)
    found[0] += evidence.titles.measured(["Wheelchairs"], codes[:1])[0]
    assert traits[:, :, TITLES].tolist() == (found / [[[2]], [[1]]]).tolist()


def test_a_code_that_the_table_lacks_has_no_words_of_titles() -> None:
    acceptance = load_model(shipped_model(), "cpv").acceptance
    assert acceptance
    codes = np.array([["33193120", "99999999"]])
    titles = acceptance.evidence.titles
    text = f"Wheelchairs. {next(iter(titles.table.titles.values()))}"
    known, lacking = titles.measured([text], codes)[0]
    assert known[0] > 0
    assert lacking[:5].tolist() == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("!! a .", []),
        ("Straßen-Bau &amp; MÜLL", ["strassen", "bau", "mull"]),
        (
            "<b>Road</b> marking, see https://x.example/a or me@x.example",
            ["road", "marking", "see", "or"],
        ),
        ("valve 4820-01-234-5678, 12345678 of 2024", ["valve", "4820-01-234-5678", "of", "2024"]),
        ("Cafés (except mobile) with bars", ["cafes", "except mobile", "with", "bars"]),
    ],
)
def test_tokens_are_words_short_numbers_and_stock_numbers(text: str, found: list[str]) -> None:
    assert tokens(text) == found


def test_what_follows_many_tokens_is_not_read() -> None:
    assert len(tokens("word " * 1000)) == MAX_TOKENS


def features(counts: Counts) -> set[int]:
    found, _ = counts.frequencies()
    return {*found.tolist()}


def test_earlier_words_count_more_and_pairs_know_their_order() -> None:
    one, other = (count([text]) for text in ("road paint", "paint road"))
    pairs = [counted.pairs.columns.tolist() for counted in (one, other)]
    assert pairs[0] != pairs[1]
    assert [pair >> BITS for pair in pairs[0]] == [1]
    assert one.tokens.values[::2].tolist() == pytest.approx([1.0, 20 / 21])


def test_what_a_text_excludes_has_nothing_in_common_with_what_it_is_about() -> None:
    about, excluded = count(["mobile"]), count(["cafes (except mobile)"])
    assert not features(about) & features(excluded)
    alike = count(["bars (except mobile)"])
    words = [{each for each in features(c) if each >> BITS == 0} for c in (excluded, alike)]
    assert len(words[0] & words[1]) == 1


LAST = (BLOCKS << BITS) - 1


def test_features_are_found_at_their_places_and_others_are_unknown() -> None:
    random = np.random.default_rng(0)
    some = random.choice(3_000, 1_000, replace=False)
    features = np.unique(np.concatenate([some, [LAST - 1, LAST]])).astype(np.uint32)
    asked = np.concatenate([random.permutation(4_000), [LAST, LAST - 16]]).astype(np.uint32)
    known, places = find(features, asked)
    assert known.tolist() == np.isin(asked, features).tolist()
    assert features[places[known]].tolist() == asked[known].tolist()
