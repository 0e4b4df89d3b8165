"""The ledger's tables, and how a file is recognised as a ledger."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pipeline.errors import LedgerError
from pipeline.wording import LEDGER

VERSION = 3

APPLICATION = 0x74656E64
"""The letters "tend", in SQLite's field for the application of a file."""

AT_ADDRESS = "substr(endpoint || '#', 1, ?) = ?"
"""Whether an endpoint is at an address; `at_address` returns the parameters."""

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


def at_address(endpoint: str) -> tuple[int, str]:
    """Return the parameters of `AT_ADDRESS` for the address of an endpoint."""
    address = f"{address_of(endpoint)}#"
    return len(address), address


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
