"""Compares the rows of a run with those of the run before: new texts, gone texts, other codes."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from pipeline.answers import BatchAnswers, Matched, Pending, System
from pipeline.classification.excerpts import READ
from pipeline.settings import Settings
from pipeline.tables.table import Reader

SHOWN = 10
"""Rows with another code that are kept for the page, the first ones."""

CACHE_KB = 32_768
"""Memory for the texts of the run before; the rest is in a temporary file."""

SCHEMA = (
    "CREATE TABLE text (digest BLOB PRIMARY KEY, codes TEXT NOT NULL, rows INTEGER NOT NULL, "
    "seen INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID"
)

Codes = Mapping[System, str | None]


@dataclass(frozen=True, slots=True)
class Changed:
    """A row, numbered as in a spreadsheet, whose text had another code in the run before.

    Each system in which they differ has the code before and the code now.
    """

    row: int
    text: str
    codes: Mapping[System, tuple[str | None, str | None]]


@dataclass(slots=True)
class Compared:
    """What differs from the run before. A row is recognised by its text.

    Attributes:
        new: rows whose text the table before did not have.
        gone: rows of the table before whose text this table does not have.
        changed: rows with another code, by system.
        rows: the first rows with another code.
    """

    new: int = 0
    gone: int = 0
    changed: Counter[System] = field(default_factory=Counter)
    rows: list[Changed] = field(default_factory=list)


class Changes:
    """The rows of the output before, to which those of this run are compared.

    Raises:
        PipelineError: the output before cannot be read.
    """

    def __init__(self, before: Reader, settings: Settings) -> None:
        self._compared = Compared()
        names = before.schema.names
        columns = {system: f"{settings.column_prefix}{system}_code" for system in settings.systems}
        self._columns = {system: name for system, name in columns.items() if name in names}
        self._database = sqlite3.connect("", isolation_level=None)  # SQLite's temporary file
        self._database.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        self._database.execute(SCHEMA)
        self._database.execute("BEGIN")
        for batch in before.batches():
            self._remember(batch.texts, batch.to_arrow())

    def add(self, numbers: Sequence[int], texts: Sequence[str], answers: BatchAnswers) -> None:
        """Compare a batch of rows of this run, which have these numbers."""
        seen = []
        for row, text in enumerate(texts):
            if not text:
                continue
            digest = _digest(text)
            before = self._database.execute(
                "SELECT codes FROM text WHERE digest = ?", (digest,)
            ).fetchone()
            if before is None:
                self._compared.new += 1
                continue
            seen.append((digest,))
            codes = _codes(answers, row, self._columns)
            self._compare(numbers[row], text, json.loads(before[0]), codes)
        self._database.executemany("UPDATE text SET seen = 1 WHERE digest = ?", seen)

    def end(self) -> Compared:
        """Return what differs, after all rows were compared, and release the temporary file."""
        with closing(self._database):
            (gone,) = self._database.execute(
                "SELECT coalesce(sum(rows), 0) FROM text WHERE NOT seen"
            ).fetchone()
        self._compared.gone = gone
        return self._compared

    def _remember(self, texts: Sequence[str], batch: pa.RecordBatch) -> None:
        columns = {system: batch[name].to_pylist() for system, name in self._columns.items()}
        self._database.executemany(
            "INSERT INTO text (digest, codes, rows) VALUES (?, ?, 1) "
            "ON CONFLICT (digest) DO UPDATE SET rows = rows + 1",
            (
                (_digest(text), json.dumps({name: codes[row] for name, codes in columns.items()}))
                for row, text in enumerate(texts)
                if text
            ),
        )

    def _compare(self, row: int, text: str, before: Mapping[System, Any], now: Codes) -> None:
        codes = {
            system: (before.get(system) or None, code)
            for system, code in now.items()
            if (before.get(system) or None) != code
        }
        self._compared.changed.update(codes.keys())
        if codes and len(self._compared.rows) < SHOWN:
            self._compared.rows.append(Changed(row, text[:READ], codes))


def _codes(answers: BatchAnswers, row: int, systems: Iterable[System]) -> Codes:
    """Return the code of each system for a row; a call that has no answer yet has none."""
    codes: dict[System, str | None] = {}
    for system in systems:
        match answers[system][row]:
            case None | Pending():
                continue
            case Matched(matches) if matches:
                codes[system] = matches[0].code
            case _:
                codes[system] = None
    return codes


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
