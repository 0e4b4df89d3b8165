from __future__ import annotations

import csv
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipeline.errors import LedgerError, OutputError, SettingsError
from pipeline.paid.ledger import export as exporting
from pipeline.paid.ledger.calls import CallEnded
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.export import export
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.tables import table
from pipeline.tables.table import ARROW_USD
from tests.paid.ledger.buying import (
    BASE_URL,
    FINGERPRINT,
    LOST,
    PRICE,
    RESERVED,
    ROAD_DIGEST,
    Clock,
    buy,
)

FORMULA = CallEnded("refused", 400, b"=cmd()", Decimal("1E-7"), "=cmd()|' /C calc'!A0")
GERMAN = CallEnded("answered", 200, '{"success": "für Straßen"}'.encode(), PRICE)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Path]:
    """A ledger with an answer, a loss and a refusal."""
    path, clock = tmp_path / "ledger.db", Clock()
    clock.now = 1_000.25
    opened = Ledger(path, BASE_URL, clock)
    journal = Journal(opened.open_job("tenders"), FINGERPRINT)
    for end in (GERMAN, LOST, FORMULA):
        buy(journal, end)
    opened.close()
    yield path


def exported(ledger: Path, file: Path, **how: Any) -> list[dict[str, Any]]:
    with Snapshot(ledger) as snapshot:
        assert export(snapshot, file, **how) == 3
    if file.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
        return rows
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_parquet_has_every_attempt_with_exact_money_and_times(ledger: Path, tmp_path: Path) -> None:
    answer, lost, refused = exported(ledger, tmp_path / "attempts.parquet")
    time = datetime(1970, 1, 1, 0, 16, 40, 250_000, UTC)
    assert answer == {
        "attempt": 1,
        "job": 1,
        "endpoint": BASE_URL,
        "account": FINGERPRINT,
        "system": "cpv",
        "text_sha256": ROAD_DIGEST.hex(),
        "sent_at": time,
        "settled_at": time,
        "state": "answered",
        "error": None,
        "http_status": 200,
        "cost_usd": PRICE,
        "reserved_usd": RESERVED,
    }
    assert (lost["state"], lost["cost_usd"], lost["http_status"]) == ("unconfirmed", None, None)
    assert refused["cost_usd"] == Decimal("0.0000001")
    assert refused["error"] == FORMULA.error
    schema = pq.read_schema(tmp_path / "attempts.parquet")
    assert schema.field("cost_usd").type == schema.field("reserved_usd").type == ARROW_USD
    assert str(schema.field("sent_at").type) == "timestamp[us, tz=UTC]"


def test_csv_has_the_same_in_plain_notation(ledger: Path, tmp_path: Path) -> None:
    answer, lost, refused = exported(ledger, tmp_path / "attempts.CSV")
    assert list(answer) == [*exporting.COLUMNS.names]
    assert answer["cost_usd"] == "0.00010499999999999999"
    assert answer["sent_at"] == "1970-01-01 00:16:40.250000Z"
    assert (lost["cost_usd"], lost["error"], lost["reserved_usd"]) == ("", "TIMEOUT", "0.0003")
    assert refused["cost_usd"] == "0.0000001"


def test_no_cell_of_a_csv_file_is_a_formula(ledger: Path, tmp_path: Path) -> None:
    *_, refused = exported(ledger, tmp_path / "attempts.csv", bodies=True)
    assert refused["error"] == f"'{FORMULA.error}"
    assert refused["body"] == "'=cmd()"


@pytest.mark.parametrize("name", ["attempts.parquet", "attempts.csv"])
@pytest.mark.parametrize(("rows", "size"), [(1, 1 << 20), (2, 1 << 20), (100, 1)])
def test_bodies_come_only_when_asked_for_however_many_are_held(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rows: int, size: int
) -> None:
    monkeypatch.setattr(table, "BATCH_ROWS", rows)
    monkeypatch.setattr(table, "BATCH_CHARS", size)
    assert "body" not in exported(ledger, tmp_path / name)[0]
    answer, lost, _ = exported(ledger, tmp_path / name, bodies=True, overwrite=True)
    assert answer["body"] == GERMAN.body.decode()
    assert not lost["body"]


def test_a_file_that_is_there_is_replaced_only_when_asked_for(ledger: Path, tmp_path: Path) -> None:
    file = tmp_path / "attempts.csv"
    file.write_text("mine")
    with pytest.raises(OutputError, match="exists") as caught:
        exported(ledger, file)
    assert "--overwrite" in caught.value.hint
    assert file.read_text() == "mine"
    assert len(exported(ledger, file, overwrite=True)) == 3


def test_a_file_that_appears_meanwhile_is_kept(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, batch = tmp_path / "attempts.csv", exporting._batch

    def slowly(*values: Any) -> Any:
        file.write_text("mine")
        return batch(*values)

    monkeypatch.setattr(exporting, "_batch", slowly)
    with pytest.raises(OutputError, match="exists"):
        exported(ledger, file)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("name", ["attempts.parquet", "attempts.csv"])
def test_an_export_that_breaks_off_leaves_what_was_there_and_nothing_else(
    ledger: Path, tmp_path: Path, name: str
) -> None:
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute("UPDATE bodies SET body = x'00' WHERE attempt_id = 3")
    (tmp_path / name).write_text("mine")
    with pytest.raises(LedgerError, match="attempt 3 cannot be unpack") as caught:
        exported(ledger, tmp_path / name, bodies=True, overwrite=True)
    assert "ledger verify" in caught.value.hint
    assert (tmp_path / name).read_text() == "mine"
    assert not list(tmp_path.glob(".*"))


def test_money_that_is_none_stops_the_export(ledger: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute("UPDATE attempts SET cost_usd = 'much' WHERE attempt_id = 1")
    with pytest.raises(LedgerError, match="much") as caught:
        exported(ledger, tmp_path / "attempts.parquet")
    assert "ledger verify" in caught.value.hint


def test_the_ledger_itself_and_folders_are_never_replaced(ledger: Path, tmp_path: Path) -> None:
    ledger = ledger.rename(tmp_path / "ledger.csv")
    before = ledger.read_bytes()
    with pytest.raises(OutputError, match="is the ledger"):
        exported(ledger, ledger, overwrite=True)
    assert ledger.read_bytes() == before
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match="not a file"):
        exported(ledger, tmp_path / "folder.csv", overwrite=True)


def test_only_known_kinds_of_files_are_written(ledger: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="neither Parquet nor CSV") as caught:
        exported(ledger, tmp_path / "attempts.xlsx")
    assert ".parquet" in caught.value.hint


def test_a_folder_that_is_not_there_is_named(ledger: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written") as caught:
        exported(ledger, tmp_path / "no" / "attempts.csv")
    assert "--output" not in caught.value.hint


def test_the_new_file_may_be_read_by_whom_new_files_may_be(ledger: Path, tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        exported(ledger, tmp_path / "attempts.csv")
    finally:
        os.umask(mask)
    assert (tmp_path / "attempts.csv").stat().st_mode & 0o777 == 0o644


def test_an_empty_ledger_gives_an_empty_table(tmp_path: Path) -> None:
    Ledger(tmp_path / "ledger.db", BASE_URL).close()
    with Snapshot(tmp_path / "ledger.db") as snapshot:
        assert export(snapshot, tmp_path / "attempts.parquet") == 0
        assert export(snapshot, tmp_path / "attempts.csv") == 0
    assert pq.read_table(tmp_path / "attempts.parquet").schema.names == exporting.COLUMNS.names
    assert (tmp_path / "attempts.csv").read_text() == ",".join(exporting.COLUMNS.names) + "\n"
