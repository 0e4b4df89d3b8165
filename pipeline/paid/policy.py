"""Decides what an attempt's result means for the ledger, the call and the run."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from pipeline.money import ZERO
from pipeline.paid.client.outcomes import (
    Answered,
    Charged,
    Ended,
    InsufficientBalance,
    Lost,
    NotSent,
    Passing,
    RateLimited,
    Received,
    Refused,
    Reply,
    Single,
    Stray,
    Unauthorized,
    Unconfirmed,
    Unreadable,
    WrongPrice,
)
from pipeline.paid.client.responses import read_response
from pipeline.paid.ledger.schema import AttemptEnd, CallEnded, CallOpen, PassingState

Next: TypeAlias = Literal[
    "answered",  # the call is answered
    "ended",  # the call has failed permanently
    "again",  # not billed: it is sent again after a pause, a limited number of times
    "lost",  # billed, perhaps: it is sent again if the user allows it
    "limited",  # all workers wait, then it is sent again
    "failed",  # the call fails, but only in this run
    "credentials",
    "money",
    "price",
]

NO_SUCH_ADDRESS = (404, 405)
"""HTTP statuses that a service's own error may have, too, if the path of the base URL is wrong."""

OF_ITS_TEXT = ("HTTP_413", "HTTP_422")
"""Errors without the service's envelope that a proxy or a framework answers to one text: it is too
long, or it cannot be processed."""


class Judgement(msgspec.Struct, frozen=True):
    """What an attempt's result means.

    Attributes:
        end: what the ledger records of the attempt.
        next: what happens to the call and to the run.
        detail: what the service or the network said, for the message of a parked run.
        wait: how many seconds the service asks to wait.
    """

    end: AttemptEnd
    next: Next
    detail: str = ""
    wait: float | None = None

    @property
    def cost_usd(self) -> Decimal | None:
        """The attempt's cost; None if it is unknown."""
        return ZERO if self.end.state == "free" else self.end.cost_usd

    @property
    def is_at_risk(self) -> bool:
        """Whether the attempt was billed, perhaps."""
        return self.end.state != "free"

    @property
    def is_understood(self) -> bool:
        """Whether the service answered, or refused the text."""
        return self.end.state in ("answered", "refused")

    @property
    def is_of_the_address(self) -> bool:
        """Whether the status is about the address, as with a wrong base URL, and not the text."""
        return self.end.status in NO_SUCH_ADDRESS

    def is_of_its_text(self, is_address_right: bool) -> bool:
        """Return whether it says nothing about other texts: a wrong address answers no 413."""
        return self.end.error in OF_ITS_TEXT and (is_address_right or self.end.status == 413)


def judge(reply: Reply) -> Judgement:
    """Judge an attempt's result, as docs/reference/buying-goes-wrong.md says."""
    match reply:
        case NotSent(error, detail):
            return Judgement(CallOpen("free", error), "again", detail)
        case Lost(error, detail):
            return Judgement(CallOpen("unconfirmed", error), "lost", detail)
        case Received(status, headers, body):
            outcome = read_response(status, headers, body)
            if isinstance(outcome, Charged):
                return _judge_charge(_judge_single(reply, outcome.error), outcome.cost_usd)
            return _judge_single(reply, outcome)


def _judge_single(got: Received, outcome: Single) -> Judgement:
    status = got.status
    match outcome:
        case Answered():
            return Judgement(_end_of_call(got, outcome), "answered")
        case WrongPrice(detail, ended):
            return Judgement(replace(_end_of_call(got, ended), cost_usd=None), "price", detail)
        case Refused(_, detail, _) | Unreadable(detail, _):
            return Judgement(_end_of_call(got, outcome), "ended", detail)
        case Unauthorized(message):
            return Judgement(CallOpen("free", "UNAUTHORIZED", status), "credentials", message)
        case InsufficientBalance(message):
            return Judgement(CallOpen("free", "INSUFFICIENT_BALANCE", status), "money", message)
        case RateLimited(wait):
            limited = CallOpen("free", "RATE_LIMIT_EXCEEDED", status)
            return Judgement(limited, "limited", wait=wait)
        case Passing(error, wait, detail):
            return Judgement(CallOpen("free", error, status), "again", detail or error, wait)
        case Unconfirmed(error):
            return Judgement(CallOpen("unconfirmed", error, status), "lost", error)
        case Stray(detail):
            return Judgement(CallOpen("free", f"HTTP_{status}", status), "failed", detail)


def _end_of_call(got: Received, outcome: Ended) -> CallEnded:
    """Return what the ledger keeps of a response that ends its call."""
    status, body = got.status, got.body
    match outcome:
        case Answered(_, cost):
            return CallEnded("answered", status, body, cost)
        case Refused(error, _, cost):
            # Only successful calls are charged: a refusal without a price is free.
            return CallEnded("refused", status, body, ZERO if cost is None else cost, error)
        case Unreadable(_, cost):
            return CallEnded("unreadable", status, body, cost, "MALFORMED_RESPONSE")


def _judge_charge(judged: Judgement, cost: Decimal | None) -> Judgement:
    """Judge an error that was billed: every time that it is sent again costs money, too."""
    state: PassingState = "unconfirmed" if cost is None else "billed"
    end = CallOpen(state, judged.end.error or "", judged.end.status, cost)
    then: Next = "lost" if judged.next == "again" else judged.next
    return Judgement(end, then, judged.detail, judged.wait)
