"""The whole paid path: a table, a real server, a ledger, and the same command again."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipeline.classification.provenance import manifest_path
from pipeline.errors import InputChangedError, InputError, LedgerError, OutputError
from pipeline.money import plain
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.totals import open_jobs
from pipeline.paid.limits import TYPICAL_HIGH
from pipeline.service.http.messages import METADATA
from tests.paid.serving import (
    Buyer,
    Meanwhile,
    Service,
    buyer,
    check_money,
    nobody_there,
    serving,
    some,
)

TEXTS = ["road works", "", "office chairs and desks", "road works", "a b c d", "school meals"]


def in_turns(*apps: Any) -> Any:
    """Let applications answer in turn."""
    turns = itertools.cycle(apps)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await next(turns)(scope, receive, send)

    return app


@pytest.mark.parametrize("form", [*METADATA, "mixed"])
def test_rows_summary_and_account_agree_to_the_last_digit(
    tmp_path: Path, service: Service, form: Any
) -> None:
    forms = METADATA if form == "mixed" else (form,)
    with serving(in_turns(*(service.app(metadata=each) for each in forms))) as address:
        user = buyer(tmp_path, address, service.account.key)
        user.write(TEXTS)
        summary = user.run()
    assert summary.parked is None
    assert summary.cost_usd == some(summary.paid).confirmed_usd == service.charged > 0
    assert (some(summary.paid).unconfirmed, some(summary.paid).unknown) == (0, 0)
    assert [row["cpv_status"] == "empty" for row in user.rows()] == [not text for text in TEXTS]
    check_money(user, service)


@pytest.mark.parametrize("texts", [["one text"], ["one text", "two text", "three text"]])
def test_a_cost_limit_at_the_plans_highest_figure_completes(
    user: Buyer, service: Service, texts: list[str]
) -> None:
    """The ledger has seen only prices under the typical one."""
    user.write(["another text"])
    user.run()
    user.write(texts)
    planned = user.plan()
    assert service.charged / 2 < TYPICAL_HIGH
    summary = user.but(max_cost=planned.high_usd).run()
    assert summary.parked is None
    assert summary.cost_usd <= planned.high_usd


def test_what_earlier_runs_may_have_paid_counts_against_the_limit(
    user: Buyer, service: Service
) -> None:
    """Two lost answers reserve 0.0003 USD; under 0.0004 there is no room for a third attempt."""
    poor = json.dumps({"success": False, "error": "INSUFFICIENT_BALANCE", "message": "Empty."})
    service.script = {1: (502, {}, ""), 2: (502, {}, ""), 3: (402, {}, poor)}
    user = user.but(workers=1)
    user.write(["one text", "two text"])
    assert user.run().parked
    summary = user.but(max_cost=Decimal("0.0004")).run()
    assert "The cost limit is reached" in some(summary.parked).message
    assert "up to 0.0003 USD more may have been billed" in some(summary.parked).message
    assert service.requests == 4


def test_a_table_that_cannot_be_read_leaves_no_open_job_unless_it_bought_something(
    user: Buyer,
) -> None:
    user = user.but(max_cost=Decimal("0.0002"))
    for bought in (False, True):
        user.source.write_text("id,description\n0,road works\n1,bridge,works\n")
        with pytest.raises(InputError, match="line 3: 3 fields"):
            user.run()
        with Snapshot(user.service.ledger) as snapshot:
            assert len(open_jobs(snapshot)) == bought
        user.write(["road works", "bridge works", "school meals"])
        assert user.run().parked


def test_costs_of_texts_that_left_the_table_are_reported_apart(
    user: Buyer, service: Service
) -> None:
    user = user.but(workers=1)
    user.write(["one text", "two text"])
    with user.open() as purchase:
        buy = purchase.buy

        def buy_and_change(batches: Any, estimate: Any, begun: Any = None) -> Any:
            parked = buy(batches, estimate, begun)
            user.write(["one text", "three words now"])
            return parked

        purchase.buy = buy_and_change  # type: ignore[method-assign]
        with pytest.raises(InputChangedError):
            user.finish(purchase)
    assert not user.output.exists()
    assert str(user.service.ledger) in manifest_path(user.output).read_text()
    summary = user.run()
    assert some(summary.paid).unattributed_usd > 0
    assert summary.cost_usd == service.charged
    assert user.row_costs() + some(summary.paid).unattributed_usd == service.charged
    assert len(service.asked) == 6


def test_two_runs_of_one_job_do_not_disturb_each_other(tmp_path: Path) -> None:
    user = buyer(tmp_path, nobody_there(), "key")
    with user.open(), pytest.raises(LedgerError, match="Another run"):
        user.open()
    user.open().__exit__(None)


def test_a_run_whose_output_cannot_be_written_says_what_it_has_paid(
    tmp_path: Path, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    hinder = Meanwhile(service.app(), 1, (tmp_path / "out.csv").mkdir)
    with serving(hinder) as address:
        user = buyer(tmp_path, address, service.account.key)
        user.write(TEXTS)
        with pytest.raises(OutputError):
            user.run()
        assert f"This job has paid {plain(service.charged)} USD so far. What was" in caplog.text
        (tmp_path / "out.csv").rmdir()
        user.run()
    check_money(user, service)


def test_a_run_that_fails_before_it_buys_speaks_of_no_money(
    tmp_path: Path, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "out.csv").mkdir()
    user = buyer(tmp_path, "http://127.0.0.1:9", service.account.key)
    user.write(TEXTS)
    with pytest.raises(OutputError):
        user.run()
    assert "paid" not in caplog.text
