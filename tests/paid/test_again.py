"""What is bought again, and what is not: failures, old answers, answers that were lost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.cli.output.run import describe
from pipeline.settings import Settings
from tests.paid.command_line import NO_SUCH_TEXT, POOR
from tests.paid.ledger.buying import settle
from tests.paid.serving import Buyer, Response, Service, serving, some

DAY = 86_400.0
PRICE = Decimal("0.0001")
UNREADABLE = json.dumps({"success": True, "data": "?", "metadata": {"cost": {"apiCost": 0.0001}}})


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


MATCH = {"code": "45000000", "title": "Works", "confidence": 0.5}
SILENT: Response = 200, {}, json.dumps({"success": True, "data": [MATCH], "metadata": {}})
LOST: Response = 502, {}, ""
TEXTS = ["silent", "priced", "silent", "", "lost, then priced", "lost"]
# One worker buys row by row, CPV before PSC: the fifth and the eighth request are of lost rows.
SCRIPT = {0: SILENT, 4: LOST, 7: LOST, 8: LOST}
COSTS = ["cpv_cost_usd", "psc_cost_usd", "cost_usd"]


def cost(value: Any) -> Decimal | None:
    return None if pd.isna(value) or value == "" else Decimal(value)


def check(rows: Sequence[Mapping[Any, Any]], confirmed: Decimal) -> None:
    silent, priced, again, empty, lost_once, lost = rows
    assert cost(silent["cpv_cost_usd"]) is None
    assert silent["cpv_status"] in ("ok", "review"), "it has a code"
    assert cost(silent["cost_usd"]) == cost(silent["psc_cost_usd"]) != 0
    assert cost(priced["cost_usd"]) == 2 * Decimal(priced["cpv_cost_usd"]) > 0
    for row in (again, empty):
        assert [cost(row[name]) for name in COSTS] == [0, 0, 0]
    assert Decimal(lost_once["cpv_cost_usd"]) > 0
    assert lost["cpv_status"] == "HTTP_502"
    assert cost(lost["cpv_cost_usd"]) is None
    for names in (COSTS[:2], COSTS[2:]):
        known = [cost(row[name]) for row in rows for name in names]
        assert sum(filter(None, known), Decimal(0)) == confirmed


def test_unknown_costs_are_empty_in_csv_and_counted(
    tmp_path: Path, user: Buyer, service: Service
) -> None:
    service.script = SCRIPT
    user.write(TEXTS)
    summary = user.but(workers=1).run()
    assert summary.parked is None
    check(user.rows(), some(summary.paid).confirmed_usd)
    assert (some(summary.paid).unknown, some(summary.paid).unconfirmed) == (1, 3)
    assert "3 attempts unconfirmed, 1 without a price: at most 0.0006 USD more" in str(summary)
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text())["summary"]
    assert (manifest["paid"]["unknown"], manifest["paid"]["unconfirmed"]) == (1, 3)
    known = sum(Decimal(figures["cost_usd"]) for figures in manifest["systems"].values())
    assert known == Decimal(manifest["cost_usd"]) == some(summary.paid).confirmed_usd


def test_unknown_costs_are_null_in_parquet_and_missing_in_a_frame(
    tmp_path: Path, service: Service
) -> None:
    frame = pd.DataFrame({"description": TEXTS})
    frame.to_csv(tmp_path / "in.csv", index=False)
    data: Any
    for data, output in ((tmp_path / "in.csv", tmp_path / "out.parquet"), (frame, None)):
        service.script = {service.requests + number: said for number, said in SCRIPT.items()}
        with serving(service.app()) as address:
            ledger = tmp_path / f"{type(data).__name__}.db"
            terms = pipeline.PaidService(
                address, service.account.key, ledger=ledger, rate="none", workers=1
            )
            result = pipeline.classify(data, systems=["cpv", "psc"], output=output, service=terms)
        check(result.to_pandas(exact_costs=True).to_dict("records"), result.cost_usd)
    check(pq.read_table(tmp_path / "out.parquet").to_pylist(), result.cost_usd)


def test_a_row_of_which_nothing_is_known_has_no_total(user: Buyer, service: Service) -> None:
    service.script = {0: SILENT, 1: SILENT}
    user = user.but(workers=1)
    user.write(["one text"])
    user.run()
    assert [user.rows()[0][name] for name in COSTS] == ["", "", ""]
