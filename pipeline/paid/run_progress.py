"""What a run buys, and how far it is."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import msgspec

from pipeline.answers import Match, System
from pipeline.paid.ledger import Call
from pipeline.paid.policy import Judgement

__all__ = ["CallToBuy", "RunProgress"]


class CallToBuy(msgspec.Struct, frozen=True):
    """A call to buy at its first row, from 0.

    It is not sent again after ``losses`` lost answers in this run. ``candidates`` are what a
    language model chooses from.
    """

    call: Call
    losses: int
    row: int
    candidates: tuple[Match, ...] = ()


@dataclass(slots=True)
class RunProgress:
    """What a run has done so far.

    Attributes:
        calls: calls that have ended.
        understood: whether a call was answered.
        is_address_right: whether the base URL is known to be right: a call was answered, now or in
            an earlier run.
        refusals: attempts refused for the rate limit.
        failures: how many of the latest attempts in a row failed for another reason, or were
            answered in a way that cannot be read.
        failures_of: the same for the attempts of each system alone.
        detail: the error message of the last of these, without a full stop.
    """

    calls: int = 0
    understood: bool = False
    is_address_right: bool = False
    refusals: int = 0
    failures: int = 0
    failures_of: Counter[System] = field(default_factory=Counter)
    detail: str = ""
    _reached: float = 0
    _open: list[int] = field(default_factory=list)

    @property
    def rows(self) -> float:
        """How many rows, from the first, have no call left to buy; infinite if none has one.

        Calls that are bought last because they failed before do not count until then.
        """
        return min(self._reached, *self._open) if self._open else self._reached

    def begin(self, order: CallToBuy) -> None:
        """Note that a call is begun."""
        self._reached = order.row
        self._open.append(order.row)

    def end(self, order: CallToBuy) -> None:
        """Note that a call has ended."""
        self._open.remove(order.row)
        self.calls += 1

    def count(self, system: System, judgement: Judgement) -> None:
        """Count an attempt that has ended; that one text is too long says nothing about others."""
        if judgement.is_of_its_text(self.is_address_right):
            return
        limited = judgement.next == "limited"
        understood = judgement.is_understood and (
            self.is_address_right or not judgement.is_of_the_address
        )
        self.refusals += limited
        failed = not understood and not limited
        self.failures = self.failures + 1 if failed else 0
        self.failures_of[system] = self.failures_of[system] + 1 if failed else 0
        self.detail = judgement.detail.rstrip(".") if self.failures else ""
        if judgement.next == "answered" and judgement.end.status != 204:  # 204: nothing was sent
            self.understood = self.is_address_right = True

    def all_begun(self) -> None:
        """Note that there are no more calls to begin."""
        self._reached = math.inf
