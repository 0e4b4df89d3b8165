"""What a key recently used of its rate limit, whichever ledgers record its attempts."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.files.directories import machine_folder
from pipeline.files.sqlite import connect, has_log, transaction
from pipeline.paid.ledger.calls import State
from pipeline.paid.ledger.schema import address_of

__all__ = ["KeyUsage", "Note", "PastAttempt", "RateRefusal"]

PATIENCE_S = 10.0

NOTES_BETWEEN_CLEANINGS = 1000

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS attempts (number INTEGER, sent_at REAL, settled_at REAL, "
    "state TEXT, PRIMARY KEY (number, sent_at)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS lesson (one INTEGER PRIMARY KEY CHECK (one = 1), slots INTEGER, "
    "paused_until REAL, learned_at REAL, first_learned_at REAL)",
    "CREATE TABLE IF NOT EXISTS pause (one INTEGER PRIMARY KEY CHECK (one = 1), boot TEXT, "
    "until REAL, first_learned_at REAL)",
)
READ = "SELECT sent_at, settled_at, state, number FROM attempts"
REFUSAL = "SELECT slots, paused_until - learned_at, learned_at, first_learned_at FROM lesson"
LEARN = "INSERT OR REPLACE INTO lesson VALUES (1, ?, ?, ?, ?)"
PAUSE = "INSERT OR REPLACE INTO pause VALUES (1, ?, ?, ?)"
PAUSED = "SELECT boot, until, first_learned_at FROM pause"
NOTE = "INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?)"
END = "UPDATE attempts SET settled_at = ?, state = ? WHERE number = ? AND settled_at IS NULL"
FORGET = "DELETE FROM attempts WHERE number = ? AND settled_at IS NULL"

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

log = logging.getLogger(__name__)


def boot_clock() -> tuple[str, float]:
    """Return which start of the machine this is, "" if unknown, and the seconds since then."""
    with suppress(OSError, AttributeError):  # only Linux has both
        return BOOT_ID.read_text("ascii").strip(), time.clock_gettime(time.CLOCK_BOOTTIME)
    return "", 0.0


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """An attempt of an earlier run; times are seconds since 1970.

    Attributes:
        sent_at: when it was recorded, just before it was sent.
        settled_at: when its end was recorded; None while it is under way.
        state: how it ended, whatever a user has settled since.
        number: its number in its ledger.
    """

    sent_at: float
    settled_at: float | None
    state: State
    number: int = field(default=0, compare=False)

    def ended_at(self, now: float) -> float:
        """Return when it ended, at the latest now; an attempt under way counts as ended now.

        So does one that ended before it was sent: a run whose clock was behind replaced its end.
        """
        if self.settled_at is None or self.settled_at < self.sent_at <= now:
            return now
        return min(self.settled_at, now)


@dataclass(frozen=True, slots=True)
class RateRefusal:
    """A refusal for the rate limit; times are seconds since 1970.

    Attributes:
        slots: how many of the limit's slots remain in use.
        pause: for how many seconds from then on nothing is to be sent.
        at: when it was recorded.
        first_at: the same by the clock at that moment, which may have been wrong. It identifies
            the refusal, so that the same one in a ledger does not count as new.
    """

    slots: int
    pause: float
    at: float = 0.0
    first_at: float = 0.0

    @property
    def paused_until(self) -> float:
        """Until when nothing is to be sent."""
        return self.at + self.pause

    def by_clock(self, now: float) -> RateRefusal:
        """Return it with times that are possible now.

        One from the future begins now, once: the clock was ahead then, or is behind now. If it was
        behind, the refusal's own times count again as soon as they are past.
        """
        if self.at > now:
            return replace(self, at=now)
        if self.paused_until <= now < self.first_at:  # it does not begin once more
            return replace(self, pause=0.0)
        return replace(self, at=self.first_at) if self.first_at <= now else self


class Note(NamedTuple):
    """Something that happened to an attempt.

    Attributes:
        number: the attempt's number in its ledger.
        at: when, seconds since 1970.
        state: its new state; None: it never left this machine.
    """

    number: int
    at: float
    state: State | None


class KeyUsage:
    """What runs of this user on this machine share, in a small file for each key at a base URL.

    Only the key's one buyer writes it. Nothing is lost if the process is killed. A power failure
    may lose the last seconds, which the ledger has too. If the file cannot be used, a warning says
    so, and the ledger alone counts.

    Args:
        endpoint: the canonical base URL, or a language model there.
        key_fingerprint: names the key.
        keep: for how many seconds after their end attempts matter.
    """

    def __init__(self, endpoint: str, key_fingerprint: str, keep: float) -> None:
        self._keep = keep
        self._notes = 0
        self._connection: sqlite3.Connection | None = None
        name = sha256(f"{address_of(endpoint)}\n{key_fingerprint}".encode()).hexdigest()[:16]
        with self._errors_as_warning():
            self._open(machine_folder() / "limits" / f"{name}.db")

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def attempts(self) -> list[PastAttempt]:
        """Return the attempts in the file."""
        rows = self._rows(READ)
        return [PastAttempt(*row) for row in rows if _are_numbers(row[0], row[1] or 0.0, row[3])]

    def last_refusal(self) -> RateRefusal | None:
        """Return the last refusal; None without one."""
        rows = (RateRefusal(*row) for row in self._rows(REFUSAL) if _are_numbers(*row))
        return next(rows, None)

    def pause_left(self, refusal: RateRefusal) -> float | None:
        """Return the rest of a refusal's pause in seconds, which may be negative; None: unknown.

        It is measured by a clock that nobody sets, and known until the machine is restarted.
        """
        boot, now = boot_clock()
        for of_boot, until, first_learned_at in self._rows(PAUSED):
            if boot and (of_boot, first_learned_at) == (boot, refusal.first_at):
                return float(until) - now
        return None

    def replace(self, attempts: Iterable[PastAttempt], refusal: RateRefusal | None) -> None:
        """Replace everything in the file."""
        if (connection := self._connection) is None:
            return
        with self._errors_as_warning(), transaction(connection):
            connection.execute("DELETE FROM attempts")
            rows = ((one.number, one.sent_at, one.settled_at, one.state) for one in attempts)
            connection.executemany(NOTE, rows)
            if refusal is not None:
                connection.execute(LEARN, _columns(refusal))

    def note(self, notes: Sequence[Note], refusal: RateRefusal | None) -> None:
        """Record what happened to attempts, and a refusal, if there is one.

        Only one note of an attempt may be among them.
        """
        if (connection := self._connection) is None:
            return
        with self._errors_as_warning(), transaction(connection):
            sent = [(one.number, one.at, None, "sent") for one in notes if one.state == "sent"]
            connection.executemany(NOTE, sent)
            ended = [one for one in notes if one.state not in ("sent", None)]
            connection.executemany(END, [(one.at, one.state, one.number) for one in ended])
            unsent = [(one.number,) for one in notes if one.state is None]
            connection.executemany(FORGET, unsent)
            if refusal is not None:
                connection.execute(LEARN, _columns(refusal))
                boot, now = boot_clock()
                connection.execute(PAUSE, (boot, now + refusal.pause, refusal.first_at))
            self._notes += len(notes)
            if self._notes > NOTES_BETWEEN_CLEANINGS:
                self._notes = 0
                before = notes[-1].at - self._keep
                connection.execute(
                    "DELETE FROM attempts WHERE settled_at < ? AND sent_at < ?", (before, before)
                )

    def _open(self, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        self._connection = connect(place, PATIENCE_S)
        has_log(self._connection, PATIENCE_S)
        # The ledger has it durably; a killed process loses nothing here either.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        for statement in SCHEMA:
            self._connection.execute(statement)

    def _rows(self, query: str) -> list[Any]:
        if self._connection is not None:
            with self._errors_as_warning():
                return self._connection.execute(query).fetchall()
        return []

    @contextmanager
    def _errors_as_warning(self) -> Iterator[None]:
        """Warn of an error, and close the file for good."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            log.warning(
                f"What this key uses of its limit cannot be kept for other ledgers: {error}. "
                f"Make {machine_folder() / 'limits'} writable, or delete its contents."
            )
            self.close()


def _columns(refusal: RateRefusal) -> tuple[float, ...]:
    return refusal.slots, refusal.paused_until, refusal.at, refusal.first_at


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, int | float) for value in values)
