from __future__ import annotations

from datetime import date

import pandas as pd
import pytest

import pipeline
from pipeline.answers import SYSTEMS, System
from pipeline.codes import (
    CodeTable,
    Retired,
    above,
    load,
    retired,
    retirements,
    shipped,
    titles_by_language,
    titles_of,
)
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


def test_codes_are_grouped_by_division_with_titles() -> None:
    codes = pipeline.code_table("cpv", language="de")
    frame = pd.DataFrame({"cpv_code": ["45233140", "45000000", None, "90620000"], "value": 1})
    divisions = frame["cpv_code"].map(codes["division"])
    rows = frame.groupby(divisions)["value"].sum()
    assert rows.rename(index=codes["title"].to_dict()).to_dict() == {
        "Bauarbeiten": 2,
        "Abwasser- und Abfallbeseitigungs-, Reinigungs- und Umweltschutzdienste": 1,
    }


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_code_has_its_title_its_level_and_the_codes_above_it(system: System) -> None:
    frame, table = pipeline.code_table(system.upper()), load(system)
    assert frame["title"].to_dict() == dict(table.titles)
    assert list(frame["level"].cat.categories) == list(frame.columns[2:]) == list(table.counts)
    for code in (frame.index[0], frame.index[-1], frame.index[1_000]):
        above = frame.loc[code].drop(["title", "level"]).dropna()
        assert above.to_list() == [*reversed(table.ancestors(code)), code]
        assert above.index[-1] == frame["level"][code]


def test_a_system_or_a_language_that_is_not_there_is_refused() -> None:
    with pytest.raises(pipeline.SettingsError, match=r"There is no system 'cvp'\. Choose from"):
        pipeline.code_table("cvp")
    with pytest.raises(pipeline.SettingsError, match="no titles in the language 'xx'"):
        pipeline.code_table("cpv", language="xx")


PSC = load("psc")
ALL = retirements("psc")


def test_no_retired_code_is_in_the_table_of_today() -> None:
    assert len(ALL) == 1_296
    assert not [code for code in ALL if code in PSC]


def test_every_successor_is_a_full_code_of_the_table_of_today() -> None:
    successors = [end.successor for end in ALL.values() if end.successor]
    assert len(successors) == 547
    assert not [code for code in successors if code not in PSC or not PSC.assignable(code)]


def test_a_retired_group_has_no_single_successor() -> None:
    groups = {code: end.successor for code, end in ALL.items() if len(code) == 2}
    assert {"18", "70", "D3"} <= set(groups)
    assert set(groups.values()) == {None}


@pytest.mark.parametrize(
    ("code", "until", "successor"),
    [
        ("D302", date(2020, 10, 29), "DA01"),
        (" d302 ", date(2020, 10, 29), "DA01"),
        ("D304", date(2020, 10, 29), None),  # the line, the service and the labour have codes now
        ("Z111", date(2011, 9, 30), None),  # maintenance and repair have a code each now
        ("Y111", date(2011, 9, 30), "Y1AA"),
        ("R505", date(1999, 7, 31), "B505"),
        ("AJ22", date(2020, 10, 29), "AJ12"),
        ("Q512", date(2024, 4, 30), "Q511"),
    ],
)
def test_a_retired_code_has_its_last_day_and_its_successor_if_there_is_one(
    code: str, until: date, successor: str | None
) -> None:
    assert retired(code) == Retired(until, successor)


@pytest.mark.parametrize("code", ["DA01", "AA11", "ZZZZ", ""])
def test_a_code_of_today_and_one_that_never_was_are_not_retired(code: str) -> None:
    assert retired(code) is None


@pytest.mark.parametrize("prefix", "EMXY")
def test_what_is_done_to_a_structure_stays_when_its_code_is_replaced(prefix: str) -> None:
    ends = {code: end.successor for code, end in ALL.items() if code[0] == prefix}
    assert len(ends) > 70
    assert {(successor or "")[:2] for successor in ends.values()} == {prefix + "1"}


def test_the_stage_of_research_stays_when_its_code_is_replaced() -> None:
    """Basic research is basic, applied is applied, and development becomes experimental."""
    stages = {
        (code[3], end.successor[3])
        for code, end in ALL.items()
        if code[0] == "A" and end.successor is not None
    }
    assert stages == {("1", "1"), ("2", "2"), ("3", "3"), ("4", "3")}


def test_retired_codes_are_known_of_psc_only() -> None:
    assert not retirements("cpv")
