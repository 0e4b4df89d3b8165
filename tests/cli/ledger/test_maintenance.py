"""``ledger prune`` and ``ledger verify``."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.cli.output.console import iso, utc
from tests.cli.conftest import Capture, Command, figures, lines
from tests.cli.ledger.conftest import place
from tests.forking import ran_on_terminal
from tests.paid.serving import Buyer, Service, buyer, serving


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


def test_prune_without_a_terminal_needs_yes(
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
    monkeypatch.setattr("pipeline.cli.output.console.PRINTED", 2)
    assert command("verify") == 8
    assert lines(capsys)[2] == "and 7 more"
    assert command("verify", "--json") == 8
    found = figures(capsys)
    assert (found["problems"], len(found["first_problems"])) == (9, 2)


def test_on_a_terminal_prune_asks(tmp_path: Path, bought: Buyer) -> None:
    time.sleep(0.01)
    arguments = ["ledger", "prune", "--older-than", "0s", "--ledger", "ledger.db"]
    for answer, code in [("n\n", 2), ("y\n", 0)]:
        process, shown = ran_on_terminal(arguments, answer, cwd=tmp_path)
        assert process.returncode == code
        assert ("pruned" in process.stdout) == (answer == "y\n")
        assert "Prune them? [y/N]" in shown


@pytest.mark.parametrize(
    ("seconds", "for_people", "in_json"),
    [
        (None, "", None),
        (1769825700.25, "2026-01-31 02:15:00", "2026-01-31T02:15:00.250000+00:00"),
        (1e300, "no time", "no time"),
        (float("nan"), "no time", "no time"),
    ],
)
def test_times_are_in_utc_and_damaged_ones_are_called_so(
    seconds: float | None, for_people: str, in_json: str | None
) -> None:
    assert (utc(iso(seconds)), iso(seconds)) == (for_people, in_json)
