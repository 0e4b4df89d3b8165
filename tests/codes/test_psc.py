"""The PSC table is composed; each rule of composition shows in its titles."""

from __future__ import annotations

from pathlib import Path

import pytest
from build_code_tables import build_psc

from pipeline.codes import shipped
from pipeline.codes.shipped import DATA

TITLES = shipped("psc").titles
PARENTS = shipped("psc").parents


def test_the_table_is_what_the_lists_compose(tmp_path: Path) -> None:
    build_psc(tmp_path)
    assert (tmp_path / "psc.tsv").read_bytes() == (DATA / "psc.tsv").read_bytes()


def test_a_title_is_never_left_with_a_placeholder() -> None:
    assert not [title for title in TITLES.values() if "{" in title]


@pytest.mark.parametrize("code", ["1005", "J010", "Y1AA", "AA11", "7A20", "DA01", "R408"])
def test_a_full_code_belongs_to_the_group_of_its_first_two_characters(code: str) -> None:
    assert PARENTS[code] == code[:2]
    assert PARENTS[code[:2]] == ("" if code[:2].isdigit() else code[0])


def test_maintenance_combines_with_the_equipment_groups() -> None:
    groups = {code for code in TITLES if len(code) == 2 and code.isdigit()}
    maintained = {code[2:] for code in TITLES if code.startswith("J0") and len(code) == 4}
    assert groups - maintained == {"58", "60", "99"}  # the first two are category D's by now
    assert "weapons" in TITLES["J010"].casefold()


def test_construction_and_its_repair_name_the_same_structure() -> None:
    built = {code[2:]: TITLES[code] for code in TITLES if code.startswith("Y1") and len(code) == 4}
    assert len(built) > 50
    for key, title in built.items():
        structure = title.partition(" of ")[2]
        assert structure
        assert TITLES["Z1" + key].endswith(structure)


def test_research_codes_name_their_group_subject_and_stage() -> None:
    group, subject, stage = TITLES["AA11"].split("; ")
    assert group == TITLES["AA"]
    assert TITLES["AA12"].startswith(f"{group}; {subject}; ")
    assert not TITLES["AA12"].endswith(stage)


def test_it_products_and_services_share_their_subjects() -> None:
    assert TITLES["7A"] == TITLES["DA"]
    assert TITLES["7A"].startswith("IT and telecom: ")
    assert all(code[2] == "2" for code in TITLES if code[:2] == "7A" and len(code) == 4)
    assert all(code[2] != "2" for code in TITLES if code[:2] == "DA" and len(code) == 4)
