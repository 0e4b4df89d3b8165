"""What must be true between the service's record, the ledger and the output.

Each check returns its complaints, one line each; none means that all is well. `agree` makes an
error of them. Amounts are compared to the last digit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from itertools import pairwise
from math import inf

from pipeline.answers import SYSTEMS, Matched, System
from pipeline.engine import Engine
from pipeline.money import ZERO, plain, total
from pipeline.paid.ledger.schema import INTERRUPTED
from pipeline.paid.policy import FAILURES_IN_A_ROW
from pipeline.rate import Rate
from pipeline.service.accounts import Entry
from pipeline.service.chaos.record import Served
from tests.money_trail.books import Attempt, Output, Service


@dataclass(frozen=True, slots=True)
class Pair:
    """An attempt and the request that it was at the service."""

    attempt: Attempt
    request: Served


@dataclass(frozen=True, slots=True)
class Trail:
    """Attempts that reached the service, those that did not, and requests without an attempt."""

    pairs: list[Pair] = field(default_factory=list)
    lost: list[Attempt] = field(default_factory=list)
    strays: list[Served] = field(default_factory=list)


def follow(attempts: Iterable[Attempt], requests: Iterable[Served]) -> Trail:
    """Find the request of each attempt: the next of its text that arrived after it was written.

    Both books go by the clock of one machine. Attempts of one call follow each other, so the
    request that arrives is of the latest attempt that is written and has none yet. A request
    without a text (its body broke off) can have billed nothing, and is left out.
    """
    trail = Trail()
    waiting: defaultdict[tuple[System, bytes], list[Attempt]] = defaultdict(list)
    for attempt in sorted(attempts, key=lambda attempt: attempt.sent_at):
        waiting[attempt.call].append(attempt)
    for request in sorted(requests, key=lambda request: request.arrived_at):
        if request.digest is None:
            continue
        unmet = waiting[request.system, request.digest]
        written = [attempt for attempt in unmet if attempt.sent_at <= request.arrived_at]
        if written:
            unmet.remove(written[-1])
            trail.pairs.append(Pair(written[-1], request))
        else:
            trail.strays.append(request)
    trail.lost.extend(attempt for unmet in waiting.values() for attempt in unmet)
    return trail


def record_agrees(
    service: Service,
    attempts: Sequence[Attempt],
    kills: Sequence[float],
    timeout: float,
    rate: Rate,
) -> list[str]:
    """Compare the service's record with the ledger in every way; see each check."""
    trail = follow(attempts, service.requests)
    return [
        *billed_as_recorded(service),
        *every_request_was_written_down(trail),
        *nothing_is_bought_twice(attempts),
        *nothing_stays_under_way(attempts),
        *prices_are_as_stated(trail),
        *every_loss_is_explained(trail, kills, timeout),
        *the_limit_is_kept(trail, rate),
        *money_agrees(trail, service),
    ]


LOSING = frozenset({"drop-before", "drop-after", "cut", "stall", "drip", "gateway", "error"})
"""Faults that may take an answer away; `error` only without the service's envelope."""


def agree(*complaints: Iterable[str]) -> None:
    """Raise an error that has every complaint.

    Raises:
        AssertionError: there are some.
    """
    found = [complaint for some in complaints for complaint in some]
    if found:
        more = [f"... and {len(found) - 30} more"] if len(found) > 30 else []
        raise AssertionError("\n".join([*found[:30], *more]))


def billed_as_recorded(service: Service) -> list[str]:
    """The record has what the accounts were charged, call by call."""
    recorded = sorted(
        (one.system, one.billed_usd) for one in service.requests if one.billed_usd is not None
    )
    charged = sorted((charge.system, charge.price_usd) for charge in service.charges)
    return [] if recorded == charged else [f"{recorded} recorded, {charged} charged"]


def every_request_was_written_down(trail: Trail) -> list[str]:
    """No request arrived that was not in the ledger before."""
    return [f"request {stray.number} stands in no ledger" for stray in trail.strays]


def nothing_is_bought_twice(attempts: Iterable[Attempt]) -> list[str]:
    """Behind an attempt that answers its call for good there is no other one of that call."""
    calls: defaultdict[tuple[System, bytes], list[Attempt]] = defaultdict(list)
    for attempt in sorted(attempts, key=lambda attempt: attempt.number):
        calls[attempt.call].append(attempt)
    return [
        f"attempt {later.number} was sent after {earlier.number} had ended its call"
        for of_call in calls.values()
        for earlier, later in pairwise(of_call)
        if earlier.ended
    ]


def nothing_stays_under_way(attempts: Iterable[Attempt]) -> list[str]:
    """Once a table is complete, every attempt has an end, those of runs that were killed too."""
    return [
        f"attempt {attempt.number} is still under way"
        for attempt in attempts
        if attempt.settled_at is None
    ]


def prices_are_as_stated(trail: Trail) -> list[str]:
    """The ledger has the price that each answer stated, and no other, and misses no bill."""
    return [complaint for pair in trail.pairs if (complaint := _misquoted(pair))] + [
        f"attempt {lost.number} is {lost.state}, but never reached the service"
        for lost in trail.lost
        if lost.ended
    ]


def _misquoted(pair: Pair) -> str | None:
    attempt, request = pair.attempt, pair.request
    named = f"attempt {attempt.number} ({attempt.state}), request {request.number}"
    if request.billed_usd is not None and attempt.state == "free":
        return f"{named}: billed, but taken for free"
    if attempt.ended and attempt.cost_usd != request.stated_usd:
        free = request.billed_usd is None and attempt.cost_usd == 0  # a refusal states no price
        return None if free else f"{named}: {request.stated_usd} stated, {attempt.cost_usd} noted"
    return None


def every_loss_is_explained(trail: Trail, kills: Sequence[float], timeout: float) -> list[str]:
    """Every unconfirmed attempt was under way at a fault that takes answers away, or at a kill.

    ``kills`` is when the buyer was killed, seconds since 1970. On a busy machine an answer may
    leave the service later than ``timeout``, in seconds, as its record then shows.
    """
    requests = {pair.attempt.number: pair.request for pair in trail.pairs}
    return [
        f"attempt {attempt.number} ({attempt.error}) is unconfirmed for no reason"
        for attempt in [*(pair.attempt for pair in trail.pairs), *trail.lost]
        if attempt.unconfirmed
        and not _is_explained(attempt, requests.get(attempt.number), kills, timeout)
    ]


def _is_explained(
    attempt: Attempt, request: Served | None, kills: Sequence[float], timeout: float
) -> bool:
    if attempt.error in (None, INTERRUPTED):
        end = inf if attempt.settled_at is None else attempt.settled_at
        return any(attempt.sent_at <= kill <= end for kill in kills)
    if request is None:
        return False
    late = attempt.error == "TIMEOUT" and (request.answered_at or inf) - attempt.sent_at >= timeout
    return request.fault in LOSING or late


def the_limit_is_kept(trail: Trail, rate: Rate) -> list[str]:
    """No window of the service's record has more requests than the rate allows.

    Both at the service's door and where its limit counts. The promise leaves out what arrives
    later than a window after its attempt was given up, and nothing else.
    """
    doors = [pair.request.arrived_at for pair in trail.pairs] + [
        stray.arrived_at for stray in trail.strays
    ]
    counted = [
        worked
        for pair in trail.pairs
        if (worked := pair.request.worked_at) is not None
        and worked <= (pair.attempt.settled_at or worked) + rate.window
    ]
    return _crowded("arrived", doors, rate) + _crowded("were counted", counted, rate)


def _crowded(what: str, times: list[float], rate: Rate) -> list[str]:
    times.sort()
    return [
        f"{rate.slots + 1} requests {what} in {last - first:.6f} s from {first} on"
        for first, last in zip(times, times[rate.slots :], strict=False)
        if last - first < rate.window
    ]


def money_agrees(trail: Trail, service: Service) -> list[str]:
    """All that was billed = what is confirmed + the service's price of what is not.

    Where an answer stated another price than was billed, the difference stands apart: what is
    confirmed is what was stated.
    """
    confirmed = total(
        attempt.cost_usd
        for attempt in [*(pair.attempt for pair in trail.pairs), *trail.lost]
        if attempt.cost_usd is not None
    )
    doubtful = total(
        pair.request.billed_usd or ZERO
        for pair in trail.pairs
        if pair.attempt.unconfirmed or pair.attempt.unknown
    )
    misstated = total(
        total([pair.request.stated_usd, -(pair.request.billed_usd or ZERO)])
        for pair in trail.pairs
        if pair.attempt.cost_usd is not None and pair.request.stated_usd is not None
    )
    billed = total(one.billed_usd for one in service.requests if one.billed_usd is not None)
    if billed == total([confirmed, -misstated, doubtful]):
        return []
    return [
        f"{plain(billed)} USD billed, but {plain(confirmed)} confirmed (of it {plain(misstated)} "
        f"misstated) and {plain(doubtful)} in doubt"
    ]


def totals_agree(attempts: Sequence[Attempt], output: Output) -> list[str]:
    """The job's attempts, the rows of its output and its manifest say the same."""
    paid = output.summary["paid"]
    unattributed = {"cost_usd": paid["unattributed_usd"]}
    in_doubt = [one for one in attempts if one.unconfirmed or one.unknown]
    confirmed = total(one.cost_usd for one in attempts if one.cost_usd is not None)
    in_rows = [Decimal(row["cost_usd"] or 0) for row in [*output.rows, unattributed]]
    figures = {
        "rows + unattributed, USD": (total(in_rows), confirmed),
        "total, USD": (Decimal(output.summary["cost_usd"]), confirmed),
        "confirmed, USD": (Decimal(paid["confirmed_usd"]), confirmed),
        "at risk, USD": (Decimal(paid["at_risk_usd"]), total(one.reserved_usd for one in in_doubt)),
        "attempts": (paid["attempts"], len(attempts)),
        "unconfirmed": (paid["unconfirmed"], sum(one.unconfirmed for one in in_doubt)),
        "unknown": (paid["unknown"], sum(one.unknown for one in in_doubt)),
    }
    return [
        f"{name}: {told} in the output, {known} in the ledger"
        for name, (told, known) in figures.items()
        if told != known
    ]


def statement_adds_up(entries: Sequence[Entry], balance: Decimal) -> list[str]:
    """Each entry's balance is the one before and its amount, never below zero; the last is left.

    ``entries`` are all of one account, the oldest first; ``balance`` is what it has left.
    """
    complaints = [
        f"entry {later.entry_id}: {earlier.balance_usd} and {later.amount_usd} "
        f"are not {later.balance_usd}"
        for earlier, later in pairwise(entries)
        if total([earlier.balance_usd, later.amount_usd]) != later.balance_usd
    ]
    complaints += [
        f"entry {entry.entry_id}: the balance is {entry.balance_usd}"
        for entry in entries
        if entry.balance_usd < ZERO
    ]
    first, last = entries[0], entries[-1]
    if (first.kind, first.amount_usd) != ("opening", first.balance_usd):
        complaints.append(f"the statement begins with {first}")
    if last.balance_usd != balance:
        complaints.append(f"the statement ends with {last.balance_usd}, {balance} is left")
    return complaints


def statement_is_the_ledgers(entries: Iterable[Entry], attempts: Sequence[Attempt]) -> list[str]:
    """The account was charged every price that the ledger has confirmed, and nothing besides.

    What else was charged can only be the price of attempts whose answer was lost.
    """
    charged = Counter[tuple[str, Decimal]](
        (one.system, one.price_usd) for one in entries if one.system is not None
    )
    confirmed = Counter[tuple[str, Decimal]](
        (one.system, one.cost_usd) for one in attempts if one.cost_usd
    )
    complaints = [
        f"{count} {system} calls for {usd} USD are in the ledger and were not charged"
        for (system, usd), count in (confirmed - charged).items()
    ]
    besides = charged - confirmed
    for system in SYSTEMS:
        lost = [one.reserved_usd for one in attempts if one.system == system and one.unconfirmed]
        usd = [price for of, price in besides.elements() if of == system]
        if len(usd) > len(lost) or any(price > max(lost) for price in usd):
            complaints.append(
                f"{system} charges of {[*map(plain, usd)]} USD are not in the ledger, "
                f"where {len(lost)} answers were lost"
            )
    return complaints


def columns_agree(attempts: Sequence[Attempt], output: Output) -> list[str]:
    """Each system's column and figure are what its attempts cost; what has no row is left out.

    What stands as unattributed is of no system, so the columns may lack as much together.
    """
    unattributed = Decimal(output.summary["paid"]["unattributed_usd"])
    complaints, lacking = [], list[Decimal]()
    for system in SYSTEMS:
        confirmed = total(one.cost_usd or ZERO for one in attempts if one.system == system)
        column = total(Decimal(row[f"{system}_cost_usd"] or 0) for row in output.rows)
        figure = Decimal(output.summary["systems"][system]["cost_usd"])
        lacking.append(total([confirmed, -column]))
        if column != figure or lacking[-1] < ZERO:
            complaints.append(
                f"{system}: {column} in the column, {figure} in the summary, {confirmed} paid"
            )
    if total(lacking) != unattributed:
        complaints.append(f"the columns lack {total(lacking)}, {unattributed} is unattributed")
    return complaints


MOST_LOST = 2
"""So many lost answers hold a call: it is not sent again."""

OF_THE_RUN = frozenset({"UNAUTHORIZED", "INSUFFICIENT_BALANCE", "RATE_LIMIT_EXCEEDED"})
"""Errors of an attempt that say nothing of its text, and are not told in its cells."""


def cells_are_right(output: Output, attempts: Sequence[Attempt], job: int) -> list[str]:
    """What was answered has the engine's code, what was not has none; each cost occurs once.

    The output is that of the job with a number, and the attempts are those until then.
    """
    calls: defaultdict[tuple[System, str], list[Attempt]] = defaultdict(list)
    texts = [" ".join(row["description"].split()) for row in output.rows]
    by_digest = {sha256(text.encode()).digest(): text for text in texts}
    for attempt in attempts:
        if attempt.digest in by_digest:  # else its text left the table
            calls[attempt.system, by_digest[attempt.digest]].append(attempt)
    best = _best_matches(sorted({*texts} - {""}))
    errors_of = _errors_of_systems_down(attempts, job)
    told: set[tuple[System, str]] = set()
    complaints = []
    for number, (row, text) in enumerate(zip(output.rows, texts, strict=True)):
        for system in SYSTEMS:
            call = (system, text)
            paid = [one.cost_usd for one in calls[call] if one.job == job and one.state != "free"]
            expected = _expected(text, calls[call], best.get(call, ("", "")), job)
            found = tuple(row[f"{system}_{name}"] for name in ("status", "code", "title"))
            if expected is None:
                left_out_with = errors_of.get(system, set())
                expected = (found[0] if found[0] in left_out_with else "not left out", "", "")
                errors_of[system] = {expected[0]}  # one for all calls
            cell = row[f"{system}_cost_usd"]
            cost = Decimal(cell) if cell else None
            if (found, cost) != (expected, ZERO if call in told else _known(paid)):
                complaints.append(f"row {number}, {system}: {found}, {cost}; expected {expected}")
            told.add(call)
    return complaints


def _errors_of_systems_down(attempts: Sequence[Attempt], job: int) -> dict[System, set[str]]:
    """Return the errors of each system that failed often enough in a job to be left out."""
    errors: defaultdict[System, list[str]] = defaultdict(list)
    for attempt in attempts:
        if attempt.job == job and attempt.state not in ("answered", "refused"):
            errors[attempt.system].append(str(attempt.error))
    return {system: {*some} for system, some in errors.items() if len(some) >= FAILURES_IN_A_ROW}


def _known(paid: Sequence[Decimal | None]) -> Decimal | None:
    """Return what is known to be paid; None if that is nothing, and something may have been."""
    known = total(usd for usd in paid if usd is not None)
    return known if known or None not in paid else None


def _best_matches(texts: list[str]) -> dict[tuple[System, str], tuple[str, str]]:
    """Return the code and title that the engine gives; no entry means none."""
    (answers,) = Engine(SYSTEMS, 10).answers([texts])
    return {
        (system, text): (answer.matches[0].code, answer.matches[0].title)
        for system in SYSTEMS
        for text, answer in zip(texts, answers[system], strict=True)
        if isinstance(answer, Matched) and answer.matches
    }


def _expected(
    text: str, attempts: Sequence[Attempt], best: tuple[str, str], job: int
) -> tuple[str, str, str] | None:
    """Return the status, code and title, in the output of a job, of a call attempted so.

    None: it was not made, because its system was left out of the run.
    """
    if not text:
        return "empty", "", ""
    last = attempts[-1] if attempts else None
    if last and last.state == "answered":
        return ("ok" if best[0] else "no_match", *best)
    is_held = sum(one.unconfirmed or one.state == "billed" for one in attempts) >= MOST_LOST
    is_told = last and (last.ended or last.job == job) and (is_held or last.error not in OF_THE_RUN)
    if last and is_told and last.error != INTERRUPTED:
        return str(last.error), "", ""
    return ("UNCONFIRMED", "", "") if is_held or is_told else None
