"""The table of errors, one row a case."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, cast

import pytest

from pipeline.money import ZERO
from pipeline.paid.client.outcomes import Lost, NotSent, Received, Reply
from pipeline.paid.limits import Budget
from pipeline.paid.policy import LeftOut, RunProgress, judge


def got(status: int, body: Any = b"<html>") -> Received:
    return Received(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode())


def error(name: str, **more: Any) -> dict[str, Any]:
    return {"success": False, "error": name, "message": "said"} | more


def success(**metadata: Any) -> dict[str, Any]:
    data = [{"code": "45000000", "title": "Works", "confidence": 0.5}]
    return {"success": True, "message": "ok", "data": data, "metadata": metadata}


DETAILED = {"apiCost": 0.00007, "markupAmount": 0.000035, "finalCost": 0.000105}
EUROS = {"finalCost": 0.1, "currency": "EUR"}
PRICED, CENT = {"cost": {"apiCost": 0.01}}, Decimal("0.01")
WRONG = {"cost": {"apiCost": "free"}}

CASES: list[tuple[Reply, str, str, Decimal | None]] = [
    (got(200, success(costBreakdown=DETAILED)), "answered", "answered", Decimal("0.000105")),
    (got(200, success()), "answered", "answered", None),
    (got(200, success(costBreakdown=EUROS)), "price", "answered", None),
    (got(200, {"success": True, "metadata": {"cost": EUROS}}), "price", "unreadable", None),
    (
        got(400, error("VALIDATION_ERROR", metadata={"costBreakdown": EUROS})),
        "price",
        "refused",
        None,
    ),
    (got(200, b"not JSON"), "ended", "unreadable", None),
    (got(400, error("VALIDATION_ERROR")), "ended", "refused", ZERO),
    (
        got(400, error("VALIDATION_ERROR", metadata={"cost": {"apiCost": 0.0001}})),
        "ended",
        "refused",
        Decimal("0.0001"),
    ),
    (got(404), "failed", "free", ZERO),
    (got(401), "credentials", "free", ZERO),
    (got(402), "money", "free", ZERO),
    (got(429), "limited", "free", ZERO),
    (got(500, error("INTERNAL_ERROR")), "again", "free", ZERO),
    (got(503), "again", "free", ZERO),
    (NotSent("CONNECTION_ERROR", "refused"), "again", "free", ZERO),
    (Lost("TIMEOUT", "no answer"), "lost", "unconfirmed", None),
    (got(502), "lost", "unconfirmed", None),
    (got(500, error("INTERNAL_ERROR", metadata=PRICED)), "lost", "billed", CENT),
    (got(503, {"metadata": PRICED}), "lost", "billed", CENT),
    (got(502, {"metadata": PRICED}), "lost", "billed", CENT),
    (got(429, error("RATE_LIMIT_EXCEEDED", metadata=PRICED)), "limited", "billed", CENT),
    (got(404, success(**PRICED)), "failed", "billed", CENT),
    (got(500, error("INTERNAL_ERROR", metadata=WRONG)), "lost", "unconfirmed", None),
    (got(503, {"metadata": {"cost": {"currency": "EUR"}}}), "again", "free", ZERO),
    (got(503, error("DATABASE", metadata={"cost": {"apiCost": 0}})), "again", "free", ZERO),
    (got(402, error("INSUFFICIENT_BALANCE", metadata=PRICED)), "money", "free", ZERO),
    (got(401, error("UNAUTHORIZED", metadata=PRICED)), "credentials", "free", ZERO),
]


@pytest.mark.parametrize(("reply", "then", "state", "cost"), CASES)
def test_each_way_to_end_has_its_consequence(
    reply: Reply, then: str, state: str, cost: Decimal | None
) -> None:
    judgement = judge(reply)
    assert (judgement.next, judgement.end.state) == (then, state)
    assert judgement.cost_usd == cost


@pytest.mark.parametrize(
    ("reply", "has_key", "message"),
    [
        (got(401), True, "The service does not accept the API key."),
        (got(401), False, "The service wants an API key, and none is set."),
        (got(402), True, "The account's balance is too low."),
        (
            got(402, error("X") | {"message": "0 USD."}),
            True,
            "The account's balance is too low: 0 USD.",
        ),
    ],
)
def test_a_parked_run_quotes_the_service_if_it_said_something(
    reply: Reply, has_key: bool, message: str
) -> None:
    progress = RunProgress(
        throttle=cast(Any, None),
        budget=Budget(ZERO, None, None),
        systems={"cpv"},
        wait=True,
        has_key=has_key,
    )
    stop = progress.note("cpv", judge(reply), 1)
    parked = stop.why if isinstance(stop, LeftOut) else stop
    assert parked is not None
    assert parked.message == message
