"""Decides what an attempt's result means for ledger, call and run, and says why a run parks."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from pipeline.answers import System
from pipeline.errors import SettingsError
from pipeline.money import ZERO, difference, plain, times, total
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
from pipeline.paid.client.responses import is_record, read_response
from pipeline.paid.ledger.schema import AttemptEnd, CallEnded, CallOpen, PassingState
from pipeline.paid.limits import MAX_PRICE, Allowance, Budget
from pipeline.purchases import CostLimitReached, Parked
from pipeline.rate import duration
from pipeline.wording import RUN_AGAIN, THEN_RUN_AGAIN, Words, beside, marked, option

if TYPE_CHECKING:  # a plan needs no HTTP libraries
    from pipeline.paid.client.throttle import Throttle

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


FAILURES_IN_A_ROW = 20
"""After this many failed attempts in a row, the service or one of its systems counts as down."""

LONGEST_PAUSE = 3600.0
"""Seconds: a run without ``wait`` parks if the service asks for a longer pause."""


class LeftOut(msgspec.Struct, frozen=True):
    """No other attempt of a system can succeed in this run, for a reason for which a run parks."""

    why: Parked


@dataclass(kw_only=True, slots=True)
class RunProgress:
    """What a run has done so far, and whether its other attempts can succeed.

    Attributes:
        throttle: keeps the rate limit.
        budget: keeps the cost limit.
        systems: those that are not left out.
        wait: whether it waits if no slot is free, instead of parking with one worker.
        has_key: whether requests carry a key; else they are demo requests.
        max_price: it parks at a higher price of a call, US dollars.
        longest_pause: it parks if the service asks to wait for more seconds.
        is_address_right: whether the base URL is known to be right: a call was answered, now or in
            an earlier run.
        calls: calls that have ended.
        understood: whether a call was answered.
        refusals: attempts refused for the rate limit.
        unreached: how many of the latest attempts in a row were not sent.
        failures: how many of the latest attempts in a row failed for a reason other than the rate
            limit, or were answered in a way that cannot be read.
        failures_of: the same for the attempts of each system alone.
        detail: the error message of the last of these, without a full stop.
    """

    throttle: Throttle
    budget: Budget
    systems: set[System]
    wait: bool
    has_key: bool = True
    max_price: Decimal = MAX_PRICE
    longest_pause: float = math.inf
    is_address_right: bool = False
    calls: int = 0
    understood: bool = False
    refusals: int = 0
    unreached: int = 0
    failures: int = 0
    failures_of: Counter[System] = field(default_factory=Counter)
    detail: str = ""

    def note(self, system: System, judgement: Judgement, calls: int) -> Parked | LeftOut | None:
        """Count an attempt that has ended; return why others cannot succeed, if they cannot.

        Args:
            system: the system of its call.
            judgement: what its result means.
            calls: how many calls are left.
        """
        self._count(system, judgement)
        if why := self._why_to_park(judgement, calls):
            return why
        if system in self.systems and (why := self._why_to_leave_out(system, judgement)):
            self.systems.remove(system)
            return LeftOut(why)
        return None

    def _count(self, system: System, judgement: Judgement) -> None:
        end = judgement.end
        was_sent = end.status is not None or end.state != "free"
        self.unreached = 0 if was_sent else self.unreached + 1
        if end.error in OF_ITS_TEXT and (self.is_address_right or end.status == 413):
            return  # it says nothing about other texts, and a wrong address answers no 413
        limited = judgement.next == "limited"
        may_be_right = self.is_address_right or end.status not in NO_SUCH_ADDRESS
        understood = end.state in ("answered", "refused") and may_be_right
        self.refusals += limited
        failed = not understood and not limited
        self.failures = self.failures + 1 if failed else 0
        self.failures_of[system] = self.failures_of[system] + 1 if failed else 0
        self.detail = judgement.detail.rstrip(".") if self.failures else ""
        if judgement.next == "answered" and end.status != 204:  # 204: nothing was sent
            self.understood = self.is_address_right = True

    def _why_to_park(self, judgement: Judgement, calls: int) -> Parked | None:
        price = judgement.cost_usd
        if price is not None and price > self.max_price:
            return price_too_high(price, self.max_price)
        match judgement.next:
            case "money":
                return balance_too_low(self.budget, calls, judgement)
            case "price":
                return price_unusable(judgement)
            case "limited" if not self.wait:
                return demo_limit_used_up(self.throttle)
            case "limited" if (pause := self.throttle.pause_left) > self.longest_pause:
                return asked_to_wait(pause)
        all_fail = all(self.failures_of[system] for system in self.systems)  # the last attempts
        if not self.understood and judgement.end.error == "MALFORMED_RESPONSE":
            return not_understood(judgement) if all_fail else None
        is_down = all_fail and self.failures >= FAILURES_IN_A_ROW
        if is_down or self.unreached >= FAILURES_IN_A_ROW:
            return service_down(self.failures, self.detail)
        return None

    def _why_to_leave_out(self, system: System, judgement: Judgement) -> Parked | None:
        wait = judgement.wait or 0.0
        if judgement.next == "credentials":
            return key_refused(self.has_key, judgement)
        if judgement.next in ("again", "lost") and wait > self.longest_pause:
            return asked_to_wait(wait, down=True)
        if (failures := self.failures_of[system]) >= FAILURES_IN_A_ROW:
            return service_down(failures, self.detail)
        return None


KEY, MONEY, SERVICE, LATER = 4, 5, 6, 7
"""The exit codes of runs that parked: see the table in docs/reference/exit-codes.md."""

DECLINED = Parked(
    SettingsError.exit_code,
    "Nothing was bought: you answered no.",
    f"{RUN_AGAIN} to be asked again. With {option('max_cost', 'USD')} the run stops before it "
    f"costs more, and with {option('yes', True)} it buys without a question.",
)


def key_refused(has_key: bool, judgement: Judgement) -> Parked:
    """Park if the service does not accept the key, or wants one and none is set."""
    no_key = "wants an API key, and none is set"
    happened = f"The service {'does not accept the API key' if has_key else no_key}"
    return Parked(
        KEY,
        _quoting(happened, judgement),
        f"Set TENDER_PIPELINE_API_KEY or {option('api_key')} to a valid key, then "
        f"{THEN_RUN_AGAIN}: it continues.",
    )


def balance_too_low(budget: Budget, calls: int, judgement: Judgement) -> Parked:
    """Park if the account cannot pay for a call, with some calls left to buy."""
    return Parked(
        MONEY,
        _quoting("The account's balance is too low", judgement),
        f"Add {plain(times(budget.highest, calls))} USD, which is enough for the rest at "
        f"these prices, and {THEN_RUN_AGAIN}: it continues.",
    )


def price_unusable(judgement: Judgement) -> Parked:
    """Park at a price that says nothing about what was paid, before paying more of them."""
    return Parked(
        MONEY,
        f"The service states a price that cannot be used: {judgement.detail}.",
        "The response is kept; what it cost is unknown. Ask the service for right prices "
        "in USD. The same command continues with the next call; nothing is bought twice.",
    )


def _quoting(message: str, judgement: Judgement) -> str:
    """Add what the service said to a message, if it said anything."""
    detail = judgement.detail.rstrip(".")
    return f"{message}: {detail}." if detail else f"{message}."


def not_understood(judgement: Judgement) -> Parked:
    """Park if the first answer cannot be understood."""
    hint = f"Check {option('base_url')}: is it the address of this interface?"
    if isinstance(judgement.end, CallEnded) and is_record(judgement.end.body):
        hint = (
            "Check whether its server follows response_format, or name a larger model: "
            f"{option('language_model')}. {RUN_AGAIN}: it continues with the next call."
        )
    detail = judgement.detail.rstrip(".")
    return Parked(SERVICE, f"The service's first answer cannot be understood: {detail}.", hint)


def service_down(failures: int, detail: str) -> Parked:
    """Park after many failures in a row; the message says how the last attempt failed."""
    message = f"{failures} attempts in a row failed: {detail}."
    if detail.startswith("nothing answers"):
        message = f"N{detail[1:]}: {failures} attempts in a row failed."
    return Parked(
        SERVICE,
        message,
        f"Check the service, {option('base_url')} and any proxy, then {THEN_RUN_AGAIN}: it "
        "continues.",
    )


def left_out(system: System, why: Parked) -> str:
    """Say that a system is left out of a run, for a reason for which a run would park."""
    return Words(
        f"{system} is left out of this run. {marked(why.message)} Its rows fail with that error, "
        f"and the other systems go on. {RUN_AGAIN} later: it buys what is missing."
    )


def demo_limit_used_up(throttle: Throttle) -> Parked:
    """Park if the demo limit holds back the next call; the message says until when, if known."""
    seconds = max(throttle.next_slot, throttle.pause_left)
    return Parked(
        LATER,
        f"The demo limit is used up {_until(seconds) if seconds else 'for now'}.",
        f"{RUN_AGAIN} later, wait with {option('wait', True)}, or use an API key.",
    )


def asked_to_wait(seconds: float, down: bool = False) -> Parked:
    """Park if the service asks for a pause that is too long to wait for.

    Args:
        seconds: how long the pause is.
        down: whether the service is down; only a pause of the account holds for the next run, too.
    """
    who = "The service is down, and asked" if down else "The service asked this account"
    at_once = "" if down else f" Or send at once, with {option('ignore_pause', True)}."
    return Parked(
        LATER,
        f"{who} to wait {_until(seconds)}.",
        f"{RUN_AGAIN} then, or wait with {option('wait', True)}: it continues.{at_once}",
    )


def _until(seconds: float) -> str:
    moment = datetime.now().astimezone() + timedelta(seconds=seconds)
    return f"until {moment:%Y-%m-%d %H:%M} ({duration(seconds)})"


def time_is_up(seconds: float, detail: str) -> Parked:
    """Park when the run's time is over; ``detail`` is why the last attempt failed, or ""."""
    stopped = f"Stopped after {duration(seconds)}" if seconds else "The time of all files is up"
    cause = f" The last attempt failed: {detail}." if detail else ""
    return Parked(LATER, f"{stopped}{beside('max_duration')}.{cause}", f"{RUN_AGAIN} to continue.")


def refused_without_end(refusals: int, since: datetime) -> Parked:
    """Park if waiting does not help: one call is refused again and again."""
    return Parked(
        LATER,
        f"The service has refused one call {refusals} times since {since:%Y-%m-%d %H:%M} for its "
        "rate limit, although the run waited each time as long as it asked.",
        f"Find out who else uses the key, or which limit the account has{beside('rate')}, and "
        f"{THEN_RUN_AGAIN} later: it continues.",
    )


def price_too_high(price: Decimal, most: Decimal) -> Parked:
    """Park at a price that looks like a mistake, before paying more of them."""
    return Parked(
        MONEY,
        f"The service charged {plain(price)} USD for one call, more than the {plain(most)} USD "
        f"that {option('max_price')} allows.",
        f"Ask the service about it. If the price is right, raise {option('max_price')} and "
        f"{THEN_RUN_AGAIN}: it continues.",
    )


def cost_limit_reached(budget: Budget, calls: int) -> Parked:
    """Park at a cost limit, with some calls left to buy."""
    if budget.reached:
        return _period_limit_reached(budget.reached, budget, calls)
    spent = f"{plain(budget.confirmed)} USD spent"
    if budget.overshoot:
        spent += f", {plain(budget.overshoot)} USD over {option('max_cost')}"
    if budget.at_risk:
        spent += f", up to {plain(budget.at_risk)} USD more may have been billed"
    enough = plain(total([budget.spent, times(budget.highest, calls)]))
    return CostLimitReached(
        MONEY,
        f"The cost limit is reached: {spent}, and the {_calls_left(budget, calls)}.",
        f"Raise {option('max_cost')} ({enough} is enough at these prices) and {THEN_RUN_AGAIN}: "
        "it continues.",
    )


def _period_limit_reached(reached: Allowance, budget: Budget, calls: int) -> Parked:
    spent = f"{plain(reached.confirmed)} USD of {plain(reached.limit)} USD"
    if reached.overshoot:
        spent += f", {plain(reached.overshoot)} USD over {reached.option},"
    if reached.at_risk:
        spent += f", with up to {plain(reached.at_risk)} USD more that may have been billed,"
    when = f"{reached.ends_at:%Y-%m-%d %H:%M} UTC"
    hint = f"{RUN_AGAIN} after {when}, or raise {reached.option}: it continues."
    if difference(reached.limit, reached.ahead) < budget.highest:  # waiting would not help
        later = f", and {plain(reached.ahead)} USD with a later date count until then"
        hint = (
            f"One call may cost {plain(budget.highest)} USD{later if reached.ahead else ''}: raise "
            f"{reached.option}."
        )
    return Parked(
        MONEY,
        f"The cost limit of this {reached.period} is reached ({reached.option}): {spent} spent "
        f"with this key since {reached.began_at:%Y-%m-%d} 00:00 UTC, and the "
        f"{_calls_left(budget, calls)}.",
        hint,
    )


def _calls_left(budget: Budget, calls: int) -> str:
    """Say how many calls are left, and what they cost at most."""
    cost = f"{calls:,} calls left cost" if calls > 1 else "call left costs"
    return f"{cost} up to {plain(times(budget.highest, calls))} USD"
