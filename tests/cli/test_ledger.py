"""``tender-pipeline ledger`` as a user meets it: on what real runs buy, meanwhile and after."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipeline.cli.output.ledger import job_lines
from pipeline.money import plain
from pipeline.paid.ledger import Journal, Ledger, job_lock
from pipeline.paid.ledger.open_jobs import OpenJob
from pipeline.paid.ledger.totals import Tally
from pipeline.service import Accounts
from tests.cli.conftest import Command
from tests.forking import ran
from tests.paid.ledger.buying import BASE_URL, FINGERPRINT, Clock, buy, note, send
from tests.paid.serving import Buyer, Gate, Instead, Service, buyer, serving, started
from tests.service.rehearsal.processes import until

ROOT = Path(__file__).parents[2]
VERSION_1 = (ROOT / "tests" / "paid" / "ledger" / "version_1.sql").read_text("utf-8")


@pytest.fixture
def command(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command on the ledger of a folder of its own and return its exit code."""
    monkeypatch.setenv("TENDER_PIPELINE_LEDGER", "ledger.db")
    return partial(command, "ledger")


Capture = pytest.CaptureFixture[str]
Reply = tuple[int, dict[str, str], str]

HEADER = ["attempt", "sent", "(UTC)", "system", "state", "error", "HTTP", "USD", "text"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    accounts = Accounts(tmp_path / "service")
    yield Service(accounts, accounts.open(Decimal("5.00")))
    accounts.close()


@pytest.fixture
def bought(tmp_path: Path, service: Service) -> Buyer:
    """A ledger with a finished job: nine answers, one lost once, one refused for good."""
    lost: Reply = (504, {}, "")
    refused: Reply = (400, {}, '{"success": false, "error": "VALIDATION_ERROR", "message": "no"}')
    with serving(Instead(service.app(), {2: lost, 4: refused})) as address:
        user = buyer(tmp_path, address, service.account.key, workers=1)
        user.write([f"text {number}" for number in range(5)])
        user.run()
    return user


def lines(capsys: Capture) -> list[str]:
    return capsys.readouterr().out.splitlines()


def figures(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


def place(folder: Path) -> Path:
    return folder / "ledger.db"


def test_show_tells_what_was_spent_where_and_when(
    command: Command, bought: Buyer, service: Service, capsys: Capture
) -> None:
    assert command("show") == 0
    out = lines(capsys)
    assert out[0].startswith("ledger.db, ")
    assert bought.service.base_url in out
    today = time.strftime("%Y-%m-%d", time.gmtime())
    (cpv,) = (line for line in out if line.startswith(f"{today}  cpv  "))
    (total,) = (line for line in out if line.startswith("total"))
    attempts, confirmed, unconfirmed, unknown, at_risk = total.split()[1:]
    assert (attempts, unconfirmed, unknown) == ("11", "1", "0")
    assert Decimal(confirmed) == service.charged
    assert Decimal(at_risk) > 0
    assert any(line.startswith("prices from") for line in out)
    assert int(cpv.split()[2]) in (5, 6)
    assert not any("open job" in line for line in out)  # its output is in place


def test_show_in_json_has_money_as_text(
    command: Command, bought: Buyer, service: Service, capsys: Capture
) -> None:
    assert command("show", "--json") == 0
    shown = figures(capsys)
    (endpoint,) = shown["endpoints"]
    assert endpoint["endpoint"] == bought.service.base_url
    assert Decimal(endpoint["confirmed_usd"]) == service.charged
    assert sum(Decimal(day["confirmed_usd"]) for day in endpoint["days"]) == service.charged
    assert {day["system"] for day in endpoint["prices"]} == {"cpv", "psc"}
    assert shown["bytes"] > 0
    assert shown["open_jobs"] == []


def test_show_lists_no_days_before_the_first_asked_for_but_adds_them(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    clock = Clock()
    ledger = Ledger(place(tmp_path), BASE_URL, clock)
    buy(Journal(ledger.open_job("tenders"), FINGERPRINT))
    ledger.close()
    assert command("show", "--json") == 0
    (endpoint,) = figures(capsys)["endpoints"]
    assert (endpoint["attempts"], endpoint["days"], endpoint["prices"]) == (1, [], [])
    assert command("show", "--since", "1970-01-01", "--json") == 0
    (endpoint,) = figures(capsys)["endpoints"]
    assert [day["day"] for day in endpoint["days"]] == ["1970-01-01"]


def test_a_parked_job_is_shown_with_what_it_costs_so_far(
    command: Command, tmp_path: Path, service: Service, capsys: Capture
) -> None:
    with serving(service.app()) as address:
        user = buyer(tmp_path, address, service.account.key, max_cost=Decimal("0.0005"), workers=1)
        user.write([f"text {number}" for number in range(9)])
        summary = user.run()
    assert summary.parked is not None
    assert command("show", "--json") == 0
    (job,) = figures(capsys)["open_jobs"]
    assert (job["calls"], Decimal(job["confirmed_usd"])) == (18, service.charged)
    assert command("show") == 0
    assert f"open jobs, {user.service.base_url}" in lines(capsys)


def test_show_fits_a_terminal_of_100_columns() -> None:
    cost = Tally(12_345, Decimal("1234.56789"), 123, 12, Decimal("0.0345678"))
    each = [
        OpenJob(
            1234, f"https://{name}.example.com/a/long/path", 1e9, 123_456, 2e9, cost, False, None
        )
        for name in ("one", "other", "one")
    ]
    shown = "\n".join(job_lines(each)).splitlines()
    assert max(map(len, shown)) <= 100
    assert [line for line in shown if line.startswith("open jobs")] == [
        "open jobs, https://one.example.com/a/long/path",
        "open jobs, https://other.example.com/a/long/path",
    ]
    assert sum(line.startswith("1234 ") for line in shown) == 3


def test_a_stopped_job_is_listed_and_closed_and_keeps_what_it_bought(
    command: Command, tmp_path: Path, service: Service, capsys: Capture
) -> None:
    with serving(service.app()) as address:
        user = buyer(tmp_path, address, service.account.key, max_cost=Decimal("0.0005"), workers=1)
        user.write([f"text {number}" for number in range(9)])
        user.run()
        spent, asked = service.charged, len(service.asked)
        assert command("jobs") == 0
        out = capsys.readouterr().out
        assert f"input    {user.source}, 9 rows" in out
        assert f"output   {user.output}" in out
        assert f"paid     {plain(spent)} USD; {asked} attempts, the last " in out
        assert "The cost limit is reached" in out
        assert "The same command continues." in out
        assert command("jobs", "--close", 2) == 2
        assert "There is no open job 2" in capsys.readouterr().err
        assert command("jobs", "--close", 1, "--json") == 0
        assert figures(capsys) == {"closed": [1], "jobs": []}
        assert command("jobs", "--close", 1) == 2
        assert command("verify") == 0
        summary = user.but(max_cost=Decimal(1)).run()
    assert len(service.asked) == 18  # the answers of the closed job are used
    assert summary.cost_usd == service.charged - spent
    capsys.readouterr()
    assert command("jobs") == 0
    assert lines(capsys) == ["no open jobs"]


def test_a_job_under_way_is_listed_and_cannot_be_closed(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    ledger = Ledger(place(tmp_path), BASE_URL)
    for name in ("tenders", "others"):
        note(ledger.open_job(name), "road")
    ledger.close()
    with job_lock(place(tmp_path), BASE_URL, "tenders", False):
        assert command("jobs", "--json") == 0
        jobs = figures(capsys)["jobs"]
        assert [(job["job"], job["running"], job["input"]) for job in jobs] == [
            (1, True, None),
            (2, False, None),
        ]
        assert command("jobs", "--close", 2, "--close", 1) == 8
        assert "--wait" in capsys.readouterr().err
    assert command("jobs") == 0
    assert len([line for line in lines(capsys) if "was killed or failed" in line]) == 2


def test_an_empty_ledger_has_no_attempts(command: Command, tmp_path: Path, capsys: Capture) -> None:
    Ledger(place(tmp_path), BASE_URL).close()
    assert command("show") == 0
    assert "no attempts yet" in lines(capsys)
    for name in ("attempts", "calls"):  # the old name
        assert command(name) == 0
        assert lines(capsys) == ["no such attempts"]
    assert command("verify") == 0


def test_attempts_lists_failed_and_unconfirmed_ones(
    command: Command, bought: Buyer, capsys: Capture
) -> None:
    assert command("attempts", "--state", "failed", "--state", "unconfirmed") == 0
    said = capsys.readouterr()
    header, refused, lost = said.out.splitlines()
    assert header.split() == HEADER
    assert re.search(r" refused +VALIDATION_ERROR +400 +0 +[0-9a-f]{12}$", refused)
    assert re.search(r" unconfirmed +HTTP_504 +504 +up to 0\.000\d+ +[0-9a-f]{12}$", lost)
    assert "ledger settle" in said.err


def test_calls_lists_the_latest_and_says_that_there_are_more(
    command: Command, bought: Buyer, capsys: Capture
) -> None:
    assert command("attempts", "--limit", 3, "--system", "psc", "--since", "1h") == 0
    said = capsys.readouterr()
    numbers = [int(line.split()[0]) for line in said.out.splitlines()[1:]]
    assert len(numbers) == 3
    assert numbers == sorted(numbers, reverse=True)
    assert "more than 3" in said.err
    assert command("attempts", "--json", "--limit", 3) == 0
    found = figures(capsys)
    assert found["more"] is True
    assert [one["attempt"] for one in found["attempts"]] == [11, 10, 9]
    assert len(found["attempts"][0]["text_sha256"]) == 64


def test_what_is_settled_is_confirmed_and_no_longer_in_doubt(
    command: Command, bought: Buyer, capsys: Capture
) -> None:
    command("attempts", "--state", "unconfirmed", "--json")
    (lost,) = figures(capsys)["attempts"]
    assert command("settle", lost["attempt"], "--billed", "0.000105") == 0
    assert lines(capsys) == ["1 settled: billed 0.000105 USD each, 0.000105 USD together"]
    command("attempts", "--state", "billed", "--json")
    (billed,) = figures(capsys)["attempts"]
    assert (billed["attempt"], billed["cost_usd"]) == (lost["attempt"], "0.000105")
    assert command("settle", lost["attempt"], "--not-billed") == 2  # it is settled
    assert command("verify") == 0


def test_settle_wants_one_verdict_and_attempts_that_are_in_doubt(
    command: Command, bought: Buyer, capsys: Capture
) -> None:
    for arguments, said in [
        ((1,), "Give either --billed or --not-billed."),
        ((1, "--billed", "1", "--not-billed"), "Give either --billed or --not-billed."),
        ((1, "--billed", "much"), "billed is 'much', which is not an amount of US dollars."),
        ((1, "--billed", "-1"), "Write an amount such as 2.50 (--billed)."),
        ((1, "--not-billed"), "Attempt 1 is answered"),
        ((77, "--not-billed"), "The ledger has no attempt 77."),
        ((), "ATTEMPT"),
    ]:
        assert command("settle", *arguments) == 2
        assert said in capsys.readouterr().err


def test_export_writes_what_the_account_lost(
    command: Command, bought: Buyer, service: Service, tmp_path: Path, capsys: Capture
) -> None:
    assert command("export", "attempts.parquet", "--bodies") == 0
    assert lines(capsys) == ["11 attempts: attempts.parquet"]
    table = pq.read_table(tmp_path / "attempts.parquet").to_pylist()
    assert sum(row["cost_usd"] or 0 for row in table) == service.charged
    assert json.loads(table[0]["body"])["success"] is True
    assert command("export", "attempts.parquet") == 2
    assert "--overwrite" in capsys.readouterr().err
    assert command("export", "attempts.parquet", "--overwrite") == 0
    assert "body" not in pq.read_schema(tmp_path / "attempts.parquet").names


def test_pruned_answers_are_bought_again_by_the_same_command(
    command: Command, bought: Buyer, service: Service, capsys: Capture
) -> None:
    time.sleep(0.01)  # 0s ago is after the last answer
    assert command("prune", "--older-than", "0s", "--system", "psc", "--yes") == 0
    out = lines(capsys)
    count = int(out[0].split()[0])
    assert out[1].startswith(f"{count} pruned, ")
    assert command("verify") == 0
    assert f"{count} pruned" in lines(capsys)[0]
    asked = len(service.asked)
    with serving(service.app()) as address:
        assert address != bought.service.base_url
        move(bought, address)
        summary = buyer(bought.folder, address, service.account.key).run()
    assert summary.paid is not None
    assert summary.paid.attempts == len(service.asked) - asked == count
    assert bought.row_costs() == summary.cost_usd


def move(user: Buyer, address: str) -> None:
    """Let what was bought be of another address: the service has moved to another port."""
    with closing(sqlite3.connect(user.service.ledger)) as connection, connection:
        connection.execute("UPDATE jobs SET endpoint = ?", (address,))


def test_prune_without_a_terminal_wants_to_be_told_yes(
    command: Command, bought: Buyer, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    time.sleep(0.01)
    monkeypatch.setenv("TENDER_PIPELINE_YES", "1")  # that is about buying
    before = place(bought.folder).read_bytes()
    assert command("prune", "--older-than", "0s") == 2
    said = capsys.readouterr()
    assert re.match(r"\d+ answers, \d+\.\d MB", said.out)
    assert "--yes" in said.err
    assert place(bought.folder).read_bytes() == before
    assert command("prune", "--older-than", "90d") == 0  # nothing to be asked about
    assert lines(capsys)[0] == "0 answers, 0.0 MB"


def test_verify_warns_of_a_clock_that_was_wrong(
    command: Command, bought: Buyer, capsys: Capture
) -> None:
    with closing(sqlite3.connect(place(bought.folder))) as connection, connection:
        connection.execute("UPDATE attempts SET settled_at = sent_at - 1e6 WHERE attempt_id > 9")
    assert command("verify") == 0
    shown = capsys.readouterr()
    assert "everything agrees" in shown.out
    assert "Warning: 2 attempts, first attempt 10, ended more than an hour" in shown.err


def test_verify_lists_what_is_wrong_and_exits_with_8(
    command: Command, bought: Buyer, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("verify") == 0
    assert lines(capsys) == ["11 attempts, 10 responses, 0 pruned", "everything agrees"]
    with closing(sqlite3.connect(place(bought.folder))) as connection, connection:
        connection.execute("UPDATE attempts SET cost_usd = '9' WHERE state = 'answered'")
    assert command("verify") == 8
    out = lines(capsys)
    assert out[0].startswith("attempt 1 cost 9 USD, but its body says 0.0000")
    assert len(out) == 10
    monkeypatch.setattr("pipeline.cli.output.verification.PRINTED", 2)
    assert command("verify") == 8
    assert lines(capsys)[2] == "and 7 more"
    assert command("verify", "--json", "--jobs", 2) == 8
    found = figures(capsys)
    assert (found["problems"], len(found["first_problems"])) == (9, 2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("attempts",),
        ("settle", 1, "--not-billed"),
        ("export", "attempts.csv"),
        ("prune", "--older-than", "1d", "--yes"),
        ("verify",),
    ],
)
def test_no_command_makes_a_ledger_or_takes_another_file_for_one(
    command: Command, tmp_path: Path, capsys: Capture, arguments: tuple[object, ...]
) -> None:
    assert command(*arguments) == 8
    assert "There is no ledger ledger.db." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    place(tmp_path).write_text("description\nroad\n" * 100)
    assert command(*arguments) == 8
    assert "not a database" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]


def test_a_run_that_is_buying_can_be_watched_and_is_not_disturbed(
    command: Command, tmp_path: Path, service: Service, capsys: Capture
) -> None:
    gate = Gate(service.app(), 7)
    with serving(gate) as address:
        user = buyer(tmp_path, address, service.account.key, workers=3)
        user.write([f"text {number}" for number in range(10)])
        run = started(tmp_path, address, service.account.key)
        assert gate.reached.wait(20)

        def sent() -> list[str]:
            assert command("attempts", "--state", "sent", "--json") == 0
            return [one["attempt"] for one in figures(capsys)["attempts"]]

        def job() -> dict[str, Any]:
            assert command("show", "--json") == 0
            (job,) = figures(capsys)["open_jobs"]
            return dict(job)

        # Every worker waits at the gate, and all else is recorded.
        until(lambda: job()["attempts"] == 7 + 3 and len(sent()) == 3)
        under_way = sent()
        assert job()["calls"] == 20
        assert command("export", "attempts.csv") == 0
        assert command("verify") == 0
        for arguments in [("prune", "--older-than", "0s", "--yes"), ("settle", under_way[0])]:
            verdict = ["--not-billed"] if arguments[0] == "settle" else []
            assert command(*arguments, *verdict) == 8
            assert "--wait" in capsys.readouterr().err
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        assert command("verify") == 0
        capsys.readouterr()
        assert command("attempts", "--state", "sent", "--json") == 0
        under_way = [one["attempt"] for one in figures(capsys)["attempts"]]
        assert command("settle", *under_way, "--billed", "0.0001") == 0
        capsys.readouterr()
        assert command("attempts", "--state", "billed", "--json") == 0
        assert [one["attempt"] for one in figures(capsys)["attempts"]] == under_way
        gate.open = True
        summary = user.run()
    assert summary.parked is None
    assert summary.paid is not None
    assert summary.paid.unconfirmed == 0
    assert summary.cost_usd == user.row_costs()
    assert command("verify") == 0


@pytest.fixture
def version_1(tmp_path: Path) -> bytes:
    """A ledger as version 1 made it, with an unconfirmed attempt."""
    path = place(tmp_path)
    with closing(sqlite3.connect(path)) as old:
        old.execute("PRAGMA journal_mode = WAL")
        old.executescript(VERSION_1)
        with old:
            old.execute("INSERT INTO jobs VALUES (1, ?, 'tenders', 900.0, NULL)", (BASE_URL,))
            old.execute(
                "INSERT INTO attempts VALUES (1, 1, 'cpv', zeroblob(32), 'key', 901.0, '0.0003', "
                "'unconfirmed', 902.0, 'TIMEOUT', NULL, NULL)"
            )
    return path.read_bytes()


def test_a_ledger_of_an_earlier_version_is_read_as_it_is_and_settled(
    command: Command, tmp_path: Path, version_1: bytes, capsys: Capture
) -> None:
    for reading in (("show",), ("jobs",), ("attempts",), ("verify",), ("export", "attempts.csv")):
        assert command(*reading) == 0
        assert place(tmp_path).read_bytes() == version_1
    assert command("settle", 1, "--not-billed") == 0
    assert "1 settled: not billed" in lines(capsys)


def test_the_ledger_is_the_one_that_run_would_use(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv("TENDER_PIPELINE_LEDGER")
    for name in ("option.db", "variable.db", "file.db"):
        Ledger(tmp_path / name, BASE_URL).close()
    assert command("show") == 8
    assert str(Path(os.environ["XDG_DATA_HOME"]) / "tender-pipeline") in capsys.readouterr().err
    (tmp_path / "tender-pipeline.toml").write_text('systems = "cpv"\nledger = "file.db"\n')
    assert command("show") == 0
    assert lines(capsys)[0].startswith("file.db")
    monkeypatch.setenv("TENDER_PIPELINE_LEDGER", "variable.db")
    assert command("show") == 0
    assert lines(capsys)[0].startswith("variable.db")
    assert command("show", "--ledger", "option.db") == 0
    assert lines(capsys)[0].startswith("option.db")
    (tmp_path / "tender-pipeline.toml").write_text("ledger = ")
    monkeypatch.delenv("TENDER_PIPELINE_LEDGER")
    assert command("show") == 2


def test_a_time_is_an_age_or_a_day(command: Command, tmp_path: Path, capsys: Capture) -> None:
    ledger = Ledger(place(tmp_path), BASE_URL)
    job = ledger.open_job("tenders")
    note(job, "road")
    send(Journal(job, FINGERPRINT))
    ledger.close()
    for text in ("1h", "2 d", "1970-01-01", "90min"):
        assert command("attempts", "--since", text, "--json") == 0
        assert len(figures(capsys)["attempts"]) == 1
    assert command("attempts", "--since", "2100-01-01", "--json") == 0
    assert figures(capsys)["attempts"] == []
    for text in ("7", "yesterday", "2026-13-01"):
        assert command("attempts", "--since", text) == 2
        assert "2026-01-31" in capsys.readouterr().err


def test_on_a_terminal_prune_asks(tmp_path: Path, bought: Buyer) -> None:
    import pty

    time.sleep(0.01)
    for answer, code in [("n\n", 130), ("y\n", 0)]:
        control, terminal = pty.openpty()
        os.write(control, answer.encode())
        arguments = ["ledger", "prune", "--older-than", "0s", "--ledger", "ledger.db"]
        process = ran(arguments, cwd=tmp_path, stdin=terminal, stderr=terminal)
        assert process.returncode == code
        assert ("pruned" in process.stdout) == (answer == "y\n")
        assert b"Prune them? [y/N]" in os.read(control, 1000)
        os.close(control)
        os.close(terminal)
