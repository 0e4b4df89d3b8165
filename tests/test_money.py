from __future__ import annotations

from decimal import Decimal, Inexact
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import SettingsError
from pipeline.money import Usd, difference, known_total, plain, times, total, usd

AMOUNTS = st.decimals(min_value=0, max_value=10**9, places=24)


@given(st.lists(AMOUNTS, max_size=50))
def test_sums_are_exact(amounts: list[Decimal]) -> None:
    assert Fraction(total(amounts)) == sum(map(Fraction, amounts))


@given(AMOUNTS, st.lists(AMOUNTS, max_size=9), st.integers(min_value=0, max_value=10**12))
def test_differences_and_multiples_are_exact(
    amount: Decimal, others: list[Decimal], count: int
) -> None:
    left = Fraction(difference(amount, *others))
    assert left == Fraction(amount) - sum(map(Fraction, others))
    assert Fraction(times(amount, count)) == Fraction(amount) * count


@given(st.lists(st.none() | AMOUNTS, max_size=9))
def test_an_unknown_amount_never_looks_like_nothing_and_no_known_one_is_lost(
    amounts: list[Decimal | None],
) -> None:
    known = total(amount for amount in amounts if amount is not None)
    assert (known_total(amounts) or 0) == known
    assert (known_total(amounts) is None) == (None in amounts and known == 0)


def test_what_cannot_be_exact_is_an_error_and_never_rounded() -> None:
    with pytest.raises(Inexact):
        total([Decimal(10) ** 40, Decimal(10) ** -40])


@given(AMOUNTS)
def test_plain_notation_is_the_same_amount_without_exponent(amount: Decimal) -> None:
    assert Decimal(plain(amount)) == amount
    assert "E" not in plain(amount)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0E-24", "0"),
        ("1E+2", "100"),
        ("0.00010500", "0.000105"),
        ("10", "10"),
        ("7E-5", "0.00007"),
    ],
)
def test_plain_notation_has_no_zeros_that_say_nothing(amount: str, text: str) -> None:
    assert plain(Decimal(amount)) == text


@pytest.mark.parametrize(
    "written", ["2.50", 2.5, 3, "0", Decimal("1E-24"), "99999999999999.999999999999999999999999"]
)
def test_an_amount_is_taken_as_it_is_written(written: Usd) -> None:
    assert usd("max_cost", written) == Decimal(str(written))


@pytest.mark.parametrize(
    "written",
    ["much", "-1", -0.0, "NaN", float("inf"), True, None, b"2", "1e14", "1e-25", "2,50", "$2.50"],
)
def test_what_no_file_can_hold_is_refused_with_an_example(written: Any) -> None:
    with pytest.raises(SettingsError) as refused:
        usd("max_cost", written)
    assert refused.value.message.startswith(f"--max-cost is {written!r}, ")
    assert refused.value.hint == "Write an amount such as 2.50."
