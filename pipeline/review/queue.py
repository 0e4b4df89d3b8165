"""The texts of an enriched table by system, in a temporary database, so that any number fits."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal, TypeAlias
from urllib.parse import urlencode

from pipeline.answers import BANDS, SYSTEMS, Band, System, band
from pipeline.classification.enriched import EnrichedTable, RowCells
from pipeline.classification.summary import SETTLED
from pipeline.codes.table import cut
from pipeline.decisions.decision_file import Key, text_key

ORDERS = {
    "rows": ("Texts in most rows first", "rows DESC, first_row, id"),
    "unsure": ("Least sure first", "confidence IS NULL, confidence, first_row, id"),
    "sure": ("Surest first", "confidence IS NULL, confidence DESC, first_row, id"),
    "table": ("As in the table", "first_row, id"),
}
"""The orders of texts: on the page, and in SQL."""

LOOK, ALL = "look", "all"
"""The statuses that need a look, and every status."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which texts to show.

    Attributes:
        system: the system; None for all.
        status: a status, `LOOK` or ``all``.
        band: how sure the best match is; "" for any.
        division: the first level of the best match's code; "" for all.
        order: their order: see `ORDERS`.
    """

    system: System | None = None
    status: str = LOOK
    band: Band | Literal[""] = ""
    division: str = ""
    order: str = "rows"

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Filters:
        """Return the filters in an address; what is not valid there does not filter."""
        order = values.get("order", "")
        return cls(
            system=next((each for each in SYSTEMS if each == values.get("system")), None),
            status=values.get("status", "")[:40] or LOOK,
            band=next((each for each in BANDS if each == values.get("band")), ""),
            division=values.get("division", "")[:10],
            order=order if order in ORDERS else "rows",
        )

    @property
    def changed(self) -> dict[str, str]:
        """Those that filter, or sort in another order, by name."""
        usual = asdict(Filters())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    @property
    def query(self) -> str:
        """The same as the query of an address."""
        return urlencode(self.changed)

    def where(self) -> tuple[str, list[Any]]:
        """Return the condition in SQL, and its values."""
        tests: list[tuple[str, Any]] = []
        if self.system:
            tests.append(("system = ?", self.system))
        if self.status == LOOK:
            tests.append(("look = ?", 1))
        elif self.status != ALL:
            tests.append(("status = ?", self.status))
        if self.band:
            tests.append(("band = ?", self.band))
        if self.division:
            tests.append(("division = ?", self.division))
        return " AND ".join(["1", *(test for test, _ in tests)]), [value for _, value in tests]

    @property
    def sort(self) -> str:
        """The order in SQL: texts that were put off come last."""
        return f"put_off, {ORDERS[self.order][1]}"


SCHEMA = """
CREATE TABLE text (text_id INTEGER PRIMARY KEY, digest BLOB UNIQUE, text TEXT, columns TEXT);
CREATE TABLE item (
    id INTEGER PRIMARY KEY, system TEXT, text_id INTEGER, status TEXT, look INTEGER, code TEXT,
    title TEXT, confidence REAL, band TEXT, division TEXT, matches TEXT, first_row INTEGER,
    rows INTEGER DEFAULT 1, put_off INTEGER DEFAULT 0, done INTEGER DEFAULT 0,
    UNIQUE (text_id, system)
);
"""

ADD_TEXT = "INSERT INTO text (digest, text, columns) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
TEXT_ID = "SELECT text_id FROM text WHERE digest = ?"
ADD = """
INSERT INTO item (
    system, text_id, status, look, code, title, confidence, band, division, matches, first_row
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET rows = rows + 1
"""
JOINED = """
SELECT id, system, text, status, code, title, confidence, first_row, rows, columns, matches
FROM item JOIN text USING (text_id) WHERE
"""
MOST_FREQUENT = """
SELECT division, count(*) FROM item WHERE division > '' AND system = ?
GROUP BY 1 ORDER BY 2 DESC LIMIT ?
"""
INDEX = "CREATE INDEX by_state ON item (look, done)"

UNSEEN = ("empty", "pending")
"""The statuses of rows that nobody can decide."""

CONFLICT = "conflict"
"""The status in a review of a text about which files of decisions disagree."""

Listed: TypeAlias = tuple[str, str, float | None]
"""A match in the table: code, title and confidence."""

DIVISIONS = 200
"""Divisions that can be chosen, the most frequent ones."""


@dataclass(frozen=True, slots=True)
class Item:
    """A text in one system, with the best match that the table has for it, if any.

    Its number is known to this review only; the first row is numbered as in a spreadsheet. The
    columns are the others of that row.
    """

    number: int
    system: System
    text: str
    status: str
    code: str
    title: str
    confidence: float | None
    first_row: int
    rows: int
    columns: Mapping[str, str]
    matches: tuple[Listed, ...]

    @property
    def titles(self) -> dict[str, str]:
        """The titles that the table has for its matches, by code."""
        titles = {self.code: self.title} if self.code else {}
        return {code: title for code, title, _ in self.matches} | titles

    @property
    def key(self) -> Key:
        """What a decision about it is about."""
        return self.system, text_key(self.text)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a review is, in texts."""

    texts: int
    done: int

    @property
    def left(self) -> int:
        """Texts that are not decided."""
        return self.texts - self.done


class Queue:
    """The texts of a table, each once for every system; the table is read here.

    Its methods are not safe to call from several threads at once.

    Raises:
        InputError: the table is damaged.
    """

    def __init__(self, table: EnrichedTable) -> None:
        # An unnamed database is in memory, and on the disk if it grows.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.executescript(SCHEMA)
        self._database.execute("BEGIN")
        for row, text, systems, columns in table.rows():
            if text:
                self._add(row, text, systems, columns)
        self._database.execute("COMMIT")
        self._database.execute(INDEX)
        self._steps = 0

    def close(self) -> None:
        """Delete the database."""
        self._database.close()

    def item(self, number: int) -> Item | None:
        """Return a text by its number."""
        return next(self._items("id = ?", number), None)

    def open_item(self, number: int) -> Item | None:
        """Return a text by its number, unless it is decided."""
        return next(self._items("id = ? AND NOT done", number), None)

    def find(self, system: System, text: str) -> Item | None:
        """Return a text; None if the table does not have it."""
        return next(self._items("system = ? AND digest = ?", system, text_key(text)), None)

    def next(self, filters: Filters) -> Item | None:
        """Return the next text that is not decided; None if all are."""
        where, values = filters.where()
        sort = f"{where} AND NOT done ORDER BY {filters.sort} LIMIT 1"
        return next(self._items(sort, *values), None)

    def acceptable(self, filters: Filters) -> Iterator[Item]:
        """Yield the texts that are not decided and have a best match."""
        where, values = filters.where()
        return self._items(f"{where} AND NOT done AND code > '' ORDER BY {filters.sort}", *values)

    def acceptable_counts(self, filters: Filters) -> tuple[int, int]:
        """Return how many such texts there are, and how many rows have them."""
        where, values = filters.where()
        counts = "SELECT count(*), total(rows) FROM item WHERE"
        texts, rows = self._one(f"{counts} {where} AND NOT done AND code > ''", *values)
        return texts, int(rows)

    def progress(self, filters: Filters) -> Progress:
        """Return how far the review of some texts is."""
        where, values = filters.where()
        counts = "SELECT count(*), total(done) FROM item WHERE"
        texts, done = self._one(f"{counts} {where}", *values)
        return Progress(texts, int(done))

    def statuses(self) -> dict[str, int]:
        """Return the number of texts with each status."""
        return dict(self._database.execute("SELECT status, count(*) FROM item GROUP BY 1"))

    def divisions(self, system: str) -> dict[str, int]:
        """Return the number of texts in each division of a system, the most frequent first."""
        return dict(self._database.execute(MOST_FREQUENT, (system, DIVISIONS)))

    def mark(self, item: Item, done: bool) -> None:
        """Note that a text is decided, or is not any more."""
        self._database.execute(
            "UPDATE item SET done = ?, put_off = 0 WHERE id = ?", (done, item.number)
        )

    def put_off(self, item: Item) -> None:
        """Move a text behind all others."""
        self._steps += 1
        self._database.execute(
            "UPDATE item SET put_off = ? WHERE id = ?", (self._steps, item.number)
        )

    def mark_conflict(self, item: Item) -> None:
        """Note that files of decisions disagree about a text, so that it needs a look."""
        self._database.execute(
            "UPDATE item SET status = ?, look = 1, done = 0 WHERE id = ?", (CONFLICT, item.number)
        )

    def _add(
        self,
        row: int,
        text: str,
        systems: Mapping[System, RowCells],
        columns: Mapping[str, str],
    ) -> None:
        digest = text_key(text)
        self._database.execute(ADD_TEXT, (digest, text, json.dumps(columns)))
        (text_id,) = self._one(TEXT_ID, digest)
        for system, cells in systems.items():
            status = str(cells.status or "")
            if status in UNSEEN or not status:
                continue
            code, confidence = _text(cells.code), _number(cells.confidence)
            self._database.execute(
                ADD,
                (
                    system,
                    text_id,
                    status,
                    status not in SETTLED,
                    code,
                    _text(cells.title),
                    confidence,
                    band(confidence) if code and confidence is not None else "",
                    cut(system, code, 2),
                    json.dumps(_matches(cells.matches)),
                    row,
                ),
            )

    def _items(self, where: str, *values: Any) -> Iterator[Item]:
        for row in self._database.execute(f"{JOINED} {where}", values):
            *cells, columns, matches = row
            listed = tuple((*match,) for match in json.loads(matches))
            yield Item(*[*cells, json.loads(columns), listed])

    def _one(self, query: str, *values: Any) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self._database.execute(query, values).fetchone()
        return row


def _text(value: Any) -> str:
    """Return a text of the table, without the apostrophe before a formula in CSV."""
    text = "" if value is None else str(value)
    return text[1:] if text[:1] == "'" else text


def _number(value: Any) -> float | None:
    with suppress(TypeError, ValueError):
        number = float(value)
        return number if isfinite(number) else None
    return None


def _matches(value: Any) -> list[Listed]:
    """Return the matches of a row, which are JSON in a text file; a broken cell has none."""
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        listed = json.loads(value) if isinstance(value, str) and value else value or []
        return [
            (str(match["code"]), str(match["title"]), _number(match["confidence"]))
            for match in listed
        ]
    return []
