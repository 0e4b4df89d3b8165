"""Which words of a sentence show that it says how to bid."""

from __future__ import annotations

import tomllib

import pytest

from pipeline.codes import shipped
from pipeline.engine.text.cleaning import readable
from workshop.examples import descriptions, sentences
from workshop.sentences import DOUBT, FEWEST, STEPS, Sentence, as_toml, learn

BIDDING = ["Offers are due at noon", "Offers must be sealed", "The offers are opened at noon"]
SUBJECTS = ["Drums for the school band", "The drums must be tuned", "Drums are needed at noon"]
EXAMPLES = [
    *(Sentence(readable(text), True) for text in BIDDING * 20),
    *(Sentence(readable(text), False) for text in SUBJECTS * 20),
]


def test_words_of_one_kind_of_sentence_tell_it_and_others_hardly_count() -> None:
    start, weights = learn(EXAMPLES)
    assert weights["offers"] > 1
    assert weights["drums"] < -1
    assert "are" not in weights, "a function word"
    assert abs(start) < 1


def test_a_word_of_few_sentences_gets_no_weight() -> None:
    rare = [Sentence("sealed xylophones", True)] * (FEWEST - 1)
    _, weights = learn([*EXAMPLES, *rare])
    assert "xylopho" not in weights


def test_a_sentence_that_counts_more_teaches_more() -> None:
    more = [each._replace(weight=9.0) if "drums" in each.text else each for each in EXAMPLES]
    assert learn(more)[1]["drums"] < learn(EXAMPLES)[1]["drums"] - 0.5


def test_the_file_has_each_weight_in_steps_and_leaves_out_what_hardly_counts() -> None:
    content = tomllib.loads(as_toml(-0.5, {"offers": 2.1, "bids": 2.0, "drums": -1.0, "are": 0.1}))
    assert content["start"] == round((-0.5 - DOUBT) * STEPS)
    assert content["weights"] == {str(2 * STEPS): "bids offers", str(-STEPS): "drums"}


def test_the_texts_that_were_written_for_training_are_what_they_say() -> None:
    found = descriptions()
    assert len({(each.system, each.text) for each in found}) == len(found) > 19_000
    for each in found:
        assert each.code in shipped(each.system).titles, each
        assert each.text == each.text.strip()
        assert each.code not in each.text
    assert len({text for text, _ in sentences()}) == len(sentences()) > 4_000


@pytest.mark.parametrize("text", ["", "!", "2024"])
def test_a_sentence_without_words_teaches_nothing(text: str) -> None:
    assert learn([*EXAMPLES, Sentence(text, True)])[1].keys() == learn(EXAMPLES)[1].keys()
