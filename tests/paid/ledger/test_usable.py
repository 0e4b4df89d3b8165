"""Values that no run writes: every command says where they are, and none ends in a traceback."""

from __future__ import annotations

import logging
import shutil
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.answers import SYSTEMS
from pipeline.errors import LedgerError
from pipeline.paid.ledger.checks import INVALID_ATTEMPTS, check_usable, wrong_values
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.schema import CallEnded
from pipeline.paid.matcher import LedgerMatcher
from pipeline.paid.verify import problems
from tests.paid.command_line import tender_pipeline
from tests.paid.ledger.buying import FINGERPRINT, LOST, PRICE, Clock, buy, note
from tests.paid.serving import nobody_there

BODY = b'{"success": true, "data": [], "metadata": {"cost": {"apiCost": %s}}}' % str(PRICE).encode()

MONEY = ("'abc'", "'NaN'", "'Infinity'", "'-0.1'", "x'00ff'", "'1e999999'", "'1e-99'", "''")
TIMES = ("'noon'", "x'00'", "0", "-1", "9e999", "1e300")
SPOILT = [
    *[("attempts", column, value) for column in ("cost_usd", "reserved_usd") for value in MONEY],
    *[("attempts", column, value) for column in ("sent_at", "settled_at") for value in TIMES],
    *[("attempts", "system", value) for value in ("'cpc'", "5", "x'637076'")],
    *[("attempts", "digest", value) for value in ("'road'", "5", "x'00'")],
    *[("attempts", "state", value) for value in ("'answred'", "5", "x'00'")],
    *[("attempts", "account", value) for value in ("x'00'", "x''")],
    *[("attempts", "error", value) for value in ("x'00'", "x''")],
    *[("attempts", "status", value) for value in ("'ok'", "x'00'", "-5", "200.5")],
    *[("jobs", "opened_at", value) for value in TIMES],
    *[("jobs", column, value) for column in ("endpoint", "identity") for value in ("x'00'", "x''")],
]
COMMANDS = (
    ("run", "in.csv", "--yes"),
    ("plan", "in.csv"),
    ("ledger", "show"),
    ("ledger", "attempts"),
    ("ledger", "verify"),
)


@pytest.fixture(scope="module")
def address() -> str:
    return nobody_there()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, address: str) -> Path:
    """A ledger with an answer and a loss."""
    path = tmp_path_factory.mktemp("sound") / "ledger.db"
    with closing(Ledger(path, address, Clock(time.time() - 100))) as ledger:
        journal = Journal(ledger.open_job("tenders"), FINGERPRINT)
        buy(journal, CallEnded("answered", 200, BODY, PRICE))
        buy(journal, LOST)
    return path


@pytest.fixture
def folder(
    tmp_path: Path, sound: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A folder with a copy of it, whose commands are about that copy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENDER_PIPELINE_LEDGER", "ledger.db")
    monkeypatch.setenv("TENDER_PIPELINE_BASE_URL", address)
    shutil.copy(sound, "ledger.db")
    Path("in.csv").write_text("description\nroad\n")
    yield tmp_path
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def spoil(ledger: Path, table: str, column: str, value: str) -> None:
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute(f"UPDATE {table} SET {column} = {value} WHERE rowid = 1")


@pytest.mark.parametrize(("table", "column", "value"), SPOILT)
def test_a_value_that_no_run_writes_is_found_and_named(
    folder: Path, table: str, column: str, value: str
) -> None:
    spoil(folder / "ledger.db", table, column, value)
    with Snapshot(folder / "ledger.db") as snapshot:
        with pytest.raises(LedgerError) as caught:
            check_usable(snapshot)
        assert list(problems(snapshot))
    assert f"{table[:-1]} 1 " in caught.value.message
    assert column in caught.value.message
    assert "ledger verify" in caught.value.hint
    assert caught.value.exit_code == 8


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_it(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])  # those of other tests have closed streams
    for table, column, value in SPOILT[::5]:
        shutil.copy(folder / "ledger.db", folder / "sound.db")
        spoil(folder / "ledger.db", table, column, value)
        assert tender_pipeline(*command) == 8
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert f"{table[:-1]} 1 " in out + err
        shutil.copy(folder / "sound.db", folder / "ledger.db")


@pytest.mark.parametrize("command", COMMANDS[1:])
def test_a_sound_ledger_is_refused_by_none(folder: Path, command: tuple[str, ...]) -> None:
    assert tender_pipeline(*command) == 0


@pytest.mark.parametrize("value", ["'abc'", "x'00'", "5"])
def test_a_body_that_is_none_is_an_error_of_the_ledger(
    folder: Path, address: str, value: str
) -> None:
    spoil(folder / "ledger.db", "bodies", "body", value)
    with closing(Ledger(folder / "ledger.db", address)) as ledger:
        job = ledger.open_job("tenders")
        note(job, "road")
        with pytest.raises(LedgerError, match="body of attempt 1 cannot be unpack"):
            list(LedgerMatcher(job, SYSTEMS).answers([["road"]]))


@pytest.mark.parametrize("column", ["slots", "paused_until", "learned_at"])
def test_what_a_refusal_taught_is_looked_at_too(folder: Path, address: str, column: str) -> None:
    with closing(Ledger(folder / "ledger.db", address)) as ledger:
        with closing(sqlite3.connect(folder / "ledger.db")) as connection, connection:
            connection.execute(
                "INSERT INTO lessons VALUES (?, ?, 1, 2.0, 3.0)", (address, FINGERPRINT)
            )
            connection.execute(f"UPDATE lessons SET {column} = 'abc'")
        with pytest.raises(LedgerError, match="a record of a refusal that is not valid"):
            ledger.last_refusal(FINGERPRINT)


def test_a_row_that_an_index_has_and_the_table_lacks_is_found_too() -> None:
    of_index = {INVALID_ATTEMPTS: [(3, "state")]}
    damaged: Any = SimpleNamespace(rows=lambda query, *_: of_index.get(query, []))
    assert [*wrong_values(damaged)] == ["attempt 3 has None as its state"]
