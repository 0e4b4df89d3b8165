"""Settles attempts that hold their calls: the user reads in the account what was billed."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from decimal import Decimal
from typing import Literal, TypeAlias

from pipeline.errors import SettingsError
from pipeline.money import is_storable, plain
from pipeline.paid.ledger.database import Database

__all__ = ["Verdict", "settle"]

Verdict: TypeAlias = Decimal | Literal["free"]
"""What an attempt was billed, US dollars, or ``free`` if it was not."""

RESOLVE = """
    UPDATE attempts SET state = ?, cost_usd = ?, resolved_at = ?
    WHERE attempt_id = ? AND (state = 'unconfirmed' OR state = 'billed' AND resolved_at IS NULL)
"""

WHICH = "Name attempts that tender-pipeline ledger attempts lists as unconfirmed or billed."


def settle(database: Database, verdicts: Mapping[int, Verdict], now: float) -> None:
    """Record what attempts were billed that are unconfirmed, or errors with a price: all, or none.

    Their calls are open again: the next run that needs them buys them.

    Args:
        database: the ledger's file.
        verdicts: what each attempt was billed.
        now: the time, seconds since 1970.

    Raises:
        SettingsError: an attempt is neither, or an amount is invalid.
        LedgerError: the ledger cannot be written.
    """
    with database.transaction() as connection:
        for attempt, verdict in verdicts.items():
            state = "free" if verdict == "free" else "billed"
            cost = None if verdict == "free" else str(_checked(attempt, verdict))
            if connection.execute(RESOLVE, (state, cost, now, attempt)).rowcount != 1:
                raise _refusal(connection, attempt)


def _checked(attempt: int, amount: Decimal) -> Decimal:
    """Return an amount that every output can hold."""
    if not is_storable(amount):
        raise SettingsError(
            f"Attempt {attempt} cannot have cost {amount} USD.",
            "Give the amount that was charged, such as 0.000105.",
        )
    return Decimal(plain(amount))


def _refusal(connection: sqlite3.Connection, attempt: int) -> SettingsError:
    query = "SELECT state, resolved_at IS NOT NULL FROM attempts WHERE attempt_id = ?"
    found = connection.execute(query, (attempt,)).fetchone()
    if found is None:
        return SettingsError(
            f"The ledger has no attempt {attempt}.",
            WHICH,
        )
    if found[0] == "sent":
        return SettingsError(
            f"Attempt {attempt} is under way, or was when its run was killed.",
            "Run its job again: if the run was killed, the attempt becomes unconfirmed.",
        )
    return SettingsError(
        f"Attempt {attempt} is settled already."
        if found[1]
        else f"Attempt {attempt} is {found[0]}; its cost needs no settling.",
        WHICH,
    )
