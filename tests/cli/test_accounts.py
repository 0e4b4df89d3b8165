"""``tender-pipeline accounts`` as an administrator meets it, also while the service is charging."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

import pipeline
from pipeline.cli.commands.accounts import accounts as group
from pipeline.money import total
from pipeline.service import Accounts
from pipeline.service.accounts import Due
from tests.cli.conftest import Command
from tests.service.processes import serving

PRICE = Decimal("0.0000795")

PASSWORD = "correct horse battery"

KEY = re.compile(r"tp_[\w-]{43}")

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def command(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command on the accounts of a folder and return its exit code."""
    monkeypatch.setenv("TENDER_PIPELINE_SERVE_DATA", "accounts")

    def call(*arguments: object, stdin: bytes = b"") -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return command("accounts", *arguments)

    return call


def opened(folder: Path) -> closing[Accounts]:
    """Open the accounts that the commands work on."""
    return closing(Accounts(folder / "accounts"))


def lines(capsys: Capture) -> list[str]:
    return capsys.readouterr().out.splitlines()


def figures(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


def charge(folder: Path, account: int, times: int = 1, key: int | None = None) -> None:
    with opened(folder) as accounts:
        assert all(accounts.statement.charge([Due(account, key, "cpv", PRICE)] * times))


def test_open_prints_a_key_that_calls_as_the_last_line(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    assert command("open") == 0
    said = capsys.readouterr()
    (key,) = said.out.splitlines()
    assert KEY.fullmatch(key)
    assert said.err == "account 1 with 5 USD in accounts; its key:\n"
    with opened(tmp_path) as accounts:
        holder = accounts.keys.holder(key)
        assert holder is not None
        assert holder.account_id == 1
        assert accounts.balance(1) == 5


@pytest.mark.parametrize("balance", ["0", "0.0000001", "12.50", "1000000"])
def test_an_account_opens_with_exactly_the_balance_that_is_asked_for(
    command: Command, tmp_path: Path, balance: str
) -> None:
    assert command("open", "--balance", balance) == 0
    with opened(tmp_path) as accounts:
        assert accounts.balance(1) == Decimal(balance)


@pytest.mark.parametrize(
    "usd", ["-5", "NaN", "1e3", "1,50", "1_000", "٣", "", "Infinity", "0.00000001", "1000000.5"]
)
def test_no_command_takes_what_is_no_amount(
    command: Command, tmp_path: Path, capsys: Capture, usd: str
) -> None:
    assert command("open", "--balance", usd) == 2
    assert command("open") == 0
    capsys.readouterr()
    for arguments in [("open", "--balance", usd), ("top-up", 1, usd), ("top-up", 1, "0")]:
        assert command(*arguments) == 2
        said = capsys.readouterr()
        assert "USD" in said.err or "US dollars" in said.err
        assert said.out == ""
    with opened(tmp_path) as accounts:
        assert [account.balance_usd for account in accounts.all()] == [5]
        assert len(accounts.statement.entries(1)) == 1


def test_who_has_an_email_address_can_log_in_with_the_password_from_standard_input(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    word = "grünes Fahrrad"
    assert command("open", "--email", "Ada@example.com", stdin=f"{word}\n".encode()) == 0
    said = capsys.readouterr()
    assert KEY.fullmatch(said.out.splitlines()[-1])
    assert "account 1 of ada@example.com with 5 USD" in said.err
    with opened(tmp_path) as accounts:
        assert accounts.log_in("ada@example.com", word) == 1
        token = accounts.sessions.begin(1)
    assert command("set-password", "ADA@example.com", stdin=b"another longer one\r\n") == 0
    assert lines(capsys) == ["account 1: password changed, all sessions ended"]
    with opened(tmp_path) as accounts:
        assert accounts.log_in("ada@example.com", word) is None
        assert accounts.log_in("ada@example.com", "another longer one") == 1
        assert accounts.sessions.account_of(token) is None


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (b"", "There is no password."),
        (b"\nnot this line\n", "There is no password."),
        (b"short\n", "fewer than 10 characters"),
        (b"x" * 501, "more than 500 characters"),
        (b"\xff\xfe is no text\n", "The password is not UTF-8."),
    ],
)
def test_a_password_that_is_none_opens_no_account(
    command: Command, tmp_path: Path, capsys: Capture, stdin: bytes, said: str
) -> None:
    assert command("open", "--email", "ada@example.com", stdin=stdin) == 2
    assert said in capsys.readouterr().err
    with opened(tmp_path) as accounts:
        assert accounts.all() == []


def test_a_password_is_asked_for_twice_on_a_terminal_and_never_shown(tmp_path: Path) -> None:
    terminal, stdin = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", "accounts", "open", "--email", "ada@example.com"],
        env={**os.environ, "TENDER_PIPELINE_SERVE_DATA": str(tmp_path / "accounts")},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # else it would ask on the terminal of whoever runs the tests
    )
    echoed = b""
    try:
        assert process.stderr is not None
        for typed, prompt in [
            (PASSWORD, b"Password: "),
            ("something else", b"Repeat the password: "),
            (PASSWORD, b"Password: "),
            (PASSWORD, b"Repeat the password: "),
        ]:
            heard = b""
            while not heard.endswith(prompt):
                byte = process.stderr.read(1)
                assert byte, heard
                heard += byte
            os.write(terminal, f"{typed}\n".encode())
        stdout, stderr = process.communicate(timeout=60)
        os.set_blocking(terminal, False)
        with suppress(BlockingIOError):  # nothing is there
            echoed = os.read(terminal, 10_000)
    finally:
        process.kill()
        process.communicate()
        os.close(stdin)
        os.close(terminal)
    assert process.returncode == 0
    assert KEY.fullmatch(stdout.decode().splitlines()[-1])
    for shown in (stdout, stderr, echoed):
        assert b"correct" not in shown
    with opened(tmp_path) as accounts:
        assert accounts.log_in("ada@example.com", PASSWORD) == 1


def test_an_address_is_not_given_a_second_account_nor_asked_for_a_password(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    assert command("open", "--email", "ada@example.com", stdin=PASSWORD.encode()) == 0
    assert command("open", "--email", "ADA@example.com") == 2
    said = capsys.readouterr().err
    assert "ADA@example.com already has account 1." in said
    assert "accounts show 1." in said
    with opened(tmp_path) as accounts:
        assert len(accounts.all()) == 1


def test_no_option_takes_a_secret() -> None:
    taken = {
        option for command in group.commands.values() for p in command.params for option in p.opts
    }
    assert not [option for option in taken if "password" in option or option == "--key"]


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


def test_who_signed_up_on_a_page_has_no_keys_and_no_calls_yet(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    with opened(tmp_path) as accounts:
        accounts.sign_up("ada@example.com", PASSWORD)
    assert command("show", "ada@example.com") == 0
    out = lines(capsys)
    assert out[0] == "account 1 ada@example.com"
    assert "no keys" in out
    assert "no calls in the last 30 days" in out


def test_what_somebody_typed_on_a_page_does_nothing_to_a_terminal(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    with opened(tmp_path) as accounts:
        account = accounts.open().account_id
        accounts.keys.make(account, "night \x1b]0;owned\x07\x1b[31m \u202ejob")
    assert command("show", 1) == 0
    out = capsys.readouterr().out
    assert "owned" in out
    assert all(character.isprintable() or character == "\n" for character in out)


def test_top_up_adds_exactly_and_prints_the_new_balance(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    command("open", "--balance", "0.1")
    capsys.readouterr()
    assert command("top-up", 1, "0.2") == 0
    assert lines(capsys) == ["account 1: 0.2 USD added, balance 0.3 USD"]
    assert command("top-up", "1", "0.0000001", "--note", " two \n lines ") == 0
    assert lines(capsys) == ["account 1: 0.0000001 USD added, balance 0.3000001 USD"]
    with opened(tmp_path) as accounts:
        last, before, _ = accounts.statement.entries(1)
    assert (last.kind, last.note) == ("top-up", "two lines")
    assert before.note == ""
    assert command("top-up", 1, "1", "--note", "x" * 201) == 2
    assert "Shorten it to 200." in capsys.readouterr().err


def test_keys_are_made_revoked_and_rotated(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    def holders() -> list[bool]:
        with opened(tmp_path) as accounts:
            return [accounts.keys.holder(key) is not None for key in keys]

    command("open")
    keys = [lines(capsys)[-1]]
    assert command("add-key", 1, "--name", "nightly") == 0
    said = capsys.readouterr()
    keys += said.out.splitlines()
    assert said.err == "account 1 has the new key 2:\n"
    assert holders() == [True, True]
    assert command("revoke-key", 1, 1) == 0
    assert lines(capsys) == ["account 1: key 1 is revoked"]
    assert holders() == [False, True]
    assert command("rotate-key", 1, 2) == 0
    said = capsys.readouterr()
    keys += said.out.splitlines()
    assert said.err == "account 1: key 2 is revoked, replaced by 3:\n"
    assert holders() == [False, False, True]
    with opened(tmp_path) as accounts:
        assert accounts.keys.of(1)[0].name == "nightly"


def test_a_key_is_meant_by_its_number_and_must_be_in_use(command: Command, capsys: Capture) -> None:
    command("open")
    key = lines(capsys)[-1]
    command("open")
    command("revoke-key", 2, 2)
    for arguments, said in [
        ((1, 2), "Account 1 has no key 2."),
        ((1, "9" * 18), "has no key"),
        ((2, 2), "Key 2 is already revoked."),
        ((1, key), "not the key itself"),
        ((1, "9" * 30), "not the key itself"),
    ]:
        for name in ("revoke-key", "rotate-key"):
            capsys.readouterr()
            assert command(name, *arguments) == 2
            heard = capsys.readouterr()
            assert said in heard.err
            assert f"accounts show {arguments[0]}." in heard.err
            assert key not in heard.err + heard.out


def test_an_account_that_nobody_logs_in_to_gets_no_password(
    command: Command, capsys: Capture
) -> None:
    command("open")
    assert command("set-password", 1, stdin=PASSWORD.encode()) == 2
    assert "accounts open --email ADDRESS." in capsys.readouterr().err


ON_ONE = [
    ("show",),
    ("top-up", "1"),
    ("add-key",),
    ("revoke-key", "1"),
    ("rotate-key", "1"),
    ("set-password",),
    ("statement",),
]


@pytest.mark.parametrize("arguments", [*ON_ONE, ("list",), ("verify",)], ids=" ".join)
@pytest.mark.parametrize("folder", ["nowhere", "empty", "file/below"])
def test_no_command_but_open_makes_a_folder(
    command: Command, tmp_path: Path, capsys: Capture, arguments: tuple[str, ...], folder: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    name, *more = arguments
    account = [] if name in ("list", "verify") else ["1"]
    assert command(name, *account, *more, "--data", folder, stdin=PASSWORD.encode()) == 2
    said = capsys.readouterr().err
    assert f"There are no accounts in {folder}." in said
    assert "tender-pipeline accounts open; or give the right folder: --data DIR." in said
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["empty", "file"]


@pytest.mark.parametrize("arguments", ON_ONE, ids=" ".join)
def test_an_account_that_there_is_not_is_refused(
    command: Command, tmp_path: Path, capsys: Capture, arguments: tuple[str, ...]
) -> None:
    Accounts(tmp_path / "accounts").close()
    for account in ("1", "0", "nobody@example.com", "9" * 40):
        name, *more = arguments
        assert command(name, account, *more, stdin=PASSWORD.encode()) == 2
        said = capsys.readouterr().err
        assert f"There is no account {account!r}." in said
        assert "tender-pipeline accounts list." in said


def test_bytes_that_are_no_text_are_refused(command: Command, capsys: Capture) -> None:
    command("open")
    no_text = os.fsdecode(b"\xff")
    for arguments in [
        ("show", no_text),
        ("top-up", 1, 1, "--note", no_text),
        ("add-key", 1, "--name", no_text),
        ("open", "--email", no_text),
    ]:
        assert command(*arguments) == 2
        assert "It is not UTF-8." in capsys.readouterr().err


def test_a_statement_goes_to_standard_output_or_to_a_file_that_is_not_replaced(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    command("open")
    charge(tmp_path, 1, 2500, key=1)  # more than are read at once
    command("top-up", 1, "0.5", "--note", "=1+1")
    capsys.readouterr()
    assert command("statement", 1) == 0
    printed = capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert len(rows) == 2502
    assert [row["kind"] for row in rows[:2]] == ["opening", "charge"]
    assert total(Decimal(row["amount_usd"]) for row in rows) == Decimal(rows[-1]["balance_usd"])
    assert rows[-1]["note"] == "'=1+1"
    assert command("statement", 1, "--output", "march.csv") == 0
    assert capsys.readouterr().err == "the statement of account 1: march.csv\n"
    assert (tmp_path / "march.csv").read_text("utf-8") == printed
    (tmp_path / "march.csv").write_text("mine")
    assert command("statement", 1, "--output", "march.csv") == 2
    assert "--overwrite" in capsys.readouterr().err
    assert (tmp_path / "march.csv").read_text() == "mine"
    assert command("statement", 1, "--output", "march.csv", "--overwrite") == 0
    assert (tmp_path / "march.csv").read_text("utf-8") == printed
    assert command("statement", 1, "--output", "nowhere/march.csv") == 2
    assert "cannot be written" in capsys.readouterr().err


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
    monkeypatch.setattr("pipeline.cli.output.verification.PRINTED", 1)
    assert command("verify") == 1
    assert lines(capsys)[1] == "and 1 more"
    assert command("verify", "--json") == 1
    found = figures(capsys)
    assert (found["accounts"], found["entries"], found["problems"]) == (1, 4, 2)
    assert found["first_problems"] == out[:1]


@pytest.mark.parametrize(
    ("version", "advice"), [(99, "Update tender-pipeline"), (1, "Choose another folder")]
)
def test_accounts_of_another_version_are_left_alone(
    command: Command, tmp_path: Path, capsys: Capture, version: int, advice: str
) -> None:
    command("open")
    with closing(sqlite3.connect(tmp_path / "accounts" / "service.db")) as connection, connection:
        connection.execute("UPDATE about SET version = ?", (version,))
    before = (tmp_path / "accounts" / "service.db").read_bytes()
    capsys.readouterr()
    for arguments in [("list",), ("open",), ("top-up", 1, 1)]:
        assert command(*arguments) == 2
        assert advice in capsys.readouterr().err
    assert (tmp_path / "accounts" / "service.db").read_bytes() == before


def test_looking_waits_for_nobody_and_changing_says_who_is_in_the_way(
    command: Command, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.service.accounts.database.PATIENCE_S", 0.0)
    command("open")
    capsys.readouterr()
    with closing(sqlite3.connect(tmp_path / "accounts" / "service.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        for arguments in [("list",), ("show", 1), ("statement", 1), ("verify",)]:
            assert command(*arguments) == 0
        capsys.readouterr()
        for arguments in [("top-up", 1, 1), ("add-key", 1), ("open",)]:
            assert command(*arguments) == 2
            said = capsys.readouterr()
            assert "database is locked" in said.err
            assert "Nothing was changed. Try again" in said.err
            assert said.out == ""
    assert command("top-up", 1, 1) == 0


def test_accounts_are_worked_on_while_the_service_charges_them(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    command("open", "--balance", "0.01")
    key = lines(capsys)[-1]
    stop = threading.Event()
    statuses: list[int] = []

    def call(address: str) -> None:
        with httpx.Client(base_url=address, trust_env=False, headers={"X-API-Key": key}) as client:
            while not stop.is_set():
                response = client.post("/api/cpv/match", json={"description": "Office chairs"})
                statuses.append(response.status_code)

    with serving(tmp_path / "accounts", "--rate", "none") as server:
        callers = [threading.Thread(target=call, args=(server.address,)) for _ in range(4)]
        for caller in callers:
            caller.start()
        try:
            for _ in range(10):
                assert command("top-up", 1, "0.001") == 0
                assert command("verify") == 0
                assert command("show", 1) == 0
            assert command("rotate-key", 1, 1) == 0
        finally:
            stop.set()
            for caller in callers:
                caller.join()
        refused = httpx.post(
            f"{server.address}/api/cpv/match",
            json={"description": "Office chairs"},
            headers={"X-API-Key": key},
            trust_env=False,
        )
        assert refused.status_code == 401  # from the next call on
    assert set(statuses) <= {200, 401, 402}
    assert statuses.count(200) > 0
    capsys.readouterr()
    assert command("statement", 1) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert sum(row["kind"] == "charge" for row in rows) == statuses.count(200)
    assert sum(row["kind"] == "top-up" for row in rows) == 10
    assert command("verify") == 0


def test_the_default_folder_is_the_one_that_serve_would_use(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENDER_PIPELINE_SERVE_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert command("open") == 0
    assert (tmp_path / "tender-pipeline" / "service" / "service.db").is_file()


def test_without_the_extra_the_commands_say_what_to_install(
    command: Command, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(pipeline, "service")
    monkeypatch.setitem(sys.modules, "pipeline.service", None)
    for arguments in [("open",), ("list",), ("top-up", 1, 1)]:
        assert command(*arguments) == 2
        assert "pip install 'tender-pipeline[service]'." in capsys.readouterr().err
