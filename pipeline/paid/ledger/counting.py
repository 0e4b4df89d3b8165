"""Which responses in the ledger answer a job's calls, and which are bought again."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COUNTS", "LOST", "Counting"]

COUNTS = """
    endpoint = ? AND state IN ('answered', 'refused', 'unreadable') AND (
        attempts.job_id = ? OR settled_at >= ? AND (state = 'answered' OR settled_at > ?)
    )
"""
"""Whether an attempt, joined with its job, counts; see `Counting.values` for the parameters."""


LOST = """
    endpoint = ? AND state IN ('sent', 'unconfirmed')
    AND (attempts.job_id = ? OR coalesce(settled_at, sent_at) > ?)
"""
"""Whether an attempt, joined with its job, is a loss of its call; see `Counting.lost_values`."""


@dataclass(frozen=True, slots=True)
class Counting:
    """Which responses count. What the job itself bought always does, so it pays for nothing twice.

    Everything is measured from the moment the job opened, so that it is the same for all its runs.

    Attributes:
        max_age: how old a response may have been then, seconds; None for any age.
        retry_failed: whether failures and losses from before that moment do not count.
    """

    max_age: float | None = None
    retry_failed: bool = False

    def values(self, endpoint: str, job: int, opened_at: float) -> tuple[str, int, float, float]:
        """Return the parameters of `COUNTS`.

        Args:
            endpoint: the canonical base URL.
            job: the job's number.
            opened_at: when it opened, seconds since 1970.
        """
        since = 0.0 if self.max_age is None else opened_at - self.max_age
        return endpoint, job, since, self._failures_since(opened_at)

    def lost_values(self, endpoint: str, job: int, opened_at: float) -> tuple[str, int, float]:
        """Return the parameters of `LOST`; see `values`."""
        return endpoint, job, self._failures_since(opened_at)

    def _failures_since(self, opened_at: float) -> float:
        return opened_at if self.retry_failed else 0.0
