"""Commands that open or change an account: balances, keys and passwords."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.cli.commands.accounts import accounts as group
from tests.cli.accounts.conftest import KEY, PASSWORD, opened
from tests.cli.conftest import Capture, Command, lines


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
def test_no_command_takes_an_invalid_amount(
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


def test_an_account_with_an_email_address_has_the_password_from_standard_input(
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
        (b"short\n", "The password has 5 characters.\nUse 10 to 500."),
        (b"x" * 501, "The password has 501 characters."),
        (b"\xff\xfe is no text\n", "The password is not UTF-8."),
    ],
)
def test_an_invalid_password_opens_no_account(
    command: Command, tmp_path: Path, capsys: Capture, stdin: bytes, said: str
) -> None:
    assert command("open", "--email", "ada@example.com", stdin=stdin) == 2
    assert said in capsys.readouterr().err
    with opened(tmp_path) as accounts:
        assert accounts.all() == []


def test_an_email_address_is_checked_before_the_password_is_asked_for(
    command: Command, capsys: Capture
) -> None:
    assert command("open", "--email", "nope", stdin=b"") == 2
    assert "This is not an e-mail address." in capsys.readouterr().err


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
    assert "accounts show 1 --data " in said
    with opened(tmp_path) as accounts:
        assert len(accounts.all()) == 1


def test_no_option_takes_a_secret() -> None:
    taken = {
        option for command in group.commands.values() for p in command.params for option in p.opts
    }
    assert not [option for option in taken if "password" in option or option == "--key"]


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


def test_keys_are_made_and_revoked(command: Command, tmp_path: Path, capsys: Capture) -> None:
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
    with opened(tmp_path) as accounts:
        assert accounts.keys.of(1)[0].name == "nightly"


def test_a_key_is_named_by_its_number_and_must_be_in_use(command: Command, capsys: Capture) -> None:
    command("open")
    key = lines(capsys)[-1]
    command("open")
    command("revoke-key", 2, 2)
    for arguments, said in [
        ((1, 2), "Account 1 has no key 2 in use."),
        ((1, "9" * 18), "has no key"),
        ((2, 2), "Account 2 has no key 2 in use."),
        ((1, key), "not the key itself"),
        ((1, "9" * 30), "not the key itself"),
    ]:
        capsys.readouterr()
        assert command("revoke-key", *arguments) == 2
        heard = capsys.readouterr()
        assert said in heard.err
        assert f"accounts show {arguments[0]} --data " in heard.err
        assert key not in heard.err + heard.out


def test_an_account_without_a_login_gets_no_password(command: Command, capsys: Capture) -> None:
    command("open")
    assert command("set-password", 1, stdin=PASSWORD.encode()) == 2
    assert "accounts open --email ADDRESS --data " in capsys.readouterr().err
