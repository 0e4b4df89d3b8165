"""Open jobs that an earlier run left in the ledger: what they cost, and which are done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from decimal import Decimal
from typing import Any

from pipeline.errors import LedgerError
from pipeline.money import ZERO, plain, total
from pipeline.paid.ledger import Job, Ledger, job_lock
from pipeline.paid.service import PaidService

__all__ = ["close_finished", "spent_on"]


def close_finished(service: PaidService, identity: str, paid: Mapping[str, Any]) -> bool:
    """Close a job whose complete output was found; return whether it was open.

    A run that is killed just after it put its output in place leaves its job open. A job that has
    sent more than the output accounts for stays open: it belongs to a later run that stopped, such
    as one with ``--retry-failed``. So does a job that another run works on.

    Args:
        service: the service that it bought from.
        identity: identifies the job.
        paid: what the job paid, according to the output's manifest.

    Raises:
        LedgerError: the ledger cannot be used.
    """
    with _open_job(service, identity) as job, ExitStack() as locked:
        if job is None or not _accounts_for(paid, job):
            return False
        try:
            locked.enter_context(job_lock(service.ledger, service.base_url, identity, wait=False))
        except LedgerError:  # another run works on it
            return False
        job.close()
    return True


def spent_on(service: PaidService, identity: str) -> Decimal:
    """Return what an open job has cost and may have cost, US dollars.

    Raises:
        LedgerError: the ledger cannot be used.
    """
    with _open_job(service, identity) as job:
        if job is None:
            return ZERO
        money = job.money()
        return total([money.confirmed, money.at_risk])


@contextmanager
def _open_job(service: PaidService, identity: str) -> Iterator[Job | None]:
    if not service.ledger.exists():
        yield None
        return
    with closing(Ledger(service.ledger, service.base_url)) as ledger:
        yield ledger.find_job(identity)


def _accounts_for(paid: Mapping[str, Any], job: Job) -> bool:
    money = job.money()
    sent = {
        "attempts": money.attempts,
        "confirmed_usd": plain(money.confirmed),
        "unconfirmed": money.unconfirmed,
        "unknown": money.unknown,
    }
    return all(paid.get(name) == figure for name, figure in sent.items())
