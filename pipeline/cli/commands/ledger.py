"""``tender-pipeline ledger``: see what was bought and paid; settle, export, prune and verify it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import click

from pipeline.answers import SYSTEMS, System
from pipeline.cli.ledger_options import (
    confirm_pruning,
    in_json,
    ledger_place,
    moment,
    of_systems,
    on_ledger,
    progress,
    waiting,
)
from pipeline.cli.options import say
from pipeline.cli.output.ledger import (
    attempt_figures,
    attempt_lines,
    book_figures,
    book_lines,
    job_figures,
    job_lines,
    megabytes,
)
from pipeline.errors import LedgerError, SettingsError
from pipeline.money import plain, total, usd
from pipeline.paid.ledger.attempts import STATES, Picked, Wanted, attempts
from pipeline.paid.ledger.checks import check_usable
from pipeline.paid.ledger.export import export
from pipeline.paid.ledger.maintenance import Old, prunable, prune_by_hand, settle_by_hand
from pipeline.paid.ledger.settling import Verdict
from pipeline.paid.ledger.snapshot import Snapshot
from pipeline.paid.ledger.totals import open_jobs, read_books
from pipeline.paid.verify import extent, problems

__all__ = ["ledger"]

CONSISTENT, INCONSISTENT = 0, LedgerError.exit_code

PRINTED = 100
"""Problems that `verify` prints; of a ledger that is quite wrong there may be a million."""


@click.group(short_help="See what was bought and paid; settle, export, prune and verify it.")
def ledger() -> None:
    """See what was bought and paid; settle, export, prune and verify it.

    The ledger has every attempt, answer and price of all paid runs. show, calls, export and verify
    change nothing and may be used while a run is buying.
    """


@ledger.command()
@click.option("--since", default="30d", show_default=True, help="From when on days are listed.")
@in_json
@on_ledger
def show(since: str, as_json: bool, path: Path | None) -> int:
    """Show what was spent where and when, prices, and open jobs.

    USD is what is confirmed. Attempts whose answer was lost are unconfirmed, responses that stated
    no price are counted too: both may have cost as much as the last column says.
    """
    first = datetime.fromtimestamp(moment(since), UTC).date().isoformat()
    with Snapshot(ledger_place(path)) as snapshot:
        check_usable(snapshot)
        books, jobs = read_books(snapshot), open_jobs(snapshot)
        where, size = str(snapshot.path), snapshot.size
    if as_json:
        figures = {"ledger": where, "bytes": size, "endpoints": book_figures(books, first)}
        say(json.dumps({**figures, "open_jobs": job_figures(jobs, books)}))
    else:
        nothing = [] if books.spent else ["no attempts yet"]
        lines = [*book_lines(books, first), *nothing, *job_lines(jobs, books)]
        say("\n".join([f"{where}, {megabytes(size)}", *lines]))
    return 0


@ledger.command(short_help="List attempts: failed, unconfirmed, or all.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES),
    help="How attempts stand; failed are those with which a call ended, or was given up. "
    "Repeat it for several.",
)
@of_systems
@click.option("--since", help="Those sent from then on: 12h, 7d or 2026-01-31.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="How many.")
@in_json
@on_ledger
def calls(
    states: Sequence[Wanted],
    systems: Sequence[System],
    since: str | None,
    limit: int,
    as_json: bool,
    path: Path | None,
) -> int:
    """List attempts, the latest first; --state failed --state unconfirmed finds the trouble.

    Of a text the first digits of its SHA-256 are shown: the ledger keeps no texts.
    """
    picked = Picked(states, systems, moment(since) if since else None)
    with Snapshot(ledger_place(path)) as snapshot:
        check_usable(snapshot)
        found = list(attempts(snapshot, picked, limit + 1))
    listed, more = found[:limit], len(found) > limit
    if as_json:
        say(json.dumps({"attempts": [attempt_figures(one) for one in listed], "more": more}))
        return 0
    say("\n".join(attempt_lines(listed)) if listed else "no such attempts")
    if more:
        click.echo(f"There are more than {limit}: see them with --limit.", err=True)
    if any(one.state == "unconfirmed" for one in listed):
        click.echo(
            "If the account tells whether the unconfirmed were billed, say so: "
            "tender-pipeline ledger settle ATTEMPT... --billed USD | --not-billed",
            err=True,
        )
    return 0


@ledger.command(short_help="Say whether unconfirmed attempts were billed.")
@click.argument("numbers", metavar="ATTEMPT...", nargs=-1, required=True, type=int)
@click.option("--billed", metavar="USD", help="What the account was charged for each of them.")
@click.option("--not-billed", is_flag=True, help="The account was not charged.")
@waiting
@on_ledger
def settle(
    numbers: Sequence[int], billed: str | None, not_billed: bool, wait: bool, path: Path | None
) -> int:
    """Say of unconfirmed ATTEMPTs what the account's statement says of them.

    Their money is certain then, and their calls are bought again by the next run that needs them.
    All of them are settled, or none.
    """
    if (billed is None) != not_billed:
        raise SettingsError(
            "It is not said what became of the attempts.", "Give either --billed or --not-billed."
        )
    verdict: Verdict = "free" if billed is None else usd("billed", billed)
    settle_by_hand(ledger_place(path), dict.fromkeys(numbers, verdict), time.time(), wait)
    count = len(set(numbers))
    if verdict == "free":
        say(f"{count:,} settled: not billed")
    else:
        together = plain(total([verdict] * count))
        say(f"{count:,} settled: billed {plain(verdict)} USD each, {together} USD together")
    return 0


@ledger.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--bodies", is_flag=True, help="With the text of the responses.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
@on_ledger
def export_table(file: Path, bodies: bool, overwrite: bool, path: Path | None) -> int:
    """Write every attempt to FILE, a .parquet or a .csv.

    Money is exact: decimal(38, 24) in Parquet, plain notation in CSV.
    """
    with Snapshot(ledger_place(path)) as snapshot:
        check_usable(snapshot)
        count = export(snapshot, file, bodies, overwrite)
    say(f"{count:,} attempts: {file}")
    return 0


@ledger.command("prune")
@click.option("--older-than", required=True, help="The age: 90d, or since when: 2026-01-31.")
@of_systems
@click.option("--yes", is_flag=True, help="Prune without being asked.")
@waiting
@on_ledger
def prune_answers(
    older_than: str, systems: Sequence[System], yes: bool, wait: bool, path: Path | None
) -> int:
    """Take old answers away, so that they can be bought again.

    What was paid for them stays in the ledger for ever; so do failures, and the answers of open
    jobs. The file is written anew without them, for which the disk needs as much room again.
    """
    place, old = ledger_place(path), Old(moment(older_than), systems or SYSTEMS)
    with Snapshot(place) as snapshot:
        found = prunable(snapshot, old)
    in_use = f"; {found.in_use:,} as old are kept for open jobs" if found.in_use else ""
    say(f"{found.answers:,} answers, {megabytes(found.size)}{in_use}")
    if found.answers and not yes:
        confirm_pruning()
    pruned = prune_by_hand(place, old, time.time(), wait)
    say(f"{pruned.answers:,} pruned, {megabytes(pruned.size)} given back")
    return 0


@ledger.command(short_help="Check that everything in the ledger agrees.")
@click.option(
    "--jobs",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Processes that read responses.",
)
@in_json
@on_ledger
def verify(jobs: int, as_json: bool, path: Path | None) -> int:
    """Check that everything in the ledger agrees; exit with 8 if it does not.

    The file, each attempt, the sums by job and by day, and every response kept: it is read again,
    and must state what the ledger says it cost.
    """
    with Snapshot(ledger_place(path)) as snapshot:
        found = extent(snapshot)
        with progress(found.responses) as advance:
            wrong = problems(snapshot, time.time(), jobs, advance)
            shown = list(islice(wrong, PRINTED))
            count = len(shown) + sum(1 for _ in wrong)
    if as_json:
        figures = {name: getattr(found, name) for name in found.__slots__}
        say(json.dumps({**figures, "problems": count, "first_problems": shown}))
    else:
        more = [f"and {count - PRINTED:,} more"] if count > PRINTED else []
        agree = [] if count else ["everything agrees"]
        said = (
            f"{found.attempts:,} attempts, {found.responses:,} responses, {found.pruned:,} pruned"
        )
        say("\n".join([*shown, *more, said, *agree]))
    return INCONSISTENT if count else CONSISTENT
