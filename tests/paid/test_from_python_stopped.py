"""Purchases from Python that park or are broken off, and the same call that continues them."""

from __future__ import annotations

import asyncio
import pickle
import signal
import subprocess
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

import pipeline
from pipeline.money import plain
from tests.forking import Process
from tests.paid.frames import check_broken_off, many, paid, states
from tests.paid.purchases import some
from tests.paid.serving import Gate, Service, Sluice, serving


def test_a_parked_job_raises_with_what_to_do_and_the_same_call_continues(
    tmp_path: Path, service: Service
) -> None:
    with serving(service.app()) as address:
        terms = paid(service, address, tmp_path, max_cost="0.001")
        with pytest.raises(pipeline.ParkedError, match="cost limit is reached") as refusal:
            pipeline.classify(many(20), systems="cpv", service=terms)
        assert refusal.value.exit_code == 5
        assert "Raise max_cost" in refusal.value.hint
        assert "partial=True" in refusal.value.hint
        assert refusal.value.cost_usd == service.charged > 0
        again = pickle.loads(pickle.dumps(refusal.value))
        assert (again.exit_code, again.cost_usd) == (5, service.charged)
        result = pipeline.classify(
            many(20), systems="cpv", service=replace(terms, max_cost=Decimal(1))
        )
    assert len(service.asked) == 20
    assert result.cost_usd == service.charged  # of both calls: they are one job
    assert sum(result.to_pandas(exact_costs=True)["cost_usd"]) == service.charged


def test_the_table_so_far_has_pending_rows_and_says_why(tmp_path: Path, service: Service) -> None:
    with serving(service.app()) as address:
        terms = paid(service, address, tmp_path, max_cost=0.001)
        result = pipeline.classify(many(20), systems="cpv", service=terms, partial=True)
    assert some(result.summary.parked).exit_code == 5
    assert "Raise max_cost" in str(result.summary) and "--" not in str(result.summary)
    statuses = Counter(result.to_pandas()["cpv_status"])
    assert statuses == {"ok": len(service.asked), "pending": 20 - len(service.asked)}
    assert result.summary.failed == 0
    assert result.cost_usd == sum(result.to_pandas(exact_costs=True)["cost_usd"]) == service.charged


def test_a_parked_files_table_so_far_is_read_from_where_it_is(
    tmp_path: Path, service: Service
) -> None:
    (tmp_path / "in.csv").write_text("description\n" + "".join(f"text {n}\n" for n in range(20)))
    with serving(service.app()) as address:
        result = pipeline.classify(
            tmp_path / "in.csv",
            systems="cpv",
            output=tmp_path / "out.csv",
            service=paid(service, address, tmp_path, max_cost="0.001"),
            partial=True,
        )
    assert result.summary.output == tmp_path / "out.partial.csv"
    assert set(result.to_pandas()["cpv_status"]) == {"ok", "pending"}


def test_a_cancelled_call_lets_what_is_under_way_arrive_and_goes_on_later(
    tmp_path: Path, service: Service
) -> None:
    sluice = Sluice(service.app(), 5)

    async def cancel(address: str) -> None:
        terms = paid(service, address, tmp_path)
        work = asyncio.create_task(
            pipeline.classify_async(many(20), systems="cpv", service=terms, partial=True)
        )
        await asyncio.to_thread(sluice.reached.wait, 30)
        work.cancel()
        await asyncio.sleep(0)
        assert not work.done()
        sluice.open()
        with pytest.raises(asyncio.CancelledError):
            await work

    with serving(sluice) as address:
        asyncio.run(cancel(address))
        assert states(tmp_path) == {"answered": len(service.asked)}
        assert 5 < len(service.asked) < 20
        result = pipeline.classify(
            many(20), systems="cpv", service=paid(service, address, tmp_path)
        )
    assert len(service.asked) == 20
    assert result.cost_usd == service.charged


def test_a_call_that_is_cancelled_twice_stops_at_once(tmp_path: Path, service: Service) -> None:
    gate = Gate(service.app(), 5)

    async def cancel(address: str) -> None:
        terms = paid(service, address, tmp_path)
        work = asyncio.create_task(pipeline.classify_async(many(20), systems="cpv", service=terms))
        await asyncio.to_thread(gate.reached.wait, 30)
        for _ in range(2):
            work.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await work

    with serving(gate) as address:
        asyncio.run(cancel(address))
    check_broken_off(tmp_path)


INTERRUPTED = """
import sys, pyarrow as pa, pipeline
address, key, ledger = sys.argv[1:]
table = pa.table({"description": [f"text {number}" for number in range(20)]})
service = pipeline.PaidService(address, api_key=key, ledger=ledger, rate="none", workers=4)
try:
    pipeline.classify(table, systems="cpv", service=service)
except KeyboardInterrupt as stop:
    print("drained", stop, sep="; ")
"""


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupted_script_keeps_what_was_bought(
    tmp_path: Path, service: Service, times: int
) -> None:
    """The first interrupt waits for what is under way, the second one does not."""
    waits = Sluice(service.app(), 5)
    never = Gate(service.app(), 5)
    app = waits if times == 1 else never
    with serving(app) as address:
        process = Process(
            [INTERRUPTED, address, service.account.key, "ledger.db"],
            call="tests.forking:script",
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert app.reached.wait(30)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)  # it waits for the real process's answers
        if times == 1:
            waits.open()
        else:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out[:8]) == (0, "drained;"), err
    if times == 1:
        assert f"; {plain(service.charged)} USD paid so far. What was bought is kept." in out
        assert "Make the same call: it continues." in out
        assert states(tmp_path) == {"answered": len(service.asked)}
        assert 5 < len(service.asked) < 20
    else:
        check_broken_off(tmp_path)
        assert "This job has paid" in err and "is kept and is not paid for again" in err
