"""``ledger show``, the jobs that it lists, and their attempts."""

from __future__ import annotations

import re
import time
from decimal import Decimal
from pathlib import Path

from pipeline.money import plain
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.locks import job_lock
from pipeline.purchases import IN_MEMORY
from tests.cli.conftest import Capture, Command, figures, lines
from tests.cli.ledger.conftest import place
from tests.paid.ledger.buying import BASE_URL, FINGERPRINT, Clock, buy, note, send
from tests.paid.serving import Buyer, Service, buyer, serving


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
    assert int(cpv.split()[2]) in (5, 6)
    assert out[-1] == "open jobs: 0", "its output is in place"
    assert command("show", "--json") == 0
    shown = figures(capsys)
    (endpoint,) = shown["endpoints"]
    assert endpoint["endpoint"] == bought.service.base_url
    assert Decimal(endpoint["confirmed_usd"]) == service.charged
    assert sum(Decimal(day["confirmed_usd"]) for day in endpoint["days"]) == service.charged
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
    assert (endpoint["attempts"], endpoint["days"]) == (1, [])
    assert command("show", "--since", "1970-01-01", "--json") == 0
    (endpoint,) = figures(capsys)["endpoints"]
    assert [day["day"] for day in endpoint["days"]] == ["1970-01-01"]


def test_a_stopped_job_is_listed_and_closed_and_keeps_what_it_bought(
    command: Command, tmp_path: Path, service: Service, capsys: Capture
) -> None:
    with serving(service.app()) as address:
        user = buyer(tmp_path, address, service.account.key, max_cost=Decimal("0.0005"), workers=1)
        user.write([f"text {number}" for number in range(9)])
        user.run()
        spent, asked = service.charged, len(service.asked)
        assert command("show", "--json") == 0
        (job,) = figures(capsys)["open_jobs"]
        assert (job["calls"], Decimal(job["confirmed_usd"])) == (18, spent)
        assert command("show") == 0
        said = "open jobs: 1; to list them: tender-pipeline ledger jobs --ledger ledger.db"
        assert lines(capsys)[-1] == said
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


def test_a_call_from_python_continues_a_job_without_an_output_file(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    ledger = Ledger(place(tmp_path), BASE_URL)
    for name in (IN_MEMORY, "/in.csv"):
        ledger.open_job(name).describe(name, IN_MEMORY, 2)
    ledger.close()
    assert command("jobs") == 0
    assert len([line for line in lines(capsys) if "The same call continues." in line]) == 2


def test_an_empty_ledger_has_no_attempts(command: Command, tmp_path: Path, capsys: Capture) -> None:
    Ledger(place(tmp_path), BASE_URL).close()
    assert command("show") == 0
    assert "no attempts yet" in lines(capsys)
    assert command("attempts") == 0
    assert lines(capsys) == ["no such attempts"]
    assert command("verify") == 0


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


HEADER = ["attempt", "sent", "(UTC)", "system", "state", "error", "HTTP", "USD", "text"]


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
        ((1, "--billed", "much"), "--billed is 'much', which is not an amount of US dollars."),
        ((1, "--billed", "-1"), "Write an amount such as 2.50."),
        ((1, "--not-billed"), "Attempt 1 is answered"),
        ((77, "--not-billed"), "The ledger has no attempt 77."),
        ((), "ATTEMPT"),
    ]:
        assert command("settle", *arguments) == 2
        assert said in capsys.readouterr().err
