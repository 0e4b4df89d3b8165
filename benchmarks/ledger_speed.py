"""Measures the time and the memory of the ledger commands on a large ledger.

    python -m benchmarks.ledger_speed [--attempts 200000] [--keep FOLDER]

The ledger is generated: attempts of 90 days, four systems, two endpoints and ten jobs, of which one
is open; 94 in 100 are answered with five to ten matches at one of about a hundred prices. Each
command is a separate process. Its wall time, processor time and peak memory are printed.
"""

from __future__ import annotations

import random
import tempfile
import time
import zlib
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.command_line import parser_for
from benchmarks.comparison import turn
from benchmarks.local_service import DISK
from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS, Match
from pipeline.paid.ledger.database import Database
from pipeline.service.http.messages import failure, success
from pipeline.service.pricing import price

ENDPOINTS = ("https://service.example", "http://localhost:8000")
JOBS, DAYS = 10, 90
AT_ONCE = 20_000
NOW = time.time()

ATTEMPT = "INSERT INTO attempts VALUES (?, ?, ?, ?, 'key', ?, '0.0003', ?, ?, ?, ?, ?, NULL)"

COMMANDS = (
    ("show",),
    ("attempts", "--state", "failed"),
    ("attempts", "--state", "unconfirmed", "--limit", "1000"),
    ("verify",),
    ("prune", "--older-than", "60d", "--yes"),
)


def make(path: Path, attempts: int) -> None:
    """Write a ledger of generated attempts."""
    chance = random.Random(1)
    with closing(Database(path)) as database:
        with database.transaction() as connection:
            connection.executemany(
                "INSERT INTO jobs VALUES (?, ?, ?, ?, ?)",
                [
                    (job, ENDPOINTS[job % 2], f"job {job}", NOW - DAYS * 86400, closed(job))
                    for job in range(1, JOBS + 1)
                ],
            )
        titles = [" ".join(made_texts(1, seed)[0].split()[:6]) for seed in range(300)]
        for start in range(1, attempts + 1, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, attempts + 1))
            rows = [row(number, attempts, titles, chance) for number in numbers]
            with database.transaction() as connection:
                connection.executemany(ATTEMPT, (attempt for attempt, _ in rows))
                bodies = ((attempt[0], body) for attempt, body in rows if body)
                connection.executemany("INSERT INTO bodies VALUES (?, ?)", bodies)
                noted = [
                    (attempt[1], attempt[2], attempt[3], attempt[0])
                    for attempt, _ in rows
                    if not closed(attempt[1])
                ]
                connection.executemany("INSERT INTO first_rows VALUES (?, ?, ?, ?)", noted)


def closed(job: int) -> float | None:
    """Return the time when a job closed."""
    return None if job == JOBS else NOW


def row(
    number: int, attempts: int, titles: list[str], chance: random.Random
) -> tuple[tuple[Any, ...], bytes | None]:
    """Return an attempt and its packed body."""
    job = chance.randint(1, JOBS)
    system = SYSTEMS[number % len(SYSTEMS)]
    digest = sha256(str(number).encode()).digest()
    at = NOW - DAYS * 86400 * (1 - number / attempts)
    made = (number, job, system, digest, at)
    dice = chance.random()
    if dice < 0.02:
        return (*made, "unconfirmed", at + 30, "TIMEOUT", None, None), None
    if dice < 0.04:
        return (*made, "free", at + 1, "INTERNAL_ERROR", None, 503), None
    if dice < 0.06:
        refusal = zlib.compress(failure(400, "The description is empty."))
        return (*made, "refused", at + 1, "VALIDATION_ERROR", "0", 400), refusal
    matches = [
        Match(str(chance.randrange(10**7, 10**8)), chance.choice(titles), chance.random())
        for _ in range(chance.randint(5, 10))
    ]
    cost = price(matches)
    body = success(system, "", matches, cost, "detailed")
    return (*made, "answered", at + 1, None, str(cost.final), 200), zlib.compress(body)


def measured(folder: Path, command: Sequence[str]) -> str:
    """Run a command and return its figures."""
    took = turn(["pipeline", "ledger", *command, "--ledger", str(folder / "ledger.db")])
    shown = " ".join(command)
    return f"{shown:<45}{took.seconds:>7.1f} s {took.cpu:>7.1f} s CPU {took.memory:>6,.0f} MiB"


def main() -> None:
    """Print the figures."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("--attempts", type=int, default=200_000)
    parser.add_argument("--keep", type=Path, help="a folder whose ledger is made once, and kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=DISK) as temporary:
        folder = options.keep or Path(temporary)
        ledger = folder / "ledger.db"
        if not ledger.exists():
            began = time.monotonic()
            make(ledger, options.attempts)
            print(f"made in {time.monotonic() - began:.0f} s")
        print(f"{options.attempts:,} attempts, {ledger.stat().st_size / 1e6:,.0f} MB")
        for command in COMMANDS:
            print(measured(folder, command), flush=True)


if __name__ == "__main__":
    main()
