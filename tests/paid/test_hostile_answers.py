"""Answers that no honest service gives, bought through a real server in the middle of good ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from pipeline.classification.summary import Summary
from pipeline.settings import Settings
from tests.paid.serving import Buyer, buyer, serving, some

KEY = "tp_hostile_0123456789"
PRICE = "0.00010499999999999999"


class Broken(Response):
    """Of its body, only some bytes leave before the connection breaks."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.body = self.body[:20]
        await super().__call__(scope, receive, send)


def success(data: str, metadata: str = f'{{"cost":{{"apiCost":{PRICE}}}}}') -> Response:
    return Response(
        f'{{"success":true,"message":"ok","data":{data},"metadata":{metadata}}}'.encode()
    )


def match(code: str = "45", title: str = "Roads", confidence: str = "0.9") -> str:
    found = json.dumps({"code": code, "title": title})
    return f'[{found[:-1]}, "confidence": {confidence}}}]'


def priced(cost: str) -> Response:
    return success(match(), f'{{"cost":{{"apiCost":{cost}}}}}')


def failure(error: str) -> Response:
    return Response(json.dumps({"success": False, "error": error, "message": "No."}).encode(), 400)


GOOD = success(match())
FORMULA = "=HYPERLINK(A1)"

# The text of a row, what the service says to it; then the row's status, code, confidence and cost.
ANSWERS: list[tuple[str, Response, tuple[str, str, str, str]]] = [
    ("good", GOOD, ("ok", "45", "0.9", PRICE)),
    ("truncated", Response(GOOD.body[:-9]), ("MALFORMED_RESPONSE", "", "", "")),
    ("page", Response(b"<!doctype html>Log in"), ("MALFORMED_RESPONSE", "", "", "")),
    ("object", success('{"code":"45"}'), ("MALFORMED_RESPONSE", "", "", PRICE)),
    ("number", success("7"), ("MALFORMED_RESPONSE", "", "", PRICE)),
    ("huge", Response(b" " * 52_428_800), ("MALFORMED_RESPONSE", "", "", "")),
    ("null bytes", Response(b"\0" * 999), ("MALFORMED_RESPONSE", "", "", "")),
    ("no number", priced("NaN"), ("ok", "45", "0.9", "")),
    ("negative", priced("-5"), ("ok", "45", "0.9", "")),
    ("infinite", priced("1e999999999"), ("ok", "45", "0.9", "")),
    ("text price", priced('"0.0001"'), ("ok", "45", "0.9", "0.0001")),
    ("text confidence", success(match(confidence='"0.5"')), ("ok", "45", "0.5", PRICE)),
    ("word confidence", success(match(confidence='"high"')), ("ok", "45", "0.0", PRICE)),
    ("NaN confidence", success(match(confidence="NaN")), ("ok", "45", "0.0", PRICE)),
    ("vast confidence", success(match(confidence="1e308")), ("ok", "45", "1e+308", PRICE)),
    ("twice", success(match()[:-1] + "," + match()[1:]), ("ok", "45", "0.9", PRICE)),
    ("formula", success(match("=1+1", FORMULA)), ("ok", "'=1+1", "0.9", PRICE)),
    ("formula error", failure("=cmd|' /C calc'!A0"), ("'=cmd|' /C calc'!A0", "", "", "0")),
    ("at error", failure("@SUM(A1)"), ("'@SUM(A1)", "", "", "0")),
    ("error like a status", failure("ok"), ("OK", "", "", "0")),
    ("proxy", Response(b"<html>Blocked", 403), ("HTTP_403", "", "", "0")),
    ("broken", Broken(GOOD.body), ("CONNECTION_ERROR", "", "", "")),
    ("good again", GOOD, ("ok", "45", "0.9", PRICE)),
]

UNUSABLE = {"no number", "negative", "infinite"}
UNKNOWN = UNUSABLE | {"truncated", "page", "huge", "null bytes"}


def said(asked: list[str], script: Mapping[str, Response]) -> Callable[..., Any]:
    """Return an application that answers as scripted and notes what it was asked."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        text = (await Request(scope, receive).json())["description"]
        asked.append(text)
        await script[text](scope, receive, send)

    return app


def completed(user: Buyer) -> Summary:
    """Give the same command again as long as a price that cannot be used parks it."""
    summary, runs = user.run(), 1
    while summary.parked:
        assert summary.parked.exit_code == 5
        assert "a price that cannot be used: apiCost is " in summary.parked.message
        assert runs <= len(UNUSABLE)
        summary, runs = user.run(), runs + 1
    return summary


def test_every_hostile_answer_is_a_row_of_its_own_and_money_stays_exact(tmp_path: Path) -> None:
    asked: list[str] = []
    with serving(said(asked, {text: response for text, response, _ in ANSWERS})) as address:
        asking = Settings(systems=("cpv",), top=3, min_confidence=0)
        user = replace(buyer(tmp_path, address, KEY), settings=asking)
        user.write([text for text, *_ in ANSWERS])
        paid, rows, costs = some(completed(user).paid), user.rows(), user.row_costs()
        expected = [text for text, *_ in ANSWERS if text != "proxy"]
        once = [text for text in asked if text != "proxy"]
        assert sorted(once) == sorted([*expected, "broken"])
        asked.clear()
        user.run()
        assert asked == ["proxy"], "a page of a proxy says nothing of the text"
    confirmed = sum(Decimal(cost or 0) for *_, (_, _, _, cost) in ANSWERS)
    assert paid.confirmed_usd == costs == confirmed
    assert (paid.unknown, paid.unconfirmed) == (len(UNKNOWN), 2)  # "broken", and broken again
    for row, (text, _, (status, code, confidence, cost)) in zip(rows, ANSWERS, strict=True):
        assert row["description"] == text
        names = ("status", "code", "confidence", "cost_usd")
        assert [row[f"cpv_{name}"] for name in names] == [status, code, confidence, cost], text
    titles = [row["cpv_title"] for row in rows if row["description"] == "formula"]
    assert titles == [f"'{FORMULA}"]


@pytest.mark.parametrize(
    ("status", "error"), [(500, "INTERNAL_ERROR"), (429, "RATE_LIMIT_EXCEEDED")]
)
def test_an_error_that_was_billed_counts_as_paid_and_is_bought_twice_at_most(
    tmp_path: Path, status: int, error: str
) -> None:
    billed = bytes(failure(error).body)[:-1] + b', "metadata": {"cost": {"apiCost": 0.0002}}}'
    asked: list[str] = []

    down = Response(billed, status, {"retry-after": "0"})
    with serving(said(asked, {"good": GOOD, "down": down})) as address:
        user = replace(buyer(tmp_path, address, KEY), settings=Settings(systems=("cpv",)))
        user.write(["good", "down"])
        summary = user.run()
        assert (
            some(summary.paid).confirmed_usd
            == user.row_costs()
            == Decimal("0.0004") + Decimal(PRICE)
        )
        assert user.rows()[1]["cpv_status"] == error
        assert user.plan().held == 1
        user.run()
        assert sorted(asked) == ["down", "down", "good"]
        user.but(on_unconfirmed="hold", retry_failed=True).run()
        assert sorted(asked) == ["down", "down", "down", "good"]
