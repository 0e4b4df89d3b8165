"""``accounts list``, ``show`` and ``verify``, which change nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.money import total
from pipeline.service.accounts import Accounts
from tests.cli.accounts.conftest import PASSWORD, charge, opened
from tests.cli.conftest import Capture, Command, figures, lines


def test_list_has_a_line_for_each_account(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    command("open")
    command("open", "--email", "ada@example.com", "--balance", "0.5", stdin=PASSWORD.encode())
    command("add-key", 2)
    command("revoke-key", 2, 2)
    charge(tmp_path, 2, 3)
    capsys.readouterr()
    assert command("list") == 0
    header, one, two = lines(capsys)
    assert header.split("  ")[0] == "account"
    today = datetime.now(UTC).date().isoformat()
    assert one.split()[:2] == ["1", today]
    assert one.split()[3:] == ["1", "0", "0", "5"]
    assert two.split()[:3] == ["2", "ada@example.com", today]
    assert two.split()[4:] == ["1", "3", "0.0002385", "0.4997615"]
    assert command("list", "--json") == 0
    listed = figures(capsys)["accounts"]
    assert [one["account"] for one in listed] == [1, 2]
    assert listed[1].pop("opened_at").startswith(today)
    assert listed[1] == {
        "account": 2,
        "email": "ada@example.com",
        "balance_usd": "0.4997615",
        "keys_in_use": 1,
        "calls_30_days": 3,
        "spent_30_days_usd": "0.0002385",
    }


def test_a_folder_whose_accounts_are_all_to_come_has_none_yet(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    Accounts(tmp_path / "accounts").close()
    assert command("list") == 0
    assert lines(capsys) == ["no accounts yet"]
    assert command("verify") == 0
    assert lines(capsys) == ["accounts: 0, entries: 0", "everything agrees"]


def test_show_has_balance_keys_use_and_the_last_entries(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    command("open")
    charge(tmp_path, 1, 12, key=1)
    command("top-up", 1, "2.50", "--note", "March")
    capsys.readouterr()
    assert command("show", 1) == 0
    out = lines(capsys)
    assert out[0] == "account 1"
    assert out[2] == "balance 7.499046 USD"
    (key,) = (line for line in out if " first key " in line)
    assert "never" not in key
    assert [line.split() for line in out if line.startswith("total")] == [
        ["total", "12", "0.000954"]
    ]
    entries = out[out.index(next(line for line in out if line.startswith("entry"))) + 1 :]
    assert [line.split()[0] for line in entries] == [str(n) for n in range(14, 4, -1)]
    assert entries[0].split()[3:] == ["top-up", "March", "2.5", "7.499046"]
    assert entries[1].split()[3:] == ["charge", "cpv", "1", "-0.0000795", "4.999046"]
    assert command("show", 1, "--entries", 100, "--json") == 0
    shown = figures(capsys)
    assert total(Decimal(one["amount_usd"]) for one in shown["entries"]) == Decimal("7.499046")
    assert shown["entries"][0]["balance_usd"] == shown["balance_usd"] == "7.499046"
    assert shown["entries"][0]["note"] == "March"
    assert [(use["system"], use["calls"], use["usd"]) for use in shown["usage"]] == [
        ("cpv", 12, "0.000954")
    ]
    (key,) = shown["keys"]
    assert (key["key"], key["name"], key["revoked_at"]) == (1, "first key", None)
    assert key["used_at"] is not None


def test_an_account_from_the_page_has_no_keys_and_no_calls_yet(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    with opened(tmp_path) as accounts:
        accounts.sign_up("ada@example.com", PASSWORD)
    assert command("show", "ada@example.com") == 0
    out = lines(capsys)
    assert out[0] == "account 1 ada@example.com"
    assert "no keys" in out
    assert "no calls in the last 30 days" in out


def test_text_typed_on_a_page_does_nothing_to_a_terminal(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    with opened(tmp_path) as accounts:
        account = accounts.open().account_id
        accounts.keys.make(account, "night \x1b]0;owned\x07\x1b[31m \u202ejob")
    assert command("show", 1) == 0
    out = capsys.readouterr().out
    assert "owned" in out
    assert all(character.isprintable() or character == "\n" for character in out)


def test_verify_says_what_does_not_agree_and_exits_with_1(
    command: Command, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("open")
    charge(tmp_path, 1, 3)
    capsys.readouterr()
    assert command("verify") == 0
    assert lines(capsys) == ["accounts: 1, entries: 4", "everything agrees"]
    with closing(sqlite3.connect(tmp_path / "accounts" / "service.db")) as connection, connection:
        connection.execute("UPDATE accounts SET balance_usd = '5'")
        connection.execute("UPDATE daily_use SET calls = 4")
    assert command("verify") == 1
    out = lines(capsys)
    assert out[0] == "account 1: the balance is 5 USD, but the entries sum to 4.9997615 USD"
    assert out[1].startswith("account 1: the total of cpv calls on ")
    assert out[2:] == ["accounts: 1, entries: 4"]
    monkeypatch.setattr("pipeline.cli.output.console.PRINTED", 1)
    assert command("verify") == 1
    assert lines(capsys)[1] == "and 1 more"
    assert command("verify", "--json") == 1
    found = figures(capsys)
    assert (found["accounts"], found["entries"], found["problems"]) == (1, 4, 2)
    assert found["first_problems"] == out[:1]
