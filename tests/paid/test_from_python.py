"""Buying from Python: frames, tables and files, in scripts and in event loops."""

from __future__ import annotations

import asyncio
import inspect
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import pipeline
from pipeline.progress import Advance
from pipeline.settings import KEY_VARIABLE
from tests.forking import Process, ran
from tests.paid.serving import Gate, Service, Sluice, serving

TEXTS = ["road works", None, "office chairs", "road  works", "school meals", "office chairs"]
DISTINCT = ["road works", "office chairs", "school meals"]


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"n": range(6), "description": TEXTS}, index=list("abcdef"))


def many(texts: int) -> pa.Table:
    return pa.table({"description": [f"text {number}" for number in range(texts)]})


def paid(service: Service, address: str, folder: Path, **terms: Any) -> pipeline.PaidService:
    terms = {"api_key": service.account.key, "rate": "none", "workers": 4, **terms}
    return pipeline.PaidService(address, ledger=folder / "ledger.db", **terms)


def states(folder: Path) -> Counter[str]:
    """Count the attempts in the ledger by how they stand."""
    with sqlite3.connect(folder / "ledger.db") as ledger:
        found = Counter(state for (state,) in ledger.execute("SELECT state FROM attempts"))
    ledger.close()
    return found


def check_broken_off(folder: Path) -> None:
    """Some attempts were not waited for, and nobody knows whether they were billed."""
    found = states(folder)
    assert found["sent"] + found["unconfirmed"] > 0
    assert set(found) <= {"answered", "sent", "unconfirmed"}
    assert found["answered"] <= 5


def test_a_frame_is_bought_once_a_text_and_carries_its_costs(
    tmp_path: Path, service: Service, frame: pd.DataFrame
) -> None:
    before = frame.copy(deep=True)
    with serving(service.app()) as address:
        result = pipeline.classify(
            frame, systems=["cpv", "psc"], service=paid(service, address, tmp_path)
        )
    assert Counter(service.asked) == {
        (system, text): 1 for system in ("cpv", "psc") for text in DISTINCT
    }
    enriched = result.to_pandas(exact_costs=True)
    pd.testing.assert_frame_equal(enriched[["n", "description"]], before)
    assert enriched["cpv_status"].tolist() == ["ok", "empty", "ok", "ok", "ok", "ok"]
    assert enriched["cost_usd"].sum() == result.cost_usd == service.charged > 0
    assert [cost > 0 for cost in enriched["cost_usd"]] == [True, False, True, False, True, False]
    assert result.summary.paid is not None
    assert result.summary.paid.attempts == 6
    assert "paid by this job" in str(result)


def test_the_same_frame_again_costs_nothing_and_reaches_nobody(
    tmp_path: Path, service: Service, frame: pd.DataFrame
) -> None:
    with serving(service.app()) as address:
        terms = paid(service, address, tmp_path)
        first = pipeline.classify(frame, systems="cpv", service=terms)
    again = pipeline.classify(frame.drop(columns="n"), systems="cpv", service=terms)
    assert again.cost_usd == 0
    assert again.to_pandas()["cost_usd"].tolist() == [0] * 6
    assert again.to_pandas()["cpv_code"].equals(first.to_pandas()["cpv_code"])


def test_a_plan_says_what_would_be_bought_and_leaves_no_trace(
    tmp_path: Path, service: Service, frame: pd.DataFrame
) -> None:
    with serving(service.app()) as address:
        terms = paid(service, address, tmp_path)
        planned = pipeline.plan(frame, systems=["cpv", "psc"], service=terms)
        assert (planned.rows, planned.empty) == (6, 1)
        assert (planned.purchase.distinct, planned.purchase.to_buy) == (6, 6)
        assert 0 < planned.purchase.low_usd < planned.purchase.high_usd
        assert "6 distinct calls, 0 owned, 6 to buy" in str(planned)
        assert repr(planned) == str(planned), "a notebook shows it"
        assert service.asked == []
        pipeline.classify(frame, systems="cpv", service=terms)
        assert pipeline.plan(frame, systems=["cpv", "psc"], service=terms).purchase.to_buy == 3
    with sqlite3.connect(tmp_path / "ledger.db") as ledger:
        assert ledger.execute("SELECT count(*) FROM jobs").fetchone() == (1,)
    ledger.close()


def test_a_plan_without_a_service_buys_nothing(frame: pd.DataFrame) -> None:
    assert pipeline.plan(frame).purchase.to_buy == 0


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


def test_other_texts_or_settings_are_another_job(tmp_path: Path, service: Service) -> None:
    with serving(service.app()) as address:
        terms = paid(service, address, tmp_path, max_cost="0.001")
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


def test_the_table_so_far_has_pending_rows_and_says_why(tmp_path: Path, service: Service) -> None:
    with serving(service.app()) as address:
        terms = paid(service, address, tmp_path, max_cost=0.001)
        result = pipeline.classify(many(20), systems="cpv", service=terms, partial=True)
    assert result.summary.parked is not None
    assert result.summary.parked.exit_code == 5
    assert "Raise max_cost" in str(result.summary) and "--" not in str(result.summary)
    statuses = Counter(result.to_pandas()["cpv_status"])
    assert statuses == {"ok": len(service.asked), "pending": 20 - len(service.asked)}
    assert result.summary.failed == 0
    assert result.cost_usd == sum(result.to_pandas(exact_costs=True)["cost_usd"]) == service.charged


def test_a_file_is_the_job_that_the_command_line_began(tmp_path: Path, service: Service) -> None:
    (tmp_path / "in.csv").write_text("description\n" + "".join(f"text {n}\n" for n in range(20)))
    with serving(service.app()) as address:
        command = ["run", "in.csv", "--systems", "cpv"]
        where = ["--base-url", address, "--ledger", "ledger.db", "--output", "out.csv"]
        done = ran(
            [*command, *where, "--rate", "none", "--max-cost", "0.001"],
            cwd=tmp_path,
            env={**os.environ, KEY_VARIABLE: service.account.key},
        )
        assert done.returncode == 5
        assert 0 < len(service.asked) < 20
        result = pipeline.classify(
            tmp_path / "in.csv",
            systems="cpv",
            output=tmp_path / "out.csv",
            service=paid(service, address, tmp_path),
        )
    assert result.cost_usd == service.charged
    assert sum(map(Decimal, result.to_pandas(exact_costs=True)["cost_usd"])) == service.charged


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


def test_it_buys_inside_a_running_event_loop(
    tmp_path: Path, service: Service, frame: pd.DataFrame
) -> None:
    async def call(address: str) -> pipeline.Result:
        terms = paid(service, address, tmp_path)
        return pipeline.classify(frame, systems="cpv", service=terms)

    with serving(service.app()) as address:
        result = asyncio.run(call(address))
    assert result.cost_usd == service.charged > 0


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
except KeyboardInterrupt:
    print("drained")
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
    assert (process.returncode, out) == (0, "drained\n"), err
    if times == 1:
        assert states(tmp_path) == {"answered": len(service.asked)}
        assert 5 < len(service.asked) < 20
    else:
        check_broken_off(tmp_path)


def test_a_killed_notebooks_frame_is_the_same_job_again(tmp_path: Path, service: Service) -> None:
    gate = Gate(service.app(), 5)
    with serving(gate) as address:
        process = Process(
            [INTERRUPTED, address, service.account.key, "ledger.db"],
            call="tests.forking:script",
            cwd=tmp_path,
        )
        assert gate.reached.wait(30)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        gate.open = True
        result = pipeline.classify(
            many(20), systems="cpv", service=paid(service, address, tmp_path)
        )
    assert result.summary.paid is not None
    assert result.summary.paid.attempts - result.summary.paid.unconfirmed == 20
    assert set(result.to_pandas()["cpv_status"]) == {"ok"}
    # What was answered before the kill was asked once, and stands in this job's costs.
    assert sum(cost > 0 for cost in result.to_pandas(exact_costs=True)["cost_usd"]) == 20


def test_the_key_is_the_variables_unless_one_is_given_and_none_is_a_demo(
    tmp_path: Path, service: Service, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(service.app()) as address:
        demo = paid(service, address, tmp_path, api_key=None)
        assert demo.api_key == ""
        monkeypatch.setenv(KEY_VARIABLE, service.account.key)
        terms = paid(service, address, tmp_path, api_key=None)
        assert terms.api_key == service.account.key
        assert service.account.key not in repr(terms)
        assert paid(service, address, tmp_path, api_key="").api_key == ""
        pipeline.classify(frame, systems="cpv", service=demo)
        assert service.accounts.balance(service.account.account_id) == 5
        pipeline.classify(frame, systems="psc", service=terms)
        assert service.accounts.balance(service.account.account_id) < 5


def test_the_demo_limit_parks_and_says_so(tmp_path: Path, service: Service) -> None:
    with serving(service.app()) as address:
        terms = paid(service, address, tmp_path, api_key="", rate=None)
        with pytest.raises(pipeline.ParkedError, match="demo limit") as refusal:
            pipeline.classify(many(20), systems="cpv", service=terms)
    assert refusal.value.exit_code == 7
    assert len(service.asked) == 10


def test_a_bar_shows_the_calls_and_a_display_of_ones_own_is_told_of_them(
    tmp_path: Path, service: Service, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[int] = []
    told: list[int] = []

    @contextmanager
    def display(number: int) -> Iterator[Advance]:
        opened.append(number)
        yield told.append

    with serving(service.app()) as address:
        terms = paid(service, address, tmp_path)
        pipeline.classify(frame, systems="cpv", service=terms, progress=display)
        assert opened == [3, 6]  # the calls, then the rows
        assert sum(told) == 9
        pipeline.classify(frame, systems="psc", service=terms, progress=True)
    shown = capsys.readouterr().err
    assert "3/3" in shown and "6/6" in shown and "USD" in shown


@pytest.mark.parametrize(
    ("terms", "hint"),
    [
        ({"base_url": "service.example"}, "Give base_url"),
        ({"base_url": None}, "base_url must be text."),
        ({"api_key": 5}, "api_key must be text."),
        ({"ledger": 5}, "ledger must be the path of a file."),
        ({"rate": "fast"}, "Give rate"),
        ({"rate": 100}, "rate must be text."),
        ({"workers": 0}, "workers must be a whole number from 1"),
        ({"workers": "16"}, "workers must be a whole number from 1"),
        ({"max_cost": "a lot"}, "Write an amount such as 2.50"),
        ({"max_cost_per_day": "1,50"}, "Write 1.50."),
        ({"max_cost_per_month": "$7"}, "Write 7."),
        ({"max_cost": True}, "Write an amount such as 2.50"),
        ({"max_cost": float("nan")}, "Write an amount such as 2.50"),
        ({"max_price": -1}, "Write an amount such as 2.50."),
        ({"max_cost": "1e60"}, "Write an amount such as 2.50."),
        ({"max_cost_per_day": "1e-60"}, "Write an amount such as 2.50."),
        ({"max_duration": 5}, "max_duration must be a duration, such as 60s, 5m"),
        ({"max_duration": timedelta(-1)}, "max_duration must be a duration"),
        ({"timeout": "0s"}, "timeout must be a time"),
        ({"max_age": "3w"}, "max_age must be a duration"),
        ({"burst": "yes"}, "burst must be True or False"),
        ({"on_unconfirmed": "maybe"}, "on_unconfirmed must be retry or hold"),
    ],
)
def test_terms_that_make_no_sense_are_refused_with_what_would(
    terms: dict[str, Any], hint: str
) -> None:
    with pytest.raises(pipeline.SettingsError) as refusal:
        pipeline.PaidService(**{"base_url": "https://service.example", **terms})
    assert hint in refusal.value.hint


def test_wrong_terms_are_said_in_words_of_python_and_end_at_the_constructor() -> None:
    with pytest.raises(pipeline.SettingsError) as refusal:
        pipeline.PaidService("https://service.example", rate="4 potatoes")
    assert refusal.value.hint.startswith("Give rate attempts per window")
    assert len(refusal.traceback) == 2
    known = inspect.signature(pipeline.PaidService).parameters
    options = {name: parameter.default for name, parameter in known.items()}
    options |= {"base_url": "https://service.example", "rate": "4 potatoes"}
    with pytest.raises(pipeline.SettingsError) as refusal:
        pipeline.PaidService.of_options(**options)
    assert refusal.value.hint.startswith("Give --rate attempts per window")


def test_amounts_and_times_may_be_written_in_several_ways() -> None:
    for cost in ("2.50", 2.5, Decimal("2.5")):
        service = pipeline.PaidService("https://service.example", max_cost=cost)
        assert service.max_cost == Decimal("2.5")
    for time in ("90min", "1.5h", timedelta(hours=1.5)):
        service = pipeline.PaidService("https://service.example", max_duration=time)
        assert service.max_duration == timedelta(hours=1.5)


def test_what_is_no_service_is_refused(frame: pd.DataFrame) -> None:
    service: Any = "https://service.example"
    with pytest.raises(pipeline.SettingsError) as refusal:
        pipeline.classify(frame, service=service)
    assert "pipeline.PaidService(" in refusal.value.hint


def test_a_key_that_would_cross_a_network_unencrypted_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="unencrypted") as warned:
        pipeline.PaidService("http://service.example", api_key="a-key")
    assert warned[0].filename == __file__


def test_a_service_is_not_sent_to_another_process() -> None:
    """It would buy the same answers with a ledger of its own, and its key would travel."""
    service = pipeline.PaidService("https://service.example", api_key="secret")
    with pytest.raises(pipeline.SettingsError, match=r"another process.*pipeline\.spark\.classify"):
        pickle.dumps(service)


def test_a_service_is_refused_on_a_spark_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    class Task:
        current: object = None

        @classmethod
        def get(cls) -> object:
            return cls.current

    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(TaskContext=Task))
    assert pipeline.PaidService("https://service.example").rate is None  # this is the driver
    Task.current = object()
    with pytest.raises(pipeline.SettingsError, match=r"Spark executor.*buy in the driver"):
        pipeline.PaidService("https://service.example")
