from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.features import (
    BITS,
    BLOCKS,
    MAX_TOKENS,
    Counts,
    count,
    tokens,
)
from pipeline.engine.model.matrices import find


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
