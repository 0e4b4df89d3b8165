"""Charges many calls, each by itself, in one transaction with one wait for the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from pipeline.answers import System
from pipeline.money import ZERO, plain, total

__all__ = ["Due", "charge_all"]


@dataclass(frozen=True, slots=True)
class Due:
    """The charge for a successful call.

    Attributes:
        account_id: the account that pays.
        key_id: the key of the call; None for a call from a page.
        system: the system asked.
        price_usd: the price, US dollars.
    """

    account_id: int
    key_id: int | None
    system: System
    price_usd: Decimal


def charge_all(connection: sqlite3.Connection, dues: Sequence[Due], now: float) -> list[bool]:
    """Charge calls in order, within a transaction; return whether each was covered."""
    balances = {due.account_id: ZERO for due in dues}
    for account in balances:
        balances[account] = _balance(connection, account)
    covered: list[bool] = []
    entries: list[tuple[object, ...]] = []
    for due in dues:
        left = total([balances[due.account_id], -due.price_usd])
        covered.append(left >= ZERO)
        if left >= ZERO:
            balances[due.account_id] = left
            price = plain(-due.price_usd)
            entries.append((due.account_id, now, price, plain(left), due.system, due.key_id))
    _write(connection, entries, balances)
    paid = [due for due, was in zip(dues, covered, strict=True) if was]
    _count_use(connection, paid, datetime.fromtimestamp(now, UTC).date().isoformat())
    keys = {due.key_id for due in paid if due.key_id is not None}
    connection.executemany(
        "UPDATE api_keys SET used_at = ? WHERE key_id = ?", [(now, key) for key in keys]
    )
    return covered


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
