from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import System
from pipeline.codes import CodeTable, load
from pipeline.engine.engine import Ranker, _pulls, explain
from pipeline.engine.model import Model
from pipeline.engine.model.features import count, parts, tokens
from pipeline.engine.model.matrices import softmax
from pipeline.engine.text.attribution import says_nothing, strongest
from pipeline.engine.training.train import train
from tests.engine.model.training_data import PHRASES, history, ignored, learned, small, task, taught


@pytest.fixture(scope="module")
def model() -> Model:
    (trained,) = train([task("cpv", *history(200), PHRASES)], small(), ignored)
    return trained.model


def test_a_text_that_is_the_title_of_a_code_that_nobody_taught_gets_this_code_first(
    model: Model,
) -> None:
    title = load("cpv").titles["34520000"]
    ranker = Ranker(model, load("cpv"))
    ranked = ranker.rank([f"  {title.upper()} ", "wheat grain seeds", f"wheat, {title}"], 3)
    assert [found[0].code for found in ranked] == ["34520000", "03111000", "03111000"]
    for found in ranked:
        sure = [match.confidence for match in found]
        assert sure == sorted(sure, reverse=True)
        assert 0 <= sum(sure[:2]) <= 1
    assert ranker.rank([title], 1)[0] == ranker.rank([title], 3)[0][:1]


def test_where_the_model_knows_nothing_there_is_no_match(model: Model) -> None:
    assert Ranker(model, load("cpv")).rank(["жюфц", ""], 5) == [(), ()]
    assert Ranker(model, load("cpv")).rank([], 5) == []


def test_a_model_of_nothing_but_its_history_gives_its_codes_alone() -> None:
    ranker = Ranker(taught().model, load("cpv"))
    (matches,) = ranker.rank([load("cpv").titles["34520000"] + " wheat"], 10)
    assert {match.code for match in matches} <= {"03111000", "45233140", "90910000"}
    assert ranker.rank([load("cpv").titles["34520000"]], 5) == [()]


def some_codes(titles: dict[str, str], system: System = "cpv") -> CodeTable:
    return CodeTable(system, "today", "a test", "none", titles)


def test_codes_that_the_table_lacks_are_answered_as_one_by_the_nearest_above_that_it_has(
    model: Model,
) -> None:
    whole = Ranker(model, load("cpv"))
    (apart,) = whole.rank(["asphalt office wheat"], 4)
    sure = {match.code: match.confidence for match in apart}
    table = some_codes({"03000000": "Farming", "45200000": "Works", "90910000": "Cleaning"})
    (matches,) = Ranker(model, table).rank(["asphalt office wheat"], 4)
    found = {match.code: match.confidence for match in matches}
    assert found["03000000"] == pytest.approx(sure["03111000"], abs=2e-4)
    assert found["45200000"] == pytest.approx(sure["45233140"], abs=2e-4)
    assert all(match.title == table.titles[match.code] for match in matches)


def test_confidences_of_codes_that_are_answered_as_one_are_summed(model: Model) -> None:
    renamed = knowing(model, "cpv", [f"4523314{n}" for n in range(len(model.codes))])
    table = some_codes({"45233000": "Roads", "45000000": "Works"})
    (apart,) = Ranker(renamed, some_codes(dict.fromkeys(renamed.codes.tolist(), "x"))).rank(
        ["wheat office"], 9
    )
    ((match,),) = Ranker(renamed, table).rank(["wheat office"], 4)
    assert match.code == "45233000"
    assert match.confidence == pytest.approx(min(1, sum(m.confidence for m in apart)), abs=5e-4)
    ranker = Ranker(renamed, table)
    assert set(ranker.why(["wheat, office"], ["45233000"])[0].split(", ")) <= {"wheat", "office"}


def knowing(model: Model, system: System, codes: list[str]) -> Model:
    """Return a model whose codes have other names, in the order of its own."""
    assert len(model.codes) == len(codes)
    return replace(model, system=system, scores=replace(model.own, codes=np.array(codes)))


@pytest.mark.parametrize(
    ("table", "given"),
    [
        (["44103103", "44103100", "44100000", "44000000"], "44103103"),
        (["44103100", "44100000", "44000000"], "44103100"),
        (["44100000", "44000000"], "44100000"),
        (["44000000"], "44000000"),
        (["43000000"], None),
    ],
)
def test_a_commodity_is_answered_by_its_class_family_or_segment_until_the_table_has_it(
    model: Model, table: list[str], given: str | None
) -> None:
    renamed = knowing(model, "unspsc", ["44103103", "10101501", "20101501", "30101501", "40101501"])
    codes = some_codes({code: f"title of {code}" for code in table}, "unspsc")
    (matches,) = Ranker(renamed, codes).rank(["wheat grain seeds"], 1)
    assert [match.code for match in matches] == ([given] if given else [])
    assert all(match.title == f"title of {match.code}" for match in matches)


def test_a_code_without_one_above_that_may_be_given_is_left_out(model: Model) -> None:
    renamed = knowing(model, "psc", ["J015", "J016", "S201", "R425", "R426"])
    table = some_codes({"J": "Maintenance", "J0": "Of equipment", "S201": "Cleaning"}, "psc")
    (matches,) = Ranker(renamed, table).rank(["wheat office asphalt"], 4)
    assert [match.code for match in matches] == ["S201"]


def test_confidence_falls_along_at_most_top_distinct_codes(model: Model) -> None:
    ranker = Ranker(model, load("cpv"))
    for matches in ranker.rank(history(30, seed=4)[0], 3):
        sure = [match.confidence for match in matches]
        assert len({match.code for match in matches}) == len(matches) <= 3
        assert sure == sorted(sure, reverse=True)
        assert 1 >= sure[0] > 0


def test_the_words_of_a_text_are_named_and_a_repeat_says_so(model: Model) -> None:
    text = history(200)[0][0]
    ranker = Ranker(model, load("cpv"))
    again, new = ranker.why([text, "barley and WHEAT"], [code(ranker, text), "03111000"])
    assert again == "the same text in the history"
    assert set(new.split(", ")) == {"barley", "WHEAT"}


def test_a_repeat_is_no_reason_for_another_code(model: Model) -> None:
    (text, *_), (own, *_) = history(200)
    other = next(code for code in ("03111000", "45233140") if code != own)
    (why,) = Ranker(model, load("cpv")).why([text], [other])
    assert "history" not in why


def test_the_title_of_a_code_that_no_text_taught_says_why(model: Model) -> None:
    ranker = Ranker(model, load("cpv"))
    texts = ["жюфц", "Two <b>BOATS</b> of 12 m", "wheat"]
    assert ranker.why(texts, ["03111000", "34520000", "03111000"]) == ["", "BOATS", "wheat"]
    assert ranker.why([], []) == []


def code(ranker: Ranker, text: str) -> str:
    ((match,),) = ranker.rank([text], 1)
    return match.code


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
    scorer = taught().model.own
    vectors = scorer.encoder.vocabulary.vectors(count([TEXT, "paving of an office"]))
    scores = scorer.directions(scorer.encoder.weights.sums(vectors))
    shares = softmax(scores + scorer.prior)
    shares[[0, 1], [0, 1]] = 0
    others = (shares * scores).sum(axis=1) / shares.sum(axis=1)
    sums = [
        pull.sum() for pull in _pulls(scorer, vectors, [np.array([0]), np.array([1])], usual=False)
    ]
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


@pytest.mark.parametrize("word", ["and", "für", "pour", "oraz", "και", "12", "2024", "x", "mm"])
def test_a_word_that_says_nothing_is_left_out(word: str) -> None:
    text = f"{word} barley {word}"
    apart = parts(text)
    features = np.unique(apart.features)
    pulls = np.where(np.isin(features, apart.features[apart.owners != 1]), 9.0, 1.0)
    assert [name for name, _ in strongest(text, apart, features, pulls, tokens)] == ["barley"]


@pytest.mark.parametrize("word", ["it", "most", "gas", "5120-00-123-4567", "except food"])
def test_a_word_that_may_say_what_is_bought_is_kept(word: str) -> None:
    assert not says_nothing(word)


def test_a_text_of_stop_words_alone_has_no_reasons() -> None:
    apart = parts("and for the 12")
    features = np.unique(apart.features)
    assert strongest("and for the 12", apart, features, np.ones(len(features)), tokens) == ()
