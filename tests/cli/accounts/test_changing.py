"""``accounts top-up``, keys and passwords."""

from __future__ import annotations

from pathlib import Path

from tests.cli.accounts.conftest import PASSWORD, opened
from tests.cli.conftest import Capture, Command, lines


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
