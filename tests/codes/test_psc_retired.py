"""The retired Product and Service Codes, and what took their place."""

from __future__ import annotations

from datetime import date

import pytest

from pipeline.codes import Retired, load, retired, retirements

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
