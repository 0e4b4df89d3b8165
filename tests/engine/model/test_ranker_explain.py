from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.engine.model.features import count, parts, tokens
from pipeline.engine.model.matrices import softmax
from pipeline.engine.model.ranker import _pulls, explain
from pipeline.engine.model.serialization import own
from pipeline.engine.text.attribution import strongest
from tests.engine.model.training_data import learned, taught

PLACES = {"03111000": 0, "45233140": 1, "90910000": 2}

TEXT = "Phase 2 of the annual Wheat and BARLEY for the harbour"

words = st.sampled_from(["Wheat", "asphalt", "<b>büro</b>", "12", "5120-00-123-4567", "x", "road"])


def reasons(text: str, *codes: str) -> dict[str, float]:
    (found,) = explain(taught().model.scores, [text], [np.array([PLACES[code] for code in codes])])
    return dict(found)


@given(st.lists(words, max_size=8).map(" ".join) | st.text(max_size=40))
def test_a_text_taken_apart_adds_up_to_what_is_counted_of_it(text: str) -> None:
    counts = count([text])
    halves = counts.spelt.select(counts.tokens.columns)
    weights = np.log1p(counts.tokens.values)[halves.rows]
    columns = np.concatenate([halves.columns, counts.pairs.columns])
    values = np.concatenate([weights, counts.pairs.values])
    present, place = np.unique(columns, return_inverse=True)
    counted = np.bincount(place, values, len(present))
    apart = parts(text)
    features, place = np.unique(apart.features, return_inverse=True)
    sums = np.bincount(place, apart.weights, len(features))
    assert features.tolist() == present.tolist()
    assert sums == pytest.approx(counted, rel=1e-5)


def test_pulls_add_up_to_the_lead_of_the_code_over_the_others_by_their_shares() -> None:
    scorer = own(taught().model)
    vectors = scorer.encoder.vocabulary.vectors(count([TEXT, "paving of an office"]))
    scores = scorer.directions(scorer.encoder.weights.sums(vectors))
    shares = softmax(scores + scorer.prior)
    shares[[0, 1], [0, 1]] = 0
    others = (shares * scores).sum(axis=1) / shares.sum(axis=1)
    sums = [pull.sum() for pull in _pulls(scorer, vectors, [np.array([0]), np.array([1])])]
    assert sums == pytest.approx(scores[[0, 1], [0, 1]] - others, rel=1e-4)


def test_the_words_of_the_code_come_first_as_the_text_writes_them() -> None:
    found = reasons(TEXT, "03111000")
    assert list(found)[:2] in (["Wheat", "BARLEY"], ["BARLEY", "Wheat"])
    assert sum(found.values()) <= 1 + 1e-9
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_another_code_has_other_words_for_it() -> None:
    assert "Wheat" not in reasons("Wheat or asphalt", "45233140")
    assert "Wheat" not in reasons("Wheat or asphalt or office", "45233140", "90910000")
    both = set(reasons("Wheat, asphalt, office", "45233140", "90910000"))
    assert both
    assert both <= {"asphalt", "office"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("<p>WHEAT</p>", "WHEAT"),
        ("b&aacute;rley and b\u00e1rley", "bárley"),
        ("ba\u0301rley", "bárley"),
        ("office/barley", "barley"),
    ],
)
def test_a_word_is_found_however_the_text_writes_it(text: str, word: str) -> None:
    assert next(iter(reasons(text, "03111000"))) == word


def test_of_a_huge_text_no_more_words_are_looked_up_than_it_takes() -> None:
    text = "Wheat and BARLEY " + "and wheat, " * 50_000 + "Zwieback"
    looked_up: list[str] = []

    def fold(word: str) -> list[str]:
        looked_up.append(word)
        return tokens(word)

    apart = parts(text)
    spoken = np.unique(apart.features[np.isin(apart.owners, [0, 2])])
    found = strongest(text, apart, spoken, np.ones(len(spoken)), fold)
    assert {word for word, _ in found} >= {"Wheat", "BARLEY"}
    assert looked_up == ["Wheat", "and", "BARLEY"]


@pytest.mark.parametrize("text", ["", "жюфц", "!!", "<br>"])
def test_a_text_that_the_model_knows_nothing_of_has_no_reasons(text: str) -> None:
    assert reasons(text, "03111000") == {}
    many = explain(taught().model.scores, [text, TEXT, text], [np.array([0])] * 3)
    assert [bool(found) for found in many] == [False, True, False]


def test_a_text_is_explained_alike_in_any_company() -> None:
    texts = [f"wheat {number}" for number in range(300)]
    together = explain(taught().model.scores, texts, [np.array([0])] * 300)
    for place in (0, 255, 256, 299):
        (alone,) = explain(taught().model.scores, [texts[place]], [np.array([0])])
        assert [word for word, _ in together[place]] == [word for word, _ in alone]


def test_in_a_blend_the_history_explains_its_codes_and_the_other_side_the_rest() -> None:
    model = learned(
        ["polder dyke", "weir sluice"] * 20, ["45240000", "45248000"] * 20, taught().model
    ).model
    place = {code: number for number, code in enumerate(model.codes.tolist())}
    asked = ["a dyke by the road", "wheat by the dyke"]
    found = explain(model.scores, asked, [np.array([place[c]]) for c in ("45240000", "03111000")])
    assert [next(iter(dict(reasons))) for reasons in found] == ["dyke", "wheat"]
