"""Opens the purchases of jobs from one service, and asks the ledger about those of earlier runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipeline.decisions import NO_DECISIONS, Decisions
from pipeline.errors import LedgerError
from pipeline.files.paths import AnyPath
from pipeline.interruption import Interruption
from pipeline.money import ZERO, plain, total
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.locks import job_lock
from pipeline.paid.purchase import PaidPurchase
from pipeline.paid.service import PaidService
from pipeline.progress import Display, silent
from pipeline.purchases import Estimate
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class PaidBuyer:
    """Buys the answers of jobs; see `pipeline.purchases.Buyer`.

    Attributes:
        service: the paid service, with the terms of buying from it.
        progress: opens the display of the progress.
        confirm: called before anything is bought; False declines.
        interruption: stops a purchase from another thread.
    """

    service: PaidService
    progress: Display = silent
    confirm: Callable[[Estimate], bool] = lambda _: True
    interruption: Interruption | None = None

    @property
    def endpoint(self) -> str:
        """See `PaidService.endpoint`."""
        return self.service.endpoint

    @property
    def ledger(self) -> Path:
        """The file of answers and payments."""
        return self.service.ledger

    @property
    def max_cost(self) -> Decimal | None:
        """The maximum cost of a job, US dollars."""
        return self.service.max_cost

    @property
    def max_duration(self) -> timedelta | None:
        """How long a run may buy."""
        return self.service.max_duration

    @property
    def retry_failed(self) -> bool:
        """Whether calls that failed for good are bought again."""
        return self.service.retry_failed

    def open(
        self,
        settings: Settings,
        identity: str,
        decisions: Decisions = NO_DECISIONS,
        earlier: Iterable[tuple[AnyPath, Mapping[str, Any]]] = (),
        plan_only: bool = False,
    ) -> PaidPurchase:
        """Open the purchase of a job; see `PaidPurchase`."""
        return PaidPurchase(
            self.service,
            settings,
            identity,
            self.progress,
            self.confirm,
            self.interruption,
            plan_only,
            decisions,
            earlier,
        )

    def with_limits(self, max_cost: Decimal | None, max_duration: timedelta | None) -> PaidBuyer:
        """Return a buyer that may spend as much money, US dollars, and time."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user knows them already
            left = replace(self.service, max_cost=max_cost, max_duration=max_duration)
        return replace(self, service=left)

    def spent_on(self, identity: str) -> Decimal:
        """Return what an open job has cost and may have cost, US dollars.

        Raises:
            LedgerError: the ledger cannot be used.
        """
        with self._open_job(identity) as job:
            if job is None:
                return ZERO
            money = job.money()
            return total([money.confirmed, money.at_risk])

    def close_finished(self, identity: str, paid: Mapping[str, Any]) -> bool:
        """Close a job whose complete output was found; return whether it was open.

        A run that is killed just after it put its output in place leaves its job open. A job that
        has sent more than the output accounts for stays open: it belongs to a later run that
        stopped, such as one with ``--retry-failed``. So does a job that another run works on.

        Args:
            identity: identifies the job.
            paid: what the job paid, according to the output's manifest.

        Raises:
            LedgerError: the ledger cannot be used.
        """
        with self._open_job(identity) as job, ExitStack() as locked:
            if job is None or not _accounts_for(paid, job):
                return False
            lock = job_lock(self.service.ledger, self.endpoint, identity, wait=False)
            try:
                locked.enter_context(lock)
            except LedgerError:  # another run works on it
                return False
            job.close()
            return True

    @contextmanager
    def _open_job(self, identity: str) -> Iterator[Job | None]:
        if not self.service.ledger.exists():
            yield None
            return
        with closing(Ledger(self.service.ledger, self.endpoint)) as ledger:
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
