from __future__ import annotations

import pytest

from pipeline.codes import CodeTable, above, titles_by_language
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
    by_language = titles_by_language(shipped("cpv"))
    assert by_language[0] == list(shipped("cpv").titles.values())
    assert len(by_language) == 24
