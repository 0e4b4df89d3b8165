from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.engine.lexical import (
    FEATURES,
    HALF_AT_WORD,
    LIGHTER,
    parts,
    term_counts,
)
from pipeline.engine.text.boilerplate import BUYING_WORDS


def test_there_is_a_row_a_text_and_the_same_columns_whatever_the_texts() -> None:
    for texts in ([], [""], ["road"], ["road", "", "Büromöbel"]):
        counts = term_counts(texts)
        assert counts.shape == (len(texts), FEATURES)
        assert counts.dtype == np.float32
    assert term_counts(["", "12"]).nnz == 0


def test_earlier_words_weigh_more_and_half_at_the_stated_position() -> None:
    filler = "xy " * HALF_AT_WORD
    first, late = term_counts(["road", filler + "road"])
    places = first.indices
    assert late.toarray()[0, places] == pytest.approx(first.data / 2)
    one, two = (term_counts([text]).toarray()[0, places] for text in ("a road", "dig the road"))
    assert (one > two).all()


def test_a_word_said_twice_counts_more_than_once_and_less_than_double() -> None:
    once, twice = (matrix.toarray()[0] for matrix in term_counts(["road", "road road"]))
    assert ((once < twice) == (once > 0)).all()
    assert (twice <= 2 * once).all()


def test_words_that_share_most_letters_share_features_and_others_none() -> None:
    chair, chairs, road = (row.indices for row in term_counts(["chair", "chairs", "road"]))
    assert set(chair) & set(chairs)
    assert not set(chair) & set(road)


def test_a_row_does_not_depend_on_the_texts_beside_it() -> None:
    alone = term_counts(["chairs and tables"])
    among = term_counts(["tables", "chairs and tables", "and"])[1]
    assert (alone != among).nnz == 0


def test_words_that_only_say_that_something_is_bought_count_less() -> None:
    assert {"purchase", "lieferung", "διαγωνισμοσ", "zamowienie"} <= BUYING_WORDS
    plain = term_counts(["purchase"]).sum()
    light = term_counts(["purchase"], BUYING_WORDS).sum()
    assert light == pytest.approx(plain * LIGHTER)
    assert term_counts(["road"], BUYING_WORDS).sum() == term_counts(["road"]).sum()


@given(st.text(max_size=60) | st.sampled_from(["road road construction", "<b>Größe</b>", ""]))
def test_a_text_taken_apart_adds_up_to_what_is_counted_of_it(text: str) -> None:
    counts = term_counts([text], {"construction"})
    apart = parts(text, {"construction"})
    sums = np.bincount(apart.features, apart.weights, FEATURES)
    assert sums[counts.indices] == pytest.approx(counts.data, rel=1e-5)
    assert np.count_nonzero(sums) == counts.nnz
