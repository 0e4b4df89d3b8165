"""The output of the ledger's commands: tables for people, JSON types for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.cli.output.console import say
from pipeline.money import plain
from pipeline.paid.ledger.totals import Attempt, OpenJob, Spent, Tally, total_by
from pipeline.purchases import IN_MEMORY
from pipeline.wording import aligned, command, how_many

DIGEST = 12
"""Digits of the SHA-256 that stand for a text."""

PRINTED = 100
"""Problems that are printed; badly damaged books may have a million."""


def count_problems(problems: Iterator[str]) -> tuple[list[str], int]:
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


def iso(seconds: float | None) -> str | None:
    """Return a time since 1970 in ISO 8601; damaged books may hold any number."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return "no time"


COUNTS = ("attempts", "calls", "keys_in_use", "unconfirmed", "unknown")
"""The beginnings of names of numbers that are written with commas; others identify something."""


def table(
    figures: Iterable[Mapping[str, Any]], headings: Mapping[str, str], numbers: int = 0
) -> Iterator[str]:
    """Yield a table of JSON types, with a column for each name that has a heading.

    The last ``numbers`` columns are right-aligned.
    """
    rows = [[_cell(name, one.get(name)) for name in headings] for one in figures]
    yield from aligned([*headings.values()], rows, numbers)


def utc(written: str | None) -> str:
    """Return a time in ISO 8601 for people, such as ``2026-01-31 02:15:00``; "" for None."""
    return _cell("at", written)


def _cell(name: str, value: Any) -> str:
    """Return a value for people: without the control characters that users can type."""
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}" if name.startswith(COUNTS) else str(value)
    if name.endswith("at"):
        value = value[:19].replace("T", " ")
    return "".join(one if one.isprintable() else " " for one in value).strip()


MONEY = {
    "attempts": "attempts",
    "confirmed_usd": "USD",
    "unconfirmed": "unconfirmed",
    "unknown": "no price",
    "at_risk_usd": "at most USD more",
}
DAYS = {"day": "day (UTC)", "system": "system", **MONEY}


def spending_lines(spent: Mapping[Spent, Tally], since: str) -> Iterator[str]:
    """Yield a table of the spending with each service since a day, and the totals."""
    systems = total_by(lambda where: (where.base_url, where.system), spent)
    for found in spending_figures(spent, since):
        yield f"\n{found['endpoint']}"
        totals = [
            {"day": "all days", "system": system, **_figures(tally)}
            for (base_url, system), tally in systems.items()
            if base_url == found["endpoint"]
        ]
        yield from table([*found["days"], *totals, {"day": "total", **found}], DAYS, numbers=5)


def spending_figures(spent: Mapping[Spent, Tally], since: str) -> list[dict[str, Any]]:
    """Return what was spent with each service in all, and on its days since a day."""
    days = [(where, tally) for where, tally in sorted(spent.items()) if where.day >= since]
    return [
        {
            "endpoint": base_url,
            **_figures(total),
            "days": [
                {"day": where.day, "system": where.system, **_figures(tally)}
                for where, tally in days
                if where.base_url == base_url
            ],
        }
        for base_url, total in total_by(lambda where: where.base_url, spent).items()
    ]


def count_jobs(jobs: Sequence[OpenJob], ledger: Path) -> str:
    """Return how many jobs are open, and the command that lists them."""
    in_memory = sum(map(is_in_memory, jobs))  # Python may never continue these
    apart = f", {in_memory} of them of a table in memory" if in_memory else ""
    listed = f"; to list them: {command('ledger jobs --ledger', ledger)}" if jobs else ""
    return f"open jobs: {len(jobs)}{apart}{listed}"


def open_job_lines(job: OpenJob) -> Iterator[str]:
    """Yield the lines about one open job."""
    cost = job.cost
    yield f"job {job.job}, begun {utc(iso(job.opened_at))} UTC"
    if job.rows is not None:
        yield f"  input    {job.input}, {how_many(job.rows, 'row')}"
        yield f"  output   {job.output}"
    yield f"  service  {job.endpoint}, {how_many(job.calls, 'call')}"
    more = f", up to {plain(cost.at_risk)} USD more may have been billed" if cost.at_risk else ""
    last = f", the last {utc(iso(job.last_sent_at))} UTC" if cost.attempts else ""
    attempts = how_many(cost.attempts, "attempt")
    yield f"  paid     {plain(cost.confirmed)} USD{more}; {attempts}{last}"
    yield f"  state    {_waits_for(job)}"


def is_in_memory(job: OpenJob) -> bool:
    """Return whether Python classified a table that is in no file, such as a data frame."""
    return job.input == IN_MEMORY


def _waits_for(job: OpenJob) -> str:
    if job.running:
        return "a run is working on it"
    same = "call" if job.output == IN_MEMORY else "command"
    state = "its last run was killed or failed."
    if job.stopped:
        state = f"stopped {utc(iso(job.stopped_at))} UTC: {job.stopped}"
    return f"{state} The same {same} continues."


def open_job_figures(job: OpenJob) -> dict[str, Any]:
    """Return the contents of `open_job_lines` as JSON types; times in ISO 8601."""
    figures = _with_iso_times(job._asdict())
    del figures["cost"]
    return figures | _figures(job.cost)


def attempt_lines(attempts: Iterable[Attempt]) -> Iterator[str]:
    """Yield a table of attempts."""
    headings = {
        "attempt": "attempt",
        "sent_at": "sent (UTC)",
        "system": "system",
        "state": "state",
        "error": "error",
        "http_status": "HTTP",
        "cost": "USD",
        "text": "text",
    }
    yield from table(
        (
            {
                **attempt_figures(one),
                "cost": _cost(one),
                "text": one.text_sha256[:DIGEST],
            }
            for one in attempts
        ),
        headings,
    )


def attempt_figures(attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as JSON types; money as text, times in ISO 8601."""
    cost = None if attempt.cost_usd is None else plain(attempt.cost_usd)
    money = {"cost_usd": cost, "reserved_usd": plain(attempt.reserved_usd)}
    return _with_iso_times(attempt._asdict()) | money


def _with_iso_times(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: iso(value) if name.endswith("_at") else value for name, value in figures.items()}


def megabytes(size: int) -> str:
    """Return a size in megabytes, with its unit."""
    return f"{size / 1e6:,.1f} MB"


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
