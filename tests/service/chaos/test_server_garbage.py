"""What each form of garbage is, and what the client takes it for."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pipeline.answers import Match
from pipeline.paid.client.outcomes import Answered, Unreadable, WrongCurrency, WrongPrice
from pipeline.paid.client.responses import read_response
from pipeline.service.chaos.faults import FORMS, Form
from pipeline.service.chaos.server import ABSURD_USD, HUGE, Response, spoil
from pipeline.service.http.messages import METADATA, Metadata, success
from pipeline.service.pricing import price

MATCHES = (Match("45233140", "Roadworks", 0.9), Match("45233000", "Roads", 0.4))
PRICE = price(MATCHES)


def made(form: Form, metadata: Metadata = "detailed") -> Response:
    return spoil(form, success("cpv", "road", MATCHES, PRICE, metadata), PRICE.final)


@pytest.mark.parametrize("metadata", METADATA)
@pytest.mark.parametrize("form", FORMS)
def test_the_price_that_is_read_is_the_one_that_is_recorded_as_stated(
    form: Form, metadata: Metadata
) -> None:
    bad = made(form, metadata)
    stated_usd = bad.stated_usd
    outcome = read_response(200, {}, bad.body + b" " * bad.padding)
    match outcome:
        case Answered(_, cost) | Unreadable(_, cost):
            assert cost == stated_usd
        case WrongCurrency(currency, _):
            assert (form, currency, stated_usd) == ("currency", "EUR", None)
        case WrongPrice(ended=Answered(cost_usd=cost)):
            assert form in WRONG_PRICES
            assert cost is stated_usd is None
        case _:
            pytest.fail(f"{form} is read as {outcome}")


WRONG_PRICES = ("absurd-cost", "nan", "negative-cost")


@pytest.mark.parametrize("form", FORMS)
def test_what_can_be_read_has_the_best_code_of_the_good_answer(form: Form) -> None:
    bad = made(form)
    match read_response(200, {}, bad.body + b" " * bad.padding):
        case (
            Answered(matches, _)
            | WrongCurrency(ended=Answered(matches, _))
            | WrongPrice(ended=Answered(matches, _))
        ):
            assert matches[0].code == MATCHES[0].code
        case outcome:
            assert isinstance(outcome, Unreadable)
            assert form in ("empty", "html", "huge", "list", "truncated", "types")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_differs_from_the_good_answer(form: Form) -> None:
    bad = made(form)
    good = success("cpv", "road", MATCHES, PRICE, "detailed")
    assert bad.body + b" " * min(bad.padding, 1) != good


def test_an_answer_without_matches_can_be_spoilt_too() -> None:
    nothing = price(())
    body = success("cpv", "road", (), nothing, "compact")
    for form in FORMS:
        spoil(form, body, nothing.final)


def test_the_forms_are_what_their_names_say() -> None:
    assert b"NaN" in made("nan").body
    assert b"<html>" in made("html").body
    assert made("html").headers == {"Content-Type": "text/html"}
    assert made("huge").padding == HUGE == 50 * 1024 * 1024
    assert made("absurd-cost", "compact").stated_usd == ABSURD_USD
    assert made("absurd-cost").stated_usd is None
    assert b'"confidence":"0.9"' in made("text-confidence").body
    assert b'"finalCost":-0.0000' in made("negative-cost").body
    assert b'"finalCost":"0.0000' in made("text-costs").body
    assert made("duplicates").body.count(b'"45233140"') == 2
    assert b"metadata" not in made("no-metadata").body
    assert Decimal(0) < PRICE.final < ABSURD_USD
