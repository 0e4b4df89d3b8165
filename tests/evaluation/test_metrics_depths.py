from __future__ import annotations

import pytest

from pipeline.answers import System
from pipeline.evaluation.metrics import EXACT, STATED, Depth, broad, depths, measured_depth


@pytest.mark.parametrize(
    ("system", "truth", "answer", "met"),
    [
        ("cpv", "45000000", "45233140", True),
        ("cpv", "45230000", "45233140", True),
        ("cpv", "45233140", "45233000", False),
        ("cpv", "30000000", "30200000", True),
        ("cpv", "30000000", "31000000", False),
        ("unspsc", "43210000", "43211503", True),
        ("unspsc", "43211500", "43211600", False),
        ("naics", "31-33", "325412", True),
        ("naics", "31-33", "221112", False),
        ("naics", "2361", "236115", True),
        ("psc", "J0", "J015", True),
        ("psc", "R408", "R499", False),
    ],
)
def test_a_right_code_is_met_at_the_depth_that_it_states(
    system: System, truth: str, answer: str, met: bool
) -> None:
    assert bool(STATED.rank(system, truth, [answer])) is met


def test_the_full_code_is_met_by_itself_alone() -> None:
    assert EXACT.rank("cpv", "45000000", ["45233140", "45000000", "45000000"]) == 2
    assert EXACT.rank("cpv", "45000000", ["45233140"]) == 0
    assert EXACT.rank("cpv", "45000000", []) == 0


def test_manufacturing_is_one_sector() -> None:
    sector = Depth("sector", 2)
    assert sector.rank("naics", "311111", ["221112", "339999"]) == 2
    assert sector.rank("naics", "441110", ["459999"]) == 1
    assert sector.rank("naics", "311111", ["441110"]) == 0


@pytest.mark.parametrize(
    ("system", "names", "level"),
    [
        ("cpv", ["category", "class", "group", "division"], "division"),
        ("psc", ["group", "category"], "group"),
        ("unspsc", ["class", "family", "segment"], "segment"),
        ("naics", ["industry", "industry group", "subsector", "sector"], "sector"),
    ],
)
def test_every_level_above_the_full_code_is_measured(
    system: System, names: list[str], level: str
) -> None:
    assert [depth.name for depth in depths(system)] == ["full code", "as far as stated", *names]
    assert broad(system).name == level


@pytest.mark.parametrize(
    ("system", "bare", "deeper"),
    [
        ("cpv", "45000000", "45200000"),
        ("unspsc", "43000000", "43210000"),
        ("naics", "31-33", "311"),
        ("psc", "R4", "R408"),
    ],
)
def test_codes_are_judged_in_full_if_any_label_is_deeper_than_the_first_level(
    system: System, bare: str, deeper: str
) -> None:
    assert measured_depth(system, [bare, bare]) == STATED
    assert measured_depth(system, [bare, deeper]) == EXACT
