"""Charges many calls in one transaction with one wait for the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from pipeline.answers import System
from pipeline.money import ZERO, plain, total

__all__ = ["Due", "charge_all"]


@dataclass(frozen=True, slots=True)
class Due:
    """The charge for a successful call; a call from a page has no key."""

    account_id: int
    key_id: int | None
    system: System
    price_usd: Decimal


def charge_all(
    connection: sqlite3.Connection, requests: Sequence[Sequence[Due]], now: float
) -> list[bool]:
    """Charge requests in order, within a transaction; return whether each was covered.

    The calls of a request are charged all together or not at all; one account pays for them.
    """
    balances = {due.account_id: ZERO for dues in requests for due in dues}
    for account in balances:
        balances[account] = _balance(connection, account)
    covered: list[bool] = []
    entries: list[tuple[object, ...]] = []
    for dues in requests:
        left = total([balances[dues[0].account_id], *(-due.price_usd for due in dues)])
        covered.append(left >= ZERO)
        if left >= ZERO:
            entries += _entries(dues, balances[dues[0].account_id], now)
            balances[dues[0].account_id] = left
    _write(connection, entries, balances)
    paid = [due for dues, was in zip(requests, covered, strict=True) if was for due in dues]
    _count_use(connection, paid, datetime.fromtimestamp(now, UTC).date().isoformat())
    keys = {due.key_id for due in paid if due.key_id is not None}
    connection.executemany(
        "UPDATE api_keys SET used_at = ? WHERE key_id = ?", [(now, key) for key in keys]
    )
    return covered


def _entries(dues: Sequence[Due], balance: Decimal, now: float) -> Iterator[tuple[object, ...]]:
    for due in dues:
        balance = total([balance, -due.price_usd])
        price = plain(-due.price_usd)
        yield due.account_id, now, price, plain(balance), due.system, due.key_id


def _balance(connection: sqlite3.Connection, account: int) -> Decimal:
    (usd,) = connection.execute(
        "SELECT balance_usd FROM accounts WHERE account_id = ?", (account,)
    ).fetchone()
    return Decimal(usd)


def _write(
    connection: sqlite3.Connection,
    entries: Iterable[tuple[object, ...]],
    balances: dict[int, Decimal],
) -> None:
    connection.executemany(
        "INSERT INTO entries (account_id, at, kind, amount_usd, balance_usd, system, key_id, note) "
        "VALUES (?, ?, 'charge', ?, ?, ?, ?, '')",
        entries,
    )
    connection.executemany(
        "UPDATE accounts SET balance_usd = ? WHERE account_id = ?",
        [(plain(left), account) for account, left in balances.items()],
    )


def _count_use(connection: sqlite3.Connection, paid: Sequence[Due], day: str) -> None:
    prices: dict[tuple[int, System], list[Decimal]] = {}
    for due in paid:
        prices.setdefault((due.account_id, due.system), []).append(due.price_usd)
    for (account, system), usd in prices.items():
        found = connection.execute(
            "SELECT usd FROM daily_use WHERE account_id = ? AND day = ? AND system = ?",
            (account, day, system),
        ).fetchone()
        before = Decimal(found[0]) if found else ZERO
        connection.execute(
            "INSERT INTO daily_use VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET calls = calls + excluded.calls, usd = excluded.usd",
            (account, day, system, len(usd), plain(total([before, *usd]))),
        )
