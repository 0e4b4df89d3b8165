from __future__ import annotations

from pipeline.codes import load
from pipeline.engine.training.dataset import learnable


def test_a_commodity_that_the_table_lacks_is_learned_if_its_segment_is_there() -> None:
    table = load("unspsc")
    assert learnable(table, "4321-1599") == "43211599"
    assert learnable(table, "43211500") == "43211500"
    assert learnable(table, "99999999") is None


def test_a_code_that_no_buyer_gives_to_a_tender_is_not_learned() -> None:
    assert learnable(load("naics"), "31-33") is None
    assert learnable(load("psc"), "70") is None
