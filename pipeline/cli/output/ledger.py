"""The output of the ledger's commands: tables for people, JSON types for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

from pipeline.cli.output.console import say
from pipeline.money import plain
from pipeline.paid.ledger.totals import Attempt, Books, OpenJob, PriceRange, Spent, Tally
from pipeline.purchases import IN_MEMORY
from pipeline.quoting import aligned, how_many

__all__ = [
    "attempt_figures",
    "attempt_lines",
    "book_figures",
    "book_lines",
    "counted",
    "is_in_memory",
    "iso",
    "job_figures",
    "job_lines",
    "megabytes",
    "open_job_figures",
    "open_job_lines",
    "print_problems",
    "utc",
]


PRINTED = 100
"""Problems that are printed; badly damaged books may have a million."""


def counted(problems: Iterator[str]) -> tuple[list[str], int]:
    """Return the first problems, in words, and how many there are."""
    first = list(islice(problems, PRINTED))
    return first, len(first) + sum(1 for _ in problems)


def print_problems(
    first: Sequence[str], count: int, totals: str, figures: Mapping[str, Any] | None
) -> None:
    """Print the first problems, and what was checked; as JSON if there are figures."""
    if figures is not None:
        say(json.dumps({**figures, "problems": count, "first_problems": first}))
        return
    more = [f"and {count - PRINTED:,} more"] if count > PRINTED else []
    agree = [] if count else ["everything agrees"]
    say("\n".join([*first, *more, totals, *agree]))


def utc(seconds: float | None) -> str:
    """Return a time since 1970 for people, such as ``2026-01-31 02:15:00``; "" for None."""
    found = iso(seconds)
    return "" if found is None else found[:19].replace("T", " ")


def iso(seconds: float | None) -> str | None:
    """Return a time since 1970 in ISO 8601; damaged books may hold any number."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return "no time"


DIGITS_OF_DIGEST = 12

MONEY = ("attempts", "USD", "unconfirmed", "no price", "at most USD more")


class _Spending(NamedTuple):
    """What was spent with one service in all, and its days and changed prices since a day."""

    base_url: str
    total: Tally
    days: list[tuple[Spent, Tally]]
    prices: list[tuple[Spent, PriceRange]]


def _spending(books: Books, since: str) -> Iterator[_Spending]:
    days = [(where, tally) for where, tally in sorted(books.spent.items()) if where.day >= since]
    prices = [(where, seen) for where, seen in books.changed_prices() if where.day >= since]
    for base_url, total in books.totals(lambda spent: spent.base_url).items():
        yield _Spending(
            base_url,
            total,
            [each for each in days if each[0].base_url == base_url],
            [each for each in prices if each[0].base_url == base_url],
        )


def book_lines(books: Books, since: str) -> Iterator[str]:
    """Yield tables of the spending with each service and prices since a day, and the totals."""
    systems = books.totals(lambda spent: (spent.base_url, spent.system))
    for spending in _spending(books, since):
        yield f"\n{spending.base_url}"
        rows = [[where.day, where.system, *_money(tally)] for where, tally in spending.days]
        rows += [
            ["all days", system, *_money(tally)]
            for (base_url, system), tally in systems.items()
            if base_url == spending.base_url
        ]
        rows.append(["total", "", *_money(spending.total)])
        yield from aligned(["day (UTC)", "system", *MONEY], rows, numbers=5)
        prices = [
            [where.day, where.system, *map(plain, (seen.low, seen.high, seen.last))]
            for where, seen in spending.prices
        ]
        if prices:
            header = ["prices from", "system", "lowest USD", "highest USD", "last USD"]
            yield ""
            yield from aligned(header, prices, numbers=3)


def book_figures(books: Books, since: str) -> list[dict[str, Any]]:
    """Return the contents of `book_lines` as JSON types."""
    return [
        {
            "endpoint": spending.base_url,
            **_figures(spending.total),
            "days": [
                {"day": where.day, "system": where.system, **_figures(tally)}
                for where, tally in spending.days
            ],
            "prices": [_price_figures(where, seen) for where, seen in spending.prices],
        }
        for spending in _spending(books, since)
    ]


def _price_figures(where: Spent, seen: PriceRange) -> dict[str, str]:
    return {
        "day": where.day,
        "system": where.system,
        "lowest_usd": plain(seen.low),
        "highest_usd": plain(seen.high),
        "last_usd": plain(seen.last),
    }


def job_lines(jobs: Sequence[OpenJob]) -> Iterator[str]:
    """Yield a table of the open jobs with each service and their costs so far."""
    header = ["job", "last attempt (UTC)", "calls", *MONEY]
    for base_url in dict.fromkeys(job.base_url for job in jobs):
        rows = [
            [f"{job.number}", utc(job.last_sent_at), f"{job.calls:,}", *_money(job.cost)]
            for job in jobs
            if job.base_url == base_url
        ]
        yield f"\nopen jobs, {base_url}"
        yield from aligned(header, rows, numbers=6)


def job_figures(jobs: Sequence[OpenJob]) -> list[dict[str, Any]]:
    """Return the contents of `job_lines` as JSON types; times in ISO 8601."""
    return [
        {
            "job": job.number,
            "endpoint": job.base_url,
            "opened_at": iso(job.opened_at),
            "last_sent_at": iso(job.last_sent_at),
            "calls": job.calls,
            **_figures(job.cost),
        }
        for job in jobs
    ]


def open_job_lines(job: OpenJob) -> Iterator[str]:
    """Yield the lines about one open job."""
    note, cost = job.note, job.cost
    yield f"job {job.number}, begun {utc(job.opened_at)} UTC"
    if note:
        yield f"  input    {note.source}, {how_many(note.rows, 'row')}"
        yield f"  output   {note.output}"
    yield f"  service  {job.base_url}, {how_many(job.calls, 'call')}"
    more = f", up to {plain(cost.at_risk)} USD more may have been billed" if cost.at_risk else ""
    last = f", the last {utc(job.last_sent_at)} UTC" if cost.attempts else ""
    attempts = how_many(cost.attempts, "attempt")
    yield f"  paid     {plain(cost.confirmed)} USD{more}; {attempts}{last}"
    yield f"  state    {_waits_for(job)}"


def is_in_memory(job: OpenJob) -> bool:
    """Return whether Python classified a table that is in no file, such as a data frame."""
    return job.note is not None and job.note.source == IN_MEMORY


def _waits_for(job: OpenJob) -> str:
    if job.running:
        return "a run is working on it"
    same = "call" if is_in_memory(job) else "command"
    state = "its last run was killed or failed."
    if job.note and job.note.stopped:
        state = f"stopped {utc(job.note.stopped_at)} UTC: {job.note.stopped}"
    return f"{state} The same {same} continues."


def open_job_figures(job: OpenJob) -> dict[str, Any]:
    """Return the contents of `open_job_lines` as JSON types; times in ISO 8601."""
    (figures,) = job_figures([job])
    note = job.note
    return {
        **figures,
        "input": note and note.source,
        "output": note and note.output,
        "rows": note and note.rows,
        "running": job.running,
        "stopped": note and note.stopped,
        "stopped_at": note and iso(note.stopped_at),
    }


def attempt_lines(attempts: Iterable[Attempt]) -> Iterator[str]:
    """Yield a table of attempts."""
    header = ["attempt", "sent (UTC)", "system", "state", "error", "HTTP", "USD", "text"]
    rows = [
        [
            f"{attempt.number}",
            utc(attempt.sent_at),
            attempt.system,
            attempt.state,
            attempt.error or "",
            "" if attempt.status is None else f"{attempt.status}",
            _cost(attempt),
            _digest(attempt),
        ]
        for attempt in attempts
    ]
    yield from aligned(header, rows)


def attempt_figures(attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as JSON types; money as text, times in ISO 8601."""
    return {
        "attempt": attempt.number,
        "job": attempt.job,
        "endpoint": attempt.base_url,
        "system": attempt.system,
        "text_sha256": attempt.digest.hex(),
        "account": attempt.key_fingerprint,
        "sent_at": iso(attempt.sent_at),
        "settled_at": iso(attempt.settled_at),
        "state": attempt.state,
        "error": attempt.error,
        "http_status": attempt.status,
        "cost_usd": None if attempt.cost_usd is None else plain(attempt.cost_usd),
        "reserved_usd": plain(attempt.reserved_usd),
    }


def megabytes(size: int) -> str:
    """Return a size in megabytes, with its unit."""
    return f"{size / 1e6:,.1f} MB"


def _money(tally: Tally) -> list[str]:
    counts = [f"{tally.attempts:,}", f"{tally.unconfirmed:,}", f"{tally.unknown:,}"]
    return [counts[0], plain(tally.confirmed), *counts[1:], plain(tally.at_risk)]


def _figures(tally: Tally) -> dict[str, Any]:
    return {
        "attempts": tally.attempts,
        "confirmed_usd": plain(tally.confirmed),
        "unconfirmed": tally.unconfirmed,
        "unknown": tally.unknown,
        "at_risk_usd": plain(tally.at_risk),
    }


def _cost(attempt: Attempt) -> str:
    if attempt.cost_usd is not None:
        return plain(attempt.cost_usd)
    return "0" if attempt.state == "free" else f"up to {plain(attempt.reserved_usd)}"


def _digest(attempt: Attempt) -> str:
    return attempt.digest.hex()[:DIGITS_OF_DIGEST]
