from __future__ import annotations

import csv
import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from build_code_tables import build_psc

from pipeline.answers import SYSTEMS, Matched, System
from pipeline.codes import load, remove, retirements
from pipeline.codes.shipped import DATA, counterparts, cpv_titles, shipped
from pipeline.codes.unspsc_file import add
from pipeline.engine import Engine

every_system = pytest.mark.parametrize("system", SYSTEMS)


@every_system
def test_codes_are_in_their_official_order_with_titles_fit_for_a_cell(system: System) -> None:
    titles = shipped(system).titles
    assert list(titles) == sorted(titles)
    for code, title in titles.items():
        assert code.isascii()
        assert title == " ".join(title.split()) != ""
        assert "{" not in title, "what is to be filled in"


def test_the_psc_table_is_what_its_lists_compose(tmp_path: Path) -> None:
    build_psc(tmp_path)
    assert (tmp_path / "psc.tsv").read_bytes() == (DATA / "psc.tsv").read_bytes()


@every_system
def test_every_parent_is_in_the_table_and_one_of_a_higher_level(system: System) -> None:
    table = shipped(system)
    levels = list(table.counts)
    assert table.parents.keys() == table.titles.keys()
    for code, above in table.parents.items():
        if above:
            assert levels.index(table.level(above)) <= levels.index(table.level(code))
            assert len(table.ancestors(above)) < len(table.ancestors(code))
        else:
            assert table.ancestors(code) == []


@every_system
def test_every_table_says_where_it_comes_from(system: System) -> None:
    table = shipped(system)
    assert table.system == system
    assert all((table.edition, table.source, table.licence))


def test_the_tables_are_complete() -> None:
    assert dict(shipped("cpv").counts) == {
        "division": 45,
        "group": 272,
        "class": 1002,
        "category": 2379,
        "subcategory": 5756,
    }
    assert dict(shipped("psc").counts) == {"category": 25, "group": 172, "code": 2344}
    assert dict(shipped("naics").counts) == {
        "sector": 20,
        "subsector": 96,
        "industry group": 308,
        "industry": 689,
        "national industry": 1012,
    }
    assert list(shipped("unspsc").counts) == ["segment", "family", "class", "commodity"]
    assert shipped("unspsc").counts["segment"] == 57
    assert shipped("unspsc").counts["family"] == 546


def test_35_cpv_codes_have_their_parent_two_levels_up() -> None:
    table = shipped("cpv")
    skipping = [
        code
        for code, above in table.parents.items()
        if above and len(code.rstrip("0")) - max(2, len(above.rstrip("0"))) > 1
    ]
    assert len(skipping) == 35


def test_the_naics_sectors_that_are_ranges_hold_all_their_subsectors() -> None:
    table = shipped("naics")
    for sector, starts in {"31-33": "3", "44-45": "4", "48-49": "4"}.items():
        first, last = (int(number) for number in sector.split("-"))
        below = table.children(sector)
        assert {int(code[:2]) for code in below} == set(range(first, last + 1))
        assert all(len(code) == 3 and code.startswith(starts) for code in below)


def test_cpv_titles_are_in_the_order_of_the_codes_english_first() -> None:
    titles = cpv_titles()
    codes = list(shipped("cpv").titles)
    assert len(titles) == 24
    assert next(iter(titles)) == "en"
    assert {len(column) for column in titles.values()} == {len(codes)}
    assert titles["de"][codes.index("45000000")] == "Bauarbeiten"
    assert titles["uk"][codes.index("03111000")] == "Насіння"


@pytest.mark.parametrize("system", ["psc", "unspsc", "naics"])
def test_the_crosswalk_names_codes_that_may_be_given_for_all_of_cpv_but_divisions(
    system: System,
) -> None:
    table, found = shipped(system), counterparts(system)
    cpv = shipped("cpv")
    assert {*found} == {code for code in cpv.titles if cpv.level(code) != "division"}
    for code, others in found.items():
        assert 1 <= len(others) <= 3, code
        assert len({*others}) == len(others), code
        assert all(map(table.assignable, others)), code


def test_a_cpv_code_inherits_what_the_crosswalk_says_of_its_nearest_ancestor() -> None:
    named = (DATA / "crosswalk.tsv").read_text("utf-8")
    assert "\n34144200\t" in named
    assert "\n34144212\t" not in named
    psc = counterparts("psc")
    assert psc["34144212"] == psc["34144210"] == ("4210",)


REFERENCE = Path(__file__).parents[3] / "shared" / "codes"

pytestmark = pytest.mark.skipif(
    not REFERENCE.is_dir(), reason="the reference lists do not lie beside this checkout"
)

PSC_WORDS = {
    "activs": "activities",
    "acvivs": "activities",
    "apllications": "applications",
    "compnts": "components",
    "conservervat": "conservation",
    "ctr": "contractor",
    "eqpt": "equipment",
    "facs": "facilities",
    "govt": "government",
    "highwy": "highway",
    "hw": "hardware",
    "insigna": "insignia",
    "matls": "materials",
    "mgmt": "management",
    "missles": "missiles",
    "preperation": "preparation",
    "qc": "quality control",
    "stmts": "statements",
    "sv": "services",
    "svcs": "services",
    "sw": "software",
}
"""The abbreviations and misspellings of the official PSC titles; others are how a word begins."""


def reference(name: str) -> Iterator[dict[str, str]]:
    with gzip.open(REFERENCE / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def psc_words(title: str) -> list[str]:
    """Return the words of a PSC title without what its writers vary: case, punctuation, "and"."""
    plain = re.sub("^[A-Z] – ", "", title).lower().replace("'", "").replace("’", "")  # noqa: RUF001
    tokens = re.findall("[a-z0-9]+", plain.replace("&", " and "))
    return " ".join(PSC_WORDS.get(token, token) for token in tokens if token != "and").split()


@pytest.mark.parametrize("system", ["cpv", "psc", "naics"])
def test_the_codes_are_exactly_the_official_ones(system: System) -> None:
    assert sorted(shipped(system).titles) == sorted(row["code"] for row in reference(system))


@pytest.mark.parametrize("system", ["cpv", "psc", "naics", "unspsc"])
def test_every_code_has_the_official_parent_and_level(system: System) -> None:
    table = shipped(system)
    official = {row["code"]: (row["parent"], row["level"]) for row in reference(system)}
    for code, above in table.parents.items():
        assert (code, above, table.level(code)) == (code, *official[code])


@pytest.mark.parametrize("system", ["cpv", "naics", "unspsc"])
def test_every_code_has_the_official_title(system: System) -> None:
    official = {row["code"]: row["title"] for row in reference(system)}
    for code, title in shipped(system).titles.items():
        assert (code, title) == (code, official[code])


def test_psc_titles_are_the_official_ones_written_out() -> None:
    official = {row["code"]: row["title"] for row in reference("psc")}
    for code, title in shipped("psc").titles.items():
        ours, theirs = psc_words(title), psc_words(official[code])
        assert len(ours) == len(theirs) and all(map(str.startswith, ours, theirs)), code


def test_the_retired_psc_and_their_last_days_are_exactly_the_official_ones() -> None:
    official = {row["code"]: row["end_date"] for row in reference("psc_retired")}
    ours = {code: end.until.isoformat() for code, end in retirements("psc").items()}
    assert ours == official


def test_cpv_titles_are_the_official_ones_in_all_languages() -> None:
    official: dict[str, dict[str, str]] = defaultdict(dict)
    ukrainian = [row for row in reference("more/cpv_titles_uk_ru_ka") if row["lang"] == "uk"]
    for row in [*reference("cpv_labels_multilingual"), *ukrainian]:
        official[row["lang"]][row["code"]] = row["title"]
    ours = {
        language: dict(zip(shipped("cpv").titles, titles, strict=True))
        for language, titles in cpv_titles().items()
    }
    assert ours.keys() == official.keys()
    for language, titles in ours.items():
        assert titles == official[language], language


def test_unspsc_has_all_segments_and_families_and_many_classes() -> None:
    official = Counter(row["level"] for row in reference("unspsc"))
    counts = shipped("unspsc").counts
    assert counts["segment"] == official["segment"] == 57
    assert counts["family"] == official["family"] == 546
    assert counts["class"] >= 600


@pytest.mark.usefixtures("models_of_other_codes")
def test_with_the_full_unspsc_list_added_the_engine_answers_down_to_commodities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file = tmp_path / "unspsc.csv"
    file.write_bytes(gzip.decompress((REFERENCE / "unspsc.csv.gz").read_bytes()))
    add(file)
    table = load("unspsc")
    assert dict(table.titles) == {row["code"]: row["title"] for row in reference("unspsc")}
    assert dict(table.parents) == {row["code"]: row["parent"] for row in reference("unspsc")}
    (answers,) = Engine(["unspsc"]).answers([["wheelchair"]])
    (answer,) = answers["unspsc"]
    assert isinstance(answer, Matched)
    assert "commodity" in {table.level(match.code) for match in answer.matches}
    assert remove("unspsc")
