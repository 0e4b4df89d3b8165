from __future__ import annotations

import pytest

from pipeline.answers import System
from pipeline.engine.training.train import traits, tree


@pytest.mark.parametrize(
    ("system", "code", "shared"),
    [
        ("cpv", "03111000", {"=03111000", "03", "031", "0311", "03111"}),
        ("unspsc", "43210000", {"=43210000", "43", "4321"}),
        ("naics", "332111", {"=332111", "31-33", "332", "3321", "33211"}),
        ("psc", "J016", {"=J016", "J0", "J", "equipment 16"}),
        ("psc", "1680", {"=1680", "16", "supplies", "equipment 16"}),
    ],
)
def test_a_code_has_the_traits_of_what_it_is_part_of(
    system: System, code: str, shared: set[str]
) -> None:
    assert set(traits(system, code)) == shared


def test_codes_of_a_group_share_its_column() -> None:
    matrix = tree("cpv", ["03111000", "03112000", "90910000"]).toarray()
    assert (matrix[0] @ matrix[1], matrix[0] @ matrix[2]) == (3, 0)
