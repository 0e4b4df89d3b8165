"""What is bought again, and what is not: failures, old answers, answers that were lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from pipeline.cli.output.buying import describe
from pipeline.settings import Settings
from tests.paid.ledger.buying import settle
from tests.paid.serving import Buyer, Service, some

DAY = 86_400.0
PRICE = Decimal("0.0001")
UNREADABLE = json.dumps({"success": True, "data": "?", "metadata": {"cost": {"apiCost": 0.0001}}})
NO_SUCH_TEXT = json.dumps({"success": False, "error": "VALIDATION_ERROR", "message": "Odd."})
POOR = json.dumps({"success": False, "error": "INSUFFICIENT_BALANCE", "message": "Empty."})


def grow_old(user: Buyer, days: float) -> None:
    """Let everything in the ledger have happened so many days earlier."""
    with closing(sqlite3.connect(user.service.ledger)) as ledger, ledger:
        ledger.execute("UPDATE attempts SET settled_at = settled_at - ?", (days * DAY,))


def test_within_a_job_a_failure_is_not_paid_for_twice(user: Buyer, service: Service) -> None:
    """The first answer of the second job makes no sense, so it parks; the same command goes on."""
    service.script = {1: (200, {}, UNREADABLE), 2: (200, {}, UNREADABLE)}
    user = user.but(workers=1)
    user = replace(user, settings=Settings(systems=("cpv",)))
    user.write(["one text", "bad"])
    assert user.run().failed == 1
    user.write(["one text", "bad", "three text"])
    again = user.but(retry_failed=True)
    summary = again.run()
    assert (some(summary.parked).exit_code, service.requests) == (6, 3)
    assert again.plan().to_buy == 1
    summary = again.run()
    assert summary.parked is None
    assert service.requests == 4
    assert user.statuses() == ["ok", "ok", "MALFORMED_RESPONSE"]
    assert summary.cost_usd == user.row_costs()
    assert Decimal(user.rows()[2]["cost_usd"]) == PRICE


def test_a_retry_that_fails_shows_how_it_failed(user: Buyer, service: Service) -> None:
    service.script = {2: (400, {}, NO_SUCH_TEXT), 4: (404, {}, "<html>")}
    user = user.but(workers=1)
    user.write(["one text", "two text"])
    user.run()
    user.but(retry_failed=True).run()
    assert user.statuses() == ["ok", "HTTP_404"]


def test_what_is_too_old_is_bought_again_once(user: Buyer, service: Service) -> None:
    user.write(["one text", "two text"])
    first = user.run()
    grow_old(user, 40)
    assert user.but(max_age="41d").plan().to_buy == user.plan().to_buy == 0
    fresh = user.but(max_age="30d")
    assert fresh.plan().to_buy == 4
    second = fresh.run()
    assert second.cost_usd == first.cost_usd == user.row_costs() > 0
    assert fresh.run().cost_usd == 0
    assert len(service.asked) == 8


def test_a_job_of_many_days_does_not_buy_its_own_answers_again(
    user: Buyer, service: Service
) -> None:
    service.script = {2: (402, {}, POOR)}
    user = user.but(workers=1, max_age="30d")
    user.write(["one text", "two text"])
    assert user.run().parked
    grow_old(user, 40)
    assert user.plan().to_buy == 2
    assert user.run().parked is None
    assert len(service.asked) == 4


@pytest.mark.parametrize(
    ("answer", "status"),
    [((400, {}, NO_SUCH_TEXT), "VALIDATION_ERROR"), ((404, {}, "<html>"), "HTTP_404")],
)
def test_when_buying_again_fails_the_old_answer_is_not_shown(
    user: Buyer, service: Service, answer: Any, status: str
) -> None:
    service.script = {5: answer}
    user = user.but(workers=1)
    user.write(["one text", "two text"])
    user.run()
    grow_old(user, 40)
    summary = user.but(max_age="30d").run()
    assert summary.failed == 1
    assert [*user.statuses(), *user.statuses("psc")].count("ok") == 3
    assert [*user.statuses(), *user.statuses("psc")].count(status) == 1


def test_calls_held_back_are_counted_apart_until_they_are_settled(
    user: Buyer, service: Service
) -> None:
    service.script = {1: (502, {}, "<html>"), 3: (402, {}, POOR)}
    user = user.but(workers=1, on_unconfirmed="hold")
    user.write(["one text", "two text"])
    assert user.run().parked
    estimate = user.plan()
    assert (estimate.distinct, estimate.owned, estimate.held, estimate.to_buy) == (4, 2, 1, 1)
    assert "2 owned, 1 held, lost or paid without an answer, 1 to buy" in describe(
        user.service, estimate
    )
    assert estimate.to_dict()["calls_held"] == 1
    retried = user.but(on_unconfirmed="retry")
    assert (retried.plan().held, retried.plan().to_buy) == (0, 2)
    assert "lost" not in describe(retried.service, retried.plan())

    settle(user.service.ledger, {2: PRICE})
    assert (user.plan().held, user.plan().to_buy) == (0, 2)
    summary = user.run()
    assert summary.parked is None
    assert user.statuses() == user.statuses("psc") == ["ok", "ok"]
    assert summary.cost_usd == user.row_costs() == service.charged + PRICE
    assert some(summary.paid).unconfirmed == some(summary.paid).at_risk_usd == 0


def test_held_calls_alone_are_nothing_to_buy(user: Buyer, service: Service) -> None:
    """A job whose calls are all owned or held takes no lock, asks nothing and sends no request."""
    service.script = {1: (502, {}, "<html>"), 2: (402, {}, POOR)}
    user = user.but(workers=1, on_unconfirmed="hold")
    user.write(["one text", "two text"])
    assert user.run().parked
    user.write(["one text"])
    summary = user.run()
    assert (summary.parked, service.requests) == (None, 3)
    assert user.statuses("psc") == ["HTTP_502"]
