"""``tender-pipeline ledger``: show what was bought; settle, prune and verify it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from pipeline.answers import SYSTEMS, System
from pipeline.cli.command import CommandGroup
from pipeline.cli.options import in_json
from pipeline.cli.output.console import (
    ask,
    count_problems,
    iso,
    print_problems,
    progress_display,
    say,
    table,
    utc,
    wrap,
)
from pipeline.cli.settings_file import on_ledger
from pipeline.errors import LedgerError, SettingsError
from pipeline.money import plain, total, usd
from pipeline.paid.ledger.checks import open_usable
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.maintenance import (
    Verdict,
    close_by_hand,
    count_prunable,
    prune_by_hand,
    settle_by_hand,
)
from pipeline.paid.ledger.totals import (
    STATES,
    Attempt,
    OpenJob,
    Spent,
    Tally,
    Wanted,
    open_jobs,
    read_spending,
    total_by,
)
from pipeline.paid.ledger.totals import attempts as find_attempts
from pipeline.paid.verify import extent, problems
from pipeline.progress import silent
from pipeline.purchases import IN_MEMORY
from pipeline.rate import seconds
from pipeline.wording import command, how_many

CONSISTENT, INCONSISTENT = 0, LedgerError.exit_code

JOB_INDENT = 11


# Without the variables of run: TENDER_PIPELINE_WAIT is about buying.
waiting = click.option("--wait", is_flag=True, help="Wait for other runs to finish.")
of_systems = click.option(
    "--system",
    "systems",
    multiple=True,
    type=click.Choice(SYSTEMS),
    help="Only this system; repeat it for several.",
)


def moment(text: str) -> float:
    """Return an age (``90d``) as a time since 1970, or the beginning of a day (UTC).

    Raises:
        SettingsError: the text is neither.
    """
    with suppress(ValueError):
        return datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    try:
        return max(0.0, time.time() - seconds("age", text))
    except SettingsError as error:
        raise SettingsError(
            f"The time {text!r} cannot be understood.",
            "Give an age such as 90d, or a day such as 2026-01-31.",
        ) from error


@click.group(cls=CommandGroup)
def ledger() -> None:
    """Show what was bought; settle, prune and verify it.

    The ledger has every attempt, answer and price of all paid runs. show, attempts and verify
    change nothing; you can use them during a run.
    """


@ledger.command()
@click.option(
    "--since",
    default="30d",
    help="List the days from then on: 7d or 2026-01-31.",
)
@in_json
@on_ledger
def show(since: str, as_json: bool, path: Path) -> int:
    """Show what was spent where and when, and count the open jobs.

    USD is confirmed. Attempts whose answer was lost are unconfirmed; responses without a price
    are counted too. Both may have cost up to the amount in the last column.
    """
    first = datetime.fromtimestamp(moment(since), UTC).date().isoformat()
    with open_usable(path) as snapshot:
        spent, jobs = read_spending(snapshot), open_jobs(snapshot)
        where, size = str(snapshot.path), snapshot.size
    if as_json:
        figures = {"ledger": where, "bytes": size, "endpoints": spending_figures(spent, first)}
        say(json.dumps({**figures, "open_jobs": [open_job_figures(job) for job in jobs]}))
    else:
        nothing = [] if spent else ["no attempts yet"]
        lines = [*spending_lines(spent, first), *nothing, "", count_jobs(jobs, path)]
        say("\n".join([f"{where}, {megabytes(size)}", *lines]))
    return 0


@ledger.command("jobs", short_help="List the jobs that are not done; close abandoned ones.")
@click.option(
    "--close",
    "numbers",
    metavar="JOB",
    multiple=True,
    type=int,
    help="Close a job; repeat it for several.",
)
@waiting
@in_json
@on_ledger
def list_jobs(numbers: Sequence[int], wait: bool, as_json: bool, path: Path) -> int:
    """List the jobs whose output is not in place: what they are for, cost, and wait for.

    Close a job whose command you will not run again. Nothing that it bought is lost: its answers
    and costs stay, and any job that needs the answers uses them without paying. The same command
    then starts a new job, whose costs begin at 0. A job that a run is working on is not closed.
    """
    if numbers:
        close_by_hand(path, dict.fromkeys(numbers), time.time(), wait)
    with open_usable(path) as snapshot:
        jobs = open_jobs(snapshot)
    if as_json:
        say(json.dumps({"closed": list(numbers), "jobs": [open_job_figures(job) for job in jobs]}))
        return 0
    closed = [f"job {number} closed" for number in numbers]
    lines = ["\n".join(open_job_lines(job)) for job in jobs] or ["no open jobs"]
    say(wrap("\n\n".join([*closed, *lines]), sys.stdout, JOB_INDENT))
    return 0


@ledger.command(short_help="List attempts: failed, unconfirmed, or all.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES),
    help="Only attempts in this state; failed ones ended their call without an answer. Repeat it "
    "for several.",
)
@of_systems
@click.option("--since", help="Only attempts sent from then on: 12h, 7d or 2026-01-31.")
@click.option("--limit", default=50, type=click.IntRange(1), help="List at most this many.")
@in_json
@on_ledger
def attempts(
    states: Sequence[Wanted],
    systems: Sequence[System],
    since: str | None,
    limit: int,
    as_json: bool,
    path: Path,
) -> int:
    """List attempts, the latest first; --state failed --state unconfirmed lists the problems.

    The ledger keeps no texts, so each text is shown by the first digits of its SHA-256.
    """
    earliest = moment(since) if since else None
    with open_usable(path) as snapshot:
        attempts_found = list(find_attempts(snapshot, limit + 1, states, systems, earliest))
    listed, has_more = attempts_found[:limit], len(attempts_found) > limit
    if as_json:
        figures = [attempt_figures(attempt) for attempt in listed]
        say(json.dumps({"attempts": figures, "more": has_more}))
        return 0
    say("\n".join(attempt_lines(listed)) if listed else "no such attempts")
    if has_more:
        click.echo(f"There are more than {limit}. List more with --limit.", err=True)
    if any(attempt.state == "unconfirmed" for attempt in listed):
        settle_them = command("ledger settle ATTEMPT... --billed USD --ledger", path)
        click.echo(
            "If your account's statement shows whether the unconfirmed were billed, record it, "
            f"with --not-billed for those that were not: {settle_them}",
            err=True,
        )
    return 0


@ledger.command(short_help="Record whether attempts were billed.")
@click.argument("numbers", metavar="ATTEMPT...", nargs=-1, required=True, type=int)
@click.option("--billed", metavar="USD", help="What the account was charged for each.")
@click.option("--not-billed", is_flag=True, help="The account was not charged.")
@waiting
@on_ledger
def settle(
    numbers: Sequence[int], billed: str | None, not_billed: bool, wait: bool, path: Path
) -> int:
    """Record what the account's statement says about ATTEMPTs.

    They are unconfirmed, or errors that stated a price ("billed"). Then their cost is certain, and
    the next run that needs their calls buys them again. It settles all of them, or none.
    """
    if (billed is None) != not_billed:
        raise SettingsError(
            "It is not clear whether the attempts were billed.",
            "Give either --billed or --not-billed.",
        )
    verdict: Verdict = "free" if billed is None else usd("billed", billed)
    settle_by_hand(path, dict.fromkeys(numbers, verdict), time.time(), wait)
    count = len(set(numbers))
    if verdict == "free":
        say(f"{count:,} settled: not billed")
    else:
        together = plain(total([verdict] * count))
        say(f"{count:,} settled: billed {plain(verdict)} USD each, {together} USD together")
    return 0


@ledger.command("prune")
@click.option("--older-than", required=True, help="An age, 90d, or a day, 2026-01-31.")
@of_systems
@click.option("--yes", is_flag=True, help="Prune without asking.")
@waiting
@on_ledger
def prune_answers(
    older_than: str, systems: Sequence[System], yes: bool, wait: bool, path: Path
) -> int:
    """Delete old answers, so that they can be bought again.

    The ledger keeps their payments for ever, and it keeps failures and the answers of open jobs.
    The file is rewritten without the deleted answers; that needs as much free space as it has.
    """
    before, of = moment(older_than), systems or SYSTEMS
    with Snapshot(path) as snapshot:
        answers, size, in_use = count_prunable(snapshot, before, of)
    kept = f"; {in_use:,} more of that age are kept for open jobs" if in_use else ""
    say(f"{answers:,} answers, {megabytes(size)}{kept}")
    if answers and not yes and not ask("Prune them?"):
        raise SettingsError("Nothing was pruned.", "Use --yes to prune without being asked.")
    pruned, freed = prune_by_hand(path, before, of, wait)
    say(f"{pruned:,} pruned, {megabytes(freed)} freed")
    return 0


@ledger.command(short_help="Check that the ledger is consistent.")
@in_json
@on_ledger
def verify(as_json: bool, path: Path) -> int:
    """Check that the ledger is consistent; exit with 8 if it is not.

    It checks the file and each attempt, and reads every kept response again, whose price must be
    the one in the ledger.
    """
    with Snapshot(path) as snapshot:
        size = extent(snapshot)
        shown = progress_display(silent)  # on a terminal, how many responses were read
        with shown(size["responses"], "responses") as advance:
            first, count = count_problems(problems(snapshot, advance))
    attempts = how_many(size["attempts"], "attempt")
    responses = how_many(size["responses"], "response")
    totals = f"{attempts}, {responses}, {size['pruned']:,} pruned"
    print_problems(first, count, totals, size if as_json else None)
    return INCONSISTENT if count else CONSISTENT


DIGEST = 12
"""Digits of the SHA-256 that stand for a text."""

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
    for spent_figures in spending_figures(spent, since):
        yield f"\n{spent_figures['endpoint']}"
        totals = [
            {"day": "all days", "system": system, **_figures(tally)}
            for (base_url, system), tally in systems.items()
            if base_url == spent_figures["endpoint"]
        ]
        yield from table(
            [*spent_figures["days"], *totals, {"day": "total", **spent_figures}], DAYS, numbers=5
        )


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
    at_risk = f", up to {plain(cost.at_risk)} USD more may have been billed" if cost.at_risk else ""
    last = f", the last {utc(iso(job.last_sent_at))} UTC" if cost.attempts else ""
    attempts = how_many(cost.attempts, "attempt")
    yield f"  paid     {plain(cost.confirmed)} USD{at_risk}; {attempts}{last}"
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
                **attempt_figures(attempt),
                "cost": _cost(attempt),
                "text": attempt.text_sha256[:DIGEST],
            }
            for attempt in attempts
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
