"""Stands in for a purchase when a job buys nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pipeline.answers import Matcher
from pipeline.decisions import NO_DECISIONS, Decisions
from pipeline.paid.estimate import Estimate
from pipeline.tables import Batch

__all__ = ["Free"]


@dataclass(frozen=True, slots=True)
class Free:
    """A matcher that needs no purchase, such as the embedded engine.

    Attributes:
        matcher: answers the texts.
        decisions: what people decided about texts; it replaces their answers.

    It has the methods of `pipeline.paid.purchase.Purchase` that the stages of a job call.
    """

    matcher: Matcher
    decisions: Decisions = NO_DECISIONS
    base_url: None = field(default=None, init=False)
    mark: None = field(default=None, init=False)

    def noted(self, batches: Iterable[Batch]) -> Iterable[Batch]:
        """Return the batches; there are no calls to record."""
        return batches

    def estimate(self) -> Estimate:
        """Return an estimate of zero calls."""
        return Estimate.free()

    def describe(self, source: str, output: str, rows: int) -> None:
        """Note nothing; there is no ledger."""

    def buy(
        self, batches: Iterable[Batch], estimate: Estimate, begun: Callable[[], object]
    ) -> None:
        """Buy nothing."""

    def paid(self) -> None:
        """Return None: there are no payments."""

    def close_job(self) -> None:
        """Note nothing; there is no ledger."""
