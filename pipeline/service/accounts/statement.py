"""The statements: every change of a balance is an entry, written with it; an audit checks them."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from io import StringIO
from itertools import chain, islice
from typing import Any, Literal, TypeAlias

from pipeline.answers import System
from pipeline.errors import SettingsError
from pipeline.json_log import iso
from pipeline.money import ZERO, plain, total
from pipeline.service.accounts.database import Database
from pipeline.service.accounts.keys import ApiKey, one_line
from pipeline.tables.cells import cell


@dataclass(frozen=True, slots=True)
class Due:
    """The charge for a successful call; a call from a page has no key."""

    account_id: int
    key_id: int | None
    system: System
    price_usd: Decimal


Kind = Literal["opening", "top-up", "charge"]

MOST_USD = Decimal(1_000_000)
"""The largest top-up; more is probably a typing error."""

FINEST_USD = Decimal("0.0000001")
"""The smallest unit of amounts."""

LONGEST_NOTE = 200

ENTRIES_AT_ONCE = 1000
"""Read together; few enough that nobody waits long for the connection."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of a balance, in the order of their numbers; charges are negative.

    The schema explains the columns. A charge for a call from a page has no key.
    """

    entry_id: int
    account_id: int
    at: float
    kind: Kind
    amount_usd: Decimal
    balance_usd: Decimal
    system: System | None
    key_id: int | None
    note: str

    @property
    def price_usd(self) -> Decimal:
        """The price of a charge, US dollars."""
        return -self.amount_usd


@dataclass(frozen=True, slots=True)
class DailyUse:
    """The charged calls of an account to a system on a day (UTC), and their cost in US dollars."""

    day: date
    system: System
    calls: int
    usd: Decimal


@dataclass
class Statement:
    """The entries in a database; `clock` returns seconds since 1970."""

    _database: Database
    _clock: Callable[[], float]

    def charge(self, requests: Sequence[Sequence[Due]]) -> list[bool]:
        """Charge requests of one or more calls, in order; return whether each was covered.

        The calls of a request are charged all together or not at all; one account pays for them.
        """
        with self._database.writing() as connection:
            now = self._clock()
            balances = {due.account_id: ZERO for dues in requests for due in dues}
            for account in balances:
                balances[account] = _balance(connection, account)
            covered: list[bool] = []
            paid: list[Due] = []
            rows: list[Row] = []
            for dues in requests:
                account = dues[0].account_id
                balance = total([balances[account], *(-due.price_usd for due in dues)])
                covered.append(balance >= ZERO)
                if balance >= ZERO:
                    rows += _charges(dues, balances[account], now)
                    paid += dues
                    balances[account] = balance
            _write(connection, rows)
            _count_use(connection, paid, now)
            return covered

    def top_up(self, account: int, usd: Decimal, note: str = "") -> Decimal:
        """Add to a balance, with a note for the statement; return the new one.

        Raises:
            SettingsError: the amount or the note is not valid.
        """
        check_amount(usd)
        note = one_line("note", note, LONGEST_NOTE)
        with self._database.writing() as connection:
            balance = total([_balance(connection, account), usd])
            now, after = self._clock(), plain(balance)
            _write(connection, [(account, now, "top-up", plain(usd), after, None, None, note)])
            return balance

    def entries(self, account: int, most: int = 50, before: int | None = None) -> list[Entry]:
        """Return the last entries of an account, numbered below `before`, the newest first."""
        rows = self._database.read(
            "SELECT * FROM entries WHERE account_id = ? AND entry_id < ? "
            "ORDER BY entry_id DESC LIMIT ?",
            account,
            1 << 62 if before is None else before,
            most,
        )
        return [_entry(*row) for row in rows]

    def each(self, account: int) -> Iterator[Entry]:
        """Yield all entries that an account has now, the oldest first."""
        newest = self.entries(account, 1)
        done, last = 0, newest[0].entry_id if newest else 0
        while done < last:
            rows = self._database.read(
                "SELECT * FROM entries WHERE account_id = ? AND entry_id > ? AND entry_id <= ? "
                "ORDER BY entry_id LIMIT ?",
                account,
                done,
                last,
                ENTRIES_AT_ONCE,
            )
            yield from (_entry(*row) for row in rows)
            done = rows[-1][0]

    def charges(self) -> list[Entry]:
        """Return the charges of all accounts, the oldest first."""
        rows = self._database.read("SELECT * FROM entries WHERE kind = 'charge' ORDER BY entry_id")
        return [_entry(*row) for row in rows]

    def usage(self, account: int, days: int = 30) -> list[DailyUse]:
        """Return the usage of the last days, the oldest first; days without calls are left out."""
        today = datetime.fromtimestamp(self._clock(), UTC).date()
        rows = self._database.read(
            "SELECT day, system, calls, usd FROM daily_use WHERE account_id = ? AND day > ? "
            "ORDER BY day, system",
            account,
            (today - timedelta(days)).isoformat(),
        )
        return [
            DailyUse(date.fromisoformat(day), system, calls, Decimal(usd))
            for day, system, calls, usd in rows
        ]


def insert_opening(
    connection: sqlite3.Connection, account: int, balance: Decimal, now: float
) -> None:
    """Record the opening balance, within a transaction."""
    usd = plain(balance)
    _write(connection, [(account, now, "opening", usd, usd, None, None, "")])


Row: TypeAlias = tuple[int, float, Kind, str, str, System | None, int | None, str]
"""The columns of an entry but for its number."""


def _balance(connection: sqlite3.Connection, account: int) -> Decimal:
    (usd,) = connection.execute(
        "SELECT balance_usd FROM accounts WHERE account_id = ?", (account,)
    ).fetchone()
    return Decimal(usd)


def _charges(dues: Sequence[Due], balance: Decimal, now: float) -> Iterator[Row]:
    for due in dues:
        balance = total([balance, -due.price_usd])
        price = plain(-due.price_usd)
        yield due.account_id, now, "charge", price, plain(balance), due.system, due.key_id, ""


def _write(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Write entries and the balances after them."""
    connection.executemany(
        "INSERT INTO entries (account_id, at, kind, amount_usd, balance_usd, system, key_id, note) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    balances = {account: balance for account, _, _, _, balance, *_ in rows}
    connection.executemany(
        "UPDATE accounts SET balance_usd = ? WHERE account_id = ?",
        [(balance, account) for account, balance in balances.items()],
    )


def _count_use(connection: sqlite3.Connection, paid: Sequence[Due], now: float) -> None:
    """Add charges to the totals of their day, and note when their keys were used."""
    day = datetime.fromtimestamp(now, UTC).date().isoformat()
    prices: dict[tuple[int, str, System], list[Decimal]] = {}
    for due in paid:
        prices.setdefault((due.account_id, day, due.system), []).append(due.price_usd)
    for total_of, usd in prices.items():
        use = connection.execute(
            "SELECT usd FROM daily_use WHERE account_id = ? AND day = ? AND system = ?", total_of
        ).fetchone()
        before = Decimal(use[0]) if use else ZERO
        connection.execute(
            "INSERT INTO daily_use VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET calls = calls + excluded.calls, usd = excluded.usd",
            (*total_of, len(usd), plain(total([before, *usd]))),
        )
    connection.executemany(
        "UPDATE api_keys SET used_at = ? WHERE key_id = ?",
        [(now, key) for key in {due.key_id for due in paid} if key is not None],
    )


def check_amount(usd: Decimal) -> None:
    """Check an amount to add to a balance.

    Raises:
        SettingsError: it is not above 0, too large, or has too many decimal places.
    """
    if not usd.is_finite() or not ZERO < usd <= MOST_USD:
        raise SettingsError(
            f"{usd:f} USD cannot be added to a balance.",
            f"Give an amount above 0 and up to {MOST_USD:,} USD.",
        )
    if usd % FINEST_USD:
        raise SettingsError(f"{usd:f} USD has more than 7 decimal places.", "Round it to 7.")


def _entry(*row: Any) -> Entry:
    entry_id, account, at, kind, amount, balance, *details = row
    return Entry(entry_id, account, at, kind, Decimal(amount), Decimal(balance), *details)


COLUMNS: dict[str, Callable[[Entry, Mapping[int | None, str]], object]] = {
    "entry": lambda entry, _: entry.entry_id,
    "time": lambda entry, _: iso(entry.at),
    "kind": lambda entry, _: entry.kind,
    "system": lambda entry, _: entry.system,
    "key": lambda entry, _: entry.key_id,
    "key_name": lambda entry, names: names.get(entry.key_id),
    "amount_usd": lambda entry, _: plain(entry.amount_usd),
    "balance_usd": lambda entry, _: plain(entry.balance_usd),
    "note": lambda entry, _: cell(entry.note),
}
"""What each column has of an entry, with the names of keys; times are UTC in ISO 8601."""


def statement_csv(entries: Iterable[Entry], keys: Iterable[ApiKey]) -> Iterator[str]:
    """Yield a CSV file with a header, in pieces of many lines, with the names of the keys."""
    names: dict[int | None, str] = {key.key_id: cell(key.name) for key in keys}
    cells = ([write(entry, names) for write in COLUMNS.values()] for entry in entries)
    rows = chain([COLUMNS], cells)
    while piece := list(islice(rows, ENTRIES_AT_ONCE)):
        written = StringIO(newline="")
        csv.writer(written, lineterminator="\n").writerows(piece)
        yield written.getvalue()


LONGEST = 40
"""Characters of an amount; real ones are shorter."""

DAMAGED = "the file is damaged: "


class Audit:
    """Counts the accounts and entries in a snapshot of the database, and finds what is wrong."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        (self.accounts,) = connection.execute("SELECT count(*) FROM accounts").fetchone()
        (self.entries,) = connection.execute("SELECT count(*) FROM entries").fetchone()

    def problems(self) -> Iterator[str]:
        """Describe everything that is wrong.

        If the file is damaged, the sums are not checked.
        """
        try:
            damage = list(self._damage())
            yield from damage or self._sums()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            yield f"{DAMAGED}{error}"

    def _damage(self) -> Iterator[str]:
        for (problem,) in self._connection.execute("PRAGMA integrity_check"):
            if problem != "ok":
                yield f"{DAMAGED}{problem}"
        for table, row, parent, _ in self._connection.execute("PRAGMA foreign_key_check"):
            which = "a row" if row is None else f"row {row}"
            yield f"{which} of {table} refers to a missing row of {parent}"

    def _sums(self) -> Iterator[str]:
        query = "SELECT account_id, balance_usd FROM accounts ORDER BY account_id"
        for account, balance in self._connection.execute(query):
            for problem in self._of_account(account, balance):
                yield f"account {account}: {problem}"

    def _of_account(self, account: int, balance: str) -> Iterator[str]:
        count, summed, remaining = 0, ZERO, ZERO
        used: dict[tuple[str, str], tuple[int, Decimal]] = {}
        rows = self._connection.execute(
            # SQLite's date() rounds: the last half millisecond of a day would be of the next.
            "SELECT entry_id, date(CAST(at AS INTEGER), 'unixepoch'), kind, amount_usd, "
            "balance_usd, system "
            "FROM entries WHERE account_id = ? ORDER BY entry_id",
            (account,),
        )
        for entry, day, kind, changed, stated, system in rows:
            count += 1
            amount, after = _amount(changed), _amount(stated)
            if amount is None or after is None:
                yield f"entry {entry} has an invalid amount"
                continue
            for problem in _problems(kind, count == 1, amount, after, total([remaining, amount])):
                yield f"entry {entry} {problem}"
            summed, remaining = total([summed, amount]), after
            if kind == "charge":
                calls, usd = used.get((day, system), (0, ZERO))
                used[day, system] = calls + 1, total([usd, -amount])
        if not count:
            yield "the opening entry is missing"
        if _amount(balance) != summed:
            yield f"the balance is {balance} USD, but the entries sum to {plain(summed)} USD"
        query = "SELECT day, system, calls, usd FROM daily_use WHERE account_id = ?"
        rows = self._connection.execute(query, (account,))
        totals = {(day, system): (calls, _amount(usd)) for day, system, calls, usd in rows}
        for day, system in sorted(totals.keys() | used.keys(), key=str):
            if totals.get((day, system)) != used.get((day, system)):
                yield f"the total of {system} calls on {day} is wrong"


def _problems(
    kind: str, is_first: bool, amount: Decimal, after: Decimal, expected: Decimal
) -> Iterator[str]:
    """Describe what is wrong with an entry that should leave the expected balance."""
    if (kind == "opening") != is_first:
        yield f"is {'' if is_first else 'not '}the first of the account, but of the kind {kind}"
    if amount > 0 if kind == "charge" else amount < 0:
        yield f"is of the kind {kind}, but changes the balance by {plain(amount)} USD"
    if after != expected:
        yield f"states a balance of {plain(after)} USD instead of {plain(expected)} USD"
    if after < 0:
        yield f"states a negative balance of {plain(after)} USD"


def _amount(text: object) -> Decimal | None:
    """Return an amount of money; None if it is not valid, or too long to be added exactly."""
    try:
        amount = Decimal(text) if isinstance(text, str) and len(text) <= LONGEST else None
    except InvalidOperation:
        return None
    return amount if amount is not None and amount.is_finite() else None
