"""Audits all accounts, as they were at one moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from pipeline.money import ZERO, plain, total

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
        for (found,) in self._connection.execute("PRAGMA integrity_check"):
            if found != "ok":
                yield f"{DAMAGED}{found}"
        for table, row, parent, _ in self._connection.execute("PRAGMA foreign_key_check"):
            which = "a row" if row is None else f"row {row}"
            yield f"{which} of {table} refers to a missing row of {parent}"

    def _sums(self) -> Iterator[str]:
        query = "SELECT account_id, balance_usd FROM accounts ORDER BY account_id"
        for account, balance in self._connection.execute(query):
            for problem in self._of_account(account, balance):
                yield f"account {account}: {problem}"

    def _of_account(self, account: int, balance: str) -> Iterator[str]:
        count, summed, left = 0, ZERO, ZERO
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
            for problem in _problems(kind, count == 1, amount, after, total([left, amount])):
                yield f"entry {entry} {problem}"
            summed, left = total([summed, amount]), after
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
