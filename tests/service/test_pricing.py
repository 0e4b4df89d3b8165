from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import Match
from pipeline.money import total
from pipeline.service.pricing import price

titles = st.lists(st.text(max_size=120), max_size=10)


def matches(titles: list[str]) -> list[Match]:
    return [Match(str(place), title, 0.5) for place, title in enumerate(titles)]


def test_the_formula_is_47_and_2_a_match_and_1_per_16_characters_and_half_on_top() -> None:
    due = price(matches(["x" * 15, "x" * 17]))
    assert due.base == Decimal("0.000053")
    assert due.markup == Decimal("0.0000265")
    assert due.final == Decimal("0.0000795")
    assert due.shares == (Decimal("0.0000265"), Decimal("0.0000265"))


def test_no_matches_cost_least_and_ten_long_titles_most() -> None:
    assert price([]).final == Decimal("0.0000705")
    assert price([]).shares == ()
    assert price(matches(["x" * 53] * 10)).final == Decimal("0.00015")
    assert price(matches(["x" * 5000] * 10)).final == Decimal("0.00015")


@given(titles)
def test_a_price_is_in_range_adds_up_to_the_last_digit_and_is_written_plainly(
    titles: list[str],
) -> None:
    due = price(matches(titles))
    assert Decimal("0.00007") <= due.final <= Decimal("0.00015")
    assert due.markup == due.base * 50 / 100
    assert due.final == total([due.base, due.markup])
    assert total(due.shares) == (due.base if titles else 0)
    for amount in (due.base, due.markup, due.final, *due.shares):
        assert str(amount) == f"{amount:f}"
        assert len(str(amount)) <= len("0.0000001")


@given(titles)
def test_the_same_answer_costs_the_same(titles: list[str]) -> None:
    assert price(matches(titles)) == price(matches(titles))
