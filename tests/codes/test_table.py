from __future__ import annotations

import pytest

from pipeline.codes import CodeTable, titles_by_language
from pipeline.codes.shipped import shipped

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


def test_a_table_knows_its_size_and_codes(table: CodeTable) -> None:
    assert len(table) == 5
    assert "10101501" in table
    assert "10101503" not in table


def test_ancestors_come_nearest_first(table: CodeTable) -> None:
    assert table.ancestors("10101502") == ["10101500", "10100000", "10000000"]
    assert table.ancestors("10000000") == []


def test_children_are_the_codes_right_below_in_the_order_of_the_table(table: CodeTable) -> None:
    assert list(table.children("10101500")) == ["10101501", "10101502"]
    assert list(table.children("10000000")) == ["10100000"]
    assert list(table.children("10101501")) == []


def test_counts_go_from_the_top_down_whatever_the_order_of_the_codes(table: CodeTable) -> None:
    assert list(table.counts.items()) == [
        ("segment", 1),
        ("family", 1),
        ("class", 1),
        ("commodity", 2),
    ]


def test_level_and_assignable_are_those_of_the_system(table: CodeTable) -> None:
    assert table.level("10101500") == "class"
    assert table.assignable("10000000")


def test_only_cpv_has_titles_in_several_languages(table: CodeTable) -> None:
    assert titles_by_language(table) == [list(TITLES.values())]
    by_language = titles_by_language(shipped("cpv"))
    assert by_language[0] == list(shipped("cpv").titles.values())
    assert len(by_language) == 24
