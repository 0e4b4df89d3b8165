from __future__ import annotations

import pytest

from pipeline.answers import System
from pipeline.codes import find_code, load, normalized


@pytest.mark.parametrize(
    ("system", "written", "code"),
    [
        ("cpv", "45233140", "45233140"),
        ("cpv", " 45233140-2 ", "45233140"),
        ("cpv", "45233140-2 Road works", "45233140"),
        ("cpv", "45233140 - 2 or 3", "45233140"),
        ("cpv", "45233140 - Road works", "45233140"),
        ("cpv", "45233140: Road works,\n2 lanes", "45233140"),
        ("cpv", "45233140 Straßenarbeiten", "45233140"),
        ("cpv", "45 Road works", None),
        ("cpv", "45233140" + 1_000_000 * " " + "2", None),
        ("cpv", "45233140-22", None),
        ("cpv", "45233140.0", "45233140"),
        ("cpv", "45233140.5", None),
        ("cpv", " 452 ", "45200000"),
        ("cpv", "03", "03000000"),
        ("cpv", "3111000", "03111000"),  # without the zero in front
        ("cpv", "3000000", "03000000"),
        ("cpv", "4523314", "45233140"),
        ("cpv", "452331400", None),
        ("cpv", "roads", None),
        ("cpv", "", None),
        ("cpv", "-2", None),
        ("cpv", "٤٥٢٣٣١٤٠", None),
        ("cpv", "45" + 1_000_000 * " " + "works", None),  # an hour if each space is a start
        ("psc", "r408", "R408"),
        ("psc", "1005.0", "1005"),
        ("psc", "J0", "J0"),
        ("psc", "R40", None),
        ("psc", "7110 \u2013 Office furniture", "7110"),
        ("psc", "7110-A", None),
        ("psc", "seat covers", None),
        ("unspsc", "43-21-15", "43211500"),
        ("unspsc", "4321", "43210000"),
        ("unspsc", "432", None),
        ("unspsc", "43-21-15-03 Notebook computers", "43211503"),
        ("naics", "236115", "236115"),
        ("naics", "32", "31-33"),
        ("naics", "44-45", "44-45"),
        ("naics", "236115 - New housing", "236115"),
        ("naics", "2361151", None),
        ("naics", "", None),
    ],
)
def test_a_code_is_found_and_normalized_however_it_is_written(
    system: System, written: str, code: str | None
) -> None:
    assert find_code(load(system), written) == code
    assert normalized(system, written) == code


@pytest.mark.parametrize(
    ("written", "normal", "code"),
    [
        ("9134231", "91342310", "09134231"),
        ("9999990", "09999990", None),
        ("99999999", "99999999", None),
    ],
)
def test_the_table_decides_which_zero_a_code_of_seven_digits_lacks(
    written: str, normal: str, code: str | None
) -> None:
    assert (normalized("cpv", written), find_code(load("cpv"), written)) == (normal, code)
