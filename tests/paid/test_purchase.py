"""The whole paid path: a table, a real server, a ledger, and the same command again."""

from __future__ import annotations

import itertools
import os
import re
import signal
import sqlite3
import subprocess
from collections import Counter
from contextlib import AbstractContextManager, closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipeline.classification.manifest import manifest_path
from pipeline.errors import InputChangedError, InputError, LedgerError, OutputError
from pipeline.money import plain
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.locks import buyer_lock, ledger_lock
from pipeline.paid.ledger.totals import open_jobs
from pipeline.paid.limits import TYPICAL_HIGH
from pipeline.paid.policy import FAILURES_IN_A_ROW
from pipeline.rate import DEMO
from pipeline.service.http.messages import METADATA
from tests.paid.command_line import POOR
from tests.paid.serving import (
    Buyer,
    Meanwhile,
    Service,
    Sluice,
    buyer,
    check_money,
    nobody_there,
    serving,
    some,
    started,
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
    service.script = {1: (502, {}, ""), 2: (502, {}, ""), 3: (402, {}, POOR)}
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
    assert some(summary.paid).attempts == FAILURES_IN_A_ROW
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
    gate = Sluice(service.app(), 7, loses=True)
    with serving(gate) as address:
        user = buyer(tmp_path, address, service.account.key, workers=3)
        user.write([f"text {number}" for number in range(10)])
        process = started(tmp_path, address, service.account.key)
        assert gate.reached.wait(20)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        gate.open()
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


def held(user: Buyer, lock: str) -> AbstractContextManager[object]:
    """Return a lock that another run would hold."""
    service = user.service
    if lock == "job":
        return user.open()
    if lock == "ledger":
        Ledger(service.ledger, service.base_url).close()  # the lock is beside it
        return ledger_lock(service.ledger, service.base_url, wait=False)
    return buyer_lock(service.base_url, service.key_fingerprint, wait=False)


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        ("key", "Another run is buying with this key"),
        ("ledger", "uses the ledger .* a run with another key"),
        ("job", "Another run works on this job"),
    ],
)
def test_while_another_run_holds_a_lock_nothing_is_sent(
    user: Buyer, service: Service, lock: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two folders for state are no way around it."""
    user.write(["one text", "another text"])
    with held(user, lock):
        monkeypatch.setenv("XDG_STATE_HOME", "/elsewhere")
        with pytest.raises(LedgerError, match=message):
            user.run()
    assert service.asked == []
    assert user.run().parked is None


THREE = ["one text", "two text", "three text"]


def test_one_that_waits_finds_everything_bought(tmp_path: Path, service: Service) -> None:
    """It has another key, and the ledger of the first one."""
    latch, other = Sluice(service.app(), 0), service.accounts.open(Decimal("5.00"))
    ledger, folders = tmp_path / "ledger.db", [tmp_path / "first", tmp_path / "second"]
    with serving(latch) as address:
        for folder in folders:
            folder.mkdir()
            buyer(folder, address, None).write(THREE)
        with started(folders[0], address, service.account.key, ledger=ledger) as first:
            try:
                assert latch.reached.wait(20)
                with started(
                    folders[1], address, other.key, subprocess.PIPE, ledger=ledger, wait=True
                ) as waiting:
                    assert waiting.stderr is not None
                    assert any("Waiting for it." in line for line in waiting.stderr)
                    latch.open()
                    assert first.wait(20) == waiting.wait(20) == 0
            finally:
                latch.open()
                first.kill()
    assert set(Counter(service.asked).values()) == {1}
    assert len(service.asked) == 2 * len(THREE)
    payers = {charge.account_id for charge in service.accounts.statement.charges()}
    assert payers == {service.account.account_id}
    assert buyer(folders[1], address, None).row_costs() == 0
