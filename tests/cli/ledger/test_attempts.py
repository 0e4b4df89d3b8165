"""``ledger attempts`` and ``settle``: the attempts, one by one."""

from __future__ import annotations

import re

from tests.cli.conftest import Capture, Command, figures, lines
from tests.paid.serving import Buyer

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
