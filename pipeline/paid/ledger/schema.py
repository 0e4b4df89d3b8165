"""The ledger's tables, how a file is recognised as a ledger, and what is recorded of a call."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from pipeline.answers import System
from pipeline.errors import LedgerError
from pipeline.wording import LEDGER, command

LastingState: TypeAlias = Literal["answered", "refused", "unreadable"]
"""The call has ended: with matches, with an error for its text, or with an unreadable body."""

PassingState: TypeAlias = Literal["free", "unconfirmed", "billed"]
"""The call is still open: the attempt was certainly not billed, its answer was lost, or the service
answered with an error and charged for it."""

LASTING: tuple[LastingState, ...] = get_args(LastingState)

State: TypeAlias = LastingState | PassingState | Literal["sent", "pruned"]
"""The state of an attempt: under way, ended, or changed by a user since.

An unconfirmed attempt becomes billed (or free), an answered one pruned. Both leave their call open:
the cost remains, the answer is gone.
"""

EVERY_STATE: tuple[State, ...] = tuple(
    state for some in get_args(State) for state in get_args(some)
)

INTERRUPTED = "INTERRUPTED"
"""The error of an attempt whose process ended before its answer was recorded."""

UNDER_WAY = f"(state = 'sent' OR state = 'unconfirmed' AND error = '{INTERRUPTED}')"
"""Whether an attempt has no end yet. If the lock files were deleted, another run may have taken its
run for killed."""

KEEP = "INSERT INTO bodies VALUES (?, ?)"


class Call(msgspec.Struct, frozen=True):
    """One question to the service: a classification system and the text sent."""

    system: System
    text: str

    @property
    def digest(self) -> bytes:
        """What represents the text in the ledger."""
        return text_digest(self.text)


class Owned(NamedTuple):
    """The response that answers a call for good: its HTTP status, its bytes as received, and price.

    The price is in US dollars; None if the response stated none.
    """

    status: int
    body: bytes
    cost_usd: Decimal | None


class Cost(NamedTuple):
    """What a job paid for a call, over all its attempts.

    Attributes:
        row: the first row with the call; None if the job's table has none.
        usd: US dollars; None if a price may exist, but none is known. If a call has known and
            unknown prices, it is the sum of the known ones.
    """

    row: int | None
    usd: Decimal | None


class CallEnded(msgspec.Struct, frozen=True):
    """The end of an attempt that also ends its call.

    Attributes:
        state: what the response is.
        status: its HTTP status.
        body: its bytes, which the ledger keeps.
        cost_usd: its price; None if it stated none.
        error: the error type; None for an answer.
    """

    state: LastingState
    status: int
    body: bytes
    cost_usd: Decimal | None = None
    error: str | None = None


class CallOpen(msgspec.Struct, frozen=True):
    """The end of an attempt that leaves its call open; its state says if it may be billed.

    Attributes:
        state: what the attempt is.
        error: the error type.
        status: the HTTP status, if there was a response.
        cost_usd: what was billed; None unless it is known.
    """

    state: PassingState
    error: str
    status: int | None = None
    cost_usd: Decimal | None = None


AttemptEnd: TypeAlias = CallEnded | CallOpen


class PastAttempt(NamedTuple):
    """An attempt of an earlier run: when its end was recorded, seconds since 1970, and its state.

    ``settled_at`` is None while it is under way. ``state`` is that from before a user settled it.
    """

    settled_at: float | None
    state: State

    def ended_at(self, now: float) -> float:
        """Return when it ended, at the latest now; an attempt under way counts as ended now."""
        return now if self.settled_at is None else min(self.settled_at, now)


class RateRefusal(NamedTuple):
    """A refusal for the rate limit.

    Attributes:
        slots: how many of the limit's slots remain in use.
        pause: for how many seconds from then on nothing is to be sent.
        at: when it was recorded, seconds since 1970.
    """

    slots: int
    pause: float
    at: float = 0.0

    def pause_left(self, now: float) -> float:
        """Return how many seconds remain of the pause; negative if it is over.

        A refusal from the future begins now: the clock was ahead then, or is behind now.
        """
        return min(self.at, now) + self.pause - now


def text_digest(text: str) -> bytes:
    """Return the SHA-256 of the text as it is sent."""
    return sha256(text.encode()).digest()


def text_digests(texts: Iterable[str]) -> list[bytes]:
    """Return the SHA-256 of each text as it is sent."""
    return [sha256(text.encode()).digest() for text in texts]


def storable(text: str) -> str:
    """Escape lone surrogates, as in the name of a file that is not UTF-8: SQLite refuses them."""
    return text.encode("utf-8", "backslashreplace").decode()


def unpack(attempt: int, body: Any, ledger: Path) -> bytes:
    """Return a response as it was received, from what the ledger has of it.

    Raises:
        LedgerError: it is damaged; the message names the attempt.
    """
    try:
        return zlib.decompress(body)
    except (TypeError, zlib.error) as error:
        raise LedgerError(
            f"The body of attempt {attempt} cannot be unpacked: {error}.",
            f"Restore the ledger from a good copy, or name another: {LEDGER}. To see what else is "
            f"wrong: {command('ledger verify --ledger', ledger)}",
        ) from error


VERSION = 3

APPLICATION = 0x74656E64
"""The letters "tend", in SQLite's field for the application of a file."""

AT_ADDRESS = "substr(endpoint || '#', 1, ?) = ?"
"""Whether an endpoint is at an address, given with a ``#`` and after the length of both."""

LESSONS = """
-- What the last refusal for the rate limit taught, by base URL and key.
CREATE TABLE lessons (
    endpoint TEXT NOT NULL,
    account TEXT NOT NULL,
    slots INTEGER NOT NULL,
    paused_until REAL NOT NULL,
    learned_at REAL NOT NULL,
    PRIMARY KEY (endpoint, account)
) WITHOUT ROWID;
"""

NOTES = """
-- What a person needs to know of a job: its tables, and why its last run stopped.
CREATE TABLE job_notes (
    job_id INTEGER PRIMARY KEY REFERENCES jobs,
    input TEXT NOT NULL,
    output TEXT NOT NULL,
    table_rows INTEGER NOT NULL,
    stopped TEXT,
    stopped_at REAL
);
"""

FIRST_ROWS = """(
    job_id INTEGER NOT NULL REFERENCES jobs,
    system TEXT NOT NULL,
    digest BLOB NOT NULL,
    row_number INTEGER NOT NULL,
    PRIMARY KEY (job_id, system, digest)
) WITHOUT ROWID"""

SCHEMA = f"""
CREATE TABLE jobs (
    job_id INTEGER PRIMARY KEY,
    endpoint TEXT NOT NULL,
    identity TEXT NOT NULL,
    opened_at REAL NOT NULL,
    closed_at REAL
);
CREATE UNIQUE INDEX one_open_job ON jobs (endpoint, identity) WHERE closed_at IS NULL;

-- The first row of each call in an open job's table; it carries the call's cost.
CREATE TABLE first_rows {FIRST_ROWS};

-- One request each. Of the text, only the SHA-256 is kept. Times are seconds since 1970.
-- Money is text, because SQLite would add it as floating-point numbers.
CREATE TABLE attempts (
    attempt_id INTEGER PRIMARY KEY,
    job_id INTEGER NOT NULL REFERENCES jobs,
    system TEXT NOT NULL,
    digest BLOB NOT NULL,
    account TEXT NOT NULL,
    sent_at REAL NOT NULL,
    reserved_usd TEXT NOT NULL,
    state TEXT NOT NULL,
    settled_at REAL,
    error TEXT,
    cost_usd TEXT,
    status INTEGER,
    resolved_at REAL, -- when a user said whether an unconfirmed one had been billed
    CHECK ((state = 'sent') = (settled_at IS NULL))
);
CREATE INDEX attempts_of_call ON attempts (digest, system);
CREATE INDEX attempts_of_job ON attempts (job_id);
CREATE INDEX attempts_of_account ON attempts (account, settled_at);

-- The responses that ended a call, compressed with zlib; apart, so that attempts are read fast.
CREATE TABLE bodies (
    attempt_id INTEGER PRIMARY KEY REFERENCES attempts,
    body BLOB NOT NULL
);

{LESSONS}{NOTES}"""

MIGRATIONS = {
    1: f"""
ALTER TABLE attempts ADD COLUMN resolved_at REAL;
{LESSONS}""",
    2: NOTES,
}
"""The statements that upgrade each version to the next."""

OWN_FIRST_ROWS = f"CREATE TEMP TABLE first_rows {FIRST_ROWS.replace(' REFERENCES jobs', '')}"
"""Gives a connection a table of first rows that no other one sees, in place of the ledger's."""


def address_of(endpoint: str) -> str:
    """Return the base URL of an endpoint, which may name a language model there after a ``#``.

    A key, its limits and its one buyer belong to the address; jobs, answers and prices belong to
    the endpoint.
    """
    return endpoint.partition("#")[0]


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of the file's tables, 0 for an empty file; change nothing.

    Raises:
        LedgerError: it is a database of another kind, or from a newer version of this tool.
    """
    kind = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    )
    application, version, tables = kind.fetchone()
    if application == 0 and tables == 0:
        return 0
    if application != APPLICATION:
        raise LedgerError(
            f"{path} is a database, but not a ledger.", f"Name another file: {LEDGER}."
        )
    if version > VERSION:
        raise LedgerError(
            f"The ledger {path} was written by a newer version of this tool.",
            f"Update tender-pipeline, or name another ledger: {LEDGER}.",
        )
    return int(version)


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty database; the caller commits."""
    _execute(connection, SCHEMA)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Upgrade a ledger of an older version; the caller commits.

    A program of the older version that has it open can continue.
    """
    for older in range(version, VERSION):
        _execute(connection, MIGRATIONS[older])
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _execute(connection: sqlite3.Connection, statements: str) -> None:
    """Execute statements within the caller's transaction, which `executescript` would end."""
    for statement in statements.split(";\n"):
        connection.execute(statement)
