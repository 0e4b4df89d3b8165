"""Changes a user makes to the ledger, while no run relies on what is changed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pipeline.paid.ledger.database import Database
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.pruning import Old, forget_plans, prune
from pipeline.paid.ledger.settling import Verdict, settle
from pipeline.paid.ledger.snapshot import Snapshot
from pipeline.paid.ledger.standstill import nobody_at_jobs_of, nobody_buying

__all__ = ["Pruned", "prune_by_hand", "settle_by_hand"]

ABANDONED = 86400.0
"""Seconds after which a plan that is still in the ledger must have been killed."""

SENT = """
    SELECT endpoint, account FROM attempts JOIN jobs USING (job_id)
    WHERE attempt_id = ? AND state = 'sent'
"""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was pruned.

    Attributes:
        answers: how many answers.
        size: bytes that the file is smaller.
    """

    answers: int
    size: int


def settle_by_hand(path: Path, verdicts: Mapping[int, Verdict], now: float, wait: bool) -> None:
    """Write down what the account's statement says of unconfirmed attempts: all, or none.

    An attempt that a killed run left as sent is unconfirmed as well.

    Args:
        path: the ledger's file.
        verdicts: what each attempt was billed.
        now: the time, seconds since 1970.
        wait: whether to wait for runs that are in the way.

    Raises:
        SettingsError: an attempt is not unconfirmed, or an amount is none.
        LedgerError: a run is in the way, or the ledger cannot be used.
    """
    with nobody_at_jobs_of(path, verdicts, wait):
        with Snapshot(path) as snapshot:
            killed = {row for attempt in verdicts for row in snapshot.rows(SENT, attempt)}
        for endpoint, account in killed:
            with closing(Ledger(path, endpoint, lambda: now)) as ledger:
                ledger.recover(account)
        with closing(Database(path)) as database:
            settle(database, verdicts, now)


def prune_by_hand(path: Path, old: Old, now: float, wait: bool) -> Pruned:
    """Prune old answers and what killed plans left, and give the disk their space back.

    Args:
        path: the ledger's file.
        old: which answers are old.
        now: the time, seconds since 1970.
        wait: whether to wait for runs that are in the way.

    Raises:
        LedgerError: a run is in the way, or the ledger cannot be written; what was pruned until
            then stays pruned, and the next time its space is given back too.
    """
    with nobody_buying(path, wait), closing(Database(path)) as database:
        before = path.stat().st_size
        answers = prune(database, old)
        forget_plans(database, now - ABANDONED)
        database.give_space_back()
        return Pruned(answers, max(0, before - path.stat().st_size))
