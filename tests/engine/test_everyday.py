"""The everyday descriptions, whose codes were chosen before any model answered them."""

from __future__ import annotations

from benchmarks.everyday import accepted, answered, descriptions
from pipeline.answers import SYSTEMS
from pipeline.codes import shipped

FLOOR = {"cpv": 15, "psc": 9, "unspsc": 7, "naics": 13}
"""First codes that an expert would accept, as measured; a change that loses one has to say so."""


def test_the_expert_s_codes_are_in_the_tables_and_accepted() -> None:
    for row in descriptions():
        for system in SYSTEMS:
            code = row[f"expert_{system}"]
            assert accepted(row, system, code)
            assert code in shipped(system) or system == "unspsc"


def test_as_many_first_codes_are_accepted_as_measured() -> None:
    pairs = list(zip(descriptions(), answered(), strict=True))
    for system in SYSTEMS:
        best = [(row, str(answer[system][0]["code"])) for row, answer in pairs if answer[system]]
        assert sum(accepted(row, system, code) for row, code in best) >= FLOOR[system]
