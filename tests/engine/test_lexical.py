from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import SYSTEMS, System
from pipeline.codes import CodeTable, load
from pipeline.engine import lexical, ranker
from pipeline.engine import lexical as index
from pipeline.engine.engine import title_ranker
from pipeline.engine.lexical import (
    FEATURES,
    HALF_AT_WORD,
    LIGHTER,
    Index,
    LexicalRanker,
    build_index,
    counted,
    kept_index,
    term_counts,
    weighted,
)
from pipeline.engine.model.ranker import Ranker
from pipeline.engine.text.boilerplate import BUYING_WORDS
from pipeline.engine.text.cleaning import words
from pipeline.errors import SettingsError

WORDS = ["road", "construction", "of", "wheat", "farming", "steel", "bridges", "büro", "12", "<b>"]

texts = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join) | st.text(max_size=30), max_size=8
)
every_system = pytest.mark.parametrize("system", SYSTEMS)


def small(titles: dict[str, str]) -> LexicalRanker:
    table = CodeTable("unspsc", "today", "a test", "none", titles)
    return LexicalRanker(table, build_index([list(titles.values())]))


def codes(found: Ranker, text: str, top: int) -> list[str]:
    (matches,) = found.rank([text], top)
    return [match.code for match in matches]


@given(texts)
def test_a_text_is_answered_alike_alone_and_in_any_company(batch: Sequence[str]) -> None:
    naics = title_ranker("naics")
    together = naics.rank(batch, 5)
    assert together == [naics.rank([text], 5)[0] for text in batch]
    assert naics.rank(batch[::-1], 5) == together[::-1]


def test_a_text_is_answered_alike_however_many_are_scored_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    titles = list(load("naics").titles.values())[:50]
    at_once = title_ranker("naics").rank(titles, 5)
    monkeypatch.setattr(lexical, "SCORES_AT_ONCE", 7 * len(load("naics")))
    assert title_ranker("naics").rank(titles, 5) == at_once


@given(texts, st.integers(1, 12))
def test_confidence_is_a_fraction_and_falls_along_at_most_top_distinct_codes(
    batch: Sequence[str], top: int
) -> None:
    for matches in title_ranker("psc").rank(batch, top):
        sure = [match.confidence for match in matches]
        assert len(matches) <= top
        assert len({match.code for match in matches}) == len(matches)
        assert sure == sorted(sure, reverse=True)
        assert all(0 <= value <= 1 for value in sure)


@given(texts, st.integers(1, 5))
def test_a_shorter_answer_is_the_start_of_a_longer_one(batch: Sequence[str], top: int) -> None:
    longer = title_ranker("naics").rank(batch, 6)
    assert title_ranker("naics").rank(batch, top) == [matches[:top] for matches in longer]


def test_of_equal_codes_the_first_is_given_however_few_are_asked_for() -> None:
    titles = {f"{number}000000": "Chairs" for number in range(10, 40)}
    for top in (1, 2, 3, 30):
        assert codes(small(titles), "chairs", top) == list(titles)[:top]


def test_a_table_may_have_fewer_codes_than_are_asked_for() -> None:
    assert codes(small({"10000000": "Chairs"}), "chairs", 10) == ["10000000"]
    assert codes(small({"10000000": "Chairs", "11000000": "Roads"}), "roads", 10) == ["11000000"]


def test_a_lead_over_the_second_makes_surer() -> None:
    alone = small({"10000000": "Chairs", "11000000": "Roads"})
    rivals = small({"10000000": "Chairs", "11000000": "Chairs"})
    (one,), (two,) = (found.rank(["chairs"], 1)[0] for found in (alone, rivals))
    assert one.confidence > two.confidence


def test_titles_above_a_code_speak_for_it() -> None:
    titles = {
        "10000000": "Furniture",
        "10100000": "Chairs",
        "11000000": "Rail vehicles",
        "11100000": "Chairs",
    }
    for text, first, second in (
        ("chairs as furniture", "10100000", "11100000"),
        ("chairs of rail vehicles", "11100000", "10100000"),
    ):
        found = codes(small(titles), text, 4)
        assert found.index(first) < found.index(second)


@every_system
def test_a_text_without_any_letter_has_no_match(system: System) -> None:
    assert title_ranker(system).rank(["123 456", "", "!!! -- 7", "<br/>&nbsp;"], 5) == [()] * 4
    assert title_ranker(system).rank([], 5) == []


@pytest.mark.parametrize(("system", "length"), [("psc", 4), ("naics", 6)])
def test_psc_and_naics_give_full_codes_only(system: System, length: int) -> None:
    table = load(system)
    for matches in title_ranker(system).rank(list(table.titles.values())[::7], 10):
        assert {len(match.code) for match in matches} == {length}


@every_system
def test_matches_carry_the_titles_of_the_table(system: System) -> None:
    table = load(system)
    (matches,) = title_ranker(system).rank(["cleaning services"], 10)
    assert [match.title for match in matches] == [table.titles[match.code] for match in matches]
    assert len(matches) == 10


@every_system
def test_nine_codes_in_ten_come_first_for_their_own_title(system: System) -> None:
    """Not all do: some titles occur twice, and some are all words of the titles around them."""
    table = load(system)
    given = [code for code in table.titles if table.assignable(code)]
    sample = Random(2022).sample(given, 200)
    answers = title_ranker(system).rank([table.titles[code] for code in sample], 1)
    firsts = [matches[0].code == code for code, matches in zip(sample, answers, strict=True)]
    assert sum(firsts) >= 0.9 * len(sample)


@pytest.mark.parametrize(
    ("text", "division"),
    [
        ("Purchase of office furniture", "39"),
        ("Lieferung von Büromöbeln", "39"),
        ("Travaux de construction de routes", "45"),
        ("Rakennustyöt", "45"),
        ("Servizi di pulizia degli edifici", "90"),
        ("Servicios de limpieza", "90"),
        ("Servicii de arhitectură", "71"),
        ("Leverans av ambulanser", "34"),
        ("Jízdní kola", "34"),
        ("Kancelárske potreby", "30"),
        ("Строителни и монтажни работи", "45"),
        ("Ασφαλιστικές υπηρεσίες", "66"),
        ("Usługi ubezpieczeniowe", "66"),
    ],
)
def test_an_obvious_text_gets_the_obvious_cpv_division(text: str, division: str) -> None:
    ((match,),) = title_ranker("cpv").rank([text], 1)
    assert match.code[:2] == division


@pytest.mark.parametrize(
    ("system", "text", "code"),
    [
        ("psc", "Custodial and janitorial services", "S201"),
        ("naics", "Highway and bridge construction", "237310"),
        ("unspsc", "Computers", "43211500"),
    ],
)
def test_an_obvious_text_gets_the_obvious_code(system: System, text: str, code: str) -> None:
    ((match,),) = title_ranker(system).rank([text], 1)
    assert match.code == code


def test_boilerplate_round_a_text_does_not_change_its_codes() -> None:
    clean = "Drum kits for the school band"
    formulas = (
        "Offers are due no later than noon. The solicitation number is W912DY-24-R-0001. " * 9
    )
    for shape in ("{0}{1}", "{1}. {0}", "{0}{1}. {0}"):
        noisy = shape.format(formulas, clean)
        assert codes(ranker("cpv"), noisy, 3) == codes(ranker("cpv"), clean, 3)


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


def test_words_that_only_say_that_something_is_bought_count_less() -> None:
    assert {"purchase", "lieferung", "διαγωνισμοσ", "zamowienie"} <= BUYING_WORDS
    plain = term_counts(["purchase"]).sum()
    light = term_counts(["purchase"], BUYING_WORDS).sum()
    assert light == pytest.approx(plain * LIGHTER)
    assert term_counts(["road"], BUYING_WORDS).sum() == term_counts(["road"]).sum()


ODD = [
    "",
    "12 34",
    "Road works, road signs",
    "Büro für R&D",
    "Изграждане на път",
    "a b",
    "路面 工程",
]
LONG = "Notice of award under reference AB-2024/117. Supply of office chairs. " * 4


@pytest.mark.parametrize("titles", [ODD, [*ODD, LONG, "x" * 70], [""], ["aaaaaaaa aaaaaaaa"]])
def test_many_titles_have_the_features_that_each_has_as_a_text(titles: list[str]) -> None:
    by_word, features, every = counted(titles)
    together, apart = by_word @ features, term_counts(titles)
    assert together.shape == apart.shape
    assert np.abs(together - apart).max() < 1e-6
    assert {*every} == {word for title in titles for word in words(title)}
    assert len(every) == len({*every})


TITLES = {"10000000": "Live animals", "11000000": "Minerals", "12000000": "Animal feed"}


@pytest.fixture
def table() -> CodeTable:
    return CodeTable("unspsc", "today", "a test", "none", TITLES)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Index]:
    """The indexes that were built and not loaded."""
    seen: list[Index] = []

    def spy(titles: list[list[str]]) -> Index:
        seen.append(build_index(titles))
        return seen[-1]

    monkeypatch.setattr(index, "build_index", spy)
    return seen


def same(one: Index, other: Index) -> bool:
    return (one.titles != other.titles).nnz == 0 and np.array_equal(one.rarity, other.rarity)


def test_a_feature_that_fewer_codes_have_weighs_more() -> None:
    built = build_index([["road works", "road signs", "road"]])
    rarity = [built.rarity[term_counts([word]).indices].min() for word in ("signs", "road", "boat")]
    assert rarity[2] > rarity[0] > rarity[1]


def test_a_code_is_as_near_to_its_title_in_one_language_as_in_another() -> None:
    built = build_index([["chairs", "roads"], ["Stühle", "Straßen"]])
    for text, place in {"chairs": 0, "Stühle": 0, "roads": 1, "Straßen": 1}.items():
        scores = (weighted(term_counts([text]), built.rarity) @ built.titles).toarray()[0]
        assert scores.argmax() == place
        assert scores[place] == pytest.approx(1.0, rel=1e-5)


@pytest.mark.usefixtures("cache")
def test_the_second_call_loads_what_the_first_built(table: CodeTable, built: list[Index]) -> None:
    first, second = kept_index(table), kept_index(table)
    assert len(built) == 1
    assert same(first, second)


@pytest.mark.usefixtures("cache")
def test_other_titles_have_an_index_of_their_own(table: CodeTable, built: list[Index]) -> None:
    kept_index(table)
    other = {**TITLES, "11000000": "Stones"}
    kept_index(CodeTable("unspsc", "today", "a test", "none", other))
    assert len(built) == 2


def test_indexes_of_other_titles_and_older_versions_are_removed(
    table: CodeTable, cache: Path
) -> None:
    folder = cache / "tender-pipeline" / "indexes"
    (folder / "unspsc-older").mkdir(parents=True)
    (folder / "unspsc-older" / "weights.npy").write_bytes(b"any")
    for name in ("unspsc-others.npz", "cpv-stays.npz"):
        (folder / name).write_bytes(b"any")
    kept_index(table)
    left = sorted(each.name for each in folder.iterdir())
    assert left[0] == "cpv-stays.npz"
    assert len(left) == 2


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-8])


def altered(file: Path) -> None:
    """Change values, which SciPy may follow out of bounds."""
    content = bytearray(file.read_bytes())
    for at in range(len(content) // 4, len(content), len(content) // 4):
        content[at] ^= 0x7F
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [emptied, truncated, altered, Path.unlink])
def test_a_damaged_index_is_built_and_kept_again(
    table: CodeTable, cache: Path, built: list[Index], damage: Callable[[Path], None]
) -> None:
    sound = kept_index(table)
    (file,) = cache.rglob("*.npz")
    damage(file)
    assert same(kept_index(table), sound)
    assert same(kept_index(table), sound)
    assert len(built) == 2


def test_a_cache_that_cannot_be_written_is_done_without(
    table: CodeTable, cache: Path, built: list[Index]
) -> None:
    cache.write_text("in the way")
    assert same(kept_index(table), kept_index(table))
    assert len(built) == 2


def test_a_disk_that_fills_up_leaves_no_draft_behind(
    table: CodeTable, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez", full)
    assert kept_index(table).titles.shape == (FEATURES, 3)
    assert list((cache / "tender-pipeline" / "indexes").iterdir()) == []


def test_a_user_without_a_home_folder_is_served_without_a_cache(
    table: CodeTable, built: list[Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise SettingsError("This user has no home folder.", "Set HOME.")

    monkeypatch.setattr(index, "cache_folder", homeless)
    assert same(kept_index(table), kept_index(table))
    assert len(built) == 2
