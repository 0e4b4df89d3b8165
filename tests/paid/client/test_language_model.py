"""What a user says of a language model: its name, its prices, its fields."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import SettingsError
from pipeline.money import is_storable, plain
from pipeline.paid.client.language_model import LanguageModel
from pipeline.paid.client.prices import MOST_TOKENS, TokenPrices


def named(name: object, token_prices: object, fields: object) -> LanguageModel:
    found = LanguageModel.from_arguments(name, token_prices, fields)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("stated", "prices"),
    [
        ("0.15/0.60", ("0.15", "0.60")),
        (" 0.15 / 0.60 ", ("0.15", "0.60")),
        ("0", ("0", "0")),
        (0, ("0", "0")),
        ((Decimal(1), "2.5"), ("1", "2.5")),
        ("0/3", ("0", "3")),
        ("999999/0.000000000001", ("999999", "0.000000000001")),
    ],
)
def test_token_prices_are_read(stated: object, prices: tuple[str, str]) -> None:
    found = named("m", stated, None).token_prices
    assert found == TokenPrices(*map(Decimal, prices))
    assert named("m", found, {}).token_prices == found


@pytest.mark.parametrize(
    "stated",
    ["", "0.15", "0.15/", "a/b", "1/2/3", "-1/2", "1000000/1", "1/0.0000000000001", "nan/1", True,
     [], None, {}],
)  # fmt: skip
def test_wrong_token_prices_are_refused_with_an_example(stated: object) -> None:
    with pytest.raises(SettingsError) as caught:
        named("m", stated, None)
    assert caught.value.message.startswith("--token-prices ")
    assert "0.15/0.60" in caught.value.hint


@given(
    st.decimals(0, 999_999, places=12),
    st.decimals(0, 999_999, places=12),
    st.integers(0, MOST_TOKENS),
    st.integers(0, MOST_TOKENS),
)
def test_every_cost_is_exact_and_can_be_stored(
    one: Decimal, other: Decimal, read: int, written: int
) -> None:
    cost = TokenPrices(one, other).of(read, written)
    assert is_storable(cost)
    millionths = int(one * 10**12) * read + int(other * 10**12) * written
    assert plain(cost) == plain(Decimal(millionths).scaleb(-18))


def test_prices_are_exact_whatever_a_notebook_does_to_decimals() -> None:
    with localcontext(Context(prec=3, traps=[Inexact])):
        model = named("m", "0.123456789/1.000000000001", None)
        assert plain(model.usual_prices[1]) == "0.000564641972500256"


@pytest.mark.parametrize("name", ["", " ", "a\nb", 7])
def test_a_model_needs_a_name(name: object) -> None:
    with pytest.raises(SettingsError, match="--language-model is"):
        named(name, "0", None)


@pytest.mark.parametrize("terms", [("0", None), (None, {"top_p": 1})])
def test_prices_and_fields_are_for_a_model_that_is_named(terms: tuple[Any, Any]) -> None:
    assert LanguageModel.from_arguments(None, None, None) is None
    with pytest.raises(SettingsError, match="none is named"):
        LanguageModel.from_arguments(None, *terms)


def test_an_endpoint_says_which_model_whatever_its_name() -> None:
    names = {"qwen3:8b": "qwen3:8b", "org/m@1": "org/m@1", "a b#c?é": "a%20b%23c%3F%C3%A9"}
    for name, in_url in names.items():
        assert named(name, "0", None).in_url == in_url


@pytest.mark.parametrize(
    ("given_fields", "fields"),
    [
        (None, {}),
        ((), {}),
        (["reasoning_effort=low", "top_p=0.5"], {"reasoning_effort": "low", "top_p": 0.5}),
        (['a={"b": [1]}', "temperature=null"], {"a": {"b": [1]}, "temperature": None}),
        (['x="7"', "y=a=b"], {"x": "7", "y": "a=b"}),
        ("top_p=1", {"top_p": 1}),
        ({"max_tokens": 2000}, {"max_tokens": 2000}),
    ],
)
def test_fields_are_json_or_plain_words(given_fields: Any, fields: dict[str, Any]) -> None:
    assert named("m", "0", given_fields).fields == fields


@pytest.mark.parametrize(
    "given_fields",
    [5, ["top_p"], ["=1"], {"stream": True}, {"n": 2}, {"model": "x"}, {"messages": []},
     {"max_tokens": None}, {"max_tokens": 0}, {"max_tokens": True}, {"max_completion_tokens": 1e9},
     {"a": object()}, {"a": float("nan")}],
)  # fmt: skip
def test_wrong_fields_are_refused(given_fields: Any) -> None:
    with pytest.raises(SettingsError) as caught:
        named("m", "0", given_fields)
    assert caught.value.message.startswith("--request-field ")


def test_the_dearest_call_has_the_longest_question_and_all_allowed_tokens() -> None:
    prices = "0.15/0.60"
    usual = named("m", prices, None)
    assert usual.usual_prices == (Decimal("0.0001248"), Decimal("0.0005286"))
    reasons = named("m", prices, {"max_completion_tokens": 4000})
    assert reasons.usual_prices[1] == Decimal("0.002775")


def test_a_model_that_is_too_dear_is_refused_by_name_and_price() -> None:
    model = named("large", "5/25", None)
    model.check_price(Decimal("0.0189"))
    with pytest.raises(SettingsError) as caught:
        model.check_price(Decimal("0.01"))
    assert caught.value.message == (
        "One call of large may cost 0.0189 USD: 2,500 input and 256 output tokens. --max-price "
        "allows 0.01 USD."
    )
    assert caught.value.hint == "If that is right, allow it: --max-price 0.0189."
