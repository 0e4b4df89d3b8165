from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import Match
from pipeline.money import total
from pipeline.service.pricing import HIGHEST, LOWEST, price

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
    assert price([]) == LOWEST
    assert (LOWEST.final, LOWEST.shares) == (Decimal("0.0000705"), ())
    for characters in (53, 5000):
        assert price(matches(["x" * characters] * 10)) == HIGHEST
    assert HIGHEST.final == Decimal("0.00015")


@given(titles)
def test_a_price_is_in_range_adds_up_to_the_last_digit_and_is_written_plainly(
    titles: list[str],
) -> None:
    due = price(matches(titles))
    assert LOWEST.final <= due.final <= HIGHEST.final
    assert due.markup == due.base * 50 / 100
    assert due.final == total([due.base, due.markup])
    assert total(due.shares) == (due.base if titles else 0)
    assert list(due.shares) == sorted(due.shares, reverse=True)  # as even as they can be
    assert not titles or due.shares[0] - due.shares[-1] <= Decimal("0.0000001")
    for amount in (due.base, due.markup, due.final, *due.shares):
        assert str(amount) == f"{amount:f}"
        assert len(str(amount)) <= len("0.0000001")


@given(titles, st.integers(0, 9), st.text(max_size=200))
def test_more_in_an_answer_never_costs_less(titles: list[str], place: int, title: str) -> None:
    due = price(matches(titles))
    longer = [one + title if each == place else one for each, one in enumerate(titles)]
    assert price(matches(longer)).final >= due.final
    if len(titles) < 10:
        assert price(matches([*titles, title])).final > due.final
