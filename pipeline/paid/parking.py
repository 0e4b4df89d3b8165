"""The reasons for which a purchase parks, and what the user can do about each."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from pipeline.answers import System
from pipeline.errors import SettingsError
from pipeline.money import difference, plain, times, total
from pipeline.paid.client.responses import is_record
from pipeline.paid.ledger.schema import CallEnded
from pipeline.paid.limits import Allowance, Budget
from pipeline.paid.policy import Judgement
from pipeline.purchases import CostLimitReached, Parked
from pipeline.rate import duration
from pipeline.wording import RUN_AGAIN, THEN_RUN_AGAIN, Words, beside, marked, option

if TYPE_CHECKING:  # a plan needs no HTTP libraries
    from pipeline.paid.client.throttle import Throttle

KEY, MONEY, SERVICE, LATER = 4, 5, 6, 7
"""The exit codes of runs that parked: see the table in docs/reference/exit-codes.md."""

DECLINED = Parked(
    SettingsError.exit_code,
    "Nothing was bought: you answered no.",
    f"{RUN_AGAIN} to be asked again. With {option('max_cost', 'USD')} the run stops before it "
    f"costs more, and with {option('yes', True)} it buys without a question.",
)


def what_the_account_lacks(
    has_key: bool, budget: Budget, calls: int, judgement: Judgement
) -> Parked | None:
    """Return why no other call can be bought with this account either, if none can.

    Args:
        has_key: whether requests carry a key.
        budget: knows what the calls that are left cost.
        calls: how many there are.
        judgement: of the last attempt.
    """
    match judgement.next:
        case "credentials":
            wanted = "wants an API key, and none is set"
            happened = f"The service {'does not accept the API key' if has_key else wanted}"
            return Parked(
                KEY,
                _quoting(happened, judgement),
                f"Set TENDER_PIPELINE_API_KEY or {option('api_key')} to a valid key, then "
                f"{THEN_RUN_AGAIN}: it continues.",
            )
        case "money":
            return Parked(
                MONEY,
                _quoting("The account's balance is too low", judgement),
                f"Add {plain(times(budget.highest, calls))} USD, which is enough for the rest at "
                f"these prices, and {THEN_RUN_AGAIN}: it continues.",
            )
        case "price":
            return Parked(
                MONEY,
                f"The service states a price that cannot be used: {judgement.detail}.",
                "The response is kept; what it cost is unknown. Ask the service for right prices "
                "in USD. The same command continues with the next call; nothing is bought twice.",
            )
        case _:
            return None


def _quoting(message: str, judgement: Judgement) -> str:
    """Add what the service said to a message, if it said anything."""
    said = judgement.detail.rstrip(".")
    return f"{message}: {said}." if said else f"{message}."


def not_understood(judgement: Judgement) -> Parked:
    """Park if the first answer cannot be understood."""
    hint = f"Check {option('base_url')}: is it the address of this interface?"
    if isinstance(judgement.end, CallEnded) and is_record(judgement.end.body):
        hint = (
            "Check whether its server follows response_format, or name a larger model: "
            f"{option('language_model')}. {RUN_AGAIN}: it continues with the next call."
        )
    said = judgement.detail.rstrip(".")
    return Parked(SERVICE, f"The service's first answer cannot be understood: {said}.", hint)


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
