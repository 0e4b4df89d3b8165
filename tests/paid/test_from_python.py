"""Buying from Python: frames, tables and files, in scripts and in event loops."""

from __future__ import annotations

import asyncio
import pickle
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Context, Decimal, Inexact, Rounded, localcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import pipeline
from pipeline.errors import ParkedError
from pipeline.money import plain
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.totals import open_jobs
from pipeline.paid.limits import TYPICAL_HIGH
from pipeline.progress import Advance
from pipeline.settings import KEY_VARIABLE
from tests.forking import Process
from tests.paid.command_line import CommandLine
from tests.paid.serving import Buyer, Service, Sluice, serving, some

DISTINCT = ["road works", "office chairs", "school meals"]


def many(texts: int) -> pa.Table:
    return pa.table({"description": [f"text {number}" for number in range(texts)]})


def paid(service: Service, address: str, folder: Path, **terms: Any) -> pipeline.PaidService:
    terms = {"api_key": service.account.key, "rate": "none", "workers": 4, **terms}
    return pipeline.PaidService(address, ledger=folder / "ledger.db", **terms)


def states(folder: Path) -> Counter[str]:
    """Count the attempts in the ledger by state."""
    with sqlite3.connect(folder / "ledger.db") as ledger:
        found = Counter(state for (state,) in ledger.execute("SELECT state FROM attempts"))
    ledger.close()
    return found


def test_a_frame_is_bought_once_a_text_and_carries_its_costs(
    user: Buyer, service: Service, frame: pd.DataFrame
) -> None:
    before = frame.copy(deep=True)
    result = pipeline.classify(frame, systems=["cpv", "psc"], service=user.service)
    assert Counter(service.asked) == {
        (system, text): 1 for system in ("cpv", "psc") for text in DISTINCT
    }
    enriched = result.to_pandas(exact_costs=True)
    pd.testing.assert_frame_equal(enriched[["n", "description"]], before)
    assert enriched["cpv_status"].tolist() == ["ok", "empty", "ok", "ok", "ok", "ok"]
    assert enriched["cost_usd"].sum() == result.cost_usd == service.charged > 0
    assert [cost > 0 for cost in enriched["cost_usd"]] == [True, False, True, False, True, False]
    assert some(result.summary.paid).attempts == 6
    assert "paid by this job" in str(result)


def test_the_same_frame_again_costs_nothing_and_reaches_nobody(
    user: Buyer, service: Service, frame: pd.DataFrame
) -> None:
    terms = user.service
    with pytest.raises(pipeline.LedgerError, match=r'There is no ledger .* ledger="PATH"'):
        terms.spent()
    first = pipeline.classify(frame, systems="cpv", service=terms)
    again = pipeline.classify(frame.drop(columns="n"), systems="cpv", service=terms)
    spent = terms.spent()
    assert service.requests == 3
    assert spent[["system", "attempts", "unknown"]].to_numpy().tolist() == [["cpv", 3, 0]]
    assert spent["day"].dt.year.item() >= 2026
    assert spent["confirmed_usd"].item() == first.cost_usd == service.charged
    assert user.but(base_url="https://service.example").service.spent().empty
    assert again.cost_usd == 0
    assert again.to_pandas()["cost_usd"].tolist() == [0] * 6
    assert again.to_pandas()["cpv_code"].equals(first.to_pandas()["cpv_code"])


def test_a_plan_says_what_would_be_bought_and_leaves_no_trace(
    user: Buyer, service: Service, frame: pd.DataFrame
) -> None:
    terms = user.service
    planned = pipeline.plan(frame, systems=["cpv", "psc"], service=terms)
    assert (planned.rows, planned.empty) == (6, 1)
    assert (planned.purchase.distinct, planned.purchase.to_buy) == (6, 6)
    assert 0 < planned.purchase.low_usd < planned.purchase.high_usd
    assert "6 distinct calls, 0 owned, 6 to buy" in str(planned)
    assert repr(planned) == str(planned), "a notebook shows it"
    demo = user.but(api_key=None, rate=None).service
    slow = pipeline.plan(frame, systems="cpv", service=demo)
    assert "(without a key, at most 10/hour)" in str(slow)
    assert slow.purchase.low_usd == 0
    assert slow.purchase.high_usd == 3 * TYPICAL_HIGH
    assert service.requests == 0
    pipeline.classify(frame, systems="cpv", service=terms)
    assert pipeline.plan(frame, systems=["cpv", "psc"], service=terms).purchase.to_buy == 3
    with sqlite3.connect(terms.ledger) as ledger:
        assert ledger.execute("SELECT count(*) FROM jobs").fetchone() == (1,)
    ledger.close()


@pytest.mark.parametrize(
    ("limit", "progress", "is_said"),
    [(None, "auto", True), (None, False, False), ("0.0001", "auto", False)],
)
def test_a_notebook_states_what_a_purchase_without_a_limit_will_cost_before_it(
    user: Buyer,
    service: Service,
    frame: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
    limit: str | None,
    progress: Any,
    is_said: bool,
) -> None:
    said: list[tuple[str, int]] = []
    shell = SimpleNamespace(kernel=1)

    def display(both: dict[str, str], **_: object) -> Any:
        said.append((both["text/plain"], len(service.asked)))

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    with suppress(pipeline.ParkedError):
        terms = user.but(max_cost=limit).service
        pipeline.classify(frame, systems="cpv", service=terms, progress=progress)
    cost = "3 distinct calls, 0 owned, 3 to buy: 0.00021 to 0.00045 USD"
    assert ((f"{cost} (no rate limit); no cost limit (max_cost)", 0) in said) == is_said


def test_other_texts_or_settings_are_another_job(user: Buyer, service: Service) -> None:
    terms = user.but(max_cost="0.001").service
    with pytest.raises(pipeline.ParkedError):
        pipeline.classify(many(20), systems="cpv", service=terms)
    begun = service.charged
    terms = replace(terms, max_cost=None)
    other = pipeline.classify(many(21), systems="cpv", service=terms)
    assert other.cost_usd == service.charged - begun
    both = pipeline.classify(many(20), systems="cpv,psc", service=terms)
    assert both.cost_usd == service.charged - begun - other.cost_usd
    same = pipeline.classify(many(20), systems="cpv", service=terms)
    assert same.cost_usd == begun


def test_a_file_is_the_job_that_the_command_line_began(line: CommandLine, service: Service) -> None:
    line.write(*(f"text {number}" for number in range(20)))
    assert line("run", "--max-cost", "0.001") == 5
    assert 0 < len(service.asked) < 20
    terms = pipeline.PaidService(line.address, ledger=line.ledger, rate="none")
    result = pipeline.classify(line.table, systems="cpv", output=line.output, service=terms)
    assert result.cost_usd == service.charged
    assert sum(map(Decimal, result.to_pandas(exact_costs=True)["cost_usd"])) == service.charged


def test_it_buys_inside_a_running_event_loop(
    user: Buyer, service: Service, frame: pd.DataFrame
) -> None:
    async def call() -> pipeline.Result:
        return pipeline.classify(frame, systems="cpv", service=user.service)

    assert asyncio.run(call()).cost_usd == service.charged > 0


def test_the_async_form_buys_while_the_loop_goes_on(
    tmp_path: Path, service: Service, frame: pd.DataFrame
) -> None:
    sluice = Sluice(service.app(), 0)

    async def call(address: str) -> pipeline.Result:
        terms = paid(service, address, tmp_path)
        work = asyncio.create_task(pipeline.classify_async(frame, systems="cpv", service=terms))
        await asyncio.to_thread(sluice.reached.wait, 30)
        sluice.open()  # only a loop that goes on comes here
        return await work

    with serving(sluice) as address:
        assert asyncio.run(call(address)).cost_usd == service.charged > 0


def test_the_key_is_the_variables_unless_one_is_given_and_none_is_a_demo(
    user: Buyer, service: Service, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo = user.but(api_key=None).service
    assert demo.api_key is None
    monkeypatch.setenv(KEY_VARIABLE, service.account.key)
    terms = user.but(api_key=None).service
    assert terms.api_key == service.account.key
    assert service.account.key not in repr(terms)
    pipeline.classify(frame, systems="cpv", service=demo)
    assert service.accounts.balance(service.account.account_id) == 5
    pipeline.classify(frame, systems="psc", service=terms)
    assert service.accounts.balance(service.account.account_id) < 5


def test_a_bar_shows_the_calls_and_a_display_of_the_callers_own_counts_them(
    user: Buyer, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[int] = []
    told: list[int] = []

    @contextmanager
    def display(number: int) -> Iterator[Advance]:
        opened.append(number)
        yield told.append

    terms = user.service
    pipeline.classify(frame, systems="cpv", service=terms, progress=display)
    assert opened == [3, 6]  # the calls, then the rows
    assert sum(told) == 9
    pipeline.classify(frame, systems="psc", service=terms, progress=True)
    shown = capsys.readouterr().err
    assert "3/3" in shown and "6/6" in shown and "USD" in shown


def test_a_parked_job_raises_with_what_to_do_and_the_same_call_continues(
    user: Buyer, service: Service
) -> None:
    terms = user.but(max_cost="0.001").service
    with pytest.raises(pipeline.ParkedError, match="cost limit is reached") as refusal:
        pipeline.classify(many(20), systems="cpv", service=terms)
    assert refusal.value.exit_code == 5
    assert "Raise max_cost" in refusal.value.hint
    assert "partial=True" in refusal.value.hint
    assert refusal.value.cost_usd == service.charged > 0
    again = pickle.loads(pickle.dumps(refusal.value))
    assert (again.exit_code, again.cost_usd) == (5, service.charged)
    result = pipeline.classify(many(20), systems="cpv", service=replace(terms, max_cost=Decimal(1)))
    assert len(service.asked) == 20
    assert result.cost_usd == service.charged  # of both calls: they are one job
    assert sum(result.to_pandas(exact_costs=True)["cost_usd"]) == service.charged


def test_the_table_so_far_has_pending_rows_and_says_why(user: Buyer, service: Service) -> None:
    terms = user.but(max_cost=0.001).service
    result = pipeline.classify(many(20), systems="cpv", service=terms, partial=True)
    assert some(result.summary.parked).exit_code == 5
    assert "Raise max_cost" in str(result.summary) and "--" not in str(result.summary)
    statuses = Counter(result.to_pandas()["cpv_status"])
    assert statuses == {"ok": len(service.asked), "pending": 20 - len(service.asked)}
    assert result.summary.failed == 0
    assert result.cost_usd == sum(result.to_pandas(exact_costs=True)["cost_usd"]) == service.charged


@pytest.mark.parametrize("often", [1, 2])
def test_a_cancelled_call_waits_for_what_is_under_way_unless_it_is_cancelled_twice(
    tmp_path: Path, service: Service, often: int
) -> None:
    sluice = Sluice(service.app(), 5)

    async def cancel(terms: pipeline.PaidService) -> None:
        how: dict[str, Any] = {"systems": "cpv", "service": terms, "partial": True}
        work = asyncio.create_task(pipeline.classify_async(many(20), **how))
        await asyncio.to_thread(sluice.reached.wait, 30)
        for _ in range(often):
            work.cancel()
            await asyncio.sleep(0)
        if often == 1:
            assert not work.done()
            sluice.open()
        with pytest.raises(asyncio.CancelledError):
            await work

    with serving(sluice) as address:
        terms = paid(service, address, tmp_path)
        asyncio.run(cancel(terms))
        sluice.open()
        found, bought = states(tmp_path), len(service.asked)
        with Snapshot(terms.ledger) as snapshot:
            (job,) = open_jobs(snapshot)
        assert job.stopped == "Interrupted."
        if often == 2:  # nobody waited for some, so they may have been billed
            assert found["sent"] + found["unconfirmed"] > 0
            assert {*found} <= {"answered", "sent", "unconfirmed"} and found["answered"] <= 5
            return
        assert found == {"answered": bought} and 5 < bought < 20
        result = pipeline.classify(many(20), systems="cpv", service=terms)
    assert len(service.asked) == 20
    assert result.cost_usd == service.charged


INTERRUPTED = """
import logging, sys, pyarrow as pa, pipeline
logging.basicConfig(level="INFO")
address, key, ledger = sys.argv[1:]
table = pa.table({"description": [f"text {number}" for number in range(20)]})
service = pipeline.PaidService(address, api_key=key, ledger=ledger, rate="none", workers=4)
try:
    pipeline.classify(table, systems="cpv", service=service)
except KeyboardInterrupt as stop:
    print("drained", stop, sep="; ")
"""


def test_an_interrupted_script_keeps_what_was_bought(tmp_path: Path, service: Service) -> None:
    """It waits for what is under way; a second interrupt would not, as on the command line."""
    waits = Sluice(service.app(), 5)
    with serving(waits) as address:
        process = Process(
            [INTERRUPTED, address, service.account.key, "ledger.db"],
            call="tests.forking:script",
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert waits.reached.wait(30)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert any("Interrupt again to stop at once" in line for line in process.stderr)
        waits.open()
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out[:8]) == (0, "drained;"), err
    assert f"; {plain(service.charged)} USD paid so far. What was bought is kept." in out
    assert "Make the same call: it continues." in out
    assert states(tmp_path) == {"answered": len(service.asked)}
    assert 5 < len(service.asked) < 20


PRICE = Decimal("0.00019999999999999998")
ANSWER = (
    '{"success": true, "data": [{"code": "45000000", "title": "Works", "confidence": 0.5}], '
    '"metadata": {"costBreakdown": {"apiCost": 0.00015999999999999999, '
    f'"markupAmount": 0.00003999999999999999, "finalCost": {PRICE}}}}}}}'
)
ROWS = 60
LIMIT = Decimal("0.008")


@pytest.mark.parametrize(
    "context",
    [Context(prec=1), Context(prec=6), Context(prec=6, traps=[Inexact, Rounded])],
    ids=["one digit", "six digits", "no rounding"],
)
def test_the_callers_decimal_context_changes_no_amount(
    tmp_path: Path, service: Service, context: Context, address: str
) -> None:
    table = pa.table({"description": [f"text {number}" for number in range(ROWS)]})
    service.script = dict.fromkeys(range(ROWS), (200, {}, ANSWER))
    with localcontext(context):
        paid = pipeline.PaidService(
            address, "tp_0123456789", tmp_path / "ledger.db", rate="none", max_cost=LIMIT
        )
        plan = pipeline.plan(table, systems="cpv", service=paid).purchase
        assert (str(plan.low_usd), str(plan.high_usd)) == ("0.00420", "0.00900")
        assert "enough for 53 calls, perhaps for all" in str(plan)
        with pytest.raises(ParkedError, match="The cost limit is reached") as parked:
            pipeline.classify(table, systems="cpv", service=paid)
    assert service.requests == 40
    assert str(parked.value.cost_usd) == "0.00799999999999999920"
    assert "the 20 calls left cost up to 0.0039999999999999996 USD" in str(parked.value)
