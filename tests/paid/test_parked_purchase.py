"""A purchase that stops before its end: what it cost, and how the same command goes on."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from pipeline.paid import pool
from pipeline.rate import DEMO
from tests.paid.serving import (
    Buyer,
    Gate,
    Service,
    buyer,
    check_money,
    nobody_there,
    serving,
    some,
    started,
)

TEXTS = ["road works", "", "office chairs and desks", "road works", "a b c d", "school meals"]


def test_an_unknown_key_parks_and_is_tried_once_in_each_system(
    tmp_path: Path, service: Service, address: str
) -> None:
    user = buyer(tmp_path, address, "tp_nobodys")
    user.write(TEXTS)
    summary = user.run()
    assert (some(summary.parked).exit_code, summary.paid and summary.paid.attempts) == (4, 2)
    assert "TENDER_PIPELINE_API_KEY" in some(summary.parked).hint
    assert "tp_nobodys" not in str(summary)
    assert not user.output.exists()
    assert user.but(api_key=service.account.key).run().parked is None
    check_money(user, service)


def test_a_low_balance_parks_and_goes_on_once_it_is_topped_up(
    tmp_path: Path, service: Service, address: str
) -> None:
    poor = service.accounts.open(Decimal("0.00035"))
    texts = [f"text {number}" for number in range(10)]
    user = buyer(tmp_path, address, poor.key)
    user.write(texts)
    summary = user.run()
    assert some(summary.parked).exit_code == 5
    enough = re.search(r"Add (\S+) USD, which is enough for the rest", some(summary.parked).hint)
    assert str(summary.parked).count("to top it up") == 1, "the service says it"
    assert 0 < service.charged == summary.cost_usd
    assert not user.output.exists()
    spent = summary.cost_usd
    summary = user.but(api_key=service.account.key).run()
    assert summary.parked is None
    assert summary.cost_usd == service.charged == user.row_costs()
    assert enough and summary.cost_usd - spent <= Decimal(enough[1]) <= 20 * Decimal("0.00015")


def test_a_service_that_is_not_there_parks_and_nothing_is_at_risk(tmp_path: Path) -> None:
    user = buyer(tmp_path, nobody_there(), "key")
    user.write([f"text {number}" for number in range(30)])
    summary = user.run()
    assert some(summary.parked).exit_code == 6
    assert some(summary.paid).attempts == pool.FAILURES_IN_A_ROW
    assert not [*tmp_path.glob("out.csv*")], "nothing that another ledger would lack"
    assert some(summary.paid).unconfirmed == some(summary.paid).at_risk_usd == 0


def test_the_demo_limit_parks_and_the_next_run_remembers_it(
    tmp_path: Path, service: Service, address: str
) -> None:
    user = buyer(tmp_path, address, None, rate=None)
    user.write([f"text {number}" for number in range(20)])
    for _ in range(2):
        summary = user.run()
        assert some(summary.parked).exit_code == 7
        assert "--wait" in some(summary.parked).hint
        assert len(service.asked) == summary.paid.attempts == DEMO.slots if summary.paid else 0


def test_when_the_time_is_up_a_wait_for_a_slot_ends(user: Buyer, service: Service) -> None:
    user = user.but(rate="2/hour", burst=True)
    user.write([f"text {number}" for number in range(9)])
    summary = user.but(max_duration="0.3s").run()
    assert some(summary.parked).exit_code == 7
    assert len(service.asked) == 2


def test_a_killed_run_pays_again_for_no_answer_that_it_received(
    tmp_path: Path, service: Service
) -> None:
    gate = Gate(service.app(), 7)
    with serving(gate) as address:
        user = buyer(tmp_path, address, service.account.key, workers=3)
        user.write([f"text {number}" for number in range(10)])
        process = started(tmp_path, address, service.account.key)
        assert gate.reached.wait(20)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        gate.open = True
        assert not user.output.exists()
        summary = user.run()
    assert summary.parked is None
    assert [row["cpv_status"] for row in user.rows()] == ["ok"] * 10
    asked = Counter(service.asked)
    assert set(asked) == {(s, f"text {n}") for s in ("cpv", "psc") for n in range(10)}
    assert sum(asked.values()) - 20 <= some(summary.paid).unconfirmed <= 3
    # Every text costs the same here, so the unconfirmed are priced by their number.
    (price,) = {charge.price_usd for charge in service.accounts.statement.charges()}
    twice = sum(asked.values()) - 20
    assert summary.cost_usd == user.row_costs() == service.charged - twice * price
    assert some(summary.paid).at_risk_usd >= twice * price
    with closing(sqlite3.connect(user.service.ledger)) as ledger:
        (left_open,) = ledger.execute("SELECT count(*) FROM attempts WHERE state = 'sent'")
    assert left_open == (0,), "nobody could settle what is said to be under way"
