from __future__ import annotations

import pytest

from pipeline.answers import System
from pipeline.codes import CodeTable, above, shipped, titles_by_language, titles_of
from pipeline.codes.table import parent


@pytest.mark.parametrize(
    ("system", "code", "codes", "above"),
    [
        ("cpv", "45233141", ["45000000", "45233000", "45233140"], "45233140"),
        ("cpv", "45233141", ["45000000", "45233000"], "45233000"),
        ("cpv", "45000000", ["40000000"], ""),
        ("naics", "311", ["31-33"], "31-33"),
        ("naics", "339", ["31-33"], "31-33"),
        ("naics", "454", ["44-45"], "44-45"),
        ("naics", "492", ["48-49"], "48-49"),
        ("naics", "31-33", ["31-33"], ""),
        ("naics", "111110", ["11", "111", "1111", "11111"], "11111"),
        ("psc", "R408", ["R", "R4"], "R4"),
        ("psc", "R4", ["R", "R4"], "R"),
        ("psc", "R", ["R"], ""),
        ("psc", "7110", ["7", "71"], "71"),
    ],
)
def test_the_parent_is_the_nearest_code_above(
    system: System, code: str, codes: list[str], above: str
) -> None:
    assert parent(system, code, codes) == above


def test_a_unspsc_level_is_two_digits_so_a_sibling_is_never_the_parent() -> None:
    codes = ["10000000", "10100000", "10110000", "10101500", "10101510", "10101511"]
    assert parent("unspsc", "10110000", codes) == "10000000"
    assert parent("unspsc", "10101511", codes) == "10101500"


def test_psc_supply_groups_have_no_parent_though_a_category_has_their_first_digit() -> None:
    assert parent("psc", "71", ["7", "71", "7A"]) == ""
    assert parent("psc", "7A", ["7", "71", "7A"]) == "7"


@pytest.mark.parametrize(
    ("system", "code", "given"),
    [
        ("psc", "R4", False),
        ("psc", "R408", True),
        ("naics", "31-33", False),
        ("naics", "11111", False),
        ("naics", "111110", True),
        ("cpv", "45000000", True),
        ("unspsc", "10000000", True),
    ],
)
def test_only_psc_and_naics_want_the_full_code(system: System, code: str, given: bool) -> None:
    assert shipped(system).assignable(code) is given


TITLES = {
    "10100000": "Animals",
    "10101500": "Livestock",
    "10101501": "Cats",
    "10101502": "Dogs",
    "10000000": "Life",
}


@pytest.fixture
def table() -> CodeTable:
    return CodeTable("unspsc", "today", "a test", "none", TITLES)


def test_ancestors_come_nearest_first_and_children_in_the_order_of_the_table(
    table: CodeTable,
) -> None:
    assert table.ancestors("10101502") == ["10101500", "10100000", "10000000"]
    assert list(table.children("10101500")) == ["10101501", "10101502"]
    assert list(table.children("10101501")) == []


def test_counts_go_from_the_top_down_whatever_the_order_of_the_codes(table: CodeTable) -> None:
    assert list(table.counts.items()) == [
        ("segment", 1),
        ("family", 1),
        ("class", 1),
        ("commodity", 2),
    ]


def test_the_codes_above_are_titled_from_the_top_and_as_short_as_people_write_them() -> None:
    assert above("cpv", "45233000", "de")[:2] == [
        ("45", "Bauarbeiten"),
        ("452", "Komplett- oder Teilbauleistungen im Hochbau sowie Tiefbauarbeiten"),
    ]
    assert above("naics", "325", "de") == [("31-33", "Manufacturing")]
    assert above("cpv", "00000000", "en") == []


def test_only_cpv_has_titles_in_several_languages(table: CodeTable) -> None:
    assert titles_by_language(table) == [list(TITLES.values())]
    assert titles_of(table, [1]) == [([*TITLES.values()][1],)]
    by_language = titles_by_language(shipped("cpv"))
    every = [*zip(*by_language, strict=True)]
    assert titles_of(shipped("cpv"), [7, 9_453, 0]) == [every[7], every[9_453], every[0]]
    assert by_language[0] == list(shipped("cpv").titles.values())
    assert len(by_language) == 24
