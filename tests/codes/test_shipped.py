from __future__ import annotations

from pathlib import Path

import pytest
from build_code_tables import build_psc

from pipeline.answers import SYSTEMS, System
from pipeline.codes.shipped import DATA, counterparts, cpv_titles, shipped

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
