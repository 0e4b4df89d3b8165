"""What holds for every command: which folder it opens, and beside which service."""

from __future__ import annotations

import os
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.service.accounts import Accounts
from tests.cli.accounts.conftest import PASSWORD
from tests.cli.conftest import Capture, Command, figures, lines
from tests.service.processes import serving

ON_ONE = [
    ("show",),
    ("top-up", "1"),
    ("add-key",),
    ("revoke-key", "1"),
    ("set-password",),
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
    assert "tender-pipeline accounts open --data " in said
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["empty", "file"]


@pytest.mark.parametrize("arguments", ON_ONE, ids=" ".join)
def test_an_unknown_account_is_refused(
    command: Command, tmp_path: Path, capsys: Capture, arguments: tuple[str, ...]
) -> None:
    Accounts(tmp_path / "accounts").close()
    for account in ("1", "0", "nobody@example.com", "9" * 40):
        name, *more = arguments
        assert command(name, account, *more, stdin=PASSWORD.encode()) == 2
        said = capsys.readouterr().err
        assert f"There is no account {account!r}." in said
        assert "tender-pipeline accounts list --data " in said


def test_bytes_that_are_not_text_are_refused(command: Command, capsys: Capture) -> None:
    command("open")
    no_text = os.fsdecode(b"\xff")
    for arguments in [
        ("show", no_text),
        ("top-up", 1, 1, "--note", no_text),
        ("add-key", 1, "--name", no_text),
        ("open", "--email", no_text),
    ]:
        assert command(*arguments) == 2
        assert "An argument is not UTF-8." in capsys.readouterr().err


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


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM about",
        "UPDATE about SET version = 'x'",
        "UPDATE accounts SET balance_usd = x'00'",
        "UPDATE accounts SET balance_usd = 'x'",
    ],
)
def test_values_of_other_types_are_no_unexpected_error(
    command: Command, tmp_path: Path, capsys: Capture, change: str
) -> None:
    command("open")
    with closing(sqlite3.connect(tmp_path / "accounts" / "service.db")) as connection, connection:
        connection.execute(change)
    for arguments in [("list",), ("show", 1), ("top-up", 1, 1)]:
        assert command(*arguments) == 2
        said = "The service's service.db is damaged.\nRestore the folder from a backup"
        assert said in capsys.readouterr().err


def test_looking_never_waits_and_changing_says_who_is_in_the_way(
    command: Command, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.service.accounts.database.PATIENCE_S", 0.0)
    command("open")
    capsys.readouterr()
    with closing(sqlite3.connect(tmp_path / "accounts" / "service.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        for arguments in [("list",), ("show", 1), ("verify",)]:
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
    """So many calls at a time that no command waits long for its turn to write."""
    command("open", "--balance", "0.01")
    key, body = lines(capsys)[-1], {"description": "Office chairs"}
    statuses: list[int] = []
    with (
        serving(tmp_path / "accounts", "--rate", "none") as server,
        server.client(key) as client,
        ThreadPoolExecutor(4) as callers,
    ):

        def call(_: object = None) -> int:
            return client.post("/api/cpv/match", json=body).status_code

        for _ in range(10):
            calls = callers.map(call, range(8))
            assert command("top-up", 1, "0.001") == 0
            assert command("verify") == 0
            assert command("show", 1) == 0
            statuses += calls
        assert statuses == [200] * 80
        calls = callers.map(call, range(8))
        assert command("revoke-key", 1, 1) == 0
        statuses += calls
        assert set(statuses) <= {200, 401}
        assert call() == 401  # from the next call on
    capsys.readouterr()
    assert command("show", 1, "--entries", 1_000, "--json") == 0
    rows = figures(capsys)["entries"]
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
    monkeypatch.setitem(sys.modules, "pipeline.service.accounts", None)
    for arguments in [("open",), ("list",), ("top-up", 1, 1)]:
        assert command(*arguments) == 2
        said = capsys.readouterr().err
        assert f"{sys.executable} -m pip install " in said and "[service]'." in said
